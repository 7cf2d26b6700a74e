"""Runs of Pydantic AI that wait for people without a worker of Ringi."""

from __future__ import annotations

import asyncio
import logging
import multiprocessing
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ringi.connect import store_inbox
from ringi.inbox.api import Seen

pytest.importorskip("pydantic_ai.external_events")

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import CallDeferred, DeferredToolRequests
from pydantic_ai.capabilities import RequestInput
from pydantic_ai.conversation import Conversation
from pydantic_ai.external_events import ExternalEventError, external_event_scope, wait_for_external_event
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from tests.raising import raises_code
from tests.runtimes.direct import ROOT, module_of

import ringi
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError, RingiError
from ringi.inbox.inbox import StoreInbox
from ringi.integrations.pydantic_ai import RingiConversationStore, RingiEventWaiter, ask_people
from ringi.testing.conformance.running_agents import first_true_value

Effects = list[tuple[int, int]]
CALL = {"order": 7, "amount": 30}
KEY = "order-7"
SECRET = "sk-5ecret-in-a-call"


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


def model_of(*turns: Sequence[dict[str, Any]] | str, prefix: str = "c") -> FunctionModel:
    """Return a model that gives the turn after its earlier ones, as a repeated run does it."""

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        turn = turns[sum(isinstance(each, ModelResponse) for each in messages)]
        if isinstance(turn, str):
            return ModelResponse(parts=[TextPart(turn)])
        calls = [ToolCallPart("refund", args, tool_call_id=f"{prefix}{n}") for n, args in enumerate(turn)]
        return ModelResponse(parts=calls)

    return FunctionModel(answer)


def shop(effects: Effects, model: FunctionModel, **rest: Any) -> PydanticAgent[None, Any]:
    """Return an agent with a tool that needs approval."""
    agent: PydanticAgent[None, Any] = PydanticAgent(model, **rest)

    @agent.tool_plain(requires_approval=True)
    def refund(order: int, amount: int) -> str:
        """Refund an order."""
        effects.append((order, amount))
        return f"refunded {amount}"

    return agent


def asking(effects: Effects, *turns: Any, prefix: str = "c") -> PydanticAgent[None, Any]:
    """Return an agent that asks people in the inbox."""
    return shop(
        effects, model_of(*(turns or ([CALL], "Done.")), prefix=prefix), capabilities=[RequestInput(ask_people)]
    )


async def run(agent: PydanticAgent[None, Any], inbox: StoreInbox, key: str = KEY) -> str:
    with external_event_scope(RingiEventWaiter(inbox, key=key)):
        return str((await agent.run("Refund order 7.")).output)


async def pending(inbox: StoreInbox, number: int = 1) -> list[Request]:
    """Return the open requests, once there are so many."""

    async def enough() -> list[Request]:
        found = await inbox.search(Query(statuses=("pending",)))
        return found if len(found) == number else []

    return await first_true_value(enough)


async def respond(inbox: StoreInbox, request: Request, decision: Any, **answer: Any) -> Request:
    return await inbox.respond(request, decision, by="bob", **answer)


async def test_an_approved_call_runs_once(url: str) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects), inbox))
        (request,) = await pending(inbox)
        assert request.action
        assert (request.action.name, request.action.args) == ("refund", CALL)
        assert request.action.args_schema
        assert effects == []

        await respond(inbox, request, "approve")

        assert await running == "Done."
        assert effects == [(7, 30)]


@pytest.mark.parametrize(
    ("decision", "answer", "ran"),
    [
        ("edit", {"args": {"order": 7, "amount": 5}}, [(7, 5)]),
        ("reject", {"message": "Too old."}, []),
        ("respond", {"message": "Too old."}, []),
    ],
)
async def test_a_call_runs_as_decided(url: str, decision: str, answer: dict[str, Any], ran: Effects) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects), inbox))
        (request,) = await pending(inbox)
        await respond(inbox, request, decision, **answer)

        assert await running == "Done."
        assert effects == ran


async def wait_in_place(url: str) -> None:
    async with store_inbox(url, poll_interval=0.05) as inbox:
        await run(asking([], prefix="first-"), inbox)


async def wait_for_conversation(url: str) -> None:
    agent = shop([], model_of([CALL], "Done."), output_type=[str, DeferredToolRequests])
    async with store_inbox(url, poll_interval=0.05) as inbox, RingiConversationStore.open(url) as store:
        result = await agent.run("Refund order 7.", conversation=Conversation(conversation_id="c1"))
        conversation = result.conversation
        await store.save(conversation)
        await RingiEventWaiter(inbox, key="c1").results(conversation, agent=agent)


def work_in_process(work: Callable[[str], Coroutine[Any, Any, None]], url: str) -> None:
    """Be a process that waits for a person until it is killed."""
    asyncio.run(work(url))


async def answered_after_kill(work: Callable[[str], Coroutine[Any, Any, None]], url: str) -> None:
    """Kill a process that waits, and approve its question."""
    process = multiprocessing.get_context("spawn").Process(target=work_in_process, args=(work, url))
    process.start()
    try:
        async with store_inbox(url, poll_interval=0.05) as inbox:
            await pending(inbox)
    finally:
        process.kill()
        process.join()
    async with store_inbox(url) as inbox:
        (request,) = await pending(inbox)
        await respond(inbox, request, "approve")


async def test_a_killed_run_finds_its_answer_when_it_is_repeated(url: str) -> None:
    await answered_after_kill(wait_in_place, url)
    effects: Effects = []

    async with store_inbox(url) as inbox:
        # The model gives the call another id now.
        assert await run(asking(effects, prefix="second-"), inbox) == "Done."

        assert effects == [(7, 30)]
        assert len(await inbox.find()) == 1


async def test_a_stored_conversation_continues_after_its_process_was_killed(url: str) -> None:
    await answered_after_kill(wait_for_conversation, url)
    effects: Effects = []
    agent = shop(effects, model_of("never asked", "Done."), output_type=[str, DeferredToolRequests])

    async with store_inbox(url) as inbox, RingiConversationStore.open(url) as store:
        conversation = await store.load("c1")
        assert conversation
        waiter = RingiEventWaiter(inbox, key="c1")
        results = await waiter.results(conversation, agent=agent)
        assert list(results.answered_by.values()) == ["bob"]
        # A repetition asks nothing again.
        assert await waiter.results(conversation, agent=agent) == results
        result = await agent.run(conversation=conversation, deferred_tool_results=results)
        assert result.output == "Done."
        await store.save(result)

        assert effects == [(7, 30)]
        assert len(await inbox.find()) == 1
        ended = await store.load("c1")
        assert ended
        assert ended.deferred_tool_requests is None
        with pytest.raises(InvalidError, match="waits for no call"):
            await waiter.results(ended)


async def test_a_repeated_run_with_another_call_asks_again(url: str) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects), inbox))
        await respond(inbox, (await pending(inbox))[0], "approve")
        await running
        again = tasks.create_task(run(asking(effects, [{"order": 7, "amount": 99}], "Done."), inbox))

        await respond(inbox, (await pending(inbox))[0], "reject")

        await again
        assert effects == [(7, 30)]


async def test_an_equal_call_later_in_the_run_is_another_question(url: str) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects, [CALL], [CALL], "Done."), inbox))
        (first,) = await pending(inbox)
        await respond(inbox, first, "approve")
        (second,) = await pending(inbox)
        assert second.id != first.id

        await respond(inbox, second, "reject")

        assert await running == "Done."
        assert effects == [(7, 30)]


async def test_of_opposite_answers_the_first_counts(url: str) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects), inbox))
        (request,) = await pending(inbox)
        await respond(inbox, request, "reject")

        assert (await respond(inbox, request, "reject")).status == "completed"
        with raises_code("final"):
            await respond(inbox, request, "approve")
        with pytest.raises(ConflictError) as refused:
            await inbox.respond(Seen(request.id, "sha256:other"), "approve", by="carl")
        assert refused.value.code in ("final", "digest_mismatch")

        assert await running == "Done."
        assert effects == []


async def test_three_calls_wait_for_all_answers(url: str) -> None:
    effects: Effects = []
    calls = [{"order": n, "amount": 30} for n in (1, 2, 3)]
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(asking(effects, calls, "Done."), inbox))
        for request in await pending(inbox, 3):
            assert request.action
            await respond(inbox, request, "reject" if request.action.args["order"] == 2 else "approve")

        assert await running == "Done."
        assert sorted(effects) == [(1, 30), (3, 30)]


async def test_a_tenant_answers_only_its_own_runs(url: str) -> None:
    effects: Effects = []
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        other = inbox.for_tenant("other")
        running = tasks.create_task(run(asking(effects), inbox))
        theirs = tasks.create_task(run(asking(effects), other))
        (mine,), (request,) = await pending(inbox), await pending(other)
        await respond(other, request, "reject")
        assert await theirs == "Done."
        assert effects == []

        await respond(inbox, mine, "approve")

        assert await running == "Done."
        assert effects == [(7, 30)]


async def test_silence_rejects(url: str) -> None:
    effects: Effects = []
    limited = RequestInput(ask_people, timeout=timedelta(seconds=0.2))
    agent = shop(effects, model_of([CALL], "Sorry."), capabilities=[limited])
    async with store_inbox(url, poll_interval=0.05) as inbox:
        assert await run(agent, inbox) == "Sorry."

        assert [request.status for request in await inbox.find()] == ["expired"]
        assert effects == []


async def test_an_agent_within_a_tool_asks_in_place(url: str) -> None:
    effects: Effects = []
    inner = asking(effects)
    outer = PydanticAgent(model_of([CALL], "All done."))

    @outer.tool_plain(name="refund")
    async def delegate(order: int, amount: int) -> str:
        return str((await inner.run("Refund.")).output)

    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(outer, inbox))
        await respond(inbox, (await pending(inbox))[0], "approve")

        assert await running == "All done."
        assert effects == [(7, 30)]


async def test_a_person_gives_the_result_of_an_external_call(url: str) -> None:
    agent: PydanticAgent[None, Any] = PydanticAgent(model_of([CALL], "Done."), capabilities=[RequestInput(ask_people)])

    @agent.tool_plain(name="refund")
    def look_up(order: int, amount: int) -> str:
        raise CallDeferred

    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(agent, inbox))
        (request,) = await pending(inbox)
        assert request.title == "What is the result of refund?"
        await respond(inbox, request, "respond", data={"answer": {"status": "paid"}})

        assert await running == "Done."


async def test_any_event_can_be_a_request(url: str) -> None:
    async def wait(inbox: StoreInbox, tokens: list[str]) -> Any:
        with external_event_scope(RingiEventWaiter(inbox, key=KEY)):
            return await wait_for_external_event("Which color?", ask=tokens.append)

    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        tokens: list[str] = []
        waiting = tasks.create_task(wait(inbox, tokens))
        (request,) = await pending(inbox)
        assert (tokens, request.title) == ([request.id], "Which color?")
        await respond(inbox, request, "respond", data={"answer": {"color": "blue"}})
        assert await waiting == {"color": "blue"}

        # A repetition asks nothing again.
        assert await wait(inbox, tokens) == {"color": "blue"}
        assert tokens == [request.id]


async def test_an_event_that_a_person_rejects_fails(url: str) -> None:
    async def ask(token: str) -> None:
        request = await inbox.ask("Pay?", id=token, action=ringi.Action("pay", {"amount": 3}))
        await respond(inbox, request, "reject", message="No.")

    async with store_inbox(url, poll_interval=0.05) as inbox:
        with external_event_scope(RingiEventWaiter(inbox, key=KEY)), pytest.raises(ExternalEventError, match="No"):
            await wait_for_external_event("pay", ask=ask)
        with (
            external_event_scope(RingiEventWaiter(inbox, key="other")),
            pytest.raises(ExternalEventError, match="no answer"),
        ):
            await wait_for_external_event("pay", ask=lambda token: None, timeout=timedelta(seconds=0.1))


async def test_without_a_waiter_the_error_says_what_to_do() -> None:
    with pytest.raises(RingiError, match="external_event_scope"):
        await asking([]).run("Refund.")
    with pytest.raises(InvalidError, match="name the piece of work"):
        RingiEventWaiter(None, key="")  # type: ignore[arg-type]


@pytest.mark.parametrize("title", ["ask.py", "chat.py"])
async def test_the_code_of_the_how_to_runs(url: str, title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_URL", url)
    text = (ROOT / "docs/how-to/pydantic-ai.md").read_text("utf-8")
    page = module_of(text.partition(f'```python title="{title}"\n')[2].partition("```")[0])
    page["shop"].model = model_of([{"order": "7", "amount": 30}], "Done.")
    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(page["main"]())
        (request,) = await pending(inbox)
        assert request.action
        assert request.action.args == {"order": "7", "amount": 30}

        await respond(inbox, request, "approve")

        assert await running == ("Done." if title == "chat.py" else None)


async def test_arguments_are_in_no_log(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "ringi")
    agent: PydanticAgent[None, Any] = PydanticAgent(
        model_of([{"note": SECRET}], "Done."), capabilities=[RequestInput(ask_people)]
    )

    @agent.tool_plain(requires_approval=True)
    def refund(note: str) -> str:
        return note

    async with store_inbox(url, poll_interval=0.05) as inbox, asyncio.TaskGroup() as tasks:
        running = tasks.create_task(run(agent, inbox))
        await respond(inbox, (await pending(inbox))[0], "approve")
        assert await running == "Done."

    assert SECRET not in caplog.text
