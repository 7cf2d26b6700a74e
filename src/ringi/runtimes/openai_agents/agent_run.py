"""One run of an agent of the OpenAI Agents SDK, its output for people, and the count of its model calls."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from agents import Agent, ItemHelpers, RunConfig, RunHooks, Runner, RunResultStreaming, ToolExecutionConfig
from agents.items import ModelResponse
from agents.models import get_default_model
from agents.run_state import RunState
from agents.usage import Usage

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import FrameworkState, Output, WorkerRun
from ringi.domain.ask import Decision
from ringi.domain.request import Request
from ringi.runs.context import DECISIONS, REFUSING_DECISIONS
from ringi.runs.run import storable_json_text
from ringi.runtimes.openai_agents.run_state import (
    called_function_tool,
    conversation_of_ended_calls,
    mcp_server_of_call,
    openai_call_arguments,
    openai_call_id,
    openai_state_as_json,
    openai_state_with_data,
    openai_waiting_calls,
    shell_or_patch_text,
)
from ringi.runtimes.openai_agents.tool_pauses import ApprovedCall, GuardedAgents, OpenAIToolPauses
from ringi.runtimes.tool_calls import (
    REJECTED,
    StoredRun,
    ended_run_values,
    model_usage_or_zeros,
    parse_call_arguments,
    question_asked_by_gate,
    question_to_json,
    run_input_messages,
)

UNEDITED: tuple[Decision, ...] = ("approve", *REFUSING_DECISIONS)
"""The decisions on a call whose arguments nobody can change: of a shell, a patch, or an MCP server."""
SERVER = "mcp_server"
"""The key in the context of a request with the name of the MCP server that has the tool."""
TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
UNKNOWN = "unknown"
NESTED = "agents as tools"
"""The name under which the calls of agents that are tools are counted: the SDK reports only their sums."""


class OpenAIRun(StoredRun):
    """One run of an agent."""

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> FrameworkState:
        """Run to the next pause or the end."""
        data = self._own_data()
        pauses = OpenAIToolPauses(self._run, data["run_state"]["current_turn"] if data else 0)
        agents = GuardedAgents(pauses)
        start = agents.copy_of(self._run.agent.target)
        context = self._run.agent.context(self._run.input, self._run.by)
        state = await self._restored(start, data, answers, agents, context) if data else None
        out.begin()
        writer = OpenAIOutputWriter(out, self._run.id, data["messages"] if data else 0)
        watch = OpenAIRunWatch(self._run, agents)
        before = copy(state._context.usage) if state and state._context else Usage()
        result = Runner.run_streamed(
            start,
            self._input() if state is None else state,
            context=context,
            hooks=watch,
            **openai_run_options(self._run.agent.options),
        )
        try:
            await stream_openai_run(result, writer)
        finally:
            watch.count_nested(before, result.context_wrapper.usage)
        await out.flush()
        if result.interruptions:
            return openai_state_with_data(await self._paused(result, writer, pauses, data))
        values = ended_run_values(self._run.agent, result, result.final_output)
        return openai_state_with_data({"history": jsonable(result.to_input_list()), "values": values})

    def _input(self) -> list[Any]:
        """Return the conversation so far, and the input of the run."""
        run = self._run
        converted = run.agent.input(run.input)
        # A list is already in the SDK's own format.
        if not isinstance(converted, list):
            converted = [{"role": each.role, "content": each.text} for each in run_input_messages(converted)]
        # An earlier run of the thread left its conversation.
        history: Any = run.state.data["history"] if run.state and isinstance(run.state.data, dict) else []
        return [*history, *converted]

    async def _restored(
        self,
        start: Agent[Any],
        data: dict[str, Any],
        answers: Mapping[str, Sequence[Request]],
        agents: GuardedAgents,
        context: Any,
    ) -> RunState[Any, Any]:
        """Return the state of the pause with the answers, and add the approved calls to `agents`."""
        # The SDK asks each tool whether it is enabled, and a function that says so may read the context.
        state = await RunState.from_json(start, data["run_state"], context_override=context)
        for call, item in openai_waiting_calls(state.get_interruptions(), data["run_state"], self._run.id, start.name):
            if call.id not in answers:
                continue
            request = answers[call.id][0]
            decided = call.decision(request)
            if decided.decision in REFUSING_DECISIONS:
                state.reject(item, rejection_message=decided.message or REJECTED)
            else:
                agents.add(item.agent.name, ApprovedCall(call, request))
                state.approve(item)
        return state

    async def _paused(
        self,
        result: RunResultStreaming,
        writer: OpenAIOutputWriter,
        pauses: OpenAIToolPauses,
        data: dict[str, Any] | None,
    ) -> dict[str, Any]:
        run_state, name = openai_state_as_json(result.to_state()), self._run.agent.target.name
        # A call that still waits keeps its question: with the words and facts of now it would be another one.
        open_questions = {each["id"]: each for each in data["questions"]} if data else {}
        questions = []
        for call, item in openai_waiting_calls(result.interruptions, run_state, self._run.id, name):
            if known := open_questions.get(call.id):
                questions.append(known)
                continue
            tool = called_function_tool(item)
            offered = DECISIONS if tool else UNEDITED
            allowed = REFUSING_DECISIONS if openai_call_arguments(item) is None else offered
            # An agent that is a tool has its own words, which nobody streams.
            is_current = item.agent.name == run_state["current_agent"]["name"]
            words = writer.words.strip() if is_current else None
            schema = tool.params_json_schema if tool else None
            about = {SERVER: server} if (server := mcp_server_of_call(item)) else None
            code = shell_or_patch_text(item)
            ask = call.question(allowed, description=words, schema=schema, context=about, code=code)
            gate = await pauses.question(item.agent.name, call)
            ask = question_asked_by_gate(ask, gate) if gate else ask
            questions.append(question_to_json(call.id, ask, call.place, is_gated=bool(gate)))
        # A run that is canceled here leaves what it has done to the thread's next run.
        history = conversation_of_ended_calls(jsonable(result.to_input_list()))
        return {"questions": questions, "messages": writer.messages, "run_state": run_state, "history": history}


def openai_run_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run; the guardrails of a tool check its arguments before people see them."""
    config = options.get("run_config") or RunConfig()
    execution = replace(config.tool_execution or ToolExecutionConfig(), pre_approval_tool_input_guardrails=True)
    return {**options, "run_config": replace(config, tool_execution=execution)}


async def stream_openai_run(result: RunResultStreaming, writer: OpenAIOutputWriter) -> None:
    """Write the events of a run until it stops; nothing of the run goes on after an error or a cancellation."""
    try:
        async for event in result.stream_events():
            writer.write(event)
    except BaseException:
        result.cancel()
        if result.run_loop_task:
            await asyncio.wait([result.run_loop_task])
        raise
    if result.run_loop_exception:
        raise result.run_loop_exception


class OpenAIOutputWriter:
    """Writes the events of one stretch of a run.

    The ids of messages count from the state with which the stretch begins, so a repetition gives them again.
    """

    def __init__(self, out: Output, run_id: str, messages: int) -> None:
        self._out, self._run_id = out, run_id
        self.messages = messages
        """The number of messages of the run so far."""
        self._is_open = False
        self._streamed = 0
        self.words = ""
        """The newest text of the agent, which explains its calls."""

    def write(self, event: Any) -> None:
        """Write an event of the stream."""
        if event.type == "raw_response_event":
            self._write_raw(event.data)
        elif event.type == "run_item_stream_event":
            self._write_item(event.name, event.item)

    def _write_raw(self, data: Any) -> None:
        if data.type == "response.created":
            self._close()
            self.words = ""
        elif data.type in TEXT_DELTAS:
            self._append(data.delta)
        elif data.type == "response.output_item.done" and data.item.type == "message":
            self._close()

    def _write_item(self, name: str, item: Any) -> None:
        if name == "message_output_created":
            self._write_message(ItemHelpers.text_message_output(item))
        elif name in ("tool_called", "handoff_requested"):
            raw = jsonable(item.raw_item)
            if call_id := openai_call_id(raw):
                self._out.tool_call(call_id, openai_tool_name(raw), openai_call_json_arguments(raw))
                if raw.get("type") == "mcp_call":
                    # The provider has run the call: its result is in the same item.
                    self._out.tool_result(call_id, tool_output_text(raw.get("output") or raw.get("error") or ""))
        elif name in ("tool_output", "handoff_occured"):
            raw = jsonable(item.raw_item)
            if call_id := openai_call_id(raw):
                self._out.tool_result(call_id, tool_output_text(raw.get("output")))

    def _write_message(self, text: str) -> None:
        self._close()
        if text and not self._streamed:
            self._append(text)
            self._close()
        self._streamed = max(self._streamed - 1, 0)

    def _append(self, delta: str) -> None:
        if not self._is_open:
            self.messages, self._is_open = self.messages + 1, True
        self.words += delta
        self._out.text(self._message_id, delta)

    def _close(self) -> None:
        if self._is_open:
            self._out.end_text(self._message_id)
            self._is_open, self._streamed = False, self._streamed + 1

    @property
    def _message_id(self) -> str:
        return f"{self._run_id}-{self.messages}"


def openai_tool_name(raw: dict[str, Any]) -> str:
    """Return the name of a called tool; tools of the provider have only a type."""
    return str(raw.get("name") or raw.get("type", UNKNOWN).removesuffix("_call"))


def openai_call_json_arguments(raw: dict[str, Any]) -> str:
    """Return the arguments of a call as JSON."""
    args = raw.get("arguments")
    if isinstance(args, str):
        return args if parse_call_arguments(args) is not None else storable_json_text({"arguments": args})
    known = ("id", "call_id", "type", "name", "status", "caller", "namespace")
    return storable_json_text({name: value for name, value in raw.items() if name not in known and value is not None})


def tool_output_text(output: Any) -> str:
    """Return the output of a tool as text."""
    return output if isinstance(output, str) else json.dumps(jsonable(output), ensure_ascii=False)


class OpenAIRunWatch(RunHooks[Any]):
    """Counts the model calls of one stretch of a run, and checks the tools of approved calls."""

    def __init__(self, run: WorkerRun, agents: GuardedAgents) -> None:
        self._run, self._agents = run, agents
        self._started = 0.0
        self._counted = Usage()

    async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Any) -> None:
        """Check the tool of an approved call right before it runs."""
        self._agents.check_tool(agent.name, tool, getattr(context, "tool_call_id", ""))

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        """Start the time of a call."""
        self._started = time.perf_counter()

    async def on_llm_end(self, context: Any, agent: Agent[Any], response: ModelResponse) -> None:
        """Count a call, and note the places of the calls that it makes."""
        self._agents.pauses.note_answer(agent.name, response)
        self._counted.add(response.usage)
        usage, seconds = response.usage, time.perf_counter() - self._started
        cached = usage.input_tokens_details.cached_tokens or 0
        tokens = {"read": usage.input_tokens, "cached": cached, "written": usage.output_tokens}
        self._run.count_usage(model_usage_or_zeros(openai_model_name(agent), 1, seconds, **tokens))

    def count_nested(self, before: Usage, after: Usage) -> None:
        """Count the calls that the stretch made beyond its own: those of agents that are tools."""
        names = ("requests", "input_tokens", "output_tokens")
        rest = {name: getattr(after, name) - getattr(before, name) - getattr(self._counted, name) for name in names}
        if rest["requests"] > 0:
            tokens = {"read": rest["input_tokens"], "cached": 0, "written": rest["output_tokens"]}
            self._run.count_usage(model_usage_or_zeros(NESTED, rest["requests"], 0.0, **tokens))


def openai_model_name(agent: Agent[Any]) -> str:
    """Return the name of an agent's model; a model object without a name has that of its class."""
    model = get_default_model() if agent.model is None else agent.model
    return str(model if isinstance(model, str) else getattr(model, "model", None) or type(model).__name__)
