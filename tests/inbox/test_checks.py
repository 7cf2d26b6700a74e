"""A check can never run, on no store and in no way, and the shares are counted right."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.ask import Action, Ask, Continuation
from ringi.domain.checks import CheckRecipe, CheckView, check_report, new_id_of_same_shape, replace_value_everywhere
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.voting import Stage
from ringi.errors import ConflictError, NotAuthorizedError, WaitTimeoutError
from ringi.gateways.client_calls import ClientGate, ClientSession
from ringi.inbox.inbox import StoreInbox
from ringi.policy.rules import Policy
from ringi.testing import ManualClock

NOW = datetime(2026, 11, 26, tzinfo=UTC)
CALL = Action("refund", {"order": 7, "amount": 40})
RECIPE = {"tool": "refund", "because": "too much", "times": {"amount": 10}}
WRONG = {"order": 7, "amount": 400}


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")


@pytest.fixture
async def inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        yield inbox


async def planted(inbox: StoreInbox, recipe: dict[str, Any] = RECIPE, **more: Any) -> Request:
    await inbox.submit(Ask(title="Refund 40?", action=CALL, **more), by="agent:bot")
    (id,) = await inbox.checks.plant([recipe], by="root")
    return await inbox.get(id)


async def decided(inbox: StoreInbox, check: Request, decision: str = "approve", **more: Any) -> Request:
    return await inbox.respond(check, decision, by="ann", **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_an_approved_check_authorizes_no_call(inbox: StoreInbox, decision: str) -> None:
    check = await planted(inbox)
    done = await decided(inbox, check, decision, args={**WRONG, "order": 8} if decision == "edit" else None)

    assert done.response
    assert (done.status, done.granted, done.outcome, done.is_unexecuted, done.is_unacknowledged) == (
        "completed", None, None, False, False,
    )  # fmt: skip
    for args in (WRONG, {**WRONG, "order": 8}, CALL.args):
        with pytest.raises(NotAuthorizedError, match="check"):
            done.authorize("refund", args)
    # A version from before checks keeps the unknown fields, and refuses for want of the digest.
    old = done.model_copy(update={"check": None, "check_result": None})
    with pytest.raises(NotAuthorizedError):
        old.authorize("refund", WRONG)
    for outcome, attempt in (("unknown", "a1"), ("committed", None)):
        with pytest.raises(ConflictError):
            await inbox.report_outcome(done.id, outcome, attempt=attempt, by="agent:bot")  # type: ignore[arg-type]
    for query in (Query(unexecuted=True), Query(unacknowledged=True), Query(asked_by="agent:bot")):
        assert done.id not in [each.id for each in await inbox.search(query)]
    assert (await verify_store(inbox.store))[1] == []


async def test_a_gate_never_takes_a_check_for_its_own_call(inbox: StoreInbox) -> None:
    """The session of a client asks the same call again, after a person has approved a check of it."""
    gate = ClientGate(
        lambda: Policy.parse({"rules": [{"tools": ["other"]}]}), inbox, ClientSession("claude", "s1", "/work")
    )
    done = await decided(inbox, await planted(inbox, thread_id=gate.session.thread_id))
    assert (done.thread_id, done.granted) == (gate.session.thread_id, None)
    with pytest.raises(WaitTimeoutError):
        await gate.authorize("refund", WRONG, timeout=0.05)


async def test_a_check_wakes_no_run_and_belongs_to_none(inbox: StoreInbox) -> None:
    run = Continuation(runner="langgraph", target="desk", key="t1")
    await inbox.submit(Ask(title="Refund 40?", action=CALL, thread_id="t1"), by="agent:bot", continuation=run)
    (id,) = await inbox.checks.plant([RECIPE], by="root")
    check = await decided(inbox, await inbox.get(id))
    assert (check.continuation, check.is_unacknowledged, check.is_unsettled) == (None, False, False)
    assert [each.id for each in await inbox.search(Query(unsettled=True))] != [check.id]


async def test_an_asker_with_the_id_of_a_check_gets_no_answer_of_it(inbox: StoreInbox) -> None:
    check = await decided(inbox, await planted(inbox))
    with pytest.raises(ConflictError):
        await inbox.submit(Ask(id=check.id, title=check.title, action=Action("refund", WRONG)), by="agent:bot")


async def test_votes_holds_and_expiries_behave_as_for_a_real_request(inbox: StoreInbox) -> None:
    check = await planted(inbox, quorum=(Stage(count=2),))
    first = await decided(inbox, check)
    assert (first.status, first.check_result, len(first.votes)) == ("pending", None, 1)
    assert first.votes[0].authorised_digest == first.authorised_digest("approve", None, None)
    done = await inbox.respond(check, "approve", by="bob")
    assert done.check_result
    assert (done.check_result.caught, done.granted) == (False, None)
    report = await inbox.checks.report()
    assert [(each.name, each.total, each.caught) for each in report.people] == [("ann", 1, 0), ("bob", 1, 0)]

    gone = await inbox.cancel((await planted(inbox, expires_in=60)).id, by="root")
    assert gone.check_result
    assert gone.check_result.caught is None
    assert [each.total for each in (await inbox.checks.report()).tools] == [1]


@pytest.mark.parametrize(
    ("expect", "decision", "args", "caught"),
    [
        ("reject", "approve", None, False),
        ("reject", "reject", None, True),
        ("reject", "edit", {"order": 7, "amount": 40}, False),
        ("edit", "edit", {"order": 7, "amount": 40}, True),
        ("edit", "edit", {"order": 8, "amount": 400}, False),
        ("edit", "reject", None, True),
        ("edit", "approve", None, False),
    ],
)
async def test_what_counts_as_noticed(expect: str, decision: str, args: dict[str, Any] | None, caught: bool) -> None:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1))
    done = await decided(inbox, await planted(inbox, {**RECIPE, "expect": expect}), decision, args=args)
    assert done.check_result
    assert done.check_result.caught is caught


async def test_a_share_plants_one_at_a_time_and_no_more_than_the_share() -> None:
    clock = ManualClock()
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1), clock=clock)
    numbers = []
    for number in range(300):
        clock.advance(1)
        await inbox.submit(Ask(title="Refund 40?", action=Action("refund", {"order": number, "amount": 40})), by="a")
        numbers.append(len(await inbox.checks.plant([RECIPE], by="root", share=0.01)))
    assert (sum(numbers), max(numbers)) == (3, 1)


async def test_an_erasure_removes_the_words_and_keeps_that_it_was_a_check() -> None:
    inbox = StoreInbox(MemoryStore(), MemoryNotifier(0.1))
    done = await decided(inbox, await planted(inbox))
    erased = await inbox.erase(done.id, by="root")
    assert erased.check
    assert (erased.is_check, erased.check.because, "too much" in erased.model_dump_json()) == (True, "", False)
    with pytest.raises(NotAuthorizedError):
        erased.authorize("refund", WRONG)
    assert not [each for each in await inbox.events() if "too much" in each.model_dump_json()]
    assert (await verify_store(inbox.store))[1] == []


def view(number: int, *, caught: bool | None, tool: str = "refund", person: str = "ann") -> CheckView:
    at = NOW + timedelta(minutes=number)
    more = {"people": (person,), "decided_at": at} if caught is not None else {}
    about: dict[str, Any] = {"id": f"c{number}", "tool": tool, "created_at": at, "status": "completed", "because": "x"}
    return CheckView(**about, expected="reject", caught=caught, **more)


@given(st.lists(st.booleans() | st.none(), max_size=60), st.randoms(use_true_random=False))
def test_the_alarm_is_below_four_fifths_of_the_newest_twenty(
    answers: list[bool | None], shuffle: random.Random
) -> None:
    views = [view(number, caught=caught) for number, caught in enumerate(answers)]
    shuffle.shuffle(views)
    report = check_report(views)
    decided = [caught for caught in answers if caught is not None]
    newest = decided[-20:]
    assert report.has_alarm == (len(newest) >= 5 and sum(newest) / len(newest) < 0.8)
    if decided:
        (share,) = report.people
        counts = (share.newest, share.newest_caught, share.total, share.caught)
        assert counts == (len(newest), sum(newest), len(decided), sum(decided))


@pytest.mark.parametrize(
    ("text", "after"),
    [
        ("Refund ¥4,000 to order 1182", "Refund ¥40,000 to order 1182"),
        ("4000.00 EUR, 14000, 4000.5, A4000", "40000.00 EUR, 14000, 4000.5, A4000"),
        ("4,000.", "40,000."),
        ("返金 4000円", "返金 40000円"),
    ],
)
def test_texts_name_the_wrong_value(text: str, after: str) -> None:
    assert replace_value_everywhere({"a": [text, 4000, True]}, 4000, 40000) == {"a": [after, 40000, True]}


@given(st.text("0123456789abcdef", min_size=16, max_size=80), st.sampled_from(["", "q-", "call:", "toolu_"]))
def test_ids_have_the_shape_of_real_ones(digits: str, prefix: str) -> None:
    new = new_id_of_same_shape(prefix + digits, "f0" * 32)
    assert (len(new), new.startswith(prefix)) == (len(prefix + digits), True)


def test_a_value_that_cannot_be_made_wrong_is_no_template() -> None:
    recipe = CheckRecipe(tool="refund", because="x", times={"amount": 10})
    assert recipe.wrong_args({"amount": "many"}) is None
    assert recipe.wrong_args({"amount": 0}) is None
    assert recipe.wrong_args({"other": 1}) is None
    assert CheckRecipe(tool="t", because="x", set={"a.b": 2}).wrong_args({"a": {"b": 1, "c": 3}}) == {
        "a": {"b": 2, "c": 3}
    }
