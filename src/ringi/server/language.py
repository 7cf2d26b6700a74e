"""What the server itself says to the front ends of others, in the language that they ask for."""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from starlette.datastructures import Headers
from starlette.types import Scope


@dataclass(frozen=True)
class Words:
    """All that is said, in one language."""

    approved: str
    edited: str
    rejected: str
    others: str
    """That a turn is at its end, though its run waits on."""


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
    """Return the words in the language that a caller likes best of those that there are, else in English."""
    return WORDS[language_for(scope)]


def language_for(scope: Scope) -> str:
    """Return the language that a caller likes best of those that there are words in, else English."""
    wanted = map(parse_language_range, Headers(scope=scope).get("accept-language", "").split(","))
    liked = sorted((each for each in wanted if each[0] in WORDS and each[1] > 0), reverse=True, key=itemgetter(1))
    return liked[0][0] if liked else "en"


def parse_language_range(part: str) -> tuple[str, float]:
    """Return a language, and how much it is liked."""
    tag, _, rest = part.partition(";")
    try:
        much = float(rest.strip().lower().removeprefix("q=") or 1)
    except ValueError:
        much = 0.0
    return tag.strip().partition("-")[0].lower(), much
