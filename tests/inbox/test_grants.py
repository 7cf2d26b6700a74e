"""Grants: one answer approves later calls too, within what the person chose, until it ends or is revoked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.raising import raises_code

from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain import grants
from ringi.domain.ask import Action, Answer, Ask, Continuation
from ringi.domain.grants import JOURNAL
from ringi.domain.journal import Journal
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.voting import Decider, Person
from ringi.errors import ConflictError, ForbiddenError, InvalidError, NotAuthorizedError, NotFoundError
from ringi.inbox.inbox import StoreInbox
from ringi.integrations.functions import gate
from ringi.testing import ManualClock

HOUR = timedelta(hours=1)
CALL = Action("refund", {"order": 7, "amount": 40})


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(clock: ManualClock) -> AsyncIterator[StoreInbox]:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1), clock=clock)
    async with inbox.feed:
        yield inbox


async def asked(inbox: StoreInbox, action: Action | None = CALL, by: str | None = "agent:bot", **more: Any) -> Request:
    continuation = more.pop("continuation", None)
    starter = more.pop("starter", None)
    ask = Ask(**{"title": "Refund?", "action": action, **more})
    return await inbox.submit(ask, by=by, continuation=continuation, starter=starter)


async def granted(inbox: StoreInbox, clock: ManualClock, scope: dict[str, Any] | None = None, **more: Any) -> Request:
    """Return a request that ann has approved with a grant."""
    request = await asked(inbox, **more)
    return await approve(inbox, request, {"until": clock() + HOUR, **(scope or {})})


async def approve(inbox: StoreInbox, request: Request, grant: dict[str, Any], by: str = "ann") -> Request:
    return await inbox.respond(request, "approve", by=Person(by, request.groups), grant=grant)


def refund(**args: Any) -> Action:
    return Action("refund", {"order": 7, "amount": 40, **args})


async def test_the_same_call_is_approved_again_and_each_use_is_on_record(inbox: StoreInbox, clock: ManualClock) -> None:
    first = await granted(inbox, clock)

    second, third = await asked(inbox), await asked(inbox)

    (grant,) = await inbox.grants.list()
    for number, request in enumerate((second, third), 1):
        assert request.response
        assert request.response.grant_use
        assert request.granted
        assert (request.status, request.response.decision) == ("completed", "approve")
        assert (request.response.responder, request.response.channel) == (f"policy:grant:{first.id}", "grant")
        use = request.response.grant_use
        assert (use.id, use.digest, use.number) == (first.id, grant.digest, number)
        assert request.response.authorised_digest == request.authorised_digest("approve", None, None)
        assert [event.type for event in await inbox.events(request_id=request.id)] == ["request.completed"]
    assert (grant.id, grant.status, grant.uses, grant.granted_by) == (first.id, "active", 2, "ann")
    assert (await verify_store(inbox.store))[1] == []


@pytest.mark.parametrize(
    ("scope", "call", "is_covered"),
    [
        ({}, refund(), True),
        ({}, refund(amount=41), False),
        ({}, refund(note="x"), False),
        ({"where": {"amount": {"at_most": 50}}}, refund(order=8, amount=50), True),
        ({"where": {"amount": {"at_most": 50}}}, refund(order=8, amount=51), False),
        ({"where": {"amount": {"at_most": 50}}}, Action("refund", {"order": 7}), False),
        ({"where": {"amount": {"at_most": 50}}}, refund(amount="40"), False),
        ({"where": {"order": {"equals": 7}, "amount": {"above": 0, "below": 41}}}, refund(amount=40.5), True),
        ({"where": {"amount": {"at_most": 50}}}, refund(to_account="MALLORY-1"), False),
        ({"where": {"amount": {"at_most": 50}}}, refund(**{"amount.x": 1}), False),
        ({"where": {"amount": {"at_most": 50}}}, Action("refund", {"amount": 40}), True),
        ({"where": {}}, Action("refund", {}), True),
        ({"where": {}}, refund(note="x"), True),
        ({"where": {}}, Action("pay", {"order": 7, "amount": 40}), False),
    ],
)
async def test_a_grant_approves_exactly_what_the_person_chose(
    inbox: StoreInbox, clock: ManualClock, scope: dict[str, Any], call: Action, is_covered: bool
) -> None:
    await granted(inbox, clock, scope)
    assert (await asked(inbox, call)).is_final is is_covered


@pytest.mark.parametrize(
    ("scope", "first", "then", "is_covered"),
    [
        ({}, {}, {"by": "agent:other"}, False),
        ({}, {"thread_id": "t1"}, {"thread_id": "t2"}, True),
        ({"thread_id": "t1"}, {"thread_id": "t1"}, {"thread_id": "t1"}, True),
        ({"thread_id": "t1"}, {"thread_id": "t1"}, {"thread_id": "t2"}, False),
        ({"folder": "/a"}, {"context": {"folder": "/a"}}, {"context": {"folder": "/a", "why": "x"}}, True),
        ({"folder": "/a"}, {"context": {"folder": "/a"}}, {"context": {"folder": "/a/b"}}, False),
        ({"folder": "/a"}, {"context": {"folder": "/a"}}, {}, False),
        ({}, {"tier": "low"}, {"tier": "high"}, False),
        ({}, {}, {"tier": "irreversible"}, False),
        ({}, {}, {"tier": "medium"}, False),
        ({}, {"tier": "medium"}, {"tier": "medium"}, True),
        ({}, {"tier": "medium"}, {"tier": "low"}, True),
        ({}, {}, {"quorum": [{"count": 2}]}, False),
        ({}, {}, {"assignee": "bob"}, False),
        ({}, {"assignee": "ann"}, {"assignee": "ann"}, True),
        ({}, {}, {"groups": ["board"]}, False),
        ({}, {}, {"exclude": ["starter"]}, False),
        ({}, {}, {"allowed": ["edit", "reject"]}, False),
        ({}, {}, {"kind": "finish"}, False),
        ({}, {}, {"form": {"fields": [{"name": "why", "type": "text"}]}}, False),
        ({}, {}, {"hold": 10}, False),
    ],
)
async def test_what_another_person_or_more_people_must_decide_is_asked(
    inbox: StoreInbox,
    clock: ManualClock,
    scope: dict[str, Any],
    first: dict[str, Any],
    then: dict[str, Any],
    is_covered: bool,
) -> None:
    await granted(inbox, clock, scope, **first)
    assert (await asked(inbox, **then)).is_final is is_covered


async def test_a_run_of_another_agent_or_one_that_the_person_started_is_asked(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    def run(agent: str) -> Continuation:
        return Continuation(runner="r", target=agent, key="t1")

    await granted(inbox, clock, by="cem", continuation=run("payer"), exclude=["starter"], starter="cem")
    again: dict[str, Any] = {"by": "cem", "exclude": ["starter"]}
    assert (await asked(inbox, **again, continuation=run("payer"), starter="cem")).is_final
    assert not (await asked(inbox, **again, continuation=run("other"), starter="cem")).is_final
    assert not (await asked(inbox, **again, continuation=run("payer"), starter="ann")).is_final


async def test_a_grant_ends_at_its_time_and_after_its_last_use(inbox: StoreInbox, clock: ManualClock) -> None:
    first = await granted(inbox, clock, {"max_uses": 2})
    assert [(await asked(inbox)).is_final for _ in range(3)] == [True, True, False]
    assert [each.status for each in await inbox.grants.list()] == ["used up"]
    await granted(inbox, clock, {}, action=refund(order=8))
    clock.advance(3600)
    assert not (await asked(inbox, refund(order=8))).is_final
    assert await inbox.grants.list() == []
    with pytest.raises(NotFoundError):
        await inbox.grants.revoke("nothing", by="ann")
    await inbox.grants.revoke(first.id, by="ann")


async def test_after_a_revocation_people_are_asked_and_the_same_answer_does_not_renew_it(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    scope = {"until": clock() + HOUR}
    first = await approve(inbox, await asked(inbox), scope)
    assert (await asked(inbox)).is_final
    await inbox.grants.revoke(first.id, by="bob")
    await inbox.grants.revoke(first.id, by="bob")
    assert not (await asked(inbox)).is_final
    assert (await approve(inbox, first, scope)).version == first.version
    assert not (await asked(inbox)).is_final
    assert [each.status for each in await inbox.grants.list()] == ["revoked"]
    entries = await inbox.store.get(Journal, "default", JOURNAL)
    assert entries.version == 4  # Begun, granted, used, revoked.


@pytest.mark.parametrize(
    ("scope", "more", "field"),
    [
        ({"until": timedelta(0)}, {}, "grant.until"),
        ({"until": timedelta(days=31)}, {}, "grant.until"),
        ({"where": {"amount": {"at_most": 39}}}, {}, "grant.where"),
        ({"where": {"unknown": {"equals": 1}}}, {}, "grant.where"),
        ({"where": {"amount": {}}}, {}, "grant.where.amount"),
        ({"where": {"amount": {"at_most": "x"}}}, {}, "grant.where.amount.at_most"),
        ({"tool": "pay"}, {}, "grant.tool"),
        ({"thread_id": "t2"}, {"thread_id": "t1"}, "grant.thread_id"),
        ({"folder": "/b"}, {"context": {"folder": "/a"}}, "grant.folder"),
        ({"max_uses": 0}, {}, "grant.max_uses"),
        ({"max_uses": 10_001}, {}, "grant.max_uses"),
        ({"max_uses": True}, {}, "grant.max_uses"),
        ({"for_ever": True}, {}, "grant.for_ever"),
        ({}, {"tier": "high"}, "grant"),
        ({}, {"tier": "irreversible"}, "grant"),
        ({}, {"quorum": [{"count": 2}]}, "grant"),
        ({}, {"action": None}, "grant"),
    ],
)
async def test_a_grant_that_cannot_be_is_refused_with_its_field_and_nothing_is_decided(
    inbox: StoreInbox, clock: ManualClock, scope: dict[str, Any], more: dict[str, Any], field: str
) -> None:
    request = await asked(inbox, **{"allowed": ["approve", "reject"], **more})
    until = clock() + scope.pop("until", HOUR)
    with pytest.raises(InvalidError) as refused:
        await approve(inbox, request, {"until": until, **scope})
    assert [error.field for error in refused.value.errors] == [field]
    assert await inbox.get(request.id) == request
    with pytest.raises(NotFoundError):
        await inbox.store.get(Journal, "default", JOURNAL)


async def test_only_an_approval_by_the_person_who_may_decide_has_a_grant(inbox: StoreInbox, clock: ManualClock) -> None:
    request = await asked(inbox, exclude=["starter"], starter="cem", by="cem")
    grant = {"until": clock() + HOUR}
    with pytest.raises(InvalidError):
        await inbox.respond(request, "reject", by="ann", grant=grant)
    args = {"order": 7, "amount": 41}
    with pytest.raises(InvalidError):
        await inbox.respond(request, "edit", args=args, by="ann", grant=grant)
    with pytest.raises(ForbiddenError):
        await approve(inbox, request, grant, by="cem")
    answer = Answer.parse({"decision": "approve", "digest": request.digest, "grant": grant, "override": "urgent"})
    with pytest.raises(ForbiddenError):
        await inbox.answer(request.id, answer, by=Decider("cem", is_admin=True), channel="http")
    assert await inbox.grants.list() == []


async def test_an_answer_over_mcp_makes_no_grant(inbox: StoreInbox, clock: ManualClock) -> None:
    request = await asked(inbox)
    body = {"decision": "approve", "digest": request.digest, "grant": {"until": clock() + HOUR}}
    with pytest.raises(ForbiddenError, match="leave `grant` out, and use the page"):
        await inbox.answer(request.id, Answer.parse(body), by=Decider("ann"), channel="mcp")
    assert (await inbox.get(request.id)).status == "pending"
    assert await inbox.grants.list() == []
    assert (await inbox.answer(request.id, Answer.parse(body), by=Decider("ann"), channel="page")).is_final


async def test_a_deputy_decides_and_makes_no_grant(inbox: StoreInbox, clock: ManualClock) -> None:
    await inbox.people.leave("dee", clock() + HOUR, by="ann")
    request = await asked(inbox, assignee="ann")
    body = {"decision": "approve", "digest": request.digest, "grant": {"until": clock() + HOUR}}
    deputy = await inbox.people.decider(Decider("dee"))
    with pytest.raises(ForbiddenError):
        await inbox.answer(request.id, Answer.parse(body), by=deputy, channel="http")
    del body["grant"]
    assert (await inbox.answer(request.id, Answer.parse(body), by=deputy, channel="http")).is_final


async def test_the_grant_of_a_held_answer_begins_with_the_answer(inbox: StoreInbox, clock: ManualClock) -> None:
    held = await granted(inbox, clock, hold=10)
    assert held.status == "pending"
    assert held.for_readers().held.grant is None  # type: ignore[union-attr]
    assert not (await asked(inbox, hold=10)).is_final
    assert await inbox.grants.list() == []
    clock.advance(10)
    await inbox.expire_due()
    assert (await asked(inbox, hold=10)).is_final
    assert [each.id for each in await inbox.grants.list()] == [held.id]


async def test_the_grant_of_an_undone_answer_never_applies_and_another_answer_may_have_another(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    held = await granted(inbox, clock, {"where": {}}, hold=10)
    with raises_code("held"):
        await approve(inbox, held, {"until": clock() + HOUR}, by="bob")
    open_again = await inbox.undo(held.id, by="ann")
    await approve(inbox, open_again, {"until": clock() + HOUR})
    clock.advance(10)
    await inbox.expire_due()
    assert not (await asked(inbox, refund(order=9), hold=10)).is_final
    assert (await asked(inbox, hold=10)).is_final


async def test_who_decides_only_after_an_escalation_makes_no_grant(inbox: StoreInbox, clock: ManualClock) -> None:
    steps = [{"after": 60, "to": ["bob"]}]
    request = await asked(inbox, assignee="ann", escalation=steps)
    clock.advance(60)
    await inbox.expire_due()
    with pytest.raises(InvalidError):
        await approve(inbox, await inbox.get(request.id), {"until": clock() + HOUR}, by="bob")
    assert not (await asked(inbox, assignee="ann", escalation=steps)).is_final


async def test_revoked_grants_leave_room_for_others(
    inbox: StoreInbox, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "MAX_GRANTS", 2)
    made = [await granted(inbox, clock, action=refund(order=n)) for n in (1, 2)]
    third = await asked(inbox, refund(order=3))
    with pytest.raises(ConflictError):
        await approve(inbox, third, {"until": clock() + HOUR})
    assert not (await inbox.get(third.id)).is_final
    await inbox.grants.revoke(made[0].id, by="ann")
    await approve(inbox, third, {"until": clock() + HOUR})
    assert (await asked(inbox, refund(order=3))).is_final


async def test_of_two_answers_at_once_the_grant_of_the_one_that_counts_is_in_force(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    request = await asked(inbox)
    late = {"decision": "approve", "digest": request.digest, "grant": {"until": clock() + HOUR, "where": {}}}
    begin = inbox.granted.begin

    async def begin_after_another(answered: Request) -> None:
        inbox.granted.begin = begin  # type: ignore[method-assign]
        await begin(answered)
        await begin(request.completed(Answer.parse(late), by="bob", channel="http", now=clock())[0])

    inbox.granted.begin = begin_after_another  # type: ignore[method-assign]
    await approve(inbox, request, {"until": clock() + HOUR})
    assert (await asked(inbox)).is_final
    assert not (await asked(inbox, refund(order=9))).is_final


async def test_a_grant_ends_with_the_erasure_of_its_answer(inbox: StoreInbox, clock: ManualClock) -> None:
    first = await granted(inbox, clock, {"where": {"order": {"equals": 7}}, "max_uses": 1})
    covered = await asked(inbox)
    assert not await inbox.granted.is_over(covered)
    await inbox.erase(first.id, by="admin")
    assert await inbox.granted.is_over(covered)
    assert not (await asked(inbox)).is_final
    assert await inbox.grants.list() == []
    journal = await inbox.store.get(Journal, "default", JOURNAL)
    assert "ann" not in str(journal.state)
    assert (await verify_store(inbox.store))[1] == []


async def test_a_request_that_was_asked_before_stays_as_it_was(inbox: StoreInbox, clock: ManualClock) -> None:
    waiting = await asked(inbox, id="r1")
    first = await granted(inbox, clock)
    assert await asked(inbox, id="r1") == waiting
    approved = await asked(inbox, id="r2")
    assert await asked(inbox, id="r2") == approved
    assert [each.uses for each in await inbox.grants.list()] == [1]
    await inbox.grants.revoke(first.id, by="ann")
    assert await asked(inbox, id="r2") == approved


async def test_a_new_worker_finds_what_a_grant_has_approved_before(inbox: StoreInbox, clock: ManualClock) -> None:
    await granted(inbox, clock, {"max_uses": 1})
    question = Ask(title="Refund?", action=CALL, id="r2")
    approved = await inbox.submit(question, by="agent:bot")
    assert await inbox.use_grant(await inbox.prepare(question, by="agent:bot")) == approved
    assert [each.uses for each in await inbox.grants.list()] == [1]


async def test_a_gated_call_with_a_key_does_not_run_again_after_the_revocation(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    first = await granted(inbox, clock, by=None, title="Run refund?")
    for _ in range(2):
        assert await gate("refund", dict(CALL.args), key="k1", inbox=inbox) == CALL.args
    await inbox.grants.revoke(first.id, by="ann")
    with pytest.raises(NotAuthorizedError, match="grant"):
        await gate("refund", dict(CALL.args), key="k1", inbox=inbox)


async def test_another_tenant_has_its_own_grants(inbox: StoreInbox, clock: ManualClock) -> None:
    first = await granted(inbox, clock)
    other = inbox.for_tenant("other")
    assert not (await asked(other)).is_final
    assert await other.grants.list() == []
    with pytest.raises(NotFoundError):
        await other.grants.revoke(first.id, by="ann")


async def test_who_cannot_read_the_grants_is_asked(inbox: StoreInbox, clock: ManualClock) -> None:
    await granted(inbox, clock)
    journal = await inbox.store.get(Journal, "default", JOURNAL)
    broken = journal.written({}, {"grants": {"x": 1}}, by="newer", now=clock())
    await inbox.store.put(*broken)
    assert not (await asked(inbox)).is_final


@pytest.mark.parametrize("processes", [1, 2])
async def test_concurrent_calls_use_no_more_than_the_person_allowed(url: str, processes: int) -> None:
    async with (
        open_backend(url) as one,
        open_backend(url) as two,
        open_inbox_on_backend(one) as here,
        open_inbox_on_backend(two) as there,
    ):
        inboxes = [here, there][:processes]
        first = await asked(inboxes[0])
        until = inboxes[0].clock() + HOUR
        await approve(inboxes[0], first, {"until": until, "max_uses": 5})
        found = await asyncio.gather(*(asked(inboxes[n % processes]) for n in range(16)))
        approved = [each.response.grant_use for each in found if each.response]
        assert sorted(use.number for use in approved if use) == list(range(1, 6))
        assert len({request.id for request in found}) == 16
        assert (await verify_store(one.store))[1] == []


SCOPES = st.fixed_dictionaries(
    {"max_uses": st.integers(1, 3)},
    optional={"where": st.sampled_from([{}, {"amount": {"at_most": 50}}, {"order": {"equals": 7}}])},
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(7, 8), st.integers(39, 51), st.sampled_from([None, "high"])),
        st.tuples(st.just("grant"), SCOPES),
        st.tuples(st.just("revoke")),
        st.tuples(st.just("wait"), st.integers(1, 3600)),
    ),
    max_size=25,
)


class Model:
    """What the people of the test have approved in advance, and an inbox that should do the same."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1), clock=self.clock)
        self.made: dict[str, dict[str, Any]] = {}

    async def do(self, step: Any) -> None:
        match step:
            case "wait", seconds:
                self.clock.advance(seconds)
            case ("revoke",):
                for id, scope in self.made.items():
                    scope["is_revoked"] = True
                    if self.clock() < scope["until"]:
                        await self.inbox.grants.revoke(id, by="ann")
            case "grant", scope:
                request = await self.ask(7, 40, "medium")
                if not request.is_final:
                    scope = {"until": self.clock() + HOUR, **scope}
                    await approve(self.inbox, request, scope)
                    self.made[request.id] = {**scope, "uses": 0, "is_revoked": False}
            case "ask", order, amount, tier:
                await self.ask(order, amount, tier)

    async def ask(self, order: int, amount: int, tier: str | None) -> Request:
        able = self.able(order, amount) if tier != "high" else []
        request = await asked(self.inbox, refund(order=order, amount=amount), tier=tier, groups=["g"])
        assert request.is_final is bool(able)
        if able:
            assert request.response
            assert request.response.grant_use
            assert request.response.grant_use.id in able
            self.made[request.response.grant_use.id]["uses"] += 1
        return request

    def able(self, order: int, amount: int) -> list[str]:
        """Return the ids of the grants in force for a call."""
        in_force = {
            id: scope
            for id, scope in self.made.items()
            if not scope["is_revoked"] and self.clock() < scope["until"] and scope["uses"] < scope["max_uses"]
        }
        return [id for id, scope in in_force.items() if holds(scope.get("where"), order, amount)]


@settings(max_examples=100)
@given(STEPS)
async def test_a_call_without_a_question_is_always_covered_by_a_grant_in_force(steps: list[Any]) -> None:
    model = Model()
    for step in steps:
        await model.do(step)
    listed = {each.id: each.uses for each in await model.inbox.grants.list()}
    assert listed == {id: scope["uses"] for id, scope in model.made.items() if model.clock() < scope["until"]}
    assert (await verify_store(model.inbox.store))[1] == []


def holds(where: dict[str, Any] | None, order: int, amount: int) -> bool:
    """Return what a scope of these tests means, written anew."""
    if where is None:
        return (order, amount) == (7, 40)
    if "amount" in where:
        return amount <= 50
    return order == 7 if "order" in where else True


async def test_a_crash_between_the_grant_and_its_answer_leaves_no_grant(inbox: StoreInbox, clock: ManualClock) -> None:
    request = await asked(inbox)
    body = {"decision": "approve", "digest": request.digest, "grant": {"until": clock() + HOUR}}
    answered = request.completed(Answer.parse(body), by="ann", channel="http", now=clock())
    await inbox.granted.begin(answered[0])
    assert not (await asked(inbox)).is_final
    assert await inbox.grants.list() == []
    await inbox.respond(request, "reject", by="bob")
    assert not (await asked(inbox)).is_final
    journal = await inbox.store.get(Journal, *Key("default", JOURNAL))
    assert journal.version == 2
