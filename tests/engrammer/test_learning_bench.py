"""The bench of learning does what it says: on the way of the product, with a person who decides, and with any model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks import playbooks
from benchmarks.classroom import Material, Report, run_course
from benchmarks.formula import (
    TEST,
    TRAIN,
    FormatError,
    Question,
    book_of,
    contradicts,
    is_right,
    lesson,
    poison,
    read,
    select,
)
from benchmarks.learning import PAPER, courses, main
from benchmarks.pupil import Pupil
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tests.integrations.langchain.openai_server import Answer, provider, saying

OF = {"Area of a Field (AF)": "AF = Length * Width", "Boat Speed": "Boat Speed = Way / Hours"}
OF |= {"Cart Load": "Cart Load = Sacks * Weight of a Sack", "Door Price": "Door Price = Planks * Price + Lock"}
EVERY = 2


def row(name: str, number: int) -> dict[str, str]:
    head = f"Use formula {name} to answer the question. Answer with a number."
    task = f"{head} Formula: {OF[name]}, Explanation: As it says."
    return {"context": f'{task} Question:  "What is {name.lower()} number {number}?". Answer:', "target": f"{number}.5"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with questions of ours, in the form of those of the authors."""
    folder = tmp_path / "formula"
    folder.mkdir()
    for file, numbers in ((TRAIN, (1, 2)), (TEST, (3,))):
        rows = [row(name, number) for name in OF for number in numbers]
        (folder / file).write_text("".join(f"{json.dumps(each)}\n" for each in rows), "utf-8")
    return folder


def spoken_by(pupil: Pupil) -> Callable[[list[Answer]], Answer]:
    """Return what the pupil says as a provider's answers: a reflection is JSON in words."""
    kinds: dict[str, type[BaseMessage]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}

    def script(messages: list[Answer]) -> Answer:
        reply = pupil.say([kinds[each["role"]](each["content"]) for each in messages])
        return saying(json.dumps(reply.tool_calls[0]["args"]) if reply.tool_calls else reply.text)

    return script


def material(data: Path) -> Material:
    lessons, exams = read(data, TRAIN), read(data, TEST)
    return Material(select(lessons, 4), exams, book_of(lessons))


def test_a_question_is_asked_without_its_formula(data: Path) -> None:
    question = read(data, TEST)[0]

    assert question[:2] == ("Area of a Field (AF)", "AF = Length * Width")
    assert question.asked.startswith("What is area of a field (af) number 3? Give one plain number")
    assert question.body not in question.asked
    assert question.target == "3.5"


def test_data_of_another_form_is_refused_with_its_place(data: Path) -> None:
    (data / TEST).write_text('{"context": "What is 2 + 2?", "target": "4"}\n')

    with pytest.raises(FormatError, match=rf"{TEST}:1 is no question"):
        read(data, TEST)
    with pytest.raises(FormatError, match="--data is a folder with"):
        read(data / "nowhere", TEST)


def test_each_formula_is_taught_once_before_one_is_taught_twice(data: Path) -> None:
    names = [question.name for question in select(read(data, TRAIN), 6)]

    assert names == [*OF, *list(OF)[:2]]


@pytest.mark.parametrize(
    ("response", "is_it"),
    [
        ("Answer: 1500000.0", True),
        ("By [b-00012].\n\nAnswer: 1,500,000", True),
        ("It is 1.5e6 [b-00012]", True),
        ("Answer: 1500000.01", False),
        ("1500000.0 is wrong. Answer: 2", False),
        ("I cannot tell.", False),
    ],
)
def test_an_answer_is_right_if_its_last_number_is_to_the_last_digit(response: str, is_it: bool) -> None:
    assert is_right("1500000.0", response) is is_it


def test_poison_is_another_formula_under_the_right_name_and_the_book_tells(data: Path) -> None:
    book = material(data).book

    assert poison("Door Price", book) == lesson("Door Price", OF["Area of a Field (AF)"])
    assert all(contradicts(poison(name, book), book) for name in book)
    assert not any(contradicts(lesson(name, body), book) for name, body in book.items())
    assert not contradicts("Always say the unit.", book)


async def test_what_was_approved_is_used_and_what_was_rejected_is_not(data: Path, tmp_path: Path) -> None:
    taught = material(data)
    model = Pupil([*taught.lessons, *taught.exams]).model
    reports = dict[str, Report]()
    for number, course in enumerate(courses(taught, EVERY)):
        path = tmp_path / str(number)
        path.mkdir()
        reports[course.name] = await run_course(course, taught, model, path)
    base, approved, rejected, guarded, poisoned = reports.values()

    assert [each.right for each in (base, approved, rejected)] == [2, 4, 2]
    assert (approved.bullets, rejected.bullets, rejected.outcomes["rejected"]) == (4, 0, 4)
    assert (guarded.poison_count, guarded.wrong_bullets) == (2, 0)
    assert (poisoned.poison_count, poisoned.wrong_bullets, poisoned.bullets) == (2, 2, 4)
    assert poisoned.right == 2
    assert [(each.unapproved, each.findings, each.failed) for each in reports.values()] == [(0, 0, 0)] * 5
    assert not base.lessons
    assert [turn["feedback"]["source"] for turn in approved.lessons] == ["ground_truth"] * 4


def test_a_script_says_that_it_checks_the_mechanics_and_compares_with_nobody(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbooks, "SIZES", (3, 6))

    assert main(["--data", str(data), "--questions", "4", "--poison-every", str(EVERY)]) == 0

    output = capsys.readouterr().out
    assert "MECHANICS CHECK" in output
    assert "paper" not in output
    assert str(PAPER["ACE offline, with labels"]) not in output


def test_a_provider_over_http_is_taught_and_examined_unchanged_and_the_papers_numbers_stand_beside(
    data: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taught = material(data)
    monkeypatch.setattr(playbooks, "SIZES", (3,))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with provider(spoken_by(Pupil([*taught.lessons, *taught.exams]))) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)

        assert main(["--data", str(data), "--questions", "2", "--model", "openai:scripted"]) == 0

    output = capsys.readouterr().out
    rights = [line.split("|")[2].strip() for line in output.splitlines() if line.startswith(("| base", "| all"))][:3]
    assert rights == ["1", "2", "1"]
    assert "MECHANICS" not in output
    assert "not counted" in output
    assert "the paper's numbers, not ours" in output
    assert "85.5" in output
    assert {"response_format" in asked for asked in server.asked} == {True, False}


def test_the_curator_asks_no_model_and_an_added_bullet_leaves_the_prompt_before_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbooks, "SIZES", (10, 100))

    few, many = asyncio.run(playbooks.costs(tmp_path))

    assert (few.bullets, many.bullets) == (10, 100)
    assert few.prefix < many.prefix
    assert many.prefix > 0.95
    assert many.edited < 0.6


def test_the_pupil_knows_every_second_formula_and_what_it_is_taught(data: Path) -> None:
    questions = read(data, TEST)
    pupil = Pupil(questions)
    known = list(OF)[::2]

    def answer(question: Question, line: str) -> bool:
        reply = pupil.say([SystemMessage(f"[b-00001] (formulas) {line}"), HumanMessage(question.asked)])
        return is_right(question.target, reply.text)

    assert [each.name for each in questions if answer(each, "Always say the unit.")] == known
    assert all(answer(each, lesson(each.name, each.body)) for each in questions)
    assert not any(answer(each, poison(each.name, book_of(questions))) for each in questions)
