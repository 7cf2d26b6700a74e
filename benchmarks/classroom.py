"""A course as the product runs it: an Engrammer on SQLite is taught question by question, a person decides on each
insight in the inbox, and then it is examined on other questions and learns nothing from them."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from langchain_core.language_models import BaseChatModel

from benchmarks.formula import PROMPT, Question, contradicts, is_right
from benchmarks.pupil import Poisoner
from benchmarks.threads import Desk, desk_at
from ringi.audit.verify import verify
from ringi.domain.record import DEFAULT_TENANT, Key, Query, topic_of
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.engrammer import Engrammer
from ringi.engrammer.persistence import entries, read, turns_of
from ringi.engrammer.playbook import Playbook
from ringi.engrammer.rendering import size
from ringi.engrammer.roles import Reflection
from ringi.engrammer.turns import Turn
from ringi.testing.model import ScriptedModel

BUDGET = 80_000
"""As many tokens as the authors allow a playbook."""
AT_ONCE = 4
PATIENCE = 600.0
"""Seconds for one question; a provider may be slow."""
TEACHER, REVIEWER = "teacher", "reviewer"
Rule = Callable[[str], bool]
"""From the text of an insight to whether the reviewer approves it."""


@dataclass(frozen=True)
class Course:
    """What is done with what the agent proposes to learn."""

    name: str
    approves: Rule | None
    """None where nothing is taught at all."""
    poison_every: int = 0
    """Every so-manieth insight is poisoned; 0 for none."""


@dataclass
class Report:
    """How a course ended."""

    name: str
    asked: int = 0
    right: int = 0
    failed: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    """How many insights were learned, rejected, suppressed and so on."""
    slipped_in: int = 0
    wrong_bullets: int = 0
    """How many bullets give a formula that is not the book's."""
    unapproved: int = 0
    """How many bullets do not say what a person approved, to the letter: 0, or the product is broken."""
    findings: int = 0
    """What `ringi verify` finds."""
    bullets: int = 0
    tokens: int = 0
    lessons: list[Turn] = field(default_factory=list)
    exams: list[Turn] = field(default_factory=list)


@dataclass(frozen=True)
class Material:
    """What is taught, what is examined, and the formulas that a reviewer looks up."""

    lessons: Sequence[Question]
    exams: Sequence[Question]
    book: dict[str, str]


async def taken(course: Course, material: Material, model: BaseChatModel, path: Path) -> Report:
    """Take a course with a playbook of its own, and return how it ended."""
    every = [*material.lessons, *material.exams]
    poisoner = Poisoner(model, every, course.poison_every) if course.poison_every else None
    common: dict[str, Any] = {"prompt": PROMPT, "grade": is_right, "budget": BUDGET, "playbook": "formula"}
    pupil = Engrammer(model, name="pupil", reflector=cast("BaseChatModel", poisoner) if poisoner else None, **common)
    silent = ScriptedModel(script=lambda _: Reflection())
    examinee = Engrammer(model, name="examinee", reflector=silent, **common)
    report = Report(course.name)
    async with desk_at(f"sqlite:///{path / 'ringi.db'}", [*pupil.agents(), *examinee.agents()]) as desk:
        if course.approves:
            for number, question in enumerate(material.lessons):
                thread = await taught(desk, question, f"lesson-{number}", course.approves)
                report.failed += thread.status == "error"
                report.lessons += await turns_of(desk.backend, thread)
        await examined(desk, material.exams, report)
        await weighed(desk, material, report)
    report.slipped_in = poisoner.slipped_in if poisoner else 0
    return report


async def taught(desk: Desk, question: Question, id: str, approves: Rule) -> Thread:
    """Ask a question whose answer is told, and decide as a person on what is proposed for it."""
    await desk.runner.start(
        DEFAULT_TENANT, id, "pupil", {"query": question.asked, "expected": question.target}, by=TEACHER
    )
    thread = await settled(desk, id)
    while waiting := await desk.runner.pending(thread):
        for request in waiting:
            await decide(desk, request, approves)
        thread = await settled(desk, id)
    return thread


async def decide(desk: Desk, request: Request, approves: Rule) -> None:
    """Answer an insight as a person does: with the digest of what was shown."""
    assert request.action
    # What is proposed again was learned otherwise meanwhile.
    is_new = not request.context["learning"]["renewed"]
    decision: Any = "approve" if is_new and approves(request.action.args["text"]) else "reject"
    await desk.inbox.respond(request.id, decision, digest=request.digest, responder=REVIEWER)


async def examined(desk: Desk, questions: Sequence[Question], report: Report) -> None:
    """Ask each question in a conversation of its own, some at a time, and count the right answers."""
    turnstile = asyncio.Semaphore(AT_ONCE)

    async def one(number: int, question: Question) -> list[Turn]:
        async with turnstile:
            id = f"exam-{number}"
            await desk.runner.start(DEFAULT_TENANT, id, "examinee", {"query": question.asked}, by=TEACHER)
            return await turns_of(desk.backend, await settled(desk, id))

    for question, turns in zip(
        questions, await asyncio.gather(*map(one, range(len(questions)), questions)), strict=True
    ):
        report.exams += turns
        response = turns[-1]["response"] if turns else None
        report.asked += 1
        report.failed += response is None
        report.right += response is not None and is_right(question.target, response)


async def settled(desk: Desk, id: str) -> Thread:
    """Return a thread once nothing is left for a worker to do on it."""
    query, topic = (
        Query(tenant=DEFAULT_TENANT, thread_id=id, unacknowledged=True),
        topic_of(Thread.record, Key(DEFAULT_TENANT, id)),
    )
    async with asyncio.timeout(PATIENCE), desk.backend.notifier.subscribe(topic) as wakeup:
        while True:
            is_left = await desk.backend.store.count(Request, query)
            # In this order: what was taken up meanwhile shows as running.
            thread = await desk.runner.get(DEFAULT_TENANT, id)
            if not is_left and thread.status != "running":
                return thread
            await wakeup.wait(0.2)


async def weighed(desk: Desk, material: Material, report: Report) -> None:
    """Say what the playbook has come to, and whether a person approved each of its bullets."""
    store = desk.backend.store
    playbook = await read(store, DEFAULT_TENANT, "formula")
    texts = [bullet.content.text for bullet in playbook.active]
    report.bullets, report.tokens = len(texts), size(playbook)
    report.wrong_bullets = sum(contradicts(text, material.book) for text in texts)
    report.unapproved = len(texts) - await approved_in(desk, playbook)
    report.findings = len((await verify(store))[1])
    for turn in report.lessons:
        report.outcomes.update(each["status"] for each in turn["outcomes"].values())
        report.outcomes["suppressed"] += len(turn["suppressed"])


async def approved_in(desk: Desk, playbook: Playbook) -> int:
    """Return how many active bullets say, to the letter, what a person approved in a request."""
    approved = Counter[tuple[str, str]]()
    for written in await entries(desk.backend.store, DEFAULT_TENANT, "formula"):
        if not written.entry.changes:
            continue
        request = await desk.inbox.get(str(written.entry.request_id))
        said = request.response
        if said and said.responder == REVIEWER and said.decision == "approve" and request.granted:
            approved.update((change.bullet, request.granted.args["text"]) for change in written.entry.changes)
    return sum((bullet.id, bullet.content.text) in approved for bullet in playbook.active)


def spent(turns: Iterable[Turn], role: str) -> Counter[str]:
    """Return what a role's model calls of some turns cost."""
    total = Counter[str]()
    for turn in turns:
        total.update(turn["usage"].get(role, {}))
    return total
