"""What the example assistants do: answer, search and calculate at once, and write the steps of plans."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ringi_apps.assistant.demo.answers import Answers
from ringi_apps.assistant.demo.calculation import CalculationError, calculate, expression_in, format_number
from ringi_apps.assistant.demo.ledger import StepError, carry_out
from ringi_apps.assistant.demo.office import Office
from ringi_apps.assistant.jobs import CallJob, StepJob

MILESTONE = {
    "project": "proj-001",
    "title": "Build",
    "starts_on": "2026-11-23",
    "due_on": "2027-01-01",
    "owner": "user-003",
}
TASK = {"lead": "lead-001", "title": "Call them", "owner": "user-011", "due_on": "2026-12-04"}


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path / "office.db")


def asked(query: str, language: str = "en") -> CallJob:
    return CallJob({}, {"user_query": query}, language)


def a_step(action: str, args: dict[str, Any], key: str = "plan:1:a") -> StepJob:
    return StepJob({"id": "a", "title": "Build", "action": action, "args": args}, key, {}, {}, "en")


async def counted(office: Office, table: str) -> int:
    return int((await office.read(f"SELECT count(*) AS rows FROM {table}"))[0]["rows"])


@pytest.mark.parametrize(
    ("action", "args", "table"), [("add_milestone", MILESTONE, "milestones"), ("add_task", TASK, "tasks")]
)
async def test_a_step_that_is_repeated_writes_once(
    office: Office, action: str, args: dict[str, Any], table: str
) -> None:
    before = await counted(office, table)
    first = await carry_out(office, a_step(action, args))
    again = await asyncio.gather(*(carry_out(office, a_step(action, args)) for _ in range(5)))
    assert again == [first] * 5
    assert await counted(office, table) == before + 1
    await carry_out(office, a_step(action, args, key="plan:2:a"))
    assert await counted(office, table) == before + 2


@pytest.mark.parametrize(
    ("action", "args", "words"),
    [
        ("delete_all", {}, "'delete_all' is not an available action: use one of add_milestone, add_task"),
        ("add_task", {**TASK, "lead": "lead-999"}, "'lead-999' is not in leads"),
        ("add_milestone", {**MILESTONE, "owner": "nobody"}, "'nobody' is not in people"),
        ("add_milestone", {**MILESTONE, "due_on": "later"}, "due_on: "),
        ("add_milestone", {"title": "Build"}, "project, starts_on is missing"),
    ],
)
async def test_a_step_that_cannot_be_done_says_why_and_writes_nothing(
    office: Office, action: str, args: dict[str, Any], words: str
) -> None:
    before = [await counted(office, table) for table in ("milestones", "tasks")]
    with pytest.raises(StepError, match=words):
        await carry_out(office, a_step(action, args))
    assert [await counted(office, table) for table in ("milestones", "tasks")] == before


@pytest.mark.parametrize(
    ("query", "id"),
    [
        ("倉庫", "proj-003"),
        ("青葉", "lead-001"),
        ("ｐｒｉｃｅ cut in half", None),
        ("website", "proj-001"),
        ("WEBSITE relaunch", "proj-001"),
        ("100%", None),
        ("_____", None),
    ],
)
async def test_texts_are_found_in_either_language(office: Office, query: str, id: str | None) -> None:
    found = await Answers(office).find(query)
    assert (id in [row["id"] for row in found]) if id else found == []


async def test_a_search_tells_what_it_found_in_the_language_of_the_question(office: Office) -> None:
    answers = Answers(office)
    assert "倉庫スキャナー導入" in await answers.search(asked("倉庫", "ja"))
    assert "Warehouse scanners" in await answers.search(asked("倉庫", "en"))
    assert "xyzzy" in await answers.search(asked("xyzzy"))


async def test_what_a_plan_wrote_is_found(office: Office) -> None:
    await carry_out(office, a_step("add_task", {**TASK, "title": "灯台を訪ねる"}))
    assert "灯台を訪ねる" in await Answers(office).search(asked("灯台", "ja"))


@pytest.mark.parametrize(
    ("query", "language", "words"),
    [
        ("How do I reset my password?", "en", "Forgotten password"),
        ("I forgot my password", "en", "Forgotten password"),
        ("How many days of leave do I have?", "en", "Twenty days"),
        ("who approves purchases", "en", "Up to 1,000"),
        ("有給は何日ありますか?", "ja", "年に二十日"),
        ("パスワードを忘れました", "ja", "パスワードをお忘れの方"),
        ("出張の精算はどうすればいいですか", "ja", "領収書"),
        ("Why is the sky blue?", "en", "No frequent question matches"),
        ("宇宙の果てには何がありますか", "ja", "見つかりませんでした"),
    ],
)
async def test_frequent_questions_are_answered(office: Office, query: str, language: str, words: str) -> None:
    assert words in await Answers(office).faq(asked(query, language))


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("0.1 + 0.2", "0.3"),
        ("12500 × 12", "150000"),
        ("１２００÷８", "150"),
        ("2 ^ 10", "1024"),
        ("-7 / 2", "-3.5"),
        ("15% of 2400", "360"),
        ("2400の15%", "360"),
        ("1/3", "0.333333333333333"),
        ("1/3*3", "1"),
        ("123456789 * 987654321", "121932631112635269"),
        ("200 + 10%", "220"),
        ("200 - 10%", "180"),
        ("200の10%増し", "220"),
        ("200から10%引き", "180"),
    ],
)
def test_arithmetic_is_exact(expression: str, result: str) -> None:
    assert format_number(calculate(expression)) == result


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "__import__('os').system('true')",
        "a + 1",
        "1 +",
        "'a' * 3",
        "True + 1",
        "[1][0]",
        "0x10",
        "7 // 2",
        "7 % 2",
        "1j * 2",
        "1 if 1 else 2",
        "1,234 + 1",
        "1.234,56 * 2",
        "1 / 0",
        "0 ** 0",
        "9 ** 9 ** 9 ** 9",
        "9" * 300,
        "(" * 199,
    ],
)
def test_what_is_no_arithmetic_is_refused_in_words(expression: str) -> None:
    with pytest.raises(CalculationError, match="write numbers"):
        calculate(expression)


@pytest.mark.parametrize(
    ("words", "expression"),
    [
        ("What is 1200 * 1.1?", "1200 * 1.1"),
        ("計算して: (3 + 4) * 2", "(3 + 4) * 2"),
        ("12500 × 12 はいくら?", "12500 * 12"),
        ("what is 15% of 2400", "15/100*2400"),
        ("order 66", None),
        ("What is love?", None),
    ],
)
def test_arithmetic_is_found_in_a_sentence(words: str, expression: str | None) -> None:
    assert expression_in(words) == expression


async def test_a_calculation_is_answered_with_its_result(office: Office) -> None:
    assert await Answers(office).calculate(asked("What is 1200 * 1.1?")) == "1200 * 1.1 = **1320**"
    assert "計算式" in await Answers(office).calculate(asked("こんにちは", "ja"))
    assert await Answers(office).calculate(asked("200 + 10%")) == "200*(1+10/100) = **220**"


@pytest.mark.parametrize(
    "query",
    [
        "1e5*2",
        "100 + 200 + 10%",
        "200 / 10% of 50",
        "2 * 3万",
        "2 * 3 million",
        "sqrt(16) * 2",
        "2 * 5!",
        "3 * 4²",
        "10:30 - 9:15",
        "2026-11-22",
        "2026-11-22 + 3",
        "5% of tips on 80 + 20",
        "200の10%税込み",
        "200 * 1.1 % 7",
        "1+2, 3+4",
    ],
)
async def test_arithmetic_that_would_leave_something_over_is_refused_in_words(office: Office, query: str) -> None:
    answers = [await Answers(office).calculate(asked(query, language)) for language in ("en", "ja")]
    assert "I did not calculate it" in answers[0]
    assert "計算しません" in answers[1]


@pytest.mark.parametrize("query", ["1,234 + 1", "what is 12,50 * 2", "１，２３４＋１", "1.234,56 * 2", "1 + 2,5"])
async def test_a_comma_in_a_number_is_refused_with_the_notation_that_is_read(office: Office, query: str) -> None:
    for language in ("en", "ja", "zh"):
        assert "1234.56" in await Answers(office).calculate(asked(query, language))


async def test_what_the_calculator_writes_it_reads(office: Office) -> None:
    written = format_number(calculate("123456.75 * 1000"))
    assert (written, calculate(f"{written} * 1")) == ("123456750", calculate("123456750"))


async def test_a_sum_without_a_result_is_told_in_the_language_of_the_question(office: Office) -> None:
    assert "答えがありません" in await Answers(office).calculate(asked("1 / 0", "ja"))
