"""A course that uses the product itself.

An Engrammer on SQLite learns question by question, and a person decides on each insight in the inbox. Then it is
examined on other questions, from which it learns nothing.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from benchmarks.apps.answers import PROMPT, as_answerer, is_right
from benchmarks.apps.formula import Question
from benchmarks.apps.pupil import Poisoner
from benchmarks.apps.reviewer import review
from benchmarks.threads import Desk, desk_at
from ringi.audit.verify import verify_store
from ringi.domain.record import DEFAULT_TENANT, Key, Query, record_topic
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.testing.model import ScriptedModel
from ringi_apps.engrammer import Engrammer
from ringi_apps.engrammer.persistence import read_entries, read_playbook, turns_in_newest_checkpoint
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.rendering import playbook_tokens
from ringi_apps.engrammer.roles import Reflection
from ringi_apps.engrammer.turns import Turn

BUDGET = 80_000
"""The token limit that the authors set for a playbook."""
AT_ONCE = 4
PATIENCE = 3600.0
"""The limit for one question, in seconds; a provider may be slow."""
TEACHER, REVIEWER = "teacher", "reviewer"
Rule = Callable[[str], bool]
"""A function from the text of an insight to the reviewer's approval."""


@dataclass(frozen=True)
class Course:
    """The rules for the insights of one course."""

    key: str
    """The name on the command line and in the results."""
    rule: str
    """The rule in words."""
    approves: Rule | None
    """None if nothing is taught."""
    poison_every: int = 0
    """Poison every n-th insight; 0 for none."""
    bullets: int | None = None
    """The number of bullets in the examinee's prompt, the most similar to the question; None for all."""

    @property
    def title(self) -> str:
        return f"{self.key}: {self.rule}"


@dataclass(frozen=True)
class Result:
    """The answer to one exam question."""

    course: str
    question: str
    """The id of the question."""
    answer: str | None
    """None if there is no answer."""
    expected: str
    right: bool


Progress = Callable[[Course, Result | None], None]
"""A function that is called with each result, and with None after each lesson."""


@dataclass
class Report:
    """The result of a course."""

    course: Course
    results: list[Result] = field(default_factory=list)
    failed: int = 0
    """The number of lessons and exam questions without an answer."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """The number of insights by outcome: learned, rejected, suppressed and so on."""
    poison_count: int = 0
    wrong_bullets: int = 0
    """The number of bullets whose formula differs from the book's."""
    unapproved: int = 0
    """The number of bullets that differ from the approved text; if it is not 0, the product is broken."""
    findings: int = 0
    """The findings of `ringi verify`."""
    bullets: int = 0
    tokens: int = 0
    lessons: list[Turn] = field(default_factory=list)
    exams: list[Turn] = field(default_factory=list)

    @property
    def asked(self) -> int:
        return len(self.results)

    @property
    def right(self) -> int:
        return sum(each.right for each in self.results)


@dataclass(frozen=True)
class Material:
    """The questions to teach and to examine, and the formulas that a reviewer looks up."""

    lessons: Sequence[Question]
    exams: Sequence[Question]
    book: dict[str, str]


async def run_course(
    course: Course,
    material: Material,
    model: BaseChatModel,
    path: Path,
    *,
    teacher: BaseChatModel | None = None,
    progress: Progress = lambda *_: None,
) -> Report:
    """Run a course with its own playbook, and return its report.

    Args:
        course: The rules.
        material: The questions.
        model: The model that is examined.
        path: An empty folder for the store.
        teacher: The model that answers the lessons and reflects on them; by default `model`.
        progress: Called with each result, and with None after each lesson.
    """
    every, teacher = [*material.lessons, *material.exams], teacher or model
    poisoner = Poisoner(teacher, every, course.poison_every) if course.poison_every else None
    common: dict[str, Any] = {"prompt": PROMPT, "grade": is_right, "budget": BUDGET, "playbook": "formula"}
    reflector = cast("BaseChatModel", poisoner) if poisoner else teacher
    pupil = Engrammer(as_answerer(teacher), name="pupil", reflector=reflector, **common)
    silent = ScriptedModel(script=lambda _: Reflection())
    examinee = Engrammer(as_answerer(model, course.bullets), name="examinee", reflector=silent, **common)
    report = Report(course)
    async with desk_at(f"sqlite:///{path / 'ringi.db'}", [*pupil.agents(), *examinee.agents()]) as desk:
        if course.approves:
            for number, question in enumerate(material.lessons):
                thread = await teach(desk, question, f"lesson-{number}", course.approves)
                report.failed += thread.status == "error"
                report.lessons += await turns_in_newest_checkpoint(desk.backend, thread)
                progress(course, None)
        await examine(desk, material.exams, report, progress)
        await assess(desk, material, report)
    report.poison_count = poisoner.poison_count if poisoner else 0
    return report


async def teach(desk: Desk, question: Question, id: str, approves: Rule) -> Thread:
    """Ask a question together with its answer, and decide on each proposed insight as a person."""
    await desk.runner.start(
        DEFAULT_TENANT, id, "pupil", {"query": question.text, "expected": question.target}, by=TEACHER
    )
    thread = await wait_until_idle(desk, id)
    while waiting := await desk.runner.pending(thread):
        for request in waiting:
            await decide(desk, request, approves)
        thread = await wait_until_idle(desk, id)
    return thread


async def decide(desk: Desk, request: Request, approves: Rule) -> None:
    """Answer an insight as a person does, with the digest of the display."""
    assert request.action
    # A repeated proposal: another thread has learned it meanwhile.
    is_new = not request.context["learning"]["renewed"]
    decision: Any = "approve" if is_new and approves(request.action.args["text"]) else "reject"
    await desk.inbox.respond(request, decision, by=REVIEWER)


async def examine(desk: Desk, questions: Sequence[Question], report: Report, progress: Progress) -> None:
    """Ask each question in a separate conversation, several at a time, and judge the answers."""
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, question: Question) -> tuple[Result, list[Turn]]:
        async with limit:
            id = f"exam-{number}"
            await desk.runner.start(DEFAULT_TENANT, id, "examinee", {"query": question.text}, by=TEACHER)
            turns = await turns_in_newest_checkpoint(desk.backend, await wait_until_idle(desk, id))
        answer = turns[-1]["response"] if turns else None
        right = answer is not None and is_right(question.target, answer)
        result = Result(report.course.key, question.id, answer, question.target, right)
        progress(report.course, result)
        return result, turns

    for result, turns in await asyncio.gather(*map(one, range(len(questions)), questions)):
        report.results.append(result)
        report.exams += turns
        report.failed += result.answer is None


async def wait_until_idle(desk: Desk, id: str) -> Thread:
    """Return a thread when no work is left for a worker."""
    query, topic = (
        Query(tenant=DEFAULT_TENANT, thread_id=id, unacknowledged=True),
        record_topic(Thread.record, Key(DEFAULT_TENANT, id)),
    )
    async with asyncio.timeout(PATIENCE), desk.backend.notifier.subscribe(topic) as wakeup:
        while True:
            is_left = await desk.backend.store.count(Request, query)
            # The order matters: a run that was taken up meanwhile appears as running.
            thread = await desk.runner.get(DEFAULT_TENANT, id)
            if not is_left and thread.status != "running":
                return thread
            await wakeup.wait(0.2)


async def assess(desk: Desk, material: Material, report: Report) -> None:
    """Report the state of the playbook, and whether a person approved each of its bullets."""
    store = desk.backend.store
    playbook = await read_playbook(store, DEFAULT_TENANT, "formula")
    texts = [bullet.content.text for bullet in playbook.active]
    report.bullets, report.tokens = len(texts), playbook_tokens(playbook)
    report.wrong_bullets = sum(review(text, material.book) == "wrong" for text in texts)
    report.unapproved = len(texts) - await approved_in(desk, playbook)
    report.findings = len((await verify_store(store))[1])
    for turn in report.lessons:
        report.outcomes.update(each["status"] for each in turn["outcomes"].values())
        report.outcomes["suppressed"] += len(turn["suppressed"])


async def approved_in(desk: Desk, playbook: Playbook) -> int:
    """Return how many active bullets equal a text that a person approved in a request."""
    approved = Counter[tuple[str, str]]()
    for written in await read_entries(desk.backend.store, DEFAULT_TENANT, "formula"):
        if not written.entry.changes:
            continue
        request = await desk.inbox.get(str(written.entry.request_id))
        response = request.response
        if response and response.responder == REVIEWER and response.decision == "approve" and request.granted:
            approved.update((change.bullet, request.granted.args["text"]) for change in written.entry.changes)
    return sum((bullet.id, bullet.content.text) in approved for bullet in playbook.active)


def usage_of(turns: Iterable[Turn], role: str) -> Counter[str]:
    """Return the cost of a role's model calls in some turns."""
    total = Counter[str]()
    for turn in turns:
        total.update(turn["usage"].get(role, {}))
    return total
