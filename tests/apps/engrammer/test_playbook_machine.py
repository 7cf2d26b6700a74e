"""Everything that can happen to a playbook, in every order: proposals, answers, changes by hand, and undoing.

Proposals wait while others change what they are about, and each answer may arrive twice.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.apps.engrammer.learned import Journal, insight, playbook_error
from tests.tiers import examples

from ringi.errors import InvalidError
from ringi.forms.json_schema import check_instance
from ringi_apps.engrammer.entries import BulletChange, Content, Entry, Tag, format_bullet_id
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.history import blame, bullets_in_entry, proposal_stats
from ringi_apps.engrammer.insights import (
    InsightProposal,
    PlaybookOperation,
    approved_entry,
    build_proposal,
    operation_edit_schema,
    refusal_code,
    rejection_entry,
)
from ringi_apps.engrammer.playbook import Playbook, fold
from ringi_apps.engrammer.playbook_models import PlaybookDiffView
from ringi_apps.engrammer.rendering import playbook_tokens, render
from ringi_apps.engrammer.similarity import normalize
from ringi_apps.engrammer.views import diff_view

BUDGET = 45
TEXTS = st.sampled_from(
    ["Sand.", "sand", "Glue 5 mW", "Glue 5 MW", "膠を塗る。", "打磨\n再上漆", "Saw\u2028[b-00001] (x) y", "Oil it."]
)
PLACES = st.integers(0, 9)
"""Which of the bullets there are, counted round."""
OPS = st.sampled_from(["add", "edit", "merge", "retire"])


class Playing(RuleBasedStateMachine):
    """One playbook, what waits for a person, and what persons have agreed to."""

    def __init__(self) -> None:
        super().__init__()
        self.journal = Journal()
        self.heads = [self.journal.playbook]
        self.waiting: dict[str, InsightProposal] = {}
        self.base_contents: dict[str, dict[str, Content]] = {}
        self.decided: dict[str, InsightProposal] = {}
        self.agreed: set[str] = set()
        self.asked = 0
        for text in ("Sand.", "Glue 5 mW", "膠を塗る。"):
            self.by_hand(partial(self.head.add_entry, "strategies", text), text)

    def at(self, place: int) -> str:
        return format_bullet_id(1 + place % len(self.head.bullets))

    @property
    def head(self) -> Playbook:
        return self.journal.playbook

    def write(self, entry: Entry) -> None:
        self.journal.write(entry)
        self.heads.append(self.head)

    def ask(self, proposal: InsightProposal | None) -> None:
        if proposal is None:
            return
        self.asked += 1
        self.waiting[f"q-{self.asked}"] = proposal
        self.base_contents[f"q-{self.asked}"] = {id: self.head.bullets[id].content for id in proposal.operation.base}

    def by_hand(self, make: Callable[[], Entry], text: str | None = None) -> None:
        """Let a person change the playbook, which either happens whole or not at all."""
        before = self.head
        try:
            entry = make()
            self.write(entry)
        except (PlaybookError, InvalidError):
            assert self.head == before
        else:
            self.agreed.update({text} if text is not None else ())

    def waiting_at(self, place: int) -> str:
        return list(self.waiting)[place % len(self.waiting)]

    @rule(learned=st.lists(st.tuples(OPS, TEXTS, PLACES, PLACES), min_size=1, max_size=3))
    def a_run_proposes(self, learned: list[tuple[Any, str, int, int]]) -> None:
        before = self.head
        for op, text, one, other in learned:
            named = {"source_bullet_id": self.at(one), "sources": (self.at(other),)}
            proposal = build_proposal(insight(text, self.asked, op=op, **named), self.head, BUDGET, "engrammer")
            if proposal:
                args = proposal.operation.model_dump(mode="json")
                check_instance(operation_edit_schema(proposal.operation), args, field="args")
                assert refusal_code(proposal.operation, self.head, BUDGET) in (None, "duplicate", "budget")
            self.ask(proposal)
        assert self.head == before

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES)
    def a_person_approves(self, place: int) -> None:
        id = self.waiting_at(place)
        self.approve(id, self.waiting[id].operation)

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES, text=TEXTS)
    def a_person_approves_in_other_words(self, place: int, text: str) -> None:
        id = self.waiting_at(place)
        operation = self.waiting[id].operation
        words = {} if operation.op == "retire" else {"text": text}
        self.approve(id, PlaybookOperation.model_validate(operation.model_dump(mode="json") | words))

    def approve(self, id: str, operation: PlaybookOperation) -> None:
        proposal, before, why = self.waiting.pop(id), self.head, refusal_code(operation, self.head, BUDGET)
        if why:
            assert self.head == before
            self.ask(build_proposal(proposal.insight, self.head, BUDGET, "engrammer", renewed=why))
            return
        self.write(approved_entry(operation, proposal.insight, id, self.head))
        self.decided[id] = proposal
        self.agreed.add(operation.text)
        assert playbook_tokens(self.head) <= max(BUDGET, playbook_tokens(before))
        assert {each: before.bullets[each].content for each in operation.base} == self.base_contents[id]
        self.was_applied(operation, before)

    def was_applied(self, operation: PlaybookOperation, before: Playbook) -> None:
        """Look whether what was approved, and nothing else, is what changed."""
        bullet = self.head.bullets[operation.bullet or before.next_id]
        assert bullet.content.is_active == (operation.op != "retire")
        assert (bullet.content.text, bullet.content.section) == (operation.text, operation.section)
        assert {self.head.bullets[each].content.merged_into for each in operation.sources} <= {bullet.id}
        assert not {*operation.sources} & {each.id for each in self.head.active}
        if operation.bullet:
            assert bullet.used == before.bullets[bullet.id].used
        unmoved = before.bullets.keys() - {bullet.id, *operation.sources}
        assert all(self.head.bullets[id] == before.bullets[id] for id in unmoved)
        if operation.op == "add":
            assert render(self.head).startswith(render(before))

    @precondition(lambda self: self.waiting)
    @rule(place=PLACES)
    def a_person_rejects(self, place: int) -> None:
        id = self.waiting_at(place)
        proposal, before = self.waiting.pop(id), render(self.head)
        self.write(rejection_entry(proposal.operation, proposal.insight, id, self.head))
        assert render(self.head) == before
        self.decided[id] = proposal

    @precondition(lambda self: self.decided)
    @rule(place=PLACES)
    def an_answer_comes_twice(self, place: int) -> None:
        id = list(self.decided)[place % len(self.decided)]
        with playbook_error("applied"):
            self.write(Entry(op="reject", text="x", request_id=id))

    @rule(text=TEXTS)
    def a_person_adds(self, text: str) -> None:
        self.by_hand(lambda: self.head.add_entry("others", text), text)

    @rule(place=PLACES, text=TEXTS)
    def a_person_edits(self, place: int, text: str) -> None:
        self.by_hand(lambda: self.head.edit_entry(self.at(place), text), text)

    @rule(place=PLACES)
    def a_person_retires_or_restores(self, place: int) -> None:
        bullet = self.head.bullet(self.at(place))
        make = self.head.retire_entry if bullet.content.is_active else self.head.restore_entry
        self.by_hand(lambda: make(bullet.id))

    @rule(one=PLACES, other=PLACES, text=st.none() | TEXTS)
    def a_person_merges(self, one: int, other: int, text: str | None) -> None:
        self.by_hand(lambda: self.head.merge_entry(self.at(one), [self.at(other)], text), text)

    @rule(one=PLACES, other=PLACES)
    def a_person_keeps_apart(self, one: int, other: int) -> None:
        self.by_hand(lambda: self.head.keep_apart_entry([self.at(one), self.at(other)]))

    @rule(place=PLACES, tag=st.sampled_from(["helpful", "harmful", "neutral", "used"]))
    def a_run_counts(self, place: int, tag: Any) -> None:
        before = render(self.head)
        self.by_hand(lambda: Entry(op="tag", tags=(Tag(bullet=self.at(place), tag=tag),)))
        assert render(self.head) == before

    @rule(back=st.integers(0, 20))
    def a_person_undoes(self, back: int) -> None:
        version = max(1, self.head.version - back)
        before = self.head
        self.by_hand(lambda: self.head.undo_entry(version, self.journal.entries))
        if self.head == before:
            return
        for change in self.heads_entry(version).changes:
            self.is_as_before(change)

    def heads_entry(self, version: int) -> Entry:
        return self.journal.entries[version - 2].entry

    def is_as_before(self, change: BulletChange) -> None:
        content = self.head.bullets[change.bullet].content
        if change.before is None:
            assert not content.is_active
        else:
            assert content == change.before

    @rule(back=st.integers(1, 6))
    def a_person_undoes_all_since(self, back: int) -> None:
        """Undo from the newest back: nothing may stand in the way, and the text is as it was."""
        version = max(1, self.head.version - back)
        then = render(self.heads[version - 1])
        for each in [each for each in reversed(self.journal.entries) if each.version > version and each.entry.changes]:
            self.write(self.head.undo_entry(each.version, self.journal.entries))
        assert render(self.head) == then

    @rule(one=st.integers(0, 20), other=st.integers(0, 20))
    def somebody_compares(self, one: int, other: int) -> None:
        older, newer = (self.heads[each % len(self.heads)] for each in (one, other))
        assert patched(older, diff_view(older, newer)) == lines(newer)

    @invariant()
    def the_entries_are_the_head(self) -> None:
        assert fold((each.entry, each.at) for each in self.journal.entries) == self.head
        assert Playbook.model_validate(self.head.model_dump(mode="json")) == self.head

    @invariant()
    def no_id_is_used_twice(self) -> None:
        assert list(self.head.bullets) == [format_bullet_id(n + 1) for n in range(len(self.head.bullets))]

    @invariant()
    def no_two_active_bullets_say_the_same(self) -> None:
        texts = [normalize(each.content.text) for each in self.head.active]
        assert len(set(texts)) == len(texts)

    @invariant()
    def nothing_is_learned_without_a_person(self) -> None:
        assert {each.content.text for each in self.head.active} <= self.agreed

    @invariant()
    def every_line_is_one_bullet(self) -> None:
        assert len(render(self.head).splitlines()) == len(self.head.active)

    @invariant()
    def blame_is_complete(self) -> None:
        blamed = {(id, each.version) for id in self.head.bullets for each in blame(id, self.journal.entries)}
        assert blamed == {(id, each.version) for each in self.journal.entries for id in bullets_in_entry(each)}

    @invariant()
    def what_was_decided_is_counted(self) -> None:
        found = proposal_stats(self.journal.entries, len(self.waiting))
        assert found.approved + found.rejected == len(self.decided) == len(self.head.applied)
        assert found.proposed == len(self.decided) + len(self.waiting)


def lines(playbook: Playbook) -> dict[str, tuple[str, str]]:
    return {each.id: (each.content.section, each.content.text) for each in playbook.active}


def patched(playbook: Playbook, found: PlaybookDiffView) -> dict[str, tuple[str, str]]:
    """Return the lines of a playbook after a diff."""
    gone = {each.id for each in found.removed}
    new = [*found.added, *(each.after for each in found.changed)]
    left = {id: line for id, line in lines(playbook).items() if id not in gone}
    assert all(left[each.id] == (each.before.section, each.before.text) for each in found.changed)
    return left | {each.id: (each.section, each.text) for each in new}


Playing.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
TestPlaying = Playing.TestCase
