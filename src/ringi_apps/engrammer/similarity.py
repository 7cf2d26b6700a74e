"""Similarity of bullets, and flags for a possible contradiction.

A score finds candidates but cannot tell a duplicate from a contradiction. Only `same` is safe to act on.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from heapq import nsmallest
from typing import Literal, TypeAlias

from pydantic import ConfigDict

from ringi.base import StrictModel
from ringi.domain import SCRIPTS_WITHOUT_SPACES
from ringi_apps.engrammer.entries import Bullet, Rejection

DifferenceFlag: TypeAlias = Literal["same", "number", "negation", "swap"]

MIN_SCORE = 0.35
NEAR_COPY_SCORE = 0.8
SUPPRESSED_FOR = timedelta(days=30)

RAISED = {"<super>": "^", "<sub>": "_", "<fraction>": " "}
"""Marks for characters that NFKC would join to a number: 10⁵ is not 105, and 2½ is not 21/2."""
UNIT = re.compile(r"[0-9]\s*([^\W\d_]{1,3})\b")
TOKEN = re.compile(rf"[{SCRIPTS_WITHOUT_SPACES}]|[^\W_{SCRIPTS_WITHOUT_SPACES}]+(?:['’][^\W\d_]+)?")
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
CACHE_SIZE = 1024
"""Number of texts whose analysis is cached."""
ARTICLES = frozenset(("a", "an", "the"))
OPPOSITES = tuple({(), (prefix,)} for prefix in ("反", "逆", "非", "未", "无", "無", "non"))
"""Prefixes that turn a word into its opposite."""
MAX_SWAP_LENGTH = 6
"""Maximum length of a word in a script without spaces."""
MIN_COMMON_SHARE = 0.6

NUMBER = re.compile(
    r"\d+(?:[.,:/⁄^_]\d+)*"
    # A match begins where a row of numerals begins, or a long row takes the square of its length.
    r"|(?<![一二三四五六七八九十百千两])[一二三四五六七八九十百千两]++(?=[回遍度秒枚本個个层層次年月日時时小天倍割成つ])"
)
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
NUMERALS = {
    **dict(zip("一二三四五六七八九十", map(str, range(1, 11)), strict=True)),
    **{"两": "2", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "eight": "8"},
    **{"nine": "9", "ten": "10", "twelve": "12", "twice": "2"},
}
NEGATION = re.compile(
    r"\b(?:not|never|no|none|nor|without|cannot|avoid\w*|dont|[a-z]+n['’]t)\b"
    # 少ない and 危ない deny nothing, nor does 必ず; なければならない denies twice.
    r"|(?<![少危])な(?:い|く|けれ|かっ)|ません|(?<![必ま先はわいき])ず(?![っつれ])|禁[じず止]?|厳禁|無用"
    r"|不(?![仅但过断同锈])|没|(?<![特区级分识类个])别(?![人的])|勿|无需|無理"
)


class SimilarBullet(StrictModel):
    """A bullet similar to a text; the flags `number`, `negation` and `swap` mark a possible contradiction."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    bullet: str
    text: str
    score: float
    flags: tuple[DifferenceFlag, ...] = ()


def find_similar(
    text: str, bullets: Iterable[Bullet], *, at_least: float = MIN_SCORE, most: int = 5
) -> tuple[SimilarBullet, ...]:
    """Return the bullets most similar to a text, best first."""
    scored = ((each, similarity_score(text, each.content.text)) for each in bullets)
    return rank_similar(text, (each for each in scored if each[1] >= at_least), most=most)


def rank_similar(text: str, scored: Iterable[tuple[Bullet, float]], *, most: int = 5) -> tuple[SimilarBullet, ...]:
    """Return the most similar bullets, best first."""
    first = nsmallest(most, scored, key=lambda each: (-each[1], *each[0].order))
    return tuple(
        SimilarBullet(
            bullet=each.id, text=each.content.text, score=score, flags=difference_flags(text, each.content.text)
        )
        for each, score in first
    )


def find_recent_rejection(text: str, rejected: Sequence[Rejection], now: datetime) -> Rejection | None:
    """Return the newest rejection of the last 30 days that has nearly the same text.

    Rejected retirements do not count, because they do not reject the text.
    """
    recent = (each for each in reversed(rejected) if now - each.at < SUPPRESSED_FOR and each.op != "retire")
    return next((each for each in recent if is_near_copy(text, each.text)), None)


def is_near_copy(one: str, other: str) -> bool:
    """Return whether two texts are nearly equal and one has only words of the other."""
    if difference_flags(one, other) not in ((), ("same",)):
        return False
    words, others = Counter(_tokens(one)), Counter(_tokens(other))
    # Long texts score high even if they differ in a thing: rejecting a rule for one must not suppress it for another.
    return (words <= others or others <= words) and similarity_score(one, other) >= NEAR_COPY_SCORE


def similarity_score(one: str, other: str) -> float:
    """Return the similarity of two texts from 0 to 1: the cosine of their counts of 2- to 4-grams of characters.

    A single Chinese character counts as well, because it may be a word.
    """
    (grams, length), (others, other_length) = count_grams(one), count_grams(other)
    return round_score(
        sum(grams[each] * others[each] for each in grams.keys() & others.keys()) / (length * other_length)
    )


def round_score(score: float) -> float:
    """Round a cosine for display and comparison."""
    return round(min(1.0, score), 4)


@lru_cache(maxsize=CACHE_SIZE)
def count_grams(text: str) -> tuple[Counter[str], float]:
    """Return the gram counts of a text and their vector length, which is never 0."""
    padded = f" {_fold_case(text)} "
    grams = Counter(padded[at : at + size] for size in (2, 3, 4) for at in range(len(padded) - size + 1))
    grams.update(HAN.findall(padded))
    return grams, math.sqrt(sum(count * count for count in grams.values()))


def difference_flags(one: str, other: str) -> tuple[DifferenceFlag, ...]:
    """Return `same` for equal texts, or the flags for a possible contradiction."""
    if normalize(one) == normalize(other):
        return ("same",)
    differ: dict[DifferenceFlag, bool] = {
        "number": _numbers(one) != _numbers(other),
        "negation": _is_negative(one) != _is_negative(other),
        "swap": _is_swap(_tokens(one), _tokens(other)),
    }
    return tuple(flag for flag, is_set in differ.items() if is_set)


@lru_cache(maxsize=8 * CACHE_SIZE)
def may_contradict(one: str, other: str) -> bool:
    """Return whether two texts are similar and have a flag for a possible contradiction."""
    return bool(set(difference_flags(one, other)) - {"same"}) and similarity_score(one, other) >= MIN_SCORE


@lru_cache(maxsize=8 * CACHE_SIZE)
def normalize(text: str) -> str:
    """Normalize a text for comparison: one width and case, single spaces, no final full stop.

    The case of a unit after a number stays: 5 mW is not 5 MW.
    """
    units = UNIT.findall(_one_width(text))
    return " ".join([_fold_case(text).rstrip(" .。"), *(unit for unit in units if unit != unit.casefold())])


def _fold_case(text: str) -> str:
    return " ".join(_one_width(text).casefold().split())


def _one_width(text: str) -> str:
    return unicodedata.normalize("NFKC", "".join(map(_mark_raised, text)))


def _mark_raised(letter: str) -> str:
    return letter if letter.isascii() else RAISED.get(unicodedata.decomposition(letter).partition(" ")[0], "") + letter


@lru_cache(maxsize=CACHE_SIZE)
def _numbers(text: str) -> tuple[str, ...]:
    plain = THOUSANDS.sub("", _fold_case(text))
    named = [word for word in _tokens(text) if word.isalpha() and word.isascii() and word in NUMERALS]
    return tuple(sorted(NUMERALS.get(each, each) for each in [*NUMBER.findall(plain), *named]))


@lru_cache(maxsize=CACHE_SIZE)
def _is_negative(text: str) -> bool:
    return len(NEGATION.findall(_fold_case(text))) % 2 == 1


@lru_cache(maxsize=CACHE_SIZE)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(token for token in TOKEN.findall(_fold_case(text)) if token not in ARTICLES)


def _is_swap(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether one word is replaced by another, or the words are in another order."""
    if sorted(one) == sorted(other):
        return one != other
    start = _common_prefix(one, other)
    end = _common_prefix(one[start:][::-1], other[start:][::-1])
    swapped = one[start : len(one) - end], other[start : len(other) - end]
    if start + end < MIN_COMMON_SHARE * max(len(one), len(other)):
        return False
    return all(map(_is_word, swapped)) or set(swapped) in OPPOSITES


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


def _is_word(tokens: tuple[str, ...]) -> bool:
    return len(tokens) == 1 or (1 < len(tokens) <= MAX_SWAP_LENGTH and all(len(each) == 1 for each in tokens))
