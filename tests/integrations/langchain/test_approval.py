"""A gate before tools, on real threads: what runs is what somebody agreed to, and nothing else."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import ToolRetryMiddleware, hook_config
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, StructuredTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import InjectedState
from tests.integrations.langchain.office import Changing, Till, agent, call, calls
from tests.runs.world import at_work, of_type, opened

from ringi import Approval
from ringi.errors import InvalidError
from ringi.testing.clock import ManualClock
from ringi.testing.model import ScriptedModel, scripted_turns

GATE = {"rules": [{"tools": ["refund", "send"], "allowed": ["approve", "edit", "reject", "respond"]}]}
REFUND = {"order": 1182, "amount": 40}
LETTER = {"to": "ann@example.com", "text": "Hello."}


@pytest.fixture
def till() -> Till:
    return Till()


def refunds(till: Till, *middleware: Any, policy: Any = GATE) -> Any:
    """Return an agent that wants to pay once."""
    return agent(calls(call("refund", **REFUND)), till.tools, [Approval(policy, till.tools), *middleware])


async def test_an_approved_call_runs(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        request = await world.one()
        assert request.action is not None
        assert (request.kind, request.action.name, request.action.args) == ("approval", "refund", REFUND)
        assert (request.title, request.description) == ("Run refund?", "I will do that.")
        assert till.paid == []
        (pause,) = of_type(await world.items(), "RUN_FINISHED")
        assert [each["toolCallId"] for each in pause["outcome"]["interrupts"]] == ["c1"]
        thread = await world.answer(request, "approve")
        assert thread.values == {"said": "refunded 40", "results": {"c1": ["success", "refunded 40"]}}
        assert till.paid == [REFUND]
        await world.verified()


async def test_a_rejected_call_does_not_run_and_the_model_reads_why(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "reject", message="too much")
        status, text = thread.values["results"]["c1"]
        assert (status, "rejected" in text, "too much" in text) == ("error", True, True)
        assert till.paid == []


async def test_an_edited_call_runs_as_it_was_left_and_the_model_is_told(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "edit", args={"order": 1182, "amount": 20})
        assert till.paid == [{"order": 1182, "amount": 20}]
        assert "changed the arguments" in thread.values["said"]
        assert thread.values["said"].endswith("refunded 20")


@pytest.mark.parametrize("args", [{"order": 1182}, {"order": "many", "amount": 20}, {}])
async def test_an_edit_that_the_tool_cannot_take_is_refused_to_the_person(till: Till, file: str, args: Any) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        with pytest.raises(InvalidError, match="args"):
            await world.respond(await world.one(), "edit", args=args)
        await world.answer(await world.one(), "approve")
        assert till.paid == [REFUND]


async def test_a_person_may_answer_in_place_of_the_tool(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "respond", message="Paid by hand already.")
        assert thread.values["results"]["c1"] == ["success", "Paid by hand already."]
        assert till.paid == []


async def test_silence_lets_nothing_run(till: Till, file: str) -> None:
    clock = ManualClock()
    policy = {"rules": [{"tools": ["refund"], "expires_in": 60}]}
    async with at_work(file, [refunds(till, policy=policy)], clock=clock) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.expires_at is not None
        clock.advance(61)
        await world.inbox.expire_due()
        thread = await world.rest()
        assert (thread.status, thread.values["results"]["c1"][0]) == ("done", "error")
        assert "expired" in thread.values["said"]
        assert till.paid == []


async def test_a_withdrawn_question_lets_nothing_run(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        await world.inbox.cancel((await world.one()).id, "not today", by="ann")
        thread = await world.rest()
        assert ("cancelled" in thread.values["said"], till.paid) == (True, [])


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
async def test_two_calls_at_once_are_answered_in_any_order(till: Till, file: str, order: tuple[int, int]) -> None:
    wanted = [call("refund", "c1", **REFUND), call("send", "c2", **LETTER)]
    gate = Approval(GATE, till.tools)
    async with at_work(file, [agent(calls(*wanted), till.tools, [gate])]) as world:
        await world.run("office", {})
        asked = await world.pending()
        assert [request.title for request in asked] == ["Run refund?", "Run send?"]
        decisions = ["approve", "reject"]
        for number in order:
            await world.answer(asked[number], decisions[number])
        thread = await world.rest()
        assert till.paid == [REFUND]
        assert [thread.values["results"][id][0] for id in ("c1", "c2")] == ["success", "error"]
        await world.verified()


async def test_an_async_tool_waits_as_well(till: Till, file: str) -> None:
    gate = Approval(GATE, till.tools)
    async with at_work(file, [agent(calls(call("send", **LETTER)), till.tools, [gate])]) as world:
        await world.run("office", {})
        assert till.paid == []
        await world.answer(await world.one(), "approve")
        assert till.paid == [LETTER]


async def test_a_tool_that_no_rule_names_just_runs(till: Till, file: str) -> None:
    gate = Approval({"rules": [{"tools": ["send"]}]}, till.tools)
    async with at_work(file, [agent(calls(call("refund", **REFUND)), till.tools, [gate])]) as world:
        assert (await world.run("office", {})).status == "done"
        assert till.paid == [REFUND]
        assert await world.asked() == []


async def test_a_restart_between_question_and_answer_changes_nothing(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        asked = await world.one()
    async with opened(file, [refunds(till)]) as world:
        await world.respond(asked, "approve")
    async with at_work(file, [refunds(till)]) as world:
        assert (await world.rest()).values["said"] == "refunded 40"
        assert till.paid == [REFUND]


async def test_arguments_that_the_agent_adds_itself_are_neither_shown_nor_the_models(file: str) -> None:
    seen: list[Any] = []

    @tool
    def pay(
        amount: int,
        state: Annotated[dict[str, Any], InjectedState],
        call_id: Annotated[str, InjectedToolCallId],
        runtime: ToolRuntime,
    ) -> str:
        """Pay."""
        seen.append((amount, len(state["messages"]), call_id, runtime.tool_call_id))
        return "paid"

    forged = call("pay", amount=5, state={"messages": [1] * 9}, call_id="c9", runtime={"tool_call_id": "c9"})
    gate = Approval({"rules": [{"tools": ["pay"]}]}, [pay])
    async with at_work(file, [agent(calls(forged), [pay], [gate])]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.action is not None
        assert (request.action.args, list((request.action.args_schema or {})["properties"])) == (
            {"amount": 5},
            ["amount"],
        )
        assert (await world.answer(request, "approve")).values["said"] == "paid"
        assert seen == [(5, 2, "c1", "c1")]


async def test_a_tool_with_a_json_schema_of_its_own_is_gated(file: str) -> None:
    paid: list[Any] = []
    schema = {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}

    def pay(**args: Any) -> str:
        paid.append(args)
        return "paid"

    foreign = StructuredTool.from_function(pay, name="pay", description="Pay.", args_schema=schema)
    gate = Approval({"rules": [{"tools": ["pay"]}]}, [foreign])
    async with at_work(file, [agent(calls(call("pay", amount=5)), [foreign], [gate])]) as world:
        await world.run("office", {})
        with pytest.raises(InvalidError, match=r"args\.amount"):
            await world.respond(await world.one(), "edit", args={"amount": "much"})
        await world.answer(await world.one(), "edit", args={"amount": 4})
        assert paid == [{"amount": 4}]


async def test_arguments_that_cannot_be_shown_are_told_to_the_model_and_do_not_run(till: Till, file: str) -> None:
    gate = Approval(GATE, till.tools)
    bad = call("refund", order=1, amount=float("nan"))
    async with at_work(file, [agent(calls(bad), till.tools, [gate])]) as world:
        thread = await world.run("office", {})
        assert (thread.status, thread.values["results"]["c1"][0]) == ("done", "error")
        assert "action.args.amount" in thread.values["said"]
        assert till.paid == []


async def test_a_retry_with_the_same_arguments_is_not_asked_again(file: str) -> None:
    tries: list[int] = []

    @tool
    def pay(amount: int) -> str:
        """Pay."""
        tries.append(amount)
        if len(tries) < 3:
            raise ConnectionError("try again")
        return "paid"

    gate = Approval({"rules": [{"tools": ["pay"]}]}, [pay])
    retry = ToolRetryMiddleware(max_retries=3, initial_delay=0, jitter=False)
    async with at_work(file, [agent(calls(call("pay", amount=5)), [pay], [gate, retry])]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "approve")
        assert (thread.values["said"], tries) == ("paid", [5, 5, 5])
        assert len(await world.asked()) == 1


async def test_a_middleware_that_sends_the_run_back_to_the_tools_does_not_run_what_was_rejected(
    till: Till, file: str
) -> None:
    class Again(Changing):
        @hook_config(can_jump_to=["tools"])
        async def abefore_model(self, state: Any, runtime: Any) -> Any:
            is_rejected = isinstance(state["messages"][-1], ToolMessage) and not self.seen
            self.seen.append(1)
            return {"jump_to": "tools"} if is_rejected else None

    async with at_work(file, [refunds(till, Again(lambda request: request))]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "reject")
        assert till.paid == []


async def test_a_model_may_try_again_after_a_rejection_and_is_asked_again(till: Till, file: str) -> None:
    tries = [AIMessage("", tool_calls=[{**call("refund", f"c{n}", **REFUND), "type": "tool_call"}]) for n in (1, 2)]
    gate = Approval(GATE, till.tools)
    async with at_work(file, [agent(scripted_turns(*tries), till.tools, [gate])]) as world:
        await world.run("office", {})
        await world.answer(await world.one(), "reject")
        assert till.paid == []
        await world.answer(await world.one(), "approve")
        assert till.paid == [REFUND]


def test_an_agent_that_ringi_does_not_run_pauses_with_langgraphs_own_interrupt(till: Till) -> None:
    policy = {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "everything"}]}]}
    graph: Any = create_agent(
        ScriptedModel(script=calls(call("refund", **REFUND))),
        till.tools,
        middleware=[Approval(policy, till.tools)],
        checkpointer=InMemorySaver(),
    )
    config = {"configurable": {"thread_id": "t1"}}
    result = graph.invoke({"messages": [HumanMessage("Please.")]}, config)
    (asked,) = result["__interrupt__"]
    assert asked.value["ringi"]["action"]["args"] == REFUND
    assert till.paid == []
    assert graph.invoke(None, config)["__interrupt__"][0].id == asked.id
    assert till.paid == []


async def test_with_the_switch_off_calls_run_as_if_there_were_no_gate_unless_they_wait_already(
    till: Till, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        monkeypatch.setenv("RINGI_ENABLED", "0")
        await world.answer(await world.one(), "reject")
        assert till.paid == []
        assert (await world.run("office", {}, "t2")).status == "done"
        assert till.paid == [REFUND]
