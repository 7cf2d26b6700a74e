"""Rules that decisions suggest: none lets through what people refused, some calls still ask, a refusal ends it."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.contracts.store import Change
from ringi.domain.ask import Action, Ask
from ringi.domain.grants import GrantableCall
from ringi.domain.record import Event, Query, Record
from ringi.domain.request import Request
from ringi.domain.suggestions import (
    CoveredSuggestion,
    DecidedCall,
    NewRule,
    human_decisions_on_calls,
    identifier_pattern,
    suggest_rules_for_tool,
    suggest_rules_from_calls,
)
from ringi.errors import ForbiddenError, InvalidError, NotFoundError
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock

COUNTRIES = ("CN", "DE", "JP")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(clock: ManualClock) -> AsyncIterator[StoreInbox]:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1), clock=clock)
    async with inbox.feed:
        yield inbox


def call(number: int, **args: Any) -> Action:
    """Return a call with the arguments that vary as those of real ones do."""
    own = {"order": f"o-{number}", "amount": number * 37 % 200 + 1, "country": COUNTRIES[number % 3]}
    return Action("refund", {**own, **args})


async def asked(inbox: StoreInbox, action: Action, by: str = "agent:bot", **more: Any) -> Request:
    return await inbox.submit(Ask(title="Refund?", action=action, **more), by=by)


async def answered(
    inbox: StoreInbox, request: Request, decision: str = "approve", by: str = "ann", **more: Any
) -> Request:
    return await inbox.respond(request, decision, by=by, **more)  # type: ignore[arg-type]


async def decide_all(
    inbox: StoreInbox, clock: ManualClock, count: int = 220, refused: tuple[int, ...] = (), **more: Any
) -> None:
    """Ask and decide calls; the refused ones pay more."""
    for number in range(count):
        clock.advance(1)
        wrong = {"amount": 5_000} if number in refused else {}
        request = await asked(inbox, call(number, **wrong), **more)
        await answered(inbox, request, "reject" if wrong else "approve")


async def test_a_rule_is_suggested_from_what_people_approved(inbox: StoreInbox, clock: ManualClock) -> None:
    await decide_all(inbox, clock, refused=(50, 150))
    (rule,) = await inbox.suggestions.list()
    assert (rule.tool, rule.decisions, rule.approved, rule.replayed, rule.covered) == ("refund", 220, 218, 220, 218)
    assert {name: each.model_dump(mode="json") for name, each in rule.where.items()} == {
        "amount": {"at_least": 1, "at_most": 200},
        "country": {"one_of": ["CN", "DE", "JP"]},
        "order": {"matches": "o-[0-9]{1,4}"},
    }


async def test_a_refused_number_between_approved_ones_limits_the_rule_to_the_side_with_more_of_them(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    for number in range(220):
        clock.advance(1)
        more = {2: {"amount": 10_000}, 50: {"amount": 5_000}, 151: {"amount": 5_000}}.get(number, {})
        request = await asked(inbox, call(number, **more))
        await answered(inbox, request, "reject" if number in (50, 151) else "approve")
    (rule,) = await inbox.suggestions.list()
    assert rule.where["amount"].model_dump(mode="json") == {"at_least": 1, "at_most": 200}


@pytest.mark.parametrize(
    ("count", "refused", "more"),
    [
        (199, (), {}),
        (220, (1, 2, 3, 4, 5), {}),
        (220, (), {"tier": "high"}),
        (220, (), {"tier": "irreversible"}),
        (220, (), {"quorum": ({"count": 1},)}),
    ],
)
async def test_too_few_or_too_doubtful_decisions_suggest_nothing(
    inbox: StoreInbox, clock: ManualClock, count: int, refused: tuple[int, ...], more: dict[str, Any]
) -> None:
    await decide_all(inbox, clock, count, refused, **more)
    assert await inbox.suggestions.list() == []


async def test_neither_rules_nor_grants_nor_checks_count_as_decisions(
    inbox: StoreInbox, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")
    await decide_all(inbox, clock, 150)
    grant = {"until": clock() + timedelta(days=1), "where": {}, "max_uses": 40}
    await answered(inbox, await asked(inbox, call(150)), grant=grant)
    assert [(await asked(inbox, call(number))).status for number in range(151, 191)] == ["completed"] * 40
    for number in range(200, 240):
        await inbox.submit_approved(Ask(title="Refund?", action=call(number)), rule="small", by="agent:bot")
    for _ in range(40):
        (id,) = await inbox.checks.plant([{"tool": "refund", "because": "x", "set": {"amount": 9}}], by="root")
        await answered(inbox, await inbox.get(id))
    assert len(list(human_decisions_on_calls(await inbox.search(Query(tool="refund", limit=500))))) == 151
    assert await inbox.suggestions.list() == []


async def test_a_switched_on_rule_approves_its_calls_and_one_in_n_still_asks(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    rule = await inbox.suggestions.accept(suggestion.id, by="ann", one_in=4, max_uses=1_000)
    assert await inbox.suggestions.list() == []
    statuses = [(await asked(inbox, call(number))).status for number in range(220, 420)]
    assert 20 <= statuses.count("pending") <= 85
    assert statuses.count("completed") == 200 - statuses.count("pending")
    for action in (
        call(1, amount=201), call(1, amount=0), call(1, country="KP"), call(1, more=1), call(1, order="x y"),
        call(1, order="/etc/passwd"), call(1, amount="10"), Action("refund", {"amount": 10}), Action("pay", {}),
    ):  # fmt: skip
        assert (await asked(inbox, action)).status == "pending"
    assert (await asked(inbox, call(1), by="agent:other")).status == "pending"
    assert (await asked(inbox, call(1), tier="medium")).status == "pending"
    (view,) = await inbox.grants.list()
    assert (view.id, view.grant.one_in, view.granted_by) == (rule.id, 4, "ann")
    # The record of the rule is nothing to run.
    assert (rule.is_unexecuted, rule.is_unacknowledged) == (False, False)
    assert (await verify_store(inbox.store))[1] == []


async def test_the_seed_is_in_no_public_part_and_in_no_event(inbox: StoreInbox, clock: ManualClock) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    rule = await inbox.suggestions.accept(suggestion.id, by="ann")
    assert rule.seed
    assert rule.seed not in rule.model_dump_json(include=Request.public())
    assert not [event for event in await inbox.events(limit=10_000) if rule.seed in event.model_dump_json()]
    drawn = [rule.response.grant.must_ask(rule.seed, str(n)) for n in range(4_000)]  # type: ignore[union-attr]
    other = [rule.response.grant.must_ask("0" * 64, str(n)) for n in range(4_000)]  # type: ignore[union-attr]
    assert 120 < sum(drawn) < 290
    assert drawn != other
    assert all(rule.response.grant.must_ask(None, str(n)) for n in range(10))  # type: ignore[union-attr]


@pytest.mark.parametrize("decision", ["reject", "edit"])
async def test_a_refusal_of_a_call_that_it_covers_ends_the_rule_at_once(
    inbox: StoreInbox, clock: ManualClock, decision: str
) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    rule = await inbox.suggestions.accept(suggestion.id, by="ann", one_in=2)
    sample = await pending_one(inbox)
    other = await asked(inbox, call(1, amount=999))
    assert (await answered(inbox, other, "reject")).response.ended_rules == ()  # type: ignore[union-attr]
    edited = {**call(1).args, "amount": 3} if decision == "edit" else None
    done = await answered(inbox, sample, decision, by="bob", args=edited)
    assert done.response
    assert done.response.ended_rules == (rule.id,)
    (view,) = await inbox.grants.list()
    assert (view.status, view.refuted_by) == ("revoked", sample.id)
    assert [(await asked(inbox, call(number))).status for number in range(500, 540)] == ["pending"] * 40
    entries = [event.changed["entry"] for event in await inbox.events(limit=10_000) if event.record == "journal"]
    assert entries[-1] == {"do": "refute", "rules": [rule.id], "request": sample.id}
    assert (await verify_store(inbox.store))[1] == []


@pytest.mark.parametrize("decision", ["approve", "edit", "reject"])
async def test_an_answer_is_made_once_where_no_rule_is_in_force(
    inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch, decision: str
) -> None:
    made, completed = list[str](), Request.completed

    def counted(request: Request, *parts: Any, **options: Any) -> Any:
        made.append(request.id)
        return completed(request, *parts, **options)

    monkeypatch.setattr(Request, "completed", counted)
    request = await asked(inbox, call(1))

    await answered(inbox, request, decision, args={**call(1).args, "amount": 3} if decision == "edit" else None)

    assert made == [request.id]


class SlowStore(MemoryStore):
    """A store in which something happens right before a rule is stored."""

    meanwhile: Callable[[], Awaitable[object]] | None = None

    async def put(self, record: Record, event: Event | None, others: Sequence[Change] = ()) -> None:
        if self.meanwhile and isinstance(record, Request) and record.seed:
            meanwhile, self.meanwhile = self.meanwhile, None
            await meanwhile()
        await super().put(record, event, others)


async def test_a_refusal_while_a_rule_is_switched_on_ends_it(clock: ManualClock) -> None:
    store = SlowStore()
    inbox = StoreInbox(store, MemoryNotifier(0.1), clock=clock)
    async with inbox.feed:
        await decide_all(inbox, clock)
        waiting = await asked(inbox, call(300))
        (suggestion,) = await inbox.suggestions.list()
        store.meanwhile = lambda: answered(inbox, waiting, "reject")
        await inbox.suggestions.accept(suggestion.id, by="bob", one_in=2)
        (view,) = await inbox.grants.list()
        assert (view.status, view.refuted_by) == ("revoked", waiting.id)


async def pending_one(inbox: StoreInbox, **more: Any) -> Request:
    for number in itertools.count(1_000):
        request = await asked(inbox, call(number), **more)
        if request.status == "pending":
            return request
    raise AssertionError


@pytest.mark.parametrize("how", ["withdrawal", "expiry"])
async def test_no_agent_avoids_a_sample_by_a_withdrawal_or_an_early_end(
    inbox: StoreInbox, clock: ManualClock, how: str
) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    rule = await inbox.suggestions.accept(suggestion.id, by="ann", one_in=2)
    sample = await pending_one(inbox, expires_in=1)
    if how == "withdrawal":
        await inbox.cancel(sample.id, by="agent:bot")
    else:
        clock.advance(2)
        assert await inbox.expire_due() == 1
    (view,) = await inbox.grants.list()
    assert (view.id, view.status, view.refuted_by) == (rule.id, "revoked", sample.id)
    assert [(await asked(inbox, call(number))).status for number in range(500, 520)] == ["pending"] * 20
    assert (await verify_store(inbox.store))[1] == []


async def test_the_approval_of_a_sample_leaves_the_rule_on(inbox: StoreInbox, clock: ManualClock) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    await inbox.suggestions.accept(suggestion.id, by="ann", one_in=2)
    await answered(inbox, await pending_one(inbox))
    assert [view.status for view in await inbox.grants.list()] == ["active"]


async def test_a_rejected_check_ends_no_rule(
    inbox: StoreInbox, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    await inbox.suggestions.accept(suggestion.id, by="ann")
    (id,) = await inbox.checks.plant([{"tool": "refund", "because": "x", "set": {"country": "DE"}}], by="root")
    check = await inbox.get(id)
    assert check.status == "pending"
    await answered(inbox, check, "reject")
    assert [view.status for view in await inbox.grants.list()] == ["active"]


@pytest.mark.parametrize(("limits", "error"), [
    ({"one_in": 1}, InvalidError), ({"one_in": 101}, InvalidError), ({"max_uses": 0}, InvalidError),
    ({"max_uses": 10_001}, InvalidError), ({"until": ManualClock()() + timedelta(days=31)}, InvalidError),
    ({"until": ManualClock()() - timedelta(days=1)}, InvalidError),
])  # fmt: skip
async def test_no_limit_can_be_exceeded(
    inbox: StoreInbox, clock: ManualClock, limits: dict[str, Any], error: type[Exception]
) -> None:
    await decide_all(inbox, clock)
    (suggestion,) = await inbox.suggestions.list()
    with pytest.raises(error):
        await inbox.suggestions.accept(suggestion.id, by="ann", **limits)
    with pytest.raises(NotFoundError):
        await inbox.suggestions.accept("0" * 32, by="ann")
    assert await inbox.grants.list() == []


async def test_the_excluded_asker_cannot_switch_on_a_rule(inbox: StoreInbox, clock: ManualClock) -> None:
    for number in range(220):
        clock.advance(1)
        await answered(inbox, await asked(inbox, call(number), by="eve", exclude=("asker",)))
    (suggestion,) = await inbox.suggestions.list()
    with pytest.raises(ForbiddenError):
        await inbox.suggestions.accept(suggestion.id, by="eve")


AMOUNTS = st.one_of(st.integers(-5, 1_000), st.floats(-5, 1_000, allow_nan=False))
CALLS = st.fixed_dictionaries(
    {"amount": AMOUNTS, "country": st.sampled_from(COUNTRIES), "order": st.from_regex(r"\Ao-[0-9]{1,4}\Z")},
    optional={"note": st.text(max_size=5), "urgent": st.booleans(), "lines": st.lists(st.integers(0, 3), max_size=2)},
)
BAD = st.sampled_from(["above", "country", "pair", "random", "note", "never"])


def is_bad(shape: str, args: dict[str, Any], number: int) -> bool:
    shapes: dict[str, bool] = {
        "above": args["amount"] > 900,
        "country": args["country"] == "DE" and number % 17 == 0,
        "pair": args["amount"] > 500 and args["country"] == "JP" and number % 5 == 0,
        "random": number % 61 == 0,
        "note": "x" in args.get("note", ""),
        "never": False,
    }
    return shapes[shape]


@given(st.lists(CALLS, min_size=20, max_size=60), BAD, st.integers(200, 500), st.sampled_from(["edit", "expire"]))
@settings(max_examples=60, deadline=None)
@pytest.mark.tier("all")
def test_no_rule_lets_through_what_people_did_not_approve(
    seen: list[dict[str, Any]], shape: str, count: int, how: str
) -> None:
    replay = []
    for number in range(count):
        args = {**seen[number % len(seen)], "amount": seen[number % len(seen)]["amount"] + number % 7}
        bad = is_bad(shape, args, number)
        made = GrantableCall("refund", args, "agent:bot", None, "people", 0, None, None)
        replay.append(DecidedCall(str(number), made, not bad, not bad or how == "edit"))
    found: CoveredSuggestion | None = next(iter(suggest_rules_from_calls(replay)), None)
    if found is None:
        return
    grant = found.grant(NewRule(), ManualClock()())
    let_through = [each for each in replay if grant.covers(each.call)]
    assert all(each.is_approved for each in let_through)
    assert len(let_through) == found.suggestion.covered
    # Every argument has a condition, and none is wider than the approved values.
    assert found.suggestion.where.keys() == set(grant.names)
    approved = [each.call.args["amount"] for each in replay if each.is_approved]
    beyond = {**let_through[0].call.args, "amount": max(approved) + 1}
    assert not grant.covers(let_through[0].call._replace(args=beyond))


async def test_no_flood_of_harmless_calls_hides_what_people_refused_before(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    clock.advance(1)
    refused = await asked(inbox, call(7, order="o-9999"))
    await answered(inbox, refused, "reject")
    await decide_all(inbox, clock, 510)
    assert await inbox.suggestions.list() == []


def test_only_short_numbers_in_a_name_may_be_any() -> None:
    assert identifier_pattern(["o-1", "o-17.3", "o-9"]) is None
    assert identifier_pattern(["a.1#22", "a.205#3"]) == "a[.][0-9]{1,4}#[0-9]{1,3}"
    assert identifier_pattern(["shutdown", "status"]) is None
    assert identifier_pattern(["host1.example", "host22.example"]) == "host[0-9]{1,3}[.]example"
    assert identifier_pattern([f"DE{n:020}" for n in range(60)]) is None
    assert identifier_pattern(["o-1", 7]) is None


def test_names_prose_and_addresses_suggest_nothing() -> None:
    for text in ("ls -l {}", "/etc/{}", "ann{}@evil.example", "DE89370400440532{:06}"):
        replay = [
            DecidedCall(
                str(n),
                GrantableCall("run", {"what": text.format(n), "mode": "x"}, None, None, "p", 0, None, None),
                True,
                True,
            )
            for n in range(300)
        ]
        assert suggest_rules_from_calls(replay) == []
    assert suggest_rules_for_tool([]) == []
