"""Texts of the server for third-party front ends, in the caller's language."""

from __future__ import annotations

from operator import itemgetter

from starlette.datastructures import Headers
from starlette.types import Scope

from ringi.base.texts import LANGUAGES, Language

TEXTS: dict[Language, dict[str, str]] = {
    "en": {
        "approved": "Your answer is recorded.",
        "edited": "Your changed answer is recorded.",
        "rejected": "Your rejection is recorded.",
        "voted": "Your vote is recorded. More people must agree.",
        "held": "Your answer is recorded, and takes effect in a moment.",
        "waits_for_others": "Another person still has to answer here.",
    },
    "ja": {
        "approved": "回答を記録しました。",
        "edited": "変更した回答を記録しました。",
        "rejected": "「いいえ」という回答を記録しました。",
        "voted": "投票を記録しました。ほかの人の同意も必要です。",
        "held": "回答を記録しました。まもなく確定します。",
        "waits_for_others": "ほかの人の回答を待っているものがあります。",
    },
    "zh": {
        "approved": "已记录您的回答。",
        "edited": "已记录您修改后的回答。",
        "rejected": "已记录您的拒绝。",
        "voted": "已记录您的投票，还需要其他人同意。",
        "held": "已记录您的回答，稍后生效。",
        "waits_for_others": "有一个问题正在等待其他人回答。",
    },
}


def server_texts_for_caller(scope: Scope) -> dict[str, str]:
    """Return the texts in the caller's preferred available language, else in English."""
    return TEXTS[language_for(scope)]


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
