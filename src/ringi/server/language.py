"""Texts of the server for third-party front ends, in the caller's language."""

from __future__ import annotations

from operator import itemgetter

from starlette.datastructures import Headers
from starlette.types import Scope

from ringi.base.texts import LANGUAGES, Language, text_catalogue


def server_texts_for_caller(scope: Scope) -> dict[str, str]:
    """Return the texts in the caller's preferred available language, else in English."""
    texts: dict[str, str] = text_catalogue(language_for(scope))["answers"]
    return texts


def language_for(scope: Scope) -> Language:
    """Return the caller's preferred language by `Accept-Language`.

    Args:
        scope: The ASGI scope of the call.

    Returns:
        `en`, `ja` or `zh`; `en` if none of them is preferred.
    """
    ranges = map(parse_language_range, Headers(scope=scope).get("accept-language", "").split(","))
    preferred = sorted((each for each in ranges if each[1] > 0), reverse=True, key=itemgetter(1))
    return next((language for tag, _ in preferred for language in LANGUAGES if language == tag), "en")


def parse_language_range(part: str) -> tuple[str, float]:
    """Return a language and its quality value."""
    tag, _, rest = part.partition(";")
    try:
        quality = float(rest.strip().lower().removeprefix("q=") or 1)
    except ValueError:
        quality = 0.0
    return tag.strip().partition("-")[0].lower(), quality
