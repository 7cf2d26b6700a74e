"""What became of approved calls: gates and runs record it, and what is not known stays in the list."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import StructuredTool, ToolException, tool
from langgraph.graph import START, MessagesState, StateGraph
from tests.integrations.langchain.office import agent, call, calls
from tests.runs.world import World, at_work, until

import ringi
from ringi import Action, Agent, Approval, Request, ask
from ringi.connect import store_inbox
from ringi.domain import Query
from ringi.errors import UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.runs.operations import retry_failed_run

ASK: Any = {"rules": [{"tools": ["pay"]}]}
SMALL: Any = {"rules": [{"tools": ["pay"], "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 20}}}]}]}
NOT_EXECUTED = Query(unexecuted=True)


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    monkeypatch.setenv("RINGI_URL", url)
    return url


@pytest.fixture
async def inbox(file: str) -> AsyncIterator[StoreInbox]:
    async with store_inbox(file, poll_interval=0.05) as inbox:
        yield inbox


async def approve(inbox: StoreInbox) -> Request:
    """Approve the open request once there is one."""

    async def found() -> Request | None:
        return next(iter(await inbox.find(status="pending")), None)

    request = await until(found, "a request is open")
    return await inbox.respond(request, "approve", by="ann")


def payment(effect: Any, **options: Any) -> Any:
    @ringi.gate(ASK, name="pay", **options)
    async def pay(amount: int) -> str:
        await effect()
        return f"paid {amount}"

    return pay


async def nothing() -> None:
    pass


async def fails() -> None:
    raise ConnectionError("the bank is away")


async def test_a_gated_function_that_returned_is_committed(inbox: StoreInbox) -> None:
    running = asyncio.create_task(payment(nothing, inbox=inbox)(5))
    request = await approve(inbox)
    assert await running == "paid 5"
    stored = await inbox.get(request.id)
    assert (stored.outcome, await inbox.search(NOT_EXECUTED)) == ("committed", [])
    # What was done is on record, and says nothing of the result.
    assert "paid 5" not in stored.model_dump_json()


async def test_a_gated_function_that_raised_is_failed_and_its_error_passes(inbox: StoreInbox) -> None:
    running = asyncio.create_task(payment(fails, inbox=inbox)(5))
    request = await approve(inbox)
    with pytest.raises(ConnectionError):
        await running
    assert (await inbox.get(request.id)).outcome == "failed"


async def test_a_gated_function_that_was_stopped_is_not_known_to_be_executed(inbox: StoreInbox) -> None:
    begun = asyncio.Event()

    async def hangs() -> None:
        begun.set()
        await asyncio.Event().wait()

    running = asyncio.create_task(payment(hangs, inbox=inbox)(5))
    request = await approve(inbox)
    await begun.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [each.id for each in await inbox.search(NOT_EXECUTED)] == [request.id]


async def test_a_failing_store_does_not_fail_a_call_that_was_made(
    inbox: StoreInbox, caplog: pytest.LogCaptureFixture
) -> None:
    async def no_store(*_: object, **__: object) -> Request:
        raise UnavailableError("the disk is full")

    async def breaks_the_store() -> None:
        inbox.report_outcome = no_store  # type: ignore[method-assign]

    running = asyncio.create_task(payment(breaks_the_store, inbox=inbox)(5))
    request = await approve(inbox)
    assert await running == "paid 5"
    assert f"the call of request {request.id} is committed, but that is not on record" in caplog.text
    assert [each.id for each in await inbox.search(NOT_EXECUTED)] == [request.id]


async def test_a_rule_that_approves_gets_a_receipt_too(inbox: StoreInbox) -> None:
    @ringi.gate(SMALL, name="pay", inbox=inbox)
    async def pay(amount: int) -> int:
        return amount

    assert await pay(5) == 5
    (request,) = await inbox.find()
    assert request.outcome == "committed"


async def test_the_gate_cannot_know_what_its_caller_does(inbox: StoreInbox) -> None:
    running = asyncio.create_task(ringi.gate("pay", {"amount": 5}, policy=ASK, inbox=inbox))
    request = await approve(inbox)
    assert await running == {"amount": 5}
    assert (await inbox.get(request.id)).outcome == "unknown"


def test_a_blocking_function_reports_with_an_inbox_of_its_own(file: str) -> None:
    outcomes: list[object] = []

    @ringi.gate(ASK, name="pay")
    def pay(amount: int) -> int:
        if amount > 10:
            raise ValueError(amount)
        return amount

    def work(amount: int) -> None:
        try:
            outcomes.append(pay(amount))
        except ValueError:
            outcomes.append("raised")

    with ringi.sync.open(file) as inbox:
        for amount, outcome in ((5, "committed"), (50, "failed")):
            thread = threading.Thread(target=work, args=(amount,))
            thread.start()
            while not (found := inbox.find(status="pending")):
                thread.join(0.02)
            inbox.respond(found[0], "approve", by="ann")
            thread.join(20)
            assert inbox.get(found[0].id).outcome == outcome
    assert outcomes == [5, "raised"]


def till(fail: Any = (), *, is_async: bool = False) -> Any:
    """Return an agent that pays once, and goes on after an error of its tool."""

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        if fail:
            raise ConnectionError("the bank is away")
        return "paid"

    @tool("pay")
    async def pay_async(amount: int) -> str:
        """Pay."""
        return str(pay.func(amount))  # type: ignore[attr-defined]

    return pay_async if is_async else pay


def office(pay: Any, policy: Any = ASK, amount: int = 5) -> Agent:
    return agent(calls(call("pay", amount=amount)), [pay], [Approval(policy, [pay])])


async def receipts(world: World) -> list[Any]:
    """Return what the acknowledgements of the thread's requests say."""
    events = await world.inbox.events(limit=1000)
    return [event.changed.get("receipt") for event in events if event.type == "request.acknowledged"]


@pytest.mark.parametrize("is_async", [False, True])
async def test_the_acknowledgement_of_a_run_has_the_outcome_of_its_tool(file: str, is_async: bool) -> None:
    async with at_work(file, [office(till(is_async=is_async))]) as world:
        await world.run("office", {})
        request = await world.one()
        await world.answer(request, "approve")
        assert await receipts(world) == [{"outcome": "committed"}]
        assert await world.inbox.search(NOT_EXECUTED) == []
        await world.verified()


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_that_raised_has_failed_until_an_operator_retries_its_run(file: str, is_async: bool) -> None:
    fail = {"now": True}
    async with at_work(file, [office(till(fail, is_async=is_async))]) as world:
        await world.run("office", {})
        asked = await world.one()
        await world.answer(asked, "approve")

        async def is_acknowledged() -> bool:
            return (await world.inbox.get(asked.id)).acknowledged_at is not None

        await until(is_acknowledged, "the run has closed its requests")
        assert ((await world.thread()).status, await receipts(world)) == ("error", [{"outcome": "failed"}])
        assert await world.inbox.search(NOT_EXECUTED) == []
        fail.clear()
        await retry_failed_run(world.backend, world.inbox, "t1", by="root")
        await world.rest()
        assert ((await world.thread()).status, await receipts(world)) == (
            "done",
            [{"outcome": "failed"}, {"outcome": "committed"}],
        )
        await world.verified()


async def test_a_tool_that_returns_its_error_to_the_model_has_failed(file: str) -> None:
    def pays_never(amount: int) -> str:
        raise ToolException("no money")

    pay = StructuredTool.from_function(pays_never, name="pay", description="Pay.", handle_tool_error=True)
    async with at_work(file, [office(pay)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert await receipts(world) == [{"outcome": "failed"}]


async def test_a_call_that_a_rule_approved_is_acknowledged_with_its_outcome(file: str) -> None:
    async with at_work(file, [office(till(), SMALL)]) as world:
        assert (await world.run("office", {})).status == "done"
        assert await receipts(world) == [{"outcome": "committed"}]
        await world.verified()


async def test_a_step_that_asks_itself_has_an_unknown_outcome(file: str) -> None:
    def work(state: Any) -> Any:
        return {"messages": [("ai", str(ask("Pay?", action=Action("pay", {"amount": 5})).granted))]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    async with at_work(file, [Agent("office", graph, input=lambda _: {"messages": []})]) as world:
        await world.run("office", {})
        request = await world.one()
        await world.answer(request, "approve")
        (stored,) = await world.asked()
        assert (stored.receipt, stored.outcome) == (None, "unknown")


async def test_a_gated_function_in_a_step_reports_to_its_run(file: str) -> None:
    pay = ringi.gate(ASK, name="pay")(lambda amount: amount)

    def work(state: Any) -> Any:
        return {"messages": [("ai", str(pay(amount=5)))]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    async with at_work(file, [Agent("office", graph, input=lambda _: {"messages": []})]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert await receipts(world) == [{"outcome": "committed"}]


async def test_a_rejected_call_has_no_outcome(file: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with at_work(file, [office(till())]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "reject")
        assert await receipts(world) == [None]
        assert await world.inbox.search(NOT_EXECUTED) == []
