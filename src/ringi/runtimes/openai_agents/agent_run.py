"""One run of an agent of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from agents import Agent as SDKAgent
from agents import RunConfig, Runner, RunResultStreaming, ToolExecutionConfig
from agents.run_state import RunState
from agents.usage import Usage

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import FrameworkState, Output
from ringi.domain.ask import Decision
from ringi.domain.request import Request
from ringi.runs.context import DECISIONS, REFUSING_DECISIONS
from ringi.runtimes.gated_tools import question_asked_by_gate
from ringi.runtimes.openai_agents.guarded_agents import ApprovedCall, ApprovedCalls, GuardedAgents
from ringi.runtimes.openai_agents.output import OpenAIOutputWriter, OpenAIRunWatch
from ringi.runtimes.openai_agents.run_state import (
    called_function_tool,
    conversation_of_ended_calls,
    mcp_server_of_call,
    openai_call_arguments,
    openai_state_as_json,
    openai_state_with_data,
    openai_waiting_calls,
    shell_or_patch_text,
)
from ringi.runtimes.openai_agents.tool_pauses import OpenAIToolPauses
from ringi.runtimes.tool_calls import REJECTED, StoredRun, ended_run_values, question_to_json, run_input_messages

UNEDITED: tuple[Decision, ...] = ("approve", *REFUSING_DECISIONS)
"""The decisions on a call whose arguments nobody can change: of a shell, a patch, or an MCP server."""
SERVER = "mcp_server"
"""The key in the context of a request with the name of the MCP server that has the tool."""


class OpenAIRun(StoredRun):
    """One run of an agent."""

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> FrameworkState:
        """Run to the next pause or the end."""
        data, approved_calls = self._own_data(), ApprovedCalls()
        pauses = OpenAIToolPauses(self._run, data["run_state"]["current_turn"] if data else 0)
        agents = GuardedAgents(approved_calls, pauses)
        start = agents.copy_of(self._run.agent.target)
        context = self._run.agent.context(self._run.input, self._run.by)
        state = await self._restored(start, data, answers, approved_calls, context) if data else None
        out.begin()
        writer = OpenAIOutputWriter(out, self._run.id, data["messages"] if data else 0)
        watch = OpenAIRunWatch(self._run, approved_calls, pauses)
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
        history = run.state.data["history"] if run.state and isinstance(run.state.data, dict) else []
        return [*history, *converted]

    async def _restored(
        self,
        start: SDKAgent[Any],
        data: dict[str, Any],
        answers: Mapping[str, Sequence[Request]],
        approved_calls: ApprovedCalls,
        context: Any,
    ) -> RunState[Any, Any]:
        """Return the state of the pause with the answers, and add the approved calls to `approved_calls`."""
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
                approved_calls.add(item.agent.name, ApprovedCall(call, request))
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
