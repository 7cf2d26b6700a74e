"""Questions answered at once: from the list of frequent ones, from all texts of the office, by arithmetic."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from ringi.assistant import CallJob, in_language
from ringi.demo.assistant.calculation import CalculationError, calculated, found_in, shown
from ringi.demo.assistant.office import Office, Row

MOST_FOUND = 8
LEAST_ALIKE = 0.34
"""How much of a question must be in an entry for it to be the answer."""
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
SAID: dict[str, dict[str, str]] = {
    "no_answer": {
        "en": "I found no answer to “{query}” among the frequent questions. Try a search, or ask in other words.",
        "ja": "「{query}」に当てはまるよくある質問は見つかりませんでした。検索するか、別の言い方でお試しください。",
        "zh": "常见问题中没有找到“{query}”的答案。请尝试搜索，或换一种说法。",
    },
    "nothing": {
        "en": "Nothing in the office's data has “{query}” in it.",
        "ja": "「{query}」を含むデータは見つかりませんでした。",
        "zh": "数据中没有包含“{query}”的内容。",
    },
    "found": {
        "en": "This is what I found for “{query}”:",
        "ja": "「{query}」の検索結果です:",
        "zh": "“{query}”的搜索结果：",
    },
    "more": {
        "en": "There is more; add a word.",
        "ja": "ほかにもあります。語を足してください。",
        "zh": "还有更多，请增加关键词。",
    },
    "no_sum": {
        "en": "I see no arithmetic in “{query}”. Write it as in (3 + 4) * 1.1.",
        "ja": "「{query}」に計算式が見つかりません。(3 + 4) * 1.1 のように書いてください。",
        "zh": "“{query}”中没有算式。请写成 (3 + 4) * 1.1 的形式。",
    },
    "unclear": {
        "en": "I cannot read all of “{query}” as arithmetic, so I work out none of it. Write it as in (3 + 4) * 1.1.",
        "ja": "「{query}」には計算式として読めない部分があるため、計算しません。(3 + 4) * 1.1 のように書いてください。",
        "zh": "“{query}”中有无法作为算式理解的部分，因此不予计算。请写成 (3 + 4) * 1.1 的形式。",
    },
    "no_result": {
        "en": "“{query}” has no result that is a number of reasonable size.",
        "ja": "「{query}」には、適切な大きさの数としての答えがありません。",
        "zh": "“{query}”没有大小合理的数值结果。",
    },
}


class Answers:
    """The workflows of the immediate actions."""

    def __init__(self, office: Office) -> None:
        self._office = office

    async def faq(self, job: CallJob) -> str:
        """Return the answer of the entry that is most like the question."""
        query = str(job.inputs["user_query"])
        best = max(await self._office.read(FAQ), key=lambda entry: likeness(query, entry))
        if likeness(query, best) < LEAST_ALIKE:
            return said("no_answer", job.language, query)
        return f"**{in_language(best['question'], job.language)}**\n\n{in_language(best['answer'], job.language)}"

    async def search(self, job: CallJob) -> str:
        """Return what has all words of the query in it."""
        query = str(job.inputs["user_query"])
        found = await self.found(query)
        if not found:
            return said("nothing", job.language, query)
        lines = [line_of(each, job.language) for each in found[:MOST_FOUND]]
        more = [said("more", job.language, query)] if len(found) > MOST_FOUND else []
        return "\n".join([said("found", job.language, query), "", *lines, *more])

    async def found(self, query: str) -> list[Row]:
        """Return the texts in which every word of a query stands, in either language; titles first."""
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
            expression = found_in(query)
            if expression is None:
                return said("no_sum", job.language, query)
            return f"{expression} = **{shown(calculated(expression))}**"
        except CalculationError as error:
            return said(error.code, job.language, query)


def said(code: str, language: str, query: str) -> str:
    """Return a sentence about a query."""
    return in_language(SAID[code], language).format(query=query)


def line_of(row: Row, language: str) -> str:
    """Return a line about what was found."""
    return f"- **{in_language(row['title'], language)}** ({row['id']}): {in_language(row['text'], language)}"


def plain(text: str) -> str:
    """Return a text as it is compared: without differences of width and case."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(query: str) -> list[str]:
    """Return the words of a query that say what it is about."""
    words = ["".join(letter for letter in word if letter.isalnum() or letter in "-_.") for word in plain(query).split()]
    return [word.strip(".") for word in words if word.strip(".") and not DROPPED.fullmatch(word)]


def escaped(word: str) -> str:
    """Return a word as a pattern that means nothing but itself."""
    for sign in "!%_":
        word = word.replace(sign, f"!{sign}")
    return word


def likeness(query: str, entry: Row) -> float:
    """Return which part of a question stands in an entry: of its words, or of its pairs of letters in Japanese."""
    entries = plain(" ".join([*entry["question"].values(), entry["words"]]))
    wanted = parts_of(query)
    return sum(part in entries for part in wanted) / len(wanted) if wanted else 0.0


def parts_of(query: str) -> set[str]:
    """Return what a question is compared by."""
    words = words_of(query)
    if query.isascii():
        return {word.rstrip("s") for word in words}
    letters = "".join(words)
    kept = {letters[n : n + 2] for n in range(len(letters) - 1)}
    return {pair for pair in kept if not all("\u3040" <= letter <= "\u309f" for letter in pair)} or kept


def workflows(office: Office) -> dict[str, Any]:
    """Return the workflows by name."""
    answers = Answers(office)
    return {
        "faqWorkflow": answers.faq,
        "dataSearchWorkflow": answers.search,
        "calculationWorkflow": answers.calculate,
    }


__all__ = ["Answers", "CalculationError", "workflows"]
