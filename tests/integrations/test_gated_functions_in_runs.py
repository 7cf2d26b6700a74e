"""A gated function in a run of Ringi: the run suspends, and the function runs with the authorized arguments."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain_core.tools import tool
from langgraph.func import entrypoint, task
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import RetryPolicy
from tests.integrations.langchain.office import agent, call, calls
from tests.runs.world import World, at_work, opened, working

import ringi
from ringi import Agent
from ringi.errors import NotAuthorizedError
from ringi.integrations import run_askers
from ringi.integrations.langgraph import ask, ask_question

DENY: Any = {
    "tools": ["refund"],
    "effect": "deny",
    "name": "no huge",
    "reason": "the bank pays",
    "where": {"amount": {"above": 1000}},
}
SMALL: Any = {"name": "small", "where": {"amount": {"at_most": 20}}}
POLICY: Any = {"rules": [{"tools": ["refund"], "title": "Pay this back?", "auto_approve": [SMALL]}, DENY]}
Paid = list[float]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    monkeypatch.setenv("RINGI_URL", url)
    return url


def gated(paid: Paid, policy: Any = POLICY, facts: Any = None, *, is_async: bool) -> Any:
    def pay(order: int, amount: float) -> str:
        paid.append(amount)
        return f"paid {amount:g}"

    async def pay_async(order: int, amount: float) -> str:
        return pay(order, amount)

    return ringi.gate(policy, name="refund", facts=facts)(pay_async if is_async else pay)


def office(paid: Paid, kind: str, *amounts: float, policy: Any = POLICY, facts: Any = None) -> Agent:
    """Return an agent whose one node refunds these amounts, and shows what came of it."""
    refund = gated(paid, policy, facts, is_async=kind == "async")

    def build_output(results: list[str]) -> Any:
        return {"messages": [("ai", " | ".join(results))]}

    async def work_async(state: Any) -> Any:
        results = []
        for amount in amounts:
            try:
                result = refund(1, amount=amount)
                results.append(result if kind == "blocking" else await result)
            except NotAuthorizedError as error:
                results.append(str(error))
        return build_output(results)

    def work(state: Any) -> Any:
        results = []
        for amount in amounts:
            try:
                results.append(refund(1, amount=amount))
            except NotAuthorizedError as error:
                results.append(str(error))
        return build_output(results)

    node: Any = work if kind == "sync" else work_async
    graph = StateGraph(MessagesState).add_node("work", node).add_edge(START, "work").compile()
    return Agent("office", graph, input=lambda _: {"messages": []}, output=shown_text)


def shown_text(state: Any) -> dict[str, Any]:
    return {"text": state["messages"][-1].text if state.get("messages") else ""}


async def text(world: World) -> str:
    thread = await world.thread()
    assert thread.status == "done", thread
    return str(thread.values["text"])


KINDS = ("sync", "async", "blocking")


@pytest.mark.parametrize("kind", KINDS)
async def test_the_run_suspends_and_goes_on_in_another_process(
    file: str, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    paid: Paid = []
    caplog.set_level(logging.INFO, "ringi.integrations")
    async with at_work(file, [office(paid, kind, 40)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        request = await world.one()
        assert (request.title, request.thread_id, paid) == ("Pay this back?", "t1", [])
        assert request.action
        assert request.action.args == {"order": 1, "amount": 40}
        assert "refund suspends its run until a person answers" in caplog.messages
    async with opened(file, [office(paid, kind, 40)]) as world:
        await world.respond(request, "edit", args={"order": 1, "amount": 35})
        async with working(world):
            await world.rest()
        assert (await text(world), paid) == ("paid 35", [35])
        assert len(await world.asked()) == 1
        await world.verified()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", ["reject", "cancel"])
async def test_a_call_that_nobody_consented_to_does_not_run(file: str, kind: str, ending: str) -> None:
    paid: Paid = []
    async with at_work(file, [office(paid, kind, 40)]) as world:
        await world.run("office", {})
        request = await world.one()
        if ending == "reject":
            await world.answer(request, "reject", message="no")
        else:
            await world.inbox.cancel(request.id, by="ann")
            await world.rest()
        wanted = "ann decided reject: no" if ending == "reject" else "it is cancelled"
        assert (wanted in await text(world), paid) == (True, [])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_denied_call_is_on_record_and_raises(file: str, kind: str) -> None:
    paid: Paid = []
    async with at_work(file, [office(paid, kind, 4000, 4000)]) as world:
        await world.run("office", {})
        assert ("the rule 'no huge' denies it: the bank pays" in await text(world), paid) == (True, [])
        (request,) = await world.asked()
        assert request.winner
        assert request.winner["responder"] == "policy:no huge"


@pytest.mark.parametrize("kind", ["sync", "async"])
async def test_a_rule_approves_on_record(file: str, kind: str) -> None:
    paid: Paid = []
    async with at_work(file, [office(paid, kind, 20)]) as world:
        await world.run("office", {})
        assert (await text(world), paid) == ("paid 20", [20])
        (request,) = await world.asked()
        assert request.winner
        assert request.winner["responder"] == "policy:small"


async def test_a_rule_cannot_approve_while_the_loop_is_blocked_so_a_person_decides(file: str) -> None:
    paid: Paid = []
    async with at_work(file, [office(paid, "blocking", 20)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert (await text(world), paid) == ("paid 20", [20])


@pytest.mark.parametrize("kind", KINDS)
async def test_an_edit_or_a_later_rule_that_denies_stops_an_approved_call(file: str, kind: str) -> None:
    paid: Paid = []
    asks = {"rules": [{"tools": ["refund"]}]}
    async with at_work(file, [office(paid, kind, 40)]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "edit", args={"order": 1, "amount": 1001})
        assert ("no huge" in await text(world), paid) == (True, [])
    async with at_work(file, [office(paid, kind, 4000, policy=asks)]) as world:
        await world.run("office", {}, id="t2")
        request = await world.one("t2")
    async with at_work(file, [office(paid, kind, 4000)]) as world:
        await world.answer(request, "approve")
        assert ((await world.thread("t2")).status, paid) == ("done", [])


@pytest.mark.parametrize("kind", KINDS)
async def test_without_people_calls_run_and_denials_hold(file: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    paid: Paid = []
    async with at_work(file, [office(paid, kind, 40, 4000)]) as world:
        await world.run("office", {})
        assert ("no huge" in await text(world), paid) == (True, [40])


@pytest.mark.parametrize("kind", KINDS)
async def test_a_question_after_a_call_in_the_same_step_is_refused(file: str, kind: str) -> None:
    paid: Paid = []
    allow = {"rules": [{"tools": ["refund"], "where": {"amount": {"above": 20}}}]}
    async with at_work(file, [office(paid, kind, 20, 40, policy=allow)]) as world:
        thread = await world.run("office", {})
        assert paid == [20]
        assert "call each in its own node or task" in str(thread.error)
        assert await world.pending() == []


@pytest.mark.parametrize("is_slow", [False, True])
async def test_calls_beside_a_question_in_the_same_step_never_run_twice(file: str, is_slow: bool) -> None:
    paid: Paid = []

    async def frozen(args: Any) -> bool:
        if is_slow:
            await asyncio.to_thread(int)
        return False

    deny = {"tools": ["refund"], "effect": "deny", "name": "frozen", "facts": {"frozen": {"equals": True}}}
    policy = {"rules": [{"tools": ["refund"]}, deny]}

    @ringi.gate(policy, facts={"frozen": frozen})
    async def refund(amount: float) -> None:
        paid.append(amount)

    async def work(state: Any) -> Any:
        await asyncio.gather(refund(40), refund(50))

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    made = Agent("office", graph, input=lambda _: {"messages": []}, output=shown_text)
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        for _ in range(3):
            for request in await world.pending():
                await world.answer(request, "approve")
        assert len(paid) == len(set(paid))


@pytest.mark.parametrize("kind", KINDS)
async def test_facts_stand_until_the_call_has_run(file: str, kind: str) -> None:
    paid: Paid = []
    rate = [1]
    policy = {"rules": [{"tools": ["refund"], "facts": {"rate": {"above": 0}}}]}
    made = office(paid, kind, 40, policy=policy, facts={"rate": lambda _: rate[0]})
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.context["facts"] == {"rate": 1}
        rate[0] = 0
        await world.answer(request, "approve")
        assert paid == [40]


async def test_each_task_of_a_workflow_asks_for_itself(file: str) -> None:
    paid: Paid = []
    refund = task(gated(paid, is_async=True))

    @entrypoint()
    async def workflow(input: dict[str, Any]) -> list[str]:
        return [await refund(1, 40), await refund(2, 50)]

    async with at_work(file, [Agent("office", workflow, output=lambda state: {"results": state})]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "approve")
        assert paid == [40]
        await world.answer(await world.one(), "approve")
        assert ((await world.thread()).status, paid) == ("done", [40, 50])


async def test_a_gated_function_is_a_tool_of_an_agent(file: str) -> None:
    paid: Paid = []
    made = tool("refund", description="Pay money back.")(gated(paid, is_async=True))
    wants = calls(call("refund", "c1", order=1, amount=40), call("refund", "c2", order=2, amount=50))
    async with at_work(file, [agent(wants, [made])]) as world:
        await world.run("office", {})
        first, second = await world.pending()
        await world.respond(first, "approve")
        await world.respond(second, "edit", args={"order": 2, "amount": 5})
        await world.rest()
        assert sorted(paid) in ([5, 40], [5, 50])


async def test_the_gate_suspends_a_run(file: str) -> None:
    seen: list[Any] = []

    async def work(state: Any) -> Any:
        seen.append(await ringi.gate("refund", {"amount": 40}, policy=POLICY))
        return {"messages": [("ai", "done")]}

    graph = StateGraph(MessagesState).add_node("work", work).add_edge(START, "work").compile()
    made = Agent("office", graph, input=lambda _: {"messages": []}, output=shown_text)
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "edit", args={"amount": 4})
        assert seen == [{"amount": 4}]


async def test_a_graph_that_ringi_does_not_run_asks_in_the_inbox(file: str) -> None:
    paid: Paid = []
    graph = office(paid, "async", 20).target
    async with ringi.open(file) as inbox:
        state = await graph.ainvoke({"messages": []})
        assert (state["messages"][-1].text, paid, len(await inbox.find())) == ("paid 20", [20], 1)


MAIL_FREELY: Any = {"rules": [{"tools": ["refund"]}, {"tools": ["mail"], "effect": "allow"}]}
ASK_BOTH: Any = {"rules": [{"tools": ["refund", "mail"]}]}


def effect_of(name: str, effects: list[str], policy: Any, *, is_async: bool) -> Any:
    """Return a gated function that notes its name as its effect."""

    def act() -> str:
        effects.append(name)
        return name

    async def act_async() -> str:
        return act()

    return ringi.gate(policy, name=name)(act_async if is_async else act)


def workplace(**nodes: Any) -> Agent:
    """Return an agent of these nodes, one after the other."""
    graph = StateGraph(MessagesState).add_sequence([*nodes.items()]).add_edge(START, next(iter(nodes))).compile()
    return Agent("office", graph, input=lambda _: {"messages": []}, output=shown_text)


def tool_office(tools: dict[str, Any], order: tuple[str, ...]) -> Agent:
    """Return an agent whose tools share one `ToolNode`, and with it a step."""
    made = [tool(name, description=name)(function) for name, function in tools.items()]
    message = calls(*(call(name, name) for name in order))([])
    return workplace(model=lambda _: {"messages": [message]}, tools=ToolNode(made))


async def approve_all(world: World) -> None:
    for _ in range(4):
        for request in await world.pending():
            await world.answer(request, "approve")


@pytest.mark.parametrize("is_async", [True, False])
@pytest.mark.parametrize("policy", [MAIL_FREELY, ASK_BOTH], ids=["allow beside ask", "both ask"])
@pytest.mark.parametrize("order", [("mail", "refund"), ("refund", "mail")])
async def test_tools_of_one_tool_node_never_run_twice(
    file: str, policy: Any, order: tuple[str, ...], *, is_async: bool
) -> None:
    effects: list[str] = []
    tools = {name: effect_of(name, effects, policy, is_async=is_async) for name in ("mail", "refund")}
    async with at_work(file, [tool_office(tools, order)]) as world:
        await world.run("office", {})
        await approve_all(world)
        thread = await world.thread()
        # Of two threads that begin at once, each may refuse for the other: then nothing ran.
        assert max(Counter(effects).values(), default=1) == 1
        assert (thread.status == "done") == (len(effects) == 2)
        assert thread.status == "done" or "call each in its own node or task" in str(thread.error)


async def test_a_tool_that_is_late_does_not_run_beside_a_question_of_its_tool_node(file: str) -> None:
    effects: list[str] = []
    mail = effect_of("mail", effects, MAIL_FREELY, is_async=True)
    has_paused, errors = asyncio.Event(), asyncio.Queue[str]()

    async def late_mail() -> str:
        await has_paused.wait()
        try:
            return str(await mail())
        except ringi.RingiError as error:
            errors.put_nowait(str(error))
            raise

    tools = {"refund": effect_of("refund", effects, MAIL_FREELY, is_async=True), "mail": late_mail}
    async with at_work(file, [tool_office(tools, ("mail", "refund"))]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        has_paused.set()
        assert "runs again after the answer" in await asyncio.wait_for(errors.get(), 5)
        await approve_all(world)
        assert max(Counter(effects).values()) == 1


async def test_a_function_does_not_begin_while_another_thread_of_its_step_asks(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    effects: list[str] = []
    refund, mail = (effect_of(name, effects, MAIL_FREELY, is_async=False) for name in ("refund", "mail"))
    is_asking, has_mailed = threading.Event(), threading.Event()

    def ask_slowly(question: Any) -> Any:
        is_asking.set()
        has_mailed.wait(0.2)
        return ask_question(question)

    def mail_meanwhile() -> None:
        is_asking.wait(5)
        mail()
        has_mailed.set()

    def work(state: Any) -> Any:
        functions: list[Callable[[], Any]] = [refund, mail_meanwhile]
        with ThreadPoolExecutor() as pool:
            futures = [pool.submit(contextvars.copy_context().run, each) for each in functions]
        return {"messages": [("ai", str([each.result() for each in futures]))]}

    monkeypatch.setattr(run_askers, "ask_question", ask_slowly)
    async with at_work(file, [workplace(work=work)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        assert effects == []
        await approve_all(world)
        assert ((await world.thread()).status, sorted(effects)) == ("done", ["mail", "refund"])


async def test_a_step_that_keeps_asking_in_another_order_fails_with_the_remedy(file: str) -> None:
    orders = iter([("mail",), ("mail", "refund"), *[("refund", "mail")] * 2])

    def work(state: Any) -> Any:
        return {"messages": [("ai", str([ask(f"{title}?", allowed=["approve"]).status for title in next(orders)]))]}

    async with at_work(file, [workplace(work=work)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        await approve_all(world)
        thread = await world.thread()
        assert thread.status == "error"
        assert "call each in its own node or task" in str(thread.error)


async def test_an_answer_that_another_thread_of_its_step_took_is_asked_for_again(file: str) -> None:
    effects: list[str] = []
    refund, mail = (effect_of(name, effects, ASK_BOTH, is_async=False) for name in ("refund", "mail"))
    orders: list[Any] = []

    def work(state: Any) -> Any:
        order = [refund, mail] if len(orders) != 1 else [mail, refund]
        orders.append(order)
        with ThreadPoolExecutor(max_workers=1) as pool:
            futures = {each: pool.submit(contextvars.copy_context().run, each) for each in order}
        return {"messages": [("ai", str([futures[each].result() for each in (refund, mail)]))]}

    async with at_work(file, [workplace(work=work)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        request = await world.one()
        await world.answer(request, "approve")
        assert (len(orders), effects) == (3, [])
        again = await world.one()
        assert (again.title, again.id != request.id) == (request.title, True)
        await world.answer(again, "approve")
        assert effects == ["refund"]
        assert "call each in its own node or task" in str((await world.thread()).error)


async def test_a_question_of_a_graph_inside_a_step_is_refused_after_a_call(file: str) -> None:
    effects: list[str] = []
    refund, mail = (effect_of(name, effects, MAIL_FREELY, is_async=True) for name in ("refund", "mail"))

    async def ask_inside(state: Any) -> Any:
        return {"messages": [("ai", await refund())]}

    inner = StateGraph(MessagesState).add_node("ask", ask_inside).add_edge(START, "ask").compile()

    async def work(state: Any) -> Any:
        await mail()
        return await inner.ainvoke({"messages": []})

    async with at_work(file, [workplace(work=work)]) as world:
        await world.run("office", {})
        await approve_all(world)
        assert effects == ["mail"]
        assert "call each in its own node or task" in str((await world.thread()).error)


async def test_a_retry_of_a_node_does_not_run_an_approved_call_again(file: str) -> None:
    effects: list[str] = []
    refund = effect_of("refund", effects, MAIL_FREELY, is_async=True)

    async def work(state: Any) -> Any:
        await refund()
        raise ConnectionError("the bank is away")

    graph = StateGraph(MessagesState)
    graph.add_node("work", work, retry_policy=RetryPolicy(initial_interval=0.01)).add_edge(START, "work")
    made = Agent("office", graph.compile(), input=lambda _: {"messages": []}, output=shown_text)
    async with at_work(file, [made]) as world:
        await world.run("office", {})
        await approve_all(world)
        assert effects == ["refund"]
        assert "has already run" in str((await world.thread()).error)
