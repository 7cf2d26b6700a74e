"""Texts of the server for third-party front ends, in the caller's language."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from starlette.datastructures import Headers
from starlette.types import Scope


@dataclass(frozen=True)
class Words:
    """All texts in one language."""

    approved: str
    edited: str
    rejected: str
    others: str
    """States that a turn has ended although its run still waits."""


WORDS: dict[str, Words] = {
    "en": Words(
        approved="Your answer is recorded.",
        edited="Your changed answer is recorded.",
        rejected="It is recorded that you say no.",
        others="Something here waits for the answer of somebody else.",
    ),
    "ja": Words(
        approved="回答を記録しました。",
        edited="変更した回答を記録しました。",
        rejected="「いいえ」という回答を記録しました。",
        others="ほかの人の回答を待っているものがあります。",
    ),
    "zh": Words(
        approved="已记录您的回答。",
        edited="已记录您修改后的回答。",
        rejected="已记录您的拒绝。",
        others="有一个问题正在等待其他人回答。",
    ),
}


def words_for(scope: Scope) -> Words:
    """Return the texts in the caller's preferred available language, else in English."""
    return WORDS[language_for(scope)]


def language_for(scope: Scope) -> str:
    """Return the caller's preferred language among those available, else English."""
    wanted = map(parse_language_range, Headers(scope=scope).get("accept-language", "").split(","))
    liked = sorted((each for each in wanted if each[0] in WORDS and each[1] > 0), reverse=True, key=itemgetter(1))
    return liked[0][0] if liked else "en"


def parse_language_range(part: str) -> tuple[str, float]:
    """Return a language and its quality value."""
    tag, _, rest = part.partition(";")
    try:
        much = float(rest.strip().lower().removeprefix("q=") or 1)
    except ValueError:
        much = 0.0
    return tag.strip().partition("-")[0].lower(), much
