"""Search notes by the terms of a question, including languages without spaces between words."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ringi.base import StrictModel

MAX_TERMS = 40
MAX_QUERY_LENGTH = 1_000
TITLE_WEIGHT = 2.0
"""Additional weight of a term in the title."""
CONTEXT_BEFORE, EXCERPT_LENGTH = 60, 240
SCRIPT = re.compile(
    r"[\u3400-\u9fff\uf900-\ufaff々〆]+|[\u30a1-\u30fa\u30fc-\u30ff]+|[\u3041-\u309f]+|[^\W_\u3041-\u9fff]+"
)
SUFFIX = re.compile(r"(?<=\w{3})(?:ings?|ed|es|s)$|(?<=\w{4})e$")
COMMON_WORDS = """
a about an and any are at be best between by can could do does for from have how i if in into is it its long many me
much my no not of on or our should so some tell than that the their them then there these they this to too us use used
was we what when where which who why will with would you your
です ます した して する こと もの とき ので から まで より でき ない ませ せん とは では には のは のが すか くだ
ださ さい いて って てく ため よう どう どの なに なぜ 何故 教え 場合 必要 方法
怎么 怎样 什么 如何 应该 可以 是否 为什 么样 多少 需要 合适 今天
"""
STOPWORDS = frozenset(COMMON_WORDS.split())


class SearchResult(StrictModel):
    """A note found by a search.

    Attributes:
        id: The note's id within its source.
        title: The note's title.
        excerpt: The passage of at most 240 characters that matches best.
    """

    id: str
    title: str
    excerpt: str


class NoteText(NamedTuple):
    """The searchable text of a note."""

    id: str
    title: str
    content: str


def normalize_text(text: str) -> str:
    """Normalize a text for comparison: NFKC and case-folded.

    Args:
        text: The text.
    """
    return unicodedata.normalize("NFKC", text).casefold()


def search_terms(query: str) -> tuple[str, ...]:
    """Return the search terms of a query: word stems, and character pairs for scripts without spaces.

    A query that has only common words or punctuation has no terms.

    Args:
        query: The query; only its beginning is read.

    Returns:
        The terms in the order of the query, without duplicates.
    """
    runs = SCRIPT.findall(normalize_text(query[:MAX_QUERY_LENGTH]))
    terms = dict.fromkeys(part for run in runs for part in split_run(run))
    return tuple(terms)[:MAX_TERMS]


def split_run(run: str) -> Iterable[str]:
    """Return the terms in a run of characters of one script."""
    if run in STOPWORDS:
        return []
    if run[0] < "\u3041" or run[0] > "\ufaff":
        return [SUFFIX.sub("", run)] if len(run) > 1 else []
    if "\u30a1" <= run[0] <= "\u30ff":
        return [run] if len(run) > 1 else []
    if len(run) == 1:
        return [run] if run > "\u30ff" else []
    pairs = [run[n : n + 2] for n in range(len(run) - 1)]
    return [pair for pair in pairs if pair not in STOPWORDS]


def rank(terms: Sequence[str], texts: Iterable[NoteText], limit: int) -> list[SearchResult]:
    """Return the texts with any of the terms, ranked by number and rarity of the terms, then by id."""
    normalized = [(text, normalize_text(text.title), normalize_text(text.content)) for text in texts]
    counts = {term: sum(term in title or term in content for _, title, content in normalized) for term in terms}
    weights = {term: math.log(1 + len(normalized) / count) for term, count in counts.items() if count}
    scored = [
        (sum(weight * ((term in content) + TITLE_WEIGHT * (term in title)) for term, weight in weights.items()), text)
        for text, title, content in normalized
    ]
    best = sorted((each for each in scored if each[0] > 0), key=lambda each: (-each[0], each[1].id))
    return [to_result(text, sorted(weights, key=lambda term: -weights[term])) for _, text in best[:limit]]


def to_result(text: NoteText, terms: Sequence[str]) -> SearchResult:
    """Return the result for a text, with an excerpt around the first matching term."""
    flat = " ".join(text.content.split())
    folded = flat.casefold()
    position = next((at for term in terms if (at := folded.find(term)) >= 0), 0)
    start = max(0, min(position - CONTEXT_BEFORE, len(flat) - EXCERPT_LENGTH))
    excerpt = flat[start : start + EXCERPT_LENGTH].strip()
    shortened = f"{'…' if start else ''}{excerpt}{'…' if start + EXCERPT_LENGTH < len(flat) else ''}"
    return SearchResult(id=text.id, title=text.title, excerpt=shortened)
