"""The bench of learning does what it says: on the way of the product, with a person who decides, and with any model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from benchmarks.apps import learning, playbooks
from benchmarks.apps.answers import as_answerer, is_right
from benchmarks.apps.classroom import Material, Report, run_course
from benchmarks.apps.formula import TEST, TRAIN, FormatError, Question, book_of, lesson, poison, read, select
from benchmarks.apps.grades import mcnemar
from benchmarks.apps.learning import COURSES, PAPER, courses, main
from benchmarks.apps.pupil import Pupil
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from tests.integrations.langchain.openai_server import Answer, provider, saying

from ringi.testing.model import ScriptedModel

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
        return saying(json.dumps(reply.tool_calls[0]["args"]))

    return script


def material(data: Path) -> Material:
    lessons, exams = read(data, TRAIN), read(data, TEST)
    return Material(select(lessons, 4), exams, book_of(lessons))


def test_a_question_is_asked_without_its_formula(data: Path) -> None:
    question = read(data, TEST)[0]

    assert question[:2] == ("Area of a Field (AF)", "AF = Length * Width")
    assert question.text == "What is area of a field (af) number 3?"
    assert question.target == "3.5"
    assert question.id == f"{TEST}:1"


def test_data_of_another_form_is_refused_with_its_place(data: Path) -> None:
    (data / TEST).write_text('{"context": "What is 2 + 2?", "target": "4"}\n')

    with pytest.raises(FormatError, match=rf"{TEST}:1 is no question"):
        read(data, TEST)
    with pytest.raises(FormatError, match="--data is a folder with"):
        read(data / "nowhere", TEST)


def test_each_formula_is_taught_once_before_one_is_taught_twice(data: Path) -> None:
    names = [question.name for question in select(read(data, TRAIN), 6)]

    assert names == [*OF, *list(OF)[:2]]


async def test_what_was_approved_is_used_and_what_was_rejected_is_not(data: Path, tmp_path: Path) -> None:
    taught = material(data)
    model = Pupil([*taught.lessons, *taught.exams]).model
    reports = dict[str, Report]()
    for number, course in enumerate(courses(taught, EVERY)):
        path = tmp_path / str(number)
        path.mkdir()
        reports[course.key] = await run_course(course, taught, model, path)
    assert tuple(reports) == COURSES
    base, approved, rejected, guarded, poisoned, selected = reports.values()

    assert [each.right for each in (base, approved, rejected)] == [2, 4, 2]
    assert (approved.bullets, rejected.bullets, rejected.outcomes["rejected"]) == (4, 0, 4)
    assert (guarded.poison_count, guarded.wrong_bullets) == (2, 0)
    assert (poisoned.poison_count, poisoned.wrong_bullets, poisoned.bullets) == (2, 2, 4)
    assert (poisoned.right, selected.right) == (2, 4)
    assert [(each.unapproved, each.findings, each.failed) for each in reports.values()] == [(0, 0, 0)] * 6
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

        command = ["--data", str(data), "--questions", "2", "--courses", "base,approved"]
        assert main([*command, "--model", "openai:scripted"]) == 0

    output = capsys.readouterr().out
    lines = [line.split("|") for line in output.splitlines() if line.startswith(("| base:", "| approved:"))]
    assert [line[2].strip() for line in lines[:2]] == ["1", "2"]
    assert "MECHANICS" not in output
    assert "not counted" in output
    assert "the paper's numbers, not ours" in output
    assert "85.5" in output
    assert all(asked["response_format"]["type"] == "json_schema" for asked in server.asked)
    assert {asked["temperature"] for asked in server.asked} == {0}
    assert "calls take about" in output


def test_a_bench_that_was_stopped_does_not_ask_again_and_writes_every_result(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    taught, results, prompts = material(data), tmp_path / "results.jsonl", list[str]()
    pupil = Pupil([*taught.lessons, *taught.exams])

    def script(messages: Sequence[BaseMessage]) -> AIMessage:
        prompts.append(messages[-1].text)
        return pupil.say(messages)

    monkeypatch.setattr(playbooks, "SIZES", (3,))
    monkeypatch.setattr(learning, "load_model", lambda _, cache: ScriptedModel(script=script, cache=cache))
    command = ["--data", str(data), "--questions", "4", "--model", "any:model", "--courses", "base,approved"]
    command += ["--cache", str(tmp_path / "cache"), "--results", str(results)]

    assert main(command) == 0
    first, asked = results.read_text("utf-8"), len(prompts)
    assert main(command) == 0
    assert len(prompts) == asked
    assert "in the cache" in capsys.readouterr().out
    assert sorted(results.read_text("utf-8").splitlines()) == sorted(first.splitlines())
    assert main([*command, "--reflector", "script"]) == 0

    # Base: 4. Approved: 4 lessons, with an answer and a reflection each, and 4 questions. A script's lessons: none.
    assert asked == len(prompts) == 4 + 8 + 4
    lines = [json.loads(line) for line in first.splitlines()]
    assert [(line["course"], line["right"]) for line in lines].count(("approved", True)) == 4
    assert {line["question"] for line in lines} == {question.id for question in taught.exams}
    assert lines[0].keys() == {"course", "question", "answer", "expected", "right"}


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (["--courses", "base,final"], "there is no course 'final'; choose from base, approved"),
        (["--reflector", "model"], "--reflector model needs --model PROVIDER:NAME"),
        (["--bullets", "0"], "are 1 or more"),
    ],
)
def test_a_wrong_option_is_refused_with_the_remedy(
    data: Path, capsys: pytest.CaptureFixture[str], option: list[str], problem: str
) -> None:
    with pytest.raises(SystemExit):
        main(["--data", str(data), *option])

    assert problem in capsys.readouterr().err


@pytest.mark.parametrize(("first", "second", "p"), [(0, 0, 1), (5, 5, 1), (0, 5, 0.0625), (1, 16, 36 / 2**17)])
def test_mcnemar_is_exact_and_two_sided(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == mcnemar(second, first) == pytest.approx(p)


def test_the_curator_asks_no_model_and_an_added_bullet_leaves_the_prompt_before_it_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playbooks, "SIZES", (10, 100))

    few, many = asyncio.run(playbooks.costs(tmp_path))

    assert (few.bullets, many.bullets) == (10, 100)
    assert few.prefix < many.prefix
    assert many.prefix > 0.95
    assert many.edited < 0.6


async def test_the_pupil_knows_every_second_formula_and_what_it_is_taught(data: Path) -> None:
    questions = read(data, TEST)
    answerer = as_answerer(Pupil(questions).model)
    known = list(OF)[::2]

    async def answer(question: Question, line: str) -> bool:
        messages = [SystemMessage(f"[b-00001] (formulas) {line}"), HumanMessage(question.text)]
        return is_right(question.target, (await answerer.ainvoke(messages)).text)

    assert [each.name for each in questions if await answer(each, "Always say the unit.")] == known
    assert all([await answer(each, lesson(each.name, each.body)) for each in questions])
    assert not any([await answer(each, poison(each.name, book_of(questions))) for each in questions])
