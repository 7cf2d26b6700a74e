"""The events of a run of the SDK as output for people, and the count of its model calls."""

from __future__ import annotations

import json
import time
from typing import Any

from agents import Agent, ItemHelpers, RunHooks
from agents.items import ModelResponse
from agents.models import get_default_model
from agents.usage import Usage

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import Output, WorkerRun
from ringi.runs.run import storable_json_text
from ringi.runtimes.openai_agents.guarded_agents import ApprovedCalls
from ringi.runtimes.openai_agents.run_state import openai_call_id
from ringi.runtimes.openai_agents.tool_pauses import OpenAIToolPauses
from ringi.runtimes.tool_calls import model_usage_or_zeros, parse_call_arguments

TEXT_DELTAS = ("response.output_text.delta", "response.refusal.delta")
UNKNOWN = "unknown"
NESTED = "agents as tools"
"""The name under which the calls of agents that are tools are counted: the SDK reports only their sums."""


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

    def __init__(self, run: WorkerRun, approved_calls: ApprovedCalls, pauses: OpenAIToolPauses) -> None:
        self._run, self._approved_calls, self._pauses = run, approved_calls, pauses
        self._started = 0.0
        self._counted = Usage()

    async def on_tool_start(self, context: Any, agent: Agent[Any], tool: Any) -> None:
        """Check the tool of an approved call right before it runs."""
        self._approved_calls.check_tool(agent.name, tool, getattr(context, "tool_call_id", ""))

    async def on_llm_start(self, context: Any, agent: Any, system_prompt: Any, input_items: Any) -> None:
        """Start the time of a call."""
        self._started = time.perf_counter()

    async def on_llm_end(self, context: Any, agent: Agent[Any], response: ModelResponse) -> None:
        """Count a call, and note the places of the calls that it makes."""
        self._pauses.note_answer(agent.name, response)
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
