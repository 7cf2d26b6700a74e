"""Immediate answers: from frequent questions, from a search, or by calculation."""

from __future__ import annotations

import re
import unicodedata

from ringi_apps.assistant import CallJob, in_language
from ringi_apps.assistant.demo.calculation import CalculationError, calculate, expression_in, format_number
from ringi_apps.assistant.demo.office import Office, TableRow
from ringi_apps.assistant.demo.shared import text_in

MAX_RESULTS = 8
MIN_SIMILARITY = 0.34
"""The part of a question that an entry must contain to be the answer."""
FAQ = "SELECT id, question_en, question_ja, answer_en, answer_ja, words FROM faq ORDER BY id"
SEARCH = (
    "SELECT kind, id, title_en, title_ja, text_en, text_ja FROM texts WHERE {every} ORDER BY {first} DESC, id LIMIT 9"
)
IN_ALL = "title_en || ' ' || title_ja || ' ' || text_en || ' ' || text_ja LIKE :word{n} ESCAPE '!'"
IN_TITLE = "title_en || ' ' || title_ja LIKE :word0 ESCAPE '!'"
DROPPED = re.compile(
    r"a|an|about|are|can|do|does|find|for|from|have|how|i|in|is|it|look|me|my|of|on|search|show|that|the|there|to|up|us"
    r"|we|what|when|where|which|who|with|you|your"
)


class Answers:
    """The workflows of the immediate actions."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def faq(self, job: CallJob) -> str:
        """Return the answer of the most similar frequent question."""
        query = str(job.inputs["user_query"])
        best = max(await self._office.read(FAQ), key=lambda entry: similarity(query, entry))
        if similarity(query, best) < MIN_SIMILARITY:
            return sentence("no_answer", job.language, query)
        return f"**{in_language(best['question'], job.language)}**\n\n{in_language(best['answer'], job.language)}"

    async def search(self, job: CallJob) -> str:
        """Return the entries that contain all words of the query."""
        query = str(job.inputs["user_query"])
        results = await self.find(query)
        if not results:
            return sentence("nothing", job.language, query)
        lines = [line_of(each, job.language) for each in results[:MAX_RESULTS]]
        more = [sentence("more", job.language, query)] if len(results) > MAX_RESULTS else []
        return "\n".join([sentence("results", job.language, query), "", *lines, *more])

    async def find(self, query: str) -> list[TableRow]:
        """Return the texts that contain every word of a query, in either language; title matches first."""
        words = words_of(query)
        if not words:
            return []
        params = {f"word{n}": f"%{escaped(word)}%" for n, word in enumerate(words)}
        every = " AND ".join(f"({IN_ALL.format(n=n)})" for n in range(len(words)))
        return await self._office.read(SEARCH.format(every=every, first=f"({IN_TITLE})"), params)

    async def calculate(self, job: CallJob) -> str:
        """Return the result of the arithmetic in the query."""
        query = str(job.inputs["user_query"])
        try:
            expression = expression_in(query)
            if expression is None:
                return sentence("no_sum", job.language, query)
            return f"{expression} = **{format_number(calculate(expression))}**"
        except CalculationError as error:
            return sentence(error.reason, job.language, query)


def sentence(code: str, language: str, query: str) -> str:
    """Return a sentence about a query in a language."""
    return text_in(language, "answers", code, query=query)


def line_of(row: TableRow, language: str) -> str:
    """Return a result as a line."""
    return f"- **{in_language(row['title'], language)}** ({row['id']}): {in_language(row['text'], language)}"


def plain(text: str) -> str:
    """Normalize the width and case of a text."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(query: str) -> list[str]:
    """Return the meaningful words of a query."""
    words = ["".join(letter for letter in word if letter.isalnum() or letter in "-_.") for word in plain(query).split()]
    return [word.strip(".") for word in words if word.strip(".") and not DROPPED.fullmatch(word)]


def escaped(word: str) -> str:
    """Escape a word for LIKE."""
    for sign in "!%_":
        word = word.replace(sign, f"!{sign}")
    return word


def similarity(query: str, entry: TableRow) -> float:
    """Return the part of a question that an entry contains: of its words, or of letter pairs in Japanese."""
    entries = plain(" ".join([*entry["question"].values(), entry["words"]]))
    parts = parts_of(query)
    return sum(part in entries for part in parts) / len(parts) if parts else 0.0


def parts_of(query: str) -> set[str]:
    """Return the words or letter pairs of a question for a comparison."""
    words = words_of(query)
    if query.isascii():
        return {word.rstrip("s") for word in words}
    letters = "".join(words)
    pairs = {letters[n : n + 2] for n in range(len(letters) - 1)}
    return {pair for pair in pairs if not all("\u3040" <= letter <= "\u309f" for letter in pair)} or pairs
