"""However an agent stops, a person is shown why, and decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ModelCallLimitMiddleware,
    ModelRetryMiddleware,
    ToolCallLimitMiddleware,
    hook_config,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.errors import GraphInterrupt, GraphRecursionError
from pydantic import BaseModel
from tests.integrations.langchain.finishing import Heard, answered, gated, hearing, last_said, results
from tests.runs.world import World, at_work

from ringi import Action, ask
from ringi.base.outages import OutageError
from ringi.base.settings import SettingError
from ringi.base.texts import sentences_text
from ringi.domain.request import Request
from ringi.domain.thread import FenceError
from ringi.errors import UnavailableError
from ringi.integrations.langchain import FinishGate, finish_tool
from ringi.integrations.langchain.finish_gate import agent_stop_reason
from ringi.runtimes.langgraph.graphs import HOOKS
from ringi.testing.model import ScriptedModel, parallel_tool_calls, tool_call

TASK = {"task": "delete the file"}


class ForbiddenFileError(PermissionError):
    """A tool that may not."""


@tool
def delete(path: str) -> str:
    """Delete a file."""
    raise ForbiddenFileError(f"you may not delete {path}")


@tool
def look(path: str) -> str:
    """Look at a file."""
    return f"{path} is long"


def deleting(messages: Sequence[BaseMessage]) -> AIMessage:
    """Do what the task says, and then nothing more."""
    if results(messages):
        return AIMessage("I could not.")
    return tool_call("delete", path="a.txt") if "delete" in last_said(messages) else AIMessage("Ok.")


def looking(messages: Sequence[BaseMessage]) -> AIMessage:
    """Look without end, as long as nobody says stop."""
    if "stop" in last_said(messages):
        return AIMessage("I have seen enough.")
    return parallel_tool_calls(tool_call("look", path="a.txt"), text="I look once more.")


async def stopped(world: World, task: dict[str, str] = TASK) -> Request:
    """Run until the agent stands at its gate."""
    assert (await world.run("worker", task)).status == "interrupted"
    return await world.one()


async def test_a_tool_without_permission_leads_to_the_gate_and_the_agent_may_go_on(file: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard, deleting), tools=[delete])]) as world:
        request = await stopped(world)
        assert request.title == "Stopped before its end: delete the file"
        assert request.context["reason"] == "delete: ForbiddenFileError: you may not delete a.txt"
        await answered(world, "update: leave it")
        assert "Error: ForbiddenFileError: you may not delete a.txt" in heard[-1]
        assert (await world.one()).context["summary"] == "Ok."
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_two_tools_that_fail_at_once_are_both_told(file: str) -> None:
    def twice(messages: Sequence[BaseMessage]) -> AIMessage:
        return parallel_tool_calls(tool_call("delete", path="a"), tool_call("delete", path="b"))

    async with at_work(file, [gated(hearing([], twice), tools=[delete])]) as world:
        reason = (await stopped(world)).context["reason"]
        assert ("delete a" in reason, "delete b" in reason) == (True, True)


async def test_what_a_tool_refused_is_shown_even_if_the_agent_says_nothing_of_it(file: str) -> None:
    class RefusalMiddleware(AgentMiddleware[Any, Any, Any]):
        async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
            return ToolMessage("not allowed", tool_call_id=request.tool_call["id"], name="delete", status="error")

    async with at_work(file, [gated(hearing([], deleting), RefusalMiddleware(), tools=[delete])]) as world:
        request = await stopped(world)
        assert (request.context["summary"], request.context["reason"]) == ("I could not.", "delete: not allowed")


async def test_an_error_of_the_model_leads_to_the_gate(file: str) -> None:
    def broken(messages: Sequence[BaseMessage]) -> AIMessage:
        if "again" in last_said(messages):
            return AIMessage("Here it is.")
        raise TimeoutError("the provider is away")

    async with at_work(file, [gated(hearing([], broken))]) as world:
        request = await stopped(world)
        assert request.context["reason"] == "TimeoutError: the provider is away"
        await world.answer(request, "reject", message="try again")
        assert (await world.one()).context["summary"] == "Here it is."


async def test_an_error_of_the_model_among_tools_leads_to_the_gate(file: str) -> None:
    def broken(messages: Sequence[BaseMessage]) -> AIMessage:
        if not results(messages):
            return tool_call("look", path="a.txt")
        raise TimeoutError("the provider is away")

    async with at_work(file, [gated(hearing([], broken), tools=[look])]) as world:
        assert "TimeoutError" in (await stopped(world)).context["reason"]


async def test_others_have_their_tries_before_the_gate(file: str) -> None:
    heard: Heard = []

    def second(messages: Sequence[BaseMessage]) -> AIMessage:
        if len(heard) == 1:
            raise TimeoutError("the provider is away")
        return AIMessage("Done.")

    retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
    async with at_work(file, [gated(hearing(heard, second), retry)]) as world:
        assert "reason" not in (await stopped(world)).context


async def test_the_limit_of_model_calls_leads_to_the_gate(file: str) -> None:
    limit = ModelCallLimitMiddleware(run_limit=2)
    async with at_work(file, [gated(hearing([], looking), limit, tools=[look])]) as world:
        request = await stopped(world)
        assert request.title.startswith("Stopped before its end")
        assert "limits exceeded" in request.context["reason"]
        assert request.context["summary"] == "I look once more."
        await answered(world, "update: stop")
        assert (await world.one()).context["summary"] == "I have seen enough."


async def test_the_limit_of_tool_calls_leads_to_the_gate(file: str) -> None:
    limit = ToolCallLimitMiddleware(run_limit=1, exit_behavior="end")
    async with at_work(file, [gated(hearing([], looking), limit, tools=[look])]) as world:
        request = await stopped(world)
        assert "call limit reached" in request.context["reason"]
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_a_limit_for_the_whole_thread_leads_to_the_gate_each_time_and_never_past_it(file: str) -> None:
    limit = ModelCallLimitMiddleware(thread_limit=1)
    async with at_work(file, [gated(hearing([], looking), limit, tools=[look])]) as world:
        await stopped(world)
        for _ in range(2):
            await answered(world, "update: something else")
            assert "limits exceeded" in (await world.one()).context["reason"]


async def test_the_limit_of_steps_is_an_error_on_langgraph_alone() -> None:
    bare = create_agent(ScriptedModel(script=looking), [look]).with_config(recursion_limit=20)
    with pytest.raises(GraphRecursionError):
        await bare.ainvoke({"messages": [HumanMessage("delete the file")]})


async def test_the_limit_of_steps_leads_to_the_gate_and_the_next_task_has_its_own(file: str) -> None:
    agent = gated(hearing([], looking), tools=[look])
    limited = replace(agent, target=agent.target.with_config(recursion_limit=20))
    async with at_work(file, [limited]) as world:
        assert (await stopped(world)).context["reason"] == "the limit of steps of one run was reached"
        await answered(world, "update: look again")
        assert (await world.one()).context["reason"] == "the limit of steps of one run was reached"
        await answered(world, "update: stop")
        assert (await answered(world, "yes")).values["outcome"] == "completed"


DEFAULT_REASON = (
    "the default limit of 3 model calls was reached; the developer sets another with `FinishGate(max_calls=…)`"
)


@pytest.mark.parametrize(
    ("max_calls", "calls", "reason"),
    [(None, 3, DEFAULT_REASON), (2, 2, "the limit of 2 model calls was reached")],
)
async def test_a_loop_without_a_limit_reaches_the_gate_by_the_gates_own(
    file: str, monkeypatch: pytest.MonkeyPatch, max_calls: int | None, calls: int, reason: str
) -> None:
    monkeypatch.setattr("ringi.integrations.langchain.finish_gate.DEFAULT_CALLS", 3)
    heard: Heard = []
    gate = FinishGate(max_calls=max_calls)
    async with at_work(file, [gated(hearing(heard, looking), gate=gate, tools=[look])]) as world:
        request = await stopped(world)
        assert (request.context["reason"], len(heard)) == (reason, calls)
        assert request.wording
        assert "モデル呼び出し" in sentences_text(request.wording.reason, "ja")
        await answered(world, "update: look again")
        assert ((await world.one()).context["reason"], len(heard)) == (reason, 2 * calls)
        await answered(world, "update: stop")
        assert (await answered(world, "yes")).values["outcome"] == "completed"


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(SettingError, match="max_calls"):
        FinishGate(max_calls=0)


LIMITS: list[AgentMiddleware[Any, Any, Any]] = [
    ModelCallLimitMiddleware(run_limit=2, exit_behavior="error"),
    ToolCallLimitMiddleware(run_limit=1, exit_behavior="error"),
]


@pytest.mark.parametrize("limit", LIMITS)
async def test_a_limit_that_is_an_error_fails_the_run_and_around_the_gate_it_leads_there(
    file: str, limit: AgentMiddleware[Any, Any, Any]
) -> None:
    inside = gated(hearing([], looking), limit, tools=[look], agent_name="inside")
    outside = gated(hearing([], looking), limit, tools=[look], is_around=True)
    async with at_work(file, [inside, outside]) as world:
        failed = await world.run("inside", TASK, "t0")
        assert failed.error
        assert (failed.status, failed.error.code) == ("error", f"{limit.name.removesuffix('Middleware')}ExceededError")
        request = await stopped(world)
        assert request.context["reason"].startswith(f"{failed.error.code}: ")
        await answered(world, "update: stop")
        assert (await world.one()).context["summary"] == "I have seen enough."
        assert (await answered(world, "yes")).values["outcome"] == "completed"


class Breaks(AgentMiddleware[Any, Any, Any]):
    """A middleware that fails in one of its steps, the first time."""

    def __init__(self, step: str) -> None:
        super().__init__()
        self.step, self.failed = step, False

    def _fail(self, step: str) -> None:
        if step == self.step and not self.failed:
            self.failed = True
            raise OSError(f"no paper in {step}")

    def before_agent(self, state: Any, runtime: Any) -> None:
        self._fail("before_agent")

    async def abefore_model(self, state: Any, runtime: Any) -> None:
        self._fail("before_model")

    async def aafter_model(self, state: Any, runtime: Any) -> None:
        self._fail("after_model")

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._fail("after_agent")


@pytest.mark.parametrize("step", HOOKS)
async def test_an_error_in_a_step_of_another_middleware_leads_to_the_gate_around_it(file: str, step: str) -> None:
    heard: Heard = []
    async with at_work(file, [gated(hearing(heard), Breaks(step), is_around=True)]) as world:
        assert (await stopped(world)).context["reason"] == f"OSError: no paper in {step}"
        assert len(heard) == (0 if step.startswith("before") else 1)
        await answered(world, "update: again")
        assert "reason" not in (await world.one()).context
        assert (await answered(world, "yes")).values["outcome"] == "completed"


async def test_a_call_that_never_ran_has_an_answer_when_the_agent_goes_on(file: str) -> None:
    heard: Heard = []
    agent = gated(hearing(heard, looking), LIMITS[1], tools=[look], is_around=True)
    async with at_work(file, [agent]) as world:
        await stopped(world)
        await answered(world, "update: stop")
        assert heard[-1][-2] == "Not run: the agent was stopped before."


@pytest.mark.parametrize("error", [FenceError("t1", 1), OutageError(UnavailableError("away")), GraphInterrupt(())])
def test_what_is_no_error_of_the_agent_passes_the_gate_by(error: Exception) -> None:
    with pytest.raises(type(error)):
        agent_stop_reason(error)


class EndsAfter(AgentMiddleware[Any, Any, Any]):
    """What is known to loop: it wants to end where the agent ends anyway."""

    @hook_config(can_jump_to=["end"])
    def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
        return {"jump_to": "end"}


async def test_pitfall_17_an_end_after_the_agent_runs_until_the_limit_of_steps() -> None:
    bare = create_agent(ScriptedModel(script=lambda _: "done"), middleware=[EndsAfter()])
    with pytest.raises(GraphRecursionError):
        await bare.ainvoke({"messages": [HumanMessage("begin")]}, {"recursion_limit": 20})


async def test_pitfall_17_here_the_gate_ends_once_however_it_was_reached(file: str) -> None:
    for limit in (ModelCallLimitMiddleware(run_limit=1), ToolCallLimitMiddleware(run_limit=1, exit_behavior="end")):
        id = type(limit).__name__
        async with at_work(file, [gated(hearing([], looking), limit, tools=[look])]) as world:
            await world.run("worker", TASK, id)
            assert (await answered(world, "yes", id=id)).values["outcome"] == "completed"
            assert len(await world.asked(id)) == 1


async def test_a_question_of_a_tool_goes_through_the_gate_as_a_question(file: str) -> None:
    @tool
    def remove(path: str) -> str:
        """Remove a file."""
        request = ask(f"Remove {path}?", action=Action("remove", {"path": path}))
        return "removed" if request.granted else "kept"

    def removing(messages: Sequence[BaseMessage]) -> AIMessage:
        done = results(messages)
        return AIMessage(f"It is {done[0]}.") if done else tool_call("remove", path="a.txt")

    async with at_work(file, [gated(hearing([], removing), tools=[remove])]) as world:
        assert (await stopped(world)).kind == "approval"
        await world.answer(await world.one(), "reject")
        request = await world.one()
        assert (request.kind, request.context["summary"]) == ("finish", "It is kept.")


async def test_the_finish_tool_leads_to_the_gate_with_its_hand_over(file: str) -> None:
    heard: Heard = []

    def finishing(messages: Sequence[BaseMessage]) -> AIMessage:
        args = {"summary": f"did {len(heard)}", "handover": "the key is under the mat"}
        return tool_call("finish", **args)

    async with at_work(file, [gated(hearing(heard, finishing), tools=[finish_tool])]) as world:
        request = await stopped(world)
        assert request.title == "Is this finished: delete the file"
        assert (request.context["summary"], request.context["handover"]) == ("did 1", "the key is under the mat")
        await answered(world, "update: once more")
        assert (await world.one()).context["summary"] == "did 2"
        assert len(heard) == 2
        assert (await answered(world, "yes")).values["outcome"] == "completed"
        await world.run("worker", TASK)
        assert (await world.one()).context["summary"] == "did 3"


async def test_what_is_called_beside_the_finish_tool_still_has_its_result(file: str) -> None:
    def both(messages: Sequence[BaseMessage]) -> AIMessage:
        return parallel_tool_calls(tool_call("look", path="a.txt"), tool_call("finish", summary="seen"))

    async with at_work(file, [gated(hearing([], both), tools=[look, finish_tool])]) as world:
        thread = await world.run("worker", TASK)
        assert (await world.one()).context["summary"] == "seen"
        assert "a.txt is long" in thread.values["messages"]


class Poem(BaseModel):
    """What the agent answers with."""

    text: str


async def test_a_structured_answer_and_a_direct_one_are_gated_too(file: str) -> None:
    @tool(return_direct=True)
    def direct(path: str) -> str:
        """Answer at once."""
        return "direct"

    def structured(messages: Sequence[BaseMessage]) -> AIMessage:
        return tool_call("Poem", text=last_said(messages))

    def at_once(messages: Sequence[BaseMessage]) -> AIMessage:
        return tool_call("direct", path="a")

    poet = gated(hearing([], structured), agent_name="poet", response_format=Poem)
    quick = gated(hearing([], at_once), agent_name="quick", tools=[direct])
    async with at_work(file, [poet, quick]) as world:
        for name in ("poet", "quick"):
            await world.run(name, TASK, name)
            await answered(world, "update: another", id=name)
            assert (await world.one(name)).context["task"] == "another"
            assert (await answered(world, "yes", id=name)).values["outcome"] == "completed"


@pytest.fixture
def switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let agents run without people."""
    monkeypatch.setenv("RINGI_ENABLED", "0")


@pytest.mark.usefixtures("switched_off")
async def test_with_people_switched_off_an_agent_ends_and_fails_as_if_there_were_no_gate(file: str) -> None:
    finishing = gated(
        hearing([], lambda _: tool_call("finish", summary="did it")), agent_name="finishing", tools=[finish_tool]
    )
    deleter = gated(hearing([], deleting), agent_name="deleter", tools=[delete])
    limited = gated(hearing([], looking), LIMITS[0], agent_name="limited", tools=[look], is_around=True)
    endless = gated(hearing([], looking), agent_name="endless", tools=[look])
    endless = replace(endless, target=endless.target.with_config(recursion_limit=20))
    ending = gated(hearing([], looking), ModelCallLimitMiddleware(run_limit=2), agent_name="ending", tools=[look])
    async with at_work(file, [gated(hearing([])), finishing, ending, deleter, limited, endless]) as world:
        for name in ("worker", "finishing", "ending"):
            thread = await world.run(name, TASK, name)
            assert (thread.status, thread.values["outcome"]) == ("done", "unasked")
        for name, code in {
            "deleter": "ForbiddenFileError", "limited": "ModelCallLimitExceededError", "endless": "GraphRecursionError",
        }.items():  # fmt: skip
            failed = await world.run(name, TASK, name)
            assert failed.error
            assert (failed.status, failed.error.code) == ("error", code)


def test_a_gate_that_would_let_nobody_say_no_is_refused() -> None:
    with pytest.raises(SettingError):
        FinishGate(max_rounds=0)
