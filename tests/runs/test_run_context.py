"""What a run reaches of its own thread, on every store: the trail in which a rule approves; and of other threads."""

from __future__ import annotations

from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import StateGraph
from tests.integrations.langchain.office import Till, agent, call, calls
from tests.raising import raises_code
from tests.runs.world import World, at_work, demo, opened, working

from ringi import Action, Approval
from ringi.domain import Ask
from ringi.domain.record import Key
from ringi.errors import ConflictError
from ringi.runs.agent import Agent
from ringi.runs.context import find_run_context, run_context
from ringi.testing.model import ScriptedModel

REFUND = {"order": 1182, "amount": 40}
POLICY = {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 50}}}]}]}


async def test_a_rule_approves_on_every_store(url: str) -> None:
    till = Till()
    async with at_work(
        url, [agent(calls(call("refund", **REFUND)), till.tools, [Approval(POLICY, till.tools)])]
    ) as world:
        assert (await world.run("office", {})).status == "done"
        (request,) = await world.asked()
        assert request.response is not None
        assert (request.response.responder, till.paid) == ("policy:small", [REFUND])
        await world.verified()


@pytest.mark.parametrize(("amount", "is_same"), [(40, True), (45, False)])
async def test_a_repeated_call_with_another_id_keeps_only_the_approval_of_the_same_call(
    amount: int, is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def question(id: str, amount: int = 40) -> Ask:
        return Ask(title="Refund?", action=Action("refund", {"amount": amount}), context={"tool_call_id": id})

    async def work(state: Any, config: RunnableConfig) -> dict[str, Any]:
        host = run_context(config)
        submit = host.inbox.submit_approved

        async def stores(ask: Ask, *, rule: str, by: str | None = None) -> Any:
            return await submit(question("a", amount).model_copy(update={"id": ask.id}), rule=rule, by=by)

        with monkeypatch.context() as patch:
            patch.setattr(host.inbox, "submit_approved", stores)
            first = await host.approve(question("a"), "small", "here")
        if is_same:
            assert await host.approve(question("b"), "small", "here") == first
            return {"seen": ["checked"]}
        with raises_code("different"):
            await host.approve(question("b"), "small", "here")
        return {"seen": ["checked"]}

    graph = StateGraph(SideState).add_node("work", work).set_entry_point("work").compile()
    async with at_work("memory://", [Agent("shop", graph, output=dict)]) as world:
        thread = await world.run("shop", {"do": "check"})
        assert (thread.status, thread.values["seen"]) == ("done", ["checked"])


async def test_a_rules_approval_is_one_transaction_more(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    till = Till()
    wants = calls(call("refund", **REFUND))
    without = await puts(url, agent(wants, till.tools), "t1", monkeypatch)
    with_gate = await puts(url, agent(wants, till.tools, [Approval(POLICY, till.tools)]), "t2", monkeypatch)
    # The store in memory saves the acknowledgement by itself, and the others with the end of the run.
    more = 2 if url.startswith("memory") else 1
    assert (len(till.paid), with_gate - without) == (2, more)


async def puts(url: str, office: Any, thread: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Return how many changes of records a run makes."""
    async with opened(url, [office]) as world:
        done, put = list[Any](), world.backend.store.put

        async def counted(record: Any, event: Any, others: Any = ()) -> None:
            done.append(record)
            await put(record, event, others)

        monkeypatch.setattr(world.backend.store, "put", counted)
        async with working(world):
            await finished(world, thread)
        return len(done)


async def finished(world: World, thread: str) -> None:
    assert (await world.run("office", {}, thread)).status == "done"


@pytest.mark.parametrize(("amount", "status"), [(40, "done"), (400, "interrupted")])
async def test_an_agent_under_an_agent_reaches_the_same_trail(url: str, amount: int, status: str) -> None:
    till = Till()
    model = ScriptedModel(script=calls(call("refund", order=1182, amount=amount)))
    clerk = create_agent(model, till.tools, middleware=[Approval(POLICY, till.tools)])

    @tool
    async def delegate(task: str) -> str:
        """Have the clerk do it."""
        return str((await clerk.ainvoke({"messages": [HumanMessage(task)]}))["messages"][-1].text)

    async with at_work(url, [agent(calls(call("delegate", task="Refund it.")), [delegate])]) as world:
        thread = await world.run("office", {})
        assert thread.status == status
        if status == "interrupted":
            assert till.paid == []
            thread = await world.answer(await world.one(), "approve")
        assert thread.values["said"] == f"refunded {amount}"
        assert till.paid == [{"order": 1182, "amount": amount}]
        (request,) = await world.asked()
        assert request.thread_id == "t1"


class SideState(TypedDict, total=False):
    do: str
    seen: list[str]


async def beside(state: SideState, config: RunnableConfig) -> SideState:
    """Begin a thread beside this one, or stop it."""
    host = find_run_context(config)
    assert host
    side, by = Key(host.key.tenant, f"{host.key.id}~1"), f"thread:{host.key.id}"
    if state["do"] == "stop":
        return {"seen": [(await host.runner.cancel(*side, by=by)).status]}
    try:
        await host.runner.start(*side, "two_questions", {}, by=by)
    except ConflictError as error:
        return {"seen": [error.code]}
    return {"seen": [str(host.by), host.inbox.tenant]}


def leader() -> Agent:
    graph = StateGraph(SideState)
    graph.add_node("beside", beside)
    graph.set_entry_point("beside")
    return Agent("leader", graph.compile(), output=dict)


async def test_a_run_begins_and_stops_another_thread_on_every_store(url: str) -> None:
    async with at_work(url, [*demo(), leader()]) as world:
        thread = await world.run("leader", {"do": "begin"}, tenant="acme")
        assert thread.values["seen"] == ["bot", "acme"]
        side = await world.rest("t1~1", tenant="acme")
        assert (side.status, side.started_by) == ("interrupted", "thread:t1")
        assert (await world.run("leader", {"do": "begin"}, tenant="acme")).values["seen"] == ["busy"]
        await world.run("leader", {"do": "stop"}, tenant="acme")
        assert (await world.thread("t1~1", tenant="acme")).status == "idle"
        assert await world.pending("t1~1", tenant="acme") == []
        assert await world.runner.find("default", 10) == []
        await world.verified()
