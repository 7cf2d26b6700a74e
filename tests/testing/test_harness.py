"""Whole flows of agents that ask, with a scripted person and no real waiting: some of these deadlines take a month."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import interrupt
from tests.integrations.langchain.office import Till

import ringi
from ringi import Action, Approval, Form, Select, ask, sync
from ringi.errors import InvalidError, WaitTimeoutError
from ringi.inbox.inbox import StoreInbox
from ringi.integrations.langchain import FinishGate, ask_human
from ringi.runs.agent import Agent
from ringi.testing import (
    Reply,
    RunFailedError,
    ScriptedPerson,
    TestHarness,
    UnansweredError,
    UnusedRuleError,
)
from ringi.testing.clock import NOON
from ringi.testing.model import ScriptedModel, parallel_tool_calls, scripted_turns, tool_call

MONTH = 30 * 86_400
REFUND = {"order": 1182, "amount": 40}
TASK = {"messages": [{"role": "user", "content": "Refund order 1182."}]}


class State(TypedDict, total=False):
    outcome: str


def pay(state: State) -> State:
    request = ask("Refund order 1182?", action=Action("refund", REFUND), expires_in=MONTH)
    return {"outcome": f"paid {request.granted.args['amount']}" if request.granted else request.status}


GRAPH: Any = StateGraph(State).add_node("pay", pay).add_edge(START, "pay").compile()


@pytest.fixture
def till() -> Till:
    return Till()


def shop(till: Till) -> Any:
    """Return an agent of LangChain that wants to pay once."""
    rule = {"tools": ["refund"], "allowed": ["approve", "edit", "reject", "respond"], "expires_in": MONTH}
    model = ScriptedModel(script=scripted_turns(tool_call("refund", **REFUND)))
    return create_agent(model, till.tools, middleware=[Approval({"rules": [rule]}, till.tools)])


async def refund(inbox: StoreInbox) -> str:
    request = await inbox.ask("Refund order 1182?", action=Action("refund", REFUND), expires_in=MONTH)
    ended = await inbox.wait(request)
    assert ended is not None
    return f"paid {ended.granted.args['amount']}" if ended.granted else ended.status


ENDS = pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (Reply("approve"), "paid 40"),
        (Reply("edit", args={**REFUND, "amount": 20}), "paid 20"),
        (Reply("reject", message="too much"), "completed"),
        (Reply("ignore"), "expired"),
    ],
    ids=lambda reply: reply.decision if isinstance(reply, Reply) else "",
)


@ENDS
async def test_a_graph_is_approved_edited_rejected_or_left_alone(reply: Reply, outcome: str) -> None:
    with TestHarness(ScriptedPerson(lambda _: reply)) as harness:
        assert (await harness.run(GRAPH)).state["outcome"] == outcome


@ENDS
async def test_plain_python_is_approved_edited_rejected_or_left_alone(reply: Reply, outcome: str) -> None:
    with TestHarness(ScriptedPerson(lambda _: reply)) as harness:
        assert await refund(harness.inbox) == outcome


@pytest.mark.parametrize(
    ("reply", "paid"),
    [
        (Reply("approve"), [REFUND]),
        (Reply("edit", args={**REFUND, "amount": 20}), [{**REFUND, "amount": 20}]),
        (Reply("reject", message="too much"), []),
        (Reply("respond", message="Paid by hand."), []),
        (Reply("ignore"), []),
    ],
    ids=lambda reply: reply.decision if isinstance(reply, Reply) else "",
)
async def test_a_tool_call_of_langchain_is_decided(till: Till, reply: Reply, paid: Any) -> None:
    with TestHarness(ScriptedPerson(lambda _: reply)) as harness:
        assert (await harness.run(shop(till), TASK)).status == "done"
        assert till.paid == paid


async def test_what_is_ignored_expires_a_month_later(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    ringi_person.ignores(action="refund")
    outcome = await ringi_harness.run(GRAPH)

    assert (outcome.state, outcome.request.status) == ({"outcome": "expired"}, "expired")
    assert ringi_harness.clock() == outcome.request.ended_at == NOON + timedelta(seconds=MONTH)


async def test_a_test_can_look_before_anybody_answers(ringi_harness: TestHarness, till: Till) -> None:
    asked = await ringi_harness.start(shop(till), TASK)
    assert (asked.status, asked.request.title, till.paid) == ("interrupted", "Run refund?", [])
    ringi_harness.person.approves(action="refund")

    assert (await ringi_harness.resume()).status == "done"
    assert till.paid == [REFUND]


async def test_a_test_can_answer_by_its_own_hand(ringi_harness: TestHarness) -> None:
    (request,) = (await ringi_harness.start(GRAPH)).open_requests
    await ringi_harness.inbox.respond(request, "approve", by="bob")
    outcome = await ringi_harness.resume()

    assert (outcome.state["outcome"], outcome.request.response and outcome.request.response.responder) == (
        "paid 40",
        "bob",
    )


async def test_a_test_can_move_the_time_by_its_own_hand(ringi_harness: TestHarness) -> None:
    await ringi_harness.start(GRAPH)
    ringi_harness.clock.advance(days=29)
    assert (await ringi_harness.inbox.expire_due()) == 0
    ringi_harness.clock.advance(days=1)

    assert (await ringi_harness.resume()).state == {"outcome": "expired"}


async def test_people_are_reminded_at_their_moment_and_then_it_expires(ringi_harness: TestHarness) -> None:
    due = NOON + timedelta(days=10)
    request = await ringi_harness.inbox.ask("May I?", due_at=due, expires_in=MONTH)
    await ringi_harness.pass_time(days=40)
    events = await ringi_harness.inbox.events(request_id=request.id)

    assert [(event.type, event.at) for event in events] == [
        ("request.created", NOON),
        ("request.reminded", due - timedelta(hours=1)),
        ("request.expired", NOON + timedelta(seconds=MONTH)),
    ]
    assert ringi_harness.clock() == NOON + timedelta(days=40)


async def test_a_model_asks_with_a_form(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    fields = [{"name": "sport", "type": "select", "options": [{"value": "judo"}, {"value": "go"}]}]
    model = ScriptedModel(script=scripted_turns(tool_call("ask_human", title="Which sport?", fields=fields)))
    ringi_person.approves({"sport": "go"}, form="sport")
    outcome = await ringi_harness.run(create_agent(model, [ask_human]), TASK)

    assert '"sport": "go"' in outcome.state["messages"][-1].text


async def test_a_finish_gate_takes_a_new_task_and_then_a_yes(
    ringi_harness: TestHarness, ringi_person: ScriptedPerson
) -> None:
    model = ScriptedModel(script=lambda messages: f"Did: {messages[-1].text}")
    ringi_person.responds("update: two verses", kind="finish", times=1).approves(kind="finish")
    outcome = await ringi_harness.run(create_agent(model, middleware=[FinishGate()]), TASK)

    assert (outcome.state["finish_outcome"], outcome.state["task"]) == ("completed", "two verses")
    assert [request.kind for request in outcome.requests] == ["finish", "finish"]


async def test_the_first_rule_about_a_question_answers_it_as_often_as_it_may(ringi_harness: TestHarness) -> None:
    def choose(state: State) -> State:
        form = Form([Select("colour", options=["red", "blue"])])
        events = [ask(f"Which colour for {what}?", form=form).response for what in "ab"]
        return {"outcome": ", ".join(str(response.data) for response in events if response)}

    graph: Any = StateGraph(State).add_node("choose", choose).add_edge(START, "choose").compile()
    ringi_harness.person.approves({"colour": "red"}, form="colour", times=1).approves({"colour": "blue"}, form="colour")

    assert (await ringi_harness.run(graph)).state == {"outcome": "{'colour': 'red'}, {'colour': 'blue'}"}


async def test_a_reply_that_does_not_fit_is_an_error_that_names_the_question(ringi_harness: TestHarness) -> None:
    ringi_harness.person.edits(args={"order": 1182, "amount": 20}, data={"no": "form"}, action="refund")
    with pytest.raises(InvalidError, match="has no form") as raised:
        await ringi_harness.run(GRAPH)
    assert "when the scripted person answered request 'q-" in raised.value.__notes__[0]


async def test_two_questions_at_once_are_both_answered(ringi_harness: TestHarness, till: Till) -> None:
    both = parallel_tool_calls(tool_call("refund", **REFUND), tool_call("refund", order=7, amount=1))
    gate = Approval({"rules": [{"tools": ["refund"], "expires_in": MONTH}]}, till.tools)
    agent = create_agent(ScriptedModel(script=scripted_turns(both)), till.tools, middleware=[gate])
    ringi_harness.person.answers(lambda r: Reply("reject") if r.action and r.action.args == REFUND else Reply("ignore"))
    outcome = await ringi_harness.run(agent, TASK)

    assert sorted(request.status for request in outcome.requests) == ["completed", "expired"]
    assert till.paid == []


async def test_several_threads_and_an_agent_with_values(
    ringi_harness: TestHarness, ringi_person: ScriptedPerson
) -> None:
    agent = Agent("refund", GRAPH, output=lambda state: {"outcome": state.get("outcome")})
    ringi_person.approves(times=1).rejects()
    outcomes = [await ringi_harness.run(agent, thread_id=id) for id in ("first", "second")]

    assert [outcome.values["outcome"] for outcome in outcomes] == ["paid 40", "completed"]
    assert [len(outcome.requests) for outcome in outcomes] == [1, 1]


async def test_a_question_that_no_rule_is_about_fails_and_says_which_rule_is_missing(
    ringi_harness: TestHarness,
) -> None:
    ringi_harness.person.rejects(title="Refund", times=1)
    await ringi_harness.run(GRAPH)
    with pytest.raises(UnansweredError) as raised:
        await ringi_harness.run(GRAPH, thread_id="second")

    for text in (
        "(approval 'Refund order 1182?', action 'refund' with {'order': 1182, 'amount': 40}): no rule",
        "Add a rule, such as person.approves(action='refund')",
        "person.rejects(times=1, title='Refund'), used up",
    ):
        assert text in str(raised.value)


async def test_a_wait_that_nobody_would_end_fails(ringi_harness: TestHarness) -> None:
    request = await ringi_harness.inbox.ask("May I?")
    with pytest.raises(UnansweredError, match=r"such as person.responds\('…', title='May I\?'\)"):
        await ringi_harness.inbox.wait(request.id)
    ringi_harness.person.ignores()
    with pytest.raises(UnansweredError, match="it never expires"):
        await ringi_harness.inbox.wait(request.id)


async def test_a_wait_for_a_limited_time_lets_just_that_time_pass(ringi_harness: TestHarness) -> None:
    ringi_harness.person.ignores()
    request = await ringi_harness.inbox.ask("May I?", expires_in=MONTH)
    with pytest.raises(WaitTimeoutError):
        await ringi_harness.inbox.wait(request.id, timeout=86_400)
    assert ringi_harness.clock() == NOON + timedelta(days=1)
    assert (await ringi_harness.inbox.wait(request)).status == "expired"


async def test_an_agent_that_never_asks_leaves_a_rule_unused() -> None:
    silent: Any = StateGraph(State).add_node("go", lambda state: {"outcome": "paid"}).add_edge(START, "go").compile()
    harness = TestHarness(ScriptedPerson().approves(action="refund"))
    outcome = await harness.run(silent)

    with pytest.raises(AssertionError, match="asked 0 times, not once: none"):
        _ = outcome.request
    with pytest.raises(UnusedRuleError, match=r"person.approves\(action='refund'\) answered no request"), harness:
        pass


async def test_a_plain_interrupt_is_answered_as_well(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    plain: Any = StateGraph(State).add_node("go", lambda state: {"outcome": interrupt("Which colour?")})
    ringi_person.responds("red", title="Which colour")

    assert (await ringi_harness.run(plain.add_edge(START, "go").compile())).state == {"outcome": "red"}


async def test_a_middleware_of_langchain_itself_is_answered_as_well(ringi_harness: TestHarness, till: Till) -> None:
    gate: Any = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
    agent = create_agent(
        ScriptedModel(script=scripted_turns(tool_call("refund", **REFUND))), till.tools, middleware=[gate]
    )
    ringi_harness.person.edits(args={**REFUND, "amount": 20}, action="refund")
    await ringi_harness.run(agent, TASK)

    assert till.paid == [{**REFUND, "amount": 20}]


async def test_what_somebody_told_is_known_in_their_later_threads(ringi_harness: TestHarness) -> None:
    form = Form([Select("colour", options=["red", "blue"])])

    def choose(state: State) -> State:
        return {"outcome": ask("Which colour?", form=form, context={"memory_category": "taste"}).status}

    async def recall(state: State, *, store: BaseStore) -> State:
        return {"outcome": str([item.value for item in await store.asearch(("memories", "default", "ann"))])}

    ringi_harness.person.approves({"colour": "red"}, form="colour")
    await ringi_harness.run(StateGraph(State).add_node("choose", choose).add_edge(START, "choose").compile())
    graph: Any = StateGraph(State).add_node("recall", recall).add_edge(START, "recall").compile()
    later = Agent("later", graph, memories=True)

    assert "red" in (await ringi_harness.run(later, thread_id="later")).state["outcome"]


async def test_two_graphs_that_nobody_named_do_not_meet(ringi_harness: TestHarness) -> None:
    other: Any = StateGraph(State).add_node("go", lambda state: {"outcome": "else"}).add_edge(START, "go").compile()
    await ringi_harness.start(GRAPH, thread_id="first")
    ringi_harness.person.approves()

    assert (await ringi_harness.run(other, thread_id="second")).state == {"outcome": "else"}
    assert (await ringi_harness.resume("first")).state == {"outcome": "paid 40"}


async def test_threads_go_on_at_once(ringi_harness: TestHarness, ringi_person: ScriptedPerson) -> None:
    ringi_person.approves()
    outcomes = await asyncio.gather(*(ringi_harness.run(GRAPH, thread_id=f"thread-{n}") for n in range(20)))

    assert [outcome.state for outcome in outcomes] == [{"outcome": "paid 40"}] * 20


@pytest.mark.parametrize("reply", [Reply("approve"), Reply("ignore")], ids=["approve", "ignore"])
async def test_a_step_that_waits_itself_is_answered_too(reply: Reply) -> None:
    async def wait(state: State) -> State:
        return {"outcome": await refund(harness.inbox)}

    blocking: Any = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").compile()
    with TestHarness(ScriptedPerson(lambda _: reply)) as harness:
        outcome = await harness.run(blocking)
    assert outcome.state == {"outcome": "paid 40" if reply.decision == "approve" else "expired"}


async def test_a_step_that_waits_for_nobody_fails_and_says_so(ringi_harness: TestHarness) -> None:
    async def wait(state: State) -> State:
        return {"outcome": await refund(ringi_harness.inbox)}

    blocking: Any = StateGraph(State).add_node("wait", wait).add_edge(START, "wait").compile()
    with pytest.raises(RunFailedError, match=r"UnansweredError: request .* no rule of the scripted person"):
        await ringi_harness.run(blocking)


async def test_a_failed_agent_fails_the_test(ringi_harness: TestHarness) -> None:
    def fail(state: State) -> State:
        raise ZeroDivisionError("no till")

    broken: Any = StateGraph(State).add_node("fail", fail).add_edge(START, "fail").compile()
    with pytest.raises(RunFailedError, match="ZeroDivisionError: no till"):
        await ringi_harness.run(broken)


def test_code_without_async_has_an_inbox_too(
    ringi_sync_inbox: sync.BlockingInbox, ringi_person: ScriptedPerson
) -> None:
    ringi_person.edits(args={**REFUND, "amount": 20}, action="refund")
    request = ringi_sync_inbox.ask("Refund order 1182?", action=Action("refund", REFUND))

    assert ringi_sync_inbox.wait(request).granted == Action("refund", {**REFUND, "amount": 20})


def test_a_rule_about_what_no_request_has_is_refused(ringi_person: ScriptedPerson) -> None:
    with pytest.raises(TypeError, match="tool"):
        ringi_person.approves(tool="refund")  # type: ignore[call-arg]


async def test_code_that_opens_its_own_inbox_gets_that_of_the_harness(ringi_harness: TestHarness) -> None:
    async def pay() -> str:
        async with ringi.open() as inbox:
            request = await inbox.wait(await inbox.ask("Pay?", action=ringi.Action("pay", {"amount": 4})))
        return "paid" if request.granted else "not paid"

    ringi_harness.person.approves(action="pay")
    assert [await pay() for _ in range(2)] == ["paid", "paid"]
    with TestHarness(ScriptedPerson().rejects(action="pay")):
        assert await pay() == "not paid"
    assert await pay() == "paid"
    async with ringi.open("memory://") as inbox:
        assert not await inbox.find()


async def test_inboxes_that_code_opens_are_closed_one_by_one(ringi_harness: TestHarness) -> None:
    first, second = await ringi.open(), await ringi.open(tenant="acme")
    await second.ask("Pay?")
    await first.close()
    await second.close()
    assert [len(await ringi_harness.inbox.for_tenant(tenant).find()) for tenant in ("default", "acme")] == [0, 1]


async def test_a_gated_function_without_an_inbox_asks_in_the_harness(ringi_harness: TestHarness) -> None:
    @ringi.gate(when=lambda args: args["amount"] > 100)
    async def refund(amount: int) -> int:
        return amount

    ringi_harness.person.edits(args={"amount": 150}, action="refund")
    assert [await refund(amount=amount) for amount in (50, 200)] == [50, 150]
