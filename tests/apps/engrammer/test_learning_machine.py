"""Everything that can happen to a playbook, in every order, on the real graph: nothing is learned without a person.

A worker that loses its store between any two steps does the step again: as after a crash, and many times quicker.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.apps.engrammer.lab import Lab, Models, insight, lab
from tests.tiers import examples

from ringi.base.outages import OutageError
from ringi.domain.request import Request
from ringi.errors import UnavailableError
from ringi_apps.engrammer import learning
from ringi_apps.engrammer import persistence as storage
from ringi_apps.engrammer.entries import Entry
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.playbook import Playbook, fold

pytestmark = pytest.mark.timeout(240)
TALKS = 3
WORDS = ("glue", "clamp", "sand", "saw", "plane")
TAILS = (
    "before you go on",
    "before you go on with it, and then",
    "while the varnish dries in the sun",
    "whatever the master of the workshop says",
    "when 3 boards are wet",
    "when 5 boards are wet",
)
POINTS = ("curate.begun", "playbook.entered", "curate.entered")
DECISIONS = st.sampled_from(["approve", "approve", "edit", "reject"])
PICK = st.integers(min_value=0, max_value=9)
TYPES = st.sampled_from(["new_strategy", "refine_strategy", "error_pattern"])

QUESTIONS = st.fixed_dictionaries(
    {
        "types": st.lists(TYPES, min_size=1, max_size=3),
        "pick": PICK,
        "word": st.sampled_from(WORDS),
        "is_old": st.booleans(),
    }
)


def text_of(word: str, number: int) -> str:
    return f"Always mind the {word} {TAILS[number % len(TAILS)]}."


class LearningMachine(RuleBasedStateMachine):
    """Asks, decides, changes by hand, tidies, and loses the store."""

    def __init__(self) -> None:
        super().__init__()
        self.models, self.number = Models(), 0
        self.allowed: set[str] = set()
        self.heads: dict[int, Playbook] = {}
        self.obsolete = defaultdict[str, set[str]](set)
        self.armed: str | None = None
        self.open: list[Request] = []
        self.runner = asyncio.Runner()
        self.opened = lab(self.models, "memory://", budget=600)
        self.lab: Lab = self.runner.run(self.opened.__aenter__())
        self.patches = [patch.object(module, "failpoint", self.pass_by) for module in (learning, storage)]
        for each in self.patches:
            each.start()

    def teardown(self) -> None:
        for each in self.patches:
            each.stop()
        self.runner.run(self.opened.__aexit__(None, None, None))
        self.runner.close()

    def pass_by(self, name: str) -> None:
        if name == self.armed:
            self.armed = None
            raise OutageError(UnavailableError("the store is away"))

    @initialize(questions=st.lists(QUESTIONS, min_size=2, max_size=3))
    def begin(self, questions: list[dict[str, Any]]) -> None:
        """Begin with what waits to be decided."""
        for asked in questions:
            self.ask(**asked)
            self.look()

    @precondition(lambda self: len({request.thread_id for request in self.open} - {"tidy"}) < TALKS)
    @rule(asked=QUESTIONS)
    def ask_more(self, asked: dict[str, Any]) -> None:
        self.ask(**asked)

    def ask(self, types: list[Any], pick: int, word: str, is_old: bool) -> None:
        """Ask where no insight waits."""
        held = {request.thread_id for request in self.open}
        free = [each for each in range(TALKS) if f"t{each}" not in held]
        self.number += 1
        number = self.number // 2 if is_old else self.number
        bullets: list[str | None] = [*self.playbook().bullets] or [None]
        target = bullets[pick % len(bullets)]
        self.models.lessons[f"Q{self.number}"] = [
            insight(text_of(word, number + 100 * n), type, source_bullet_id=target) for n, type in enumerate(types)
        ]
        self.runner.run(self.lab.ask(f"Q{self.number}", f"t{free[pick % len(free)]}"))

    @precondition(lambda self: self.open)
    @rule(
        pick=PICK,
        decision=st.sampled_from(["approve", "approve", "edit", "reject"]),
        point=st.none() | st.sampled_from(POINTS),
    )
    def decide(self, pick: int, decision: Any, point: str | None) -> None:
        """Decide one of what waits; the store may go away while it is learned."""
        request = self.open[pick % len(self.open)]
        assert request.action
        args = dict(request.action.args)
        more: dict[str, Any] = {}
        if decision == "edit" and args["op"] != "retire":
            args["text"] = f"{args['text']} Edited {pick}."
            more = {"args": args}
        if decision != "reject":
            self.allowed.add(args["text"])
        self.armed = point
        self.runner.run(self.decided(request, "approve" if decision == "edit" and not more else decision, more))
        self.armed = None

    async def decided(self, request: Request, decision: Any, more: dict[str, Any]) -> None:
        await self.lab.world.answer(request, decision, **more)
        await self.check_outcome(await self.lab.world.inbox.get(request.id))

    async def check_outcome(self, request: Request) -> None:
        """What was approved is entered byte for byte, or shown again, and never anything else."""
        playbook, granted = await self.lab.playbook(), request.granted
        version = playbook.applied.get(request.id)
        event(f"{request.action.args['op'] if request.action else ''}: {self.became(request, version)}")
        if granted is None:
            entered = [each.entry for each in await self.lab.entries() if each.entry.request_id == request.id]
            assert all(entry.op in ("reject", "keep") and not entry.changes for entry in entered)
        elif version is None:
            again = [each for each in await self.lab.waiting(str(request.thread_id)) if each.id != request.id]
            if not any(each.context["learning"]["renewed"] for each in again):
                self.obsolete[str(request.thread_id)].add(request.context["learning"]["insight"])
        else:
            (entry,) = [each.entry for each in await self.lab.entries() if each.version == version]
            assert entry.request_id == request.id
            assert granted.args["op"] == entry.op
            if entry.op != "retire":
                assert entry.changes[0].after.text == granted.args["text"]
        await self.check_obsolete(str(request.thread_id))

    async def check_obsolete(self, thread_id: str) -> None:
        """What is neither entered nor shown again is recorded as obsolete, once all insights beside it are decided."""
        if (await self.lab.world.thread(thread_id)).status != "interrupted":
            outcomes = {id: each for turn in await self.lab.turns(thread_id) for id, each in turn["outcomes"].items()}
            assert {outcomes[id]["status"] for id in self.obsolete.pop(thread_id, ())} <= {"obsolete"}

    def became(self, request: Request, version: int | None) -> str:
        if request.granted is None:
            return "rejected"
        return "shown again" if version is None else "entered"

    @rule(pick=PICK, op=st.sampled_from(["add", "edit", "retire", "restore", "undo"]))
    def change_by_hand(self, pick: int, op: str) -> None:
        """Change the playbook as a person does on its page."""
        self.number += 1
        text = text_of("hand", self.number)
        written = self.runner.run(self.lab.entries())
        ids = list(self.playbook().bullets) or ["b-00001"]
        target, version = ids[pick % len(ids)], written[pick % len(written)].version if written else 2
        makes: dict[str, Callable[[Playbook], Entry]] = {
            "add": lambda now: now.add_entry("others", text),
            "edit": lambda now: now.edit_entry(target, text),
            "retire": lambda now: now.retire_entry(target),
            "restore": lambda now: now.restore_entry(target),
            "undo": lambda now: now.undo_entry(version, written),
        }
        if op in ("add", "edit"):
            self.allowed.add(text)
        with suppress(PlaybookError):
            after = self.runner.run(self.lab.decide_by_hand(makes[op], by="ann"))
            if op == "undo":
                self.check_undo(version, after)

    def check_undo(self, version: int, after: Playbook) -> None:
        """An undone version leaves its bullets as they were before it; what it added is retired."""
        before, undone = self.heads.get(version - 1), self.heads.get(version)
        if before is None or undone is None:
            return
        changed = [
            id
            for id in undone.bullets
            if undone.bullets[id].content != getattr(before.bullets.get(id), "content", None)
        ]
        for id in changed:
            if id in before.bullets:
                assert after.bullets[id].content == before.bullets[id].content
            else:
                assert not after.bullets[id].content.is_active

    @precondition(lambda self: all(request.thread_id != "tidy" for request in self.open))
    @rule()
    def tidy(self) -> None:
        """Look for duplicates."""
        self.runner.run(self.lab.tidy())

    @invariant()
    def look(self) -> None:
        self.open = [request for id in self.threads() for request in self.waiting(id)]

    @invariant()
    def nothing_is_learned_without_a_person(self) -> None:
        playbook = self.playbook()
        unapproved = {bullet.content.text for bullet in playbook.bullets.values()} - self.allowed
        assert unapproved == set()

    @invariant()
    def the_sum_of_the_entries_is_the_head(self) -> None:
        written = self.runner.run(self.lab.entries())
        assert fold([(each.entry, each.at) for each in written]) == self.playbook()
        assert [each.version for each in written] == list(range(2, len(written) + 2))

    @invariant()
    def the_past_never_changes(self) -> None:
        playbook = self.playbook()
        assert self.heads.setdefault(playbook.version, playbook) == playbook

    @invariant()
    def the_trail_is_whole(self) -> None:
        self.runner.run(self.lab.world.verified())

    def threads(self) -> list[str]:
        return [*(f"t{number}" for number in range(TALKS)), "tidy"]

    def waiting(self, id: str) -> list[Request]:
        return self.runner.run(self.lab.waiting_if_begun(id))

    def playbook(self) -> Playbook:
        return self.runner.run(self.lab.playbook())


LearningMachine.TestCase.settings = settings(max_examples=examples(25), stateful_step_count=20, deadline=None)
TestLearning = LearningMachine.TestCase
