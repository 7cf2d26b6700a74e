"""A gated function outside of a run: it asks in an inbox, waits, and runs with the authorized arguments."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.raising import raises_code
from tests.runs.world import until

import ringi
from ringi import Request
from ringi.connect import store_inbox
from ringi.domain.voting import Person
from ringi.errors import InvalidError, NotAuthorizedError, WaitTimeoutError
from ringi.forms import json_schema
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox

DENY: Any = {
    "tools": ["refund"],
    "effect": "deny",
    "name": "no huge",
    "reason": "the bank pays",
    "where": {"amount": {"above": 1000}},
}
POLICY: Any = {
    "rules": [
        {"tools": ["refund"], "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 20}}}]},
        DENY,
        {"tools": ["other"], "where": {"unknown": {"equals": 1}}},
    ]
}


@pytest.fixture
def url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    monkeypatch.setenv("RINGI_URL", url)
    return url


@pytest.fixture
async def inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with store_inbox(url, poll_interval=0.05) as inbox:
        yield inbox


class Shop:
    """Functions that note their calls."""

    def __init__(self, policy: Any = POLICY, **options: Any) -> None:
        self.paid: list[dict[str, Any]] = []

        @ringi.gate(policy, **options)
        async def refund(order: int, amount: float = 5, *, note: str = "") -> str:
            """Pay money back."""
            self.paid.append({"order": order, "amount": amount, "note": note})
            return f"paid {amount:g}"

        self.refund = refund


async def pending(inbox: StoreInbox) -> Request:
    """Return the open request once there is one."""

    async def found() -> Request | None:
        return next(iter(await inbox.find(status="pending")), None)

    return await until(found, "a request is open")


async def respond(inbox: StoreInbox, decision: Any, **rest: Any) -> Request:
    request = await pending(inbox)
    return await inbox.respond(request, decision, by=Person("ann", request.groups), **rest)


async def test_a_function_waits_and_runs_after_an_approval(inbox: StoreInbox) -> None:
    shop = Shop(inbox=inbox)
    assert (shop.refund.__name__, shop.refund.__doc__) == ("refund", "Pay money back.")
    running = asyncio.create_task(shop.refund(1, amount=40))
    request = await pending(inbox)
    assert request.action
    assert (request.action.name, request.action.args) == ("refund", {"order": 1, "amount": 40, "note": ""})
    assert shop.paid == []
    await respond(inbox, "approve")
    assert (await running, shop.paid) == ("paid 40", [{"order": 1, "amount": 40, "note": ""}])


async def test_edited_arguments_reach_the_function(inbox: StoreInbox) -> None:
    shop = Shop(inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 40))
    request = await pending(inbox)
    for wrong in ({"order": "x", "amount": 1}, {"amount": 1}, {"order": 1, "amount": 1, "to": "bob"}):
        with pytest.raises(InvalidError):
            await respond(inbox, "edit", args=wrong)
    await respond(inbox, "edit", args={"order": 1, "amount": 35})
    assert (await running, shop.paid) == ("paid 35", [{"order": 1, "amount": 35, "note": ""}])
    assert (await inbox.get(request.id)).winner


@pytest.mark.parametrize("ending", ["reject", "cancel", "expire"])
async def test_a_call_that_nobody_consented_to_does_not_run(inbox: StoreInbox, ending: str) -> None:
    expires = {"expires_in": 0.2} if ending == "expire" else {}
    shop = Shop({"rules": [{"tools": ["refund"], **expires}]}, inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 40))
    request = await pending(inbox)
    if ending == "reject":
        await respond(inbox, "reject", message="too much")
    elif ending == "cancel":
        await inbox.cancel(request.id, by="ann")
    with pytest.raises(NotAuthorizedError) as error:
        await running
    assert (error.value.id, shop.paid) == (request.id, [])
    wanted = {"reject": "ann decided reject: too much", "cancel": "it is cancelled", "expire": "it is expired"}
    assert wanted[ending] in str(error.value)


async def test_a_rule_approves_on_record(inbox: StoreInbox) -> None:
    shop = Shop(inbox=inbox)
    assert await shop.refund(1, 20) == "paid 20"
    (request,) = await inbox.find()
    assert request.winner
    assert request.winner["responder"] == "policy:small"


async def test_a_denied_call_is_one_record_and_raises(inbox: StoreInbox) -> None:
    shop = Shop(inbox=inbox)
    for _ in range(3):
        with pytest.raises(NotAuthorizedError, match="the rule 'no huge' denies it: the bank pays"):
            await shop.refund(1, 4000)
    (request,) = await inbox.find()
    assert request.winner
    assert (request.winner["responder"], request.winner["decision"]) == ("policy:no huge", "reject")
    assert shop.paid == []


async def test_an_edit_that_a_rule_denies_does_not_run(inbox: StoreInbox) -> None:
    shop = Shop(inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 40))
    await respond(inbox, "edit", args={"order": 1, "amount": 1001})
    with pytest.raises(NotAuthorizedError, match="no huge"):
        await running
    assert shop.paid == []


async def test_a_fact_that_denies_is_read_again_after_the_answer(inbox: StoreInbox) -> None:
    frozen = [False]
    rule = {"tools": ["refund"], "effect": "deny", "name": "frozen", "facts": {"frozen": {"equals": True}}}
    policy = {"rules": [{"tools": ["refund"]}, rule]}
    shop = Shop(policy, facts={"frozen": lambda _: frozen[0]}, inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 40))
    await pending(inbox)
    frozen[0] = True
    await respond(inbox, "approve")
    with pytest.raises(NotAuthorizedError, match="frozen"):
        await running
    assert shop.paid == []


async def test_without_people_calls_run_and_denials_hold(inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    shop = Shop(inbox=inbox)
    assert await shop.refund(1, 40) == "paid 40"
    with pytest.raises(NotAuthorizedError):
        await shop.refund(1, 4000)
    assert len(shop.paid) == len(await inbox.find()) == 1


async def test_a_retry_with_a_key_asks_once_and_hears_the_decision(inbox: StoreInbox) -> None:
    facts = [0]

    def count(_: Any) -> int:
        facts[0] += 1
        return facts[0]

    ask = {"tools": ["refund"], "facts": {"count": {"above": 0}}}
    shop = Shop({"rules": [ask]}, facts={"count": count}, key=lambda args: f"refund-{args['order']}", inbox=inbox)
    first = asyncio.create_task(shop.refund(1, 40))
    await pending(inbox)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    retry = asyncio.create_task(shop.refund(1, 40))
    await respond(inbox, "approve")
    assert await retry == "paid 40"
    assert await shop.refund(1, 40) == "paid 40"
    assert len(await inbox.find()) == 1
    with raises_code("different"):
        await shop.refund(1, 41)
    assert len(shop.paid) == 2


async def test_a_rejection_under_a_key_stays_even_without_people(
    inbox: StoreInbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Shop(key="refund of today", inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 40))
    await respond(inbox, "reject")
    with pytest.raises(NotAuthorizedError):
        await running
    monkeypatch.setenv("RINGI_ENABLED", "0")
    with pytest.raises(NotAuthorizedError):
        await shop.refund(1, 40)
    later = Shop({"rules": [{"tools": ["refund"], "effect": "allow"}]}, key="refund of today", inbox=inbox)
    with pytest.raises(NotAuthorizedError):
        await later.refund(1, 40)
    assert (shop.paid, later.paid) == ([], [])


async def test_a_denial_beats_an_approval_under_the_same_key(inbox: StoreInbox) -> None:
    shop = Shop({"rules": [{"tools": ["refund"]}]}, key=lambda args: "k", inbox=inbox)
    running = asyncio.create_task(shop.refund(1, 4000))
    await respond(inbox, "approve")
    await running
    later = Shop(POLICY, key=lambda args: "k", inbox=inbox)
    with pytest.raises(NotAuthorizedError, match="no huge"):
        await later.refund(1, 4000)
    assert later.paid == []


async def test_a_task_may_leave_and_come_back_for_the_decision(inbox: StoreInbox) -> None:
    shop = Shop(key=lambda args: "k", timeout=0.05, inbox=inbox)
    for _ in range(2):
        with pytest.raises(WaitTimeoutError):
            await shop.refund(1, 40)
    await respond(inbox, "approve")
    assert (await shop.refund(1, 40), len(await inbox.find())) == ("paid 40", 1)
    with pytest.raises(InvalidError, match="timeout: needs key"):
        Shop(timeout=5)


@pytest.mark.parametrize("key", ["", 5, None])
async def test_a_key_function_must_return_a_text(inbox: StoreInbox, key: Any) -> None:
    with pytest.raises(InvalidError, match="is not a text"):
        await Shop(key=lambda _: key, inbox=inbox).refund(1, 40)


@pytest.mark.parametrize(
    "value", [datetime(2026, 1, 1, tzinfo=UTC), (1,), {1: 2}, {"a": object()}, float("nan"), 2**60]
)
async def test_arguments_that_are_not_plain_json_are_refused(inbox: StoreInbox, value: Any) -> None:
    @ringi.gate(inbox=inbox)
    async def run(value: Any) -> None:
        raise AssertionError

    with pytest.raises(InvalidError, match=r"args.value: is not plain JSON"):
        await run(value)
    assert await inbox.find() == []


async def test_an_endless_argument_is_refused(inbox: StoreInbox) -> None:
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(InvalidError, match="not plain JSON"):
        await ringi.gate("run", {"value": endless}, inbox=inbox)


async def test_arguments_must_fit_the_signature_and_the_annotations(inbox: StoreInbox) -> None:
    shop: Any = Shop(inbox=inbox)
    with pytest.raises(TypeError):
        await shop.refund()
    with pytest.raises(TypeError):
        await shop.refund(1, to="bob")
    with pytest.raises(InvalidError, match=r"args.order"):
        await shop.refund("one", 40)
    assert await inbox.find() == []


async def test_the_arguments_cannot_change_while_the_call_waits(inbox: StoreInbox) -> None:
    seen: list[Any] = []

    @ringi.gate(inbox=inbox)
    async def send(to: list[str], /, *more: str, **rest: int) -> None:
        seen.append((to, more, rest))

    to = ["ann"]
    running = asyncio.create_task(send(to, "a", "b", n=1))
    request = await pending(inbox)
    assert request.action
    assert request.action.args == {"to": ["ann"], "more": ["a", "b"], "rest": {"n": 1}}
    to.append("mallory")
    await respond(inbox, "approve")
    await running
    assert seen == [(["ann"], ("a", "b"), {"n": 1})]


async def test_a_default_that_is_not_json_is_left_to_the_function(inbox: StoreInbox) -> None:
    marker, seen = object(), list[Any]()

    @ringi.gate(inbox=inbox)
    async def run(a: int, b: Any = marker) -> None:
        seen.append(b)

    running = asyncio.create_task(run(1))
    await respond(inbox, "approve")
    await running
    assert seen == [marker]


async def test_a_function_whose_annotations_have_no_schema_refuses_unfit_edits(inbox: StoreInbox) -> None:
    class Own:
        pass

    @ringi.gate(inbox=inbox)
    async def run(a: Own) -> str:
        return f"ran with {a}"

    call: Any = run
    running = asyncio.create_task(call(1))
    with pytest.raises(InvalidError, match=r"args.a: is missing"):
        await respond(inbox, "edit", args={})
    await respond(inbox, "edit", args={"a": 2})
    assert await running == "ran with 2"


async def test_the_gate_returns_the_authorized_arguments(inbox: StoreInbox) -> None:
    running = asyncio.create_task(ringi.gate("refund", {"amount": 40}, policy=POLICY, inbox=inbox))
    await respond(inbox, "edit", args={"amount": 30})
    assert await running == {"amount": 30}
    assert await ringi.gate("refund", {"amount": 20}, policy=POLICY, inbox=inbox) == {"amount": 20}


async def test_behind_a_client_people_approve_and_denials_hold_without_a_record(inbox: StoreInbox) -> None:
    async def submit(self: Any, ask: Any) -> Request:
        return await inbox.submit(ask)

    async def wait(self: Any, request: Any, timeout: float | None = None) -> Request:
        return await inbox.wait(request, timeout)

    others = dict.fromkeys(Inbox.__abstractmethods__)
    remote: Any = type("Remote", (Inbox,), {**others, "submit": submit, "wait": wait, "pauses": inbox.pauses})()
    shop = Shop(inbox=remote)
    running = asyncio.create_task(shop.refund(1, 20))
    await respond(inbox, "approve")
    assert await running == "paid 20"
    with pytest.raises(NotAuthorizedError, match="no huge"):
        await shop.refund(1, 4000)
    assert len(await inbox.find()) == len(shop.paid) == 1


async def test_exceptions_of_the_function_pass_through(inbox: StoreInbox) -> None:
    @ringi.gate(POLICY, name="refund", inbox=inbox)
    async def fails(amount: int) -> None:
        raise KeyError(amount)

    with pytest.raises(KeyError):
        await fails(1)


def test_a_function_without_async_blocks_its_thread_and_finds_the_store(url: str) -> None:
    @ringi.gate(POLICY)
    def refund(amount: int) -> int:
        return amount

    results: list[int] = []
    thread = threading.Thread(target=lambda: results.append(refund(40)))
    thread.start()
    with ringi.sync.open(url) as inbox:
        while not (found := inbox.find(status="pending")):
            thread.join(0.02)
        inbox.respond(found[0], "edit", by="ann", args={"amount": 30})
        thread.join(20)
        assert results == [30]
        with pytest.raises(NotAuthorizedError):
            refund(4000)
        assert len(inbox.find()) == 2


def test_a_function_without_async_takes_an_inbox_of_the_sync_room(url: str) -> None:
    with ringi.sync.open(url) as inbox:

        @ringi.gate(POLICY, inbox=inbox)
        def refund(amount: int) -> int:
            return amount

        assert refund(20) == 20
        assert len(inbox.find()) == 1


async def test_a_function_without_async_never_blocks_an_event_loop(inbox: StoreInbox) -> None:
    @ringi.gate({"rules": [*POLICY["rules"], {"tools": ["look"], "effect": "allow"}]})
    def refund(amount: int) -> int:
        return amount

    with pytest.raises(RuntimeError, match="would block the event loop"):
        refund(40)
    with pytest.raises(NotAuthorizedError):
        refund(4000)
    running = asyncio.create_task(asyncio.to_thread(refund, 40))
    await respond(inbox, "approve")
    assert await running == 40


def test_what_cannot_be_gated_is_refused(url: str) -> None:
    async def generator() -> AsyncIterator[int]:
        yield 1

    with pytest.raises(TypeError, match="is a generator"):
        ringi.gate()(generator)
    with pytest.raises(TypeError, match="is no policy"):
        ringi.gate([POLICY])  # type: ignore[call-overload]
    with pytest.raises(InvalidError, match=r"Policy\.read\('policy\.json'\)"):
        ringi.gate("policy.json")  # type: ignore[call-overload]
    with pytest.raises(InvalidError, match=r"@ringi\.gate\(policy\)"):
        ringi.gate(policy=POLICY)  # type: ignore[call-overload]
    with pytest.raises(InvalidError, match="no rule names 'generate'"):
        ringi.gate({"rules": [{"tools": ["refund"]}]}, name="generate")(lambda: None)
    with pytest.raises(InvalidError, match="is not an argument of refund: use order"):
        ringi.gate(POLICY, name="refund")(lambda order: None)
    with pytest.raises(InvalidError, match="is not a fact"):
        ringi.gate({"rules": [{"tools": ["f"], "facts": {"x": {"equals": 1}}}]}, name="f")(lambda: None)
    with ringi.sync.open(url) as inbox, pytest.raises(TypeError, match="is no inbox for this function"):

        @ringi.gate(inbox=inbox)
        async def run() -> None:
            pass


async def test_the_schema_of_a_function_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read, compile_schema = list[str](), json_schema._compile

    def counting(schema: object, field: str) -> Any:
        read.append(field)
        return compile_schema(schema, field)

    monkeypatch.setattr(json_schema, "_compile", counting)

    @ringi.gate({"rules": [{"tools": ["pay"], "effect": "allow"}], "otherwise": "ask"})
    async def pay(amount: int) -> int:
        return amount

    assert await pay(1) == 1
    read.clear()

    assert [await pay(amount) for amount in range(3)] == [0, 1, 2]
    assert read == []
