"""The runtime of agents of Pydantic AI, and the output of their runs for people."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, RunUsage
from pydantic_ai.messages import (
    FinalResultEvent,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    SystemPromptPart,
    TextPart,
    TextPartDelta,
    ToolCallEvent,
    ToolResultEvent,
    UserPromptPart,
)
from pydantic_ai.run import AgentRunResult, AgentRunResultEvent

from ringi.base.canonical_json import jsonable
from ringi.base.settings import SettingError
from ringi.contracts.runtime import AgentSettings, Description, FrameworkState, Output, WorkerRun
from ringi.domain.request import Request
from ringi.errors import RingiError
from ringi.runs.run import storable_json_text
from ringi.runtimes.pydantic_ai.deferred_calls import (
    ApprovedToolCall,
    RewrittenArguments,
    deferred_call_questions,
    deferred_call_results,
    newest_call_places,
)
from ringi.runtimes.pydantic_ai.tool_pauses import PydanticAICalls, PydanticAIToolPauses, pydantic_ai_agent_tools
from ringi.runtimes.tool_calls import (
    RunInputMessage,
    StoredRun,
    ended_run_values,
    model_usage_or_zeros,
    parse_call_arguments,
    question_to_json,
    refuse_unsupported_settings,
    run_input_messages,
)

FRAMEWORK = "pydantic-ai"
PACKAGE = "pydantic-ai-slim"
SCHEMA_NUMBER = int(version(PACKAGE).partition(".")[0])
"""The major version of Pydantic AI: messages that one version wrote can be read by the later ones with this number."""
REQUESTS: TypeAdapter[DeferredToolRequests] = TypeAdapter(DeferredToolRequests)
USAGE: TypeAdapter[RunUsage] = TypeAdapter(RunUsage)
REWRITES: TypeAdapter[dict[str, RewrittenArguments]] = TypeAdapter(dict[str, RewrittenArguments])
TURN = "turn"
"""The key in the state with the number of requests to the model: histories may be shortened, so it is not counted."""
REWRITTEN = "rewrites"
"""The key in the state with what the agent makes of the arguments of calls."""
OPTIONS = ("model", "model_settings", "usage_limits")
"""The options of a run that `ringi.Agent(options=…)` may set; the others are the runtime's own."""
UNKNOWN = "unknown"
MODEL_EVENTS = (PartStartEvent, PartDeltaEvent, PartEndEvent, FinalResultEvent)


class PydanticAIRuntime:
    """Runs agents of Pydantic AI."""

    def describe(self, agent: AgentSettings) -> Description | None:
        """Return the description of an agent; None for an object of another framework.

        A rejected call does not run, whatever a later deploy has dropped: the stored state has the answer. Not seen
        before the call is a question that a tool itself waits for: without it, a repeated tool does its work unasked.
        """
        target = agent.target
        if not isinstance(target, PydanticAgent):
            return None
        refuse_unsupported_settings(agent, FRAMEWORK, OPTIONS)
        if getattr(target, "_output_validators", None) and not agent_can_defer_calls(target.output_type):
            what = "an agent with output validators needs output_type=[…, DeferredToolRequests], to end at a question"
            raise SettingError("agents", agent.name, what)
        pydantic_ai_agent_tools(target).check(agent)
        readable = range(SCHEMA_NUMBER, SCHEMA_NUMBER + 1)
        return Description(FRAMEWORK, version(PACKAGE), reads=readable, needs="all", checks_calls=True)

    def open(self, run: WorkerRun) -> PydanticAIRun:
        """Return a run, before any of its code has run."""
        return PydanticAIRun(run)


class PydanticAIRun(StoredRun):
    """One run of an agent."""

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> FrameworkState:
        """Run to the next pause or the end."""
        data = self._own_data()
        turn: int = data[TURN] if data else 0
        options, approvals = self._resumed(data, turn, answers) if data else (self._begun(), {})
        out.begin()
        writer = PydanticAIOutputWriter(out, self._run.id, turn)
        requests = {id.removeprefix(f"{self._place(turn)}/"): request for id, (request, *_) in answers.items()}
        calls = PydanticAICalls(self._run, turn, approvals, requests)
        result = await self._streamed(writer, calls, options)
        if isinstance(result.output, DeferredToolRequests):
            data = await self._paused(result, result.output, writer, calls)
        else:
            values = ended_run_values(self._run.agent, result, result.output)
            messages = ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json")
            data = {"messages": messages, "values": values}
        await out.flush()
        return FrameworkState(framework=FRAMEWORK, version=version(PACKAGE), schema_number=SCHEMA_NUMBER, data=data)

    def _place(self, turn: int) -> str:
        return f"{self._run.id}/{turn}"

    def _begun(self) -> dict[str, Any]:
        run = self._run
        messages = run_input_messages(run.agent.input(run.input))
        earlier = pydantic_ai_history(run.state.data if run.state else None)
        earlier += map(pydantic_ai_history_message, messages[:-1])
        prompt = messages[-1].text if messages else None
        return {"user_prompt": prompt, "message_history": earlier, "usage": RunUsage()}

    def _resumed(
        self, data: dict[str, Any], turn: int, answers: Mapping[str, Sequence[Request]]
    ) -> tuple[dict[str, Any], dict[str, ApprovedToolCall]]:
        requests = REQUESTS.validate_python(data["requests"])
        rewrites = REWRITES.validate_python(data[REWRITTEN])
        results, approvals, notes = deferred_call_results(requests, self._place(turn), answers, rewrites)
        options = {
            "message_history": ModelMessagesTypeAdapter.validate_python(data["messages"]),
            "deferred_tool_results": results,
            "instructions": "\n".join(notes) or None,
            "usage": USAGE.validate_python(data["usage"]),
        }
        return options, approvals

    async def _streamed(
        self, writer: PydanticAIOutputWriter, calls: PydanticAICalls, options: dict[str, Any]
    ) -> AgentRunResult[Any]:
        run, target, usage = self._run, self._run.agent.target, options["usage"]
        before, result = USAGE.validate_python(jsonable(usage)), None
        output_type = None if agent_can_defer_calls(target.output_type) else [target.output_type, DeferredToolRequests]
        deps, capabilities = run.agent.context(run.input, run.by), [PydanticAIToolPauses(calls)]
        try:
            options |= {**run.agent.options, "output_type": output_type, "deps": deps, "capabilities": capabilities}
            async with target.run_stream_events(**options) as events:
                async for event in events:
                    if isinstance(event, AgentRunResultEvent):
                        result = event.result
                    else:
                        writer.write(event)
        finally:
            writer.close()
            name = calls.model or pydantic_ai_model_name(target, result)
            self._count(name, before, result.usage if result else usage, writer.seconds)
        if result is None:
            raise RingiError(f"agent {run.agent.name!r} has ended without a result")
        return result

    def _count(self, name: str, before: RunUsage, after: RunUsage, seconds: float) -> None:
        calls = after.requests - before.requests
        if calls <= 0:
            return
        read, written = after.input_tokens - before.input_tokens, after.output_tokens - before.output_tokens
        cached = after.cache_read_tokens - before.cache_read_tokens
        self._run.count_usage(model_usage_or_zeros(name, calls, seconds, read=read, cached=cached, written=written))

    async def _paused(
        self,
        result: AgentRunResult[Any],
        requests: DeferredToolRequests,
        writer: PydanticAIOutputWriter,
        calls: PydanticAICalls,
    ) -> dict[str, Any]:
        for part in (*requests.approvals, *requests.calls):
            writer.tool_call(part)
        schemas, turn = pydantic_ai_tool_schemas(self._run.agent.target), self._place(calls.turn)
        asks = deferred_call_questions(requests, turn, writer.words.strip() or None, schemas, calls.rewrites)
        places = newest_call_places(calls.turn, result.all_messages())
        gated = await calls.ask(requests, asks, turn, places)
        return {
            "questions": [
                question_to_json(id, ask, places.get(id.removeprefix(f"{turn}/"), ""), is_gated=id in gated)
                for id, ask in asks.items()
            ],
            "requests": REQUESTS.dump_python(requests, mode="json"),
            REWRITTEN: REWRITES.dump_python(calls.rewrites, mode="json"),
            TURN: calls.turn,
            "messages": ModelMessagesTypeAdapter.dump_python(result.all_messages(), mode="json"),
            "usage": jsonable(result.usage),
        }


def agent_can_defer_calls(output_type: Any) -> bool:
    """Return whether an agent with this output type ends at deferred calls."""
    if output_type is DeferredToolRequests:
        return True
    is_sequence = isinstance(output_type, Sequence) and not isinstance(output_type, str)
    return any(map(agent_can_defer_calls, output_type if is_sequence else get_args(output_type)))


def pydantic_ai_history(data: Any) -> list[ModelMessage]:
    """Return the conversation that an earlier run of the thread left, without calls that nobody answered."""
    messages: list[ModelMessage] = ModelMessagesTypeAdapter.validate_python(
        data.get("messages", []) if isinstance(data, dict) else []
    )
    while messages and isinstance(messages[-1], ModelResponse) and messages[-1].tool_calls:
        messages.pop()
    return messages


def pydantic_ai_history_message(message: RunInputMessage) -> ModelMessage:
    """Return an earlier message of the input."""
    if message.role == "assistant":
        return ModelResponse(parts=[TextPart(message.text)])
    part = SystemPromptPart if message.role in ("system", "developer") else UserPromptPart
    return ModelRequest(parts=[part(message.text)])


def pydantic_ai_tool_schemas(agent: PydanticAgent[Any, Any]) -> dict[str, dict[str, Any]]:
    """Return the schemas of the arguments of the agent's own tools, by name."""
    tools: dict[str, Any] = {}
    for toolset in agent.toolsets:
        tools |= getattr(toolset, "tools", None) or {}
    functions = ((name, getattr(tool, "function_schema", None)) for name, tool in tools.items())
    return {name: schema for name, each in functions if (schema := getattr(each, "json_schema", None))}


def pydantic_ai_model_name(agent: PydanticAgent[Any, Any], result: AgentRunResult[Any] | None) -> str:
    """Return the name that the newest answer reports, else that of the agent's model."""
    answers = [each for each in result.all_messages() if isinstance(each, ModelResponse)] if result else []
    name = answers[-1].model_name if answers else getattr(agent.model, "model_name", agent.model)
    return str(name or UNKNOWN)


class PydanticAIOutputWriter:
    """Writes the events of one stretch of a run.

    The ids of messages count from the state with which the stretch begins, so a repetition gives them again.
    """

    def __init__(self, out: Output, run_id: str, responses: int) -> None:
        self._out, self._run_id, self._responses = out, run_id, responses
        self._open: dict[int, str] = {}
        self.words = ""
        """The text of the newest response of the model, which explains its calls."""
        self.seconds = 0.0
        """The time in which the model answered."""
        self._mark = time.perf_counter()

    def write(self, event: Any) -> None:
        """Write an event of the stream."""
        now = time.perf_counter()
        self.seconds += now - self._mark if isinstance(event, MODEL_EVENTS) else 0.0
        self._mark = now
        match event:
            case PartStartEvent():
                self._start(event)
            case PartDeltaEvent(delta=TextPartDelta(content_delta=delta)):
                self._append(event.index, delta)
            case PartEndEvent(part=TextPart()):
                self._end(event.index)
            case ToolCallEvent(part=part):
                self.tool_call(part)
            case ToolResultEvent(part=part):
                self._out.tool_result(part.tool_call_id, part.model_response_str())

    def tool_call(self, part: Any) -> None:
        """Write a call of a tool."""
        args = parse_call_arguments(part.args)
        args = {"arguments": part.args} if args is None else args
        self._out.tool_call(part.tool_call_id, part.tool_name, storable_json_text(args))

    def close(self) -> None:
        """End the messages that a model has not ended."""
        for index in sorted(self._open):
            self._end(index)

    def _start(self, event: PartStartEvent) -> None:
        if event.index == 0:
            self.close()
            self._responses, self.words = self._responses + 1, ""
        if isinstance(event.part, TextPart) and event.part.content:
            self._append(event.index, event.part.content)

    def _append(self, index: int, delta: str) -> None:
        self.words += delta
        id = self._open.setdefault(index, f"{self._run_id}-{self._responses}-{index}")
        self._out.text(id, delta)

    def _end(self, index: int) -> None:
        if index in self._open:
            self._out.end_text(self._open.pop(index))
