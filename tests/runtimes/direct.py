"""A run and an output in memory, to drive a runtime without a store and a worker."""

from __future__ import annotations

import json
import sys
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ringi.contracts.runtime import FrameworkState, OpenRun, Question, Runtime, Standing
from ringi.domain.ask import Answer
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import ModelCalls
from ringi.domain.voting import Decider
from ringi.runs.agent import Agent
from ringi.runs.context import CallOutcomes
from ringi.runs.run import GatedRun
from ringi.testing.clock import NOON

ROOT = Path(__file__).parents[2]


@dataclass
class FakeOutput:
    """The output of a run, in order."""

    texts: dict[str, str] = field(default_factory=dict)
    ended: list[str] = field(default_factory=list)
    calls: dict[str, tuple[str, Any]] = field(default_factory=dict)
    results: dict[str, str] = field(default_factory=dict)

    def begin(self) -> None:
        pass

    def text(self, message_id: str, delta: str) -> None:
        assert message_id not in self.ended
        self.texts[message_id] = self.texts.get(message_id, "") + delta

    def end_text(self, message_id: str) -> None:
        self.ended.append(message_id)

    def whole_text(self, origin: str, text: str) -> None:
        raise AssertionError(origin)

    def supersede(self, message_id: str) -> None:
        raise AssertionError(message_id)

    def tool_call(self, call_id: str, name: str, args: str) -> None:
        self.calls.setdefault(call_id, (name, json.loads(args)))

    def tool_result(self, call_id: str, content: str) -> None:
        self.results.setdefault(call_id, content)

    def custom(self, origin: str, name: str, value: Any) -> None:
        pass

    async def flush(self) -> None:
        pass


class FakeHost:
    """The context of a run that nobody has paused."""

    def __init__(self) -> None:
        self.outcomes = CallOutcomes()

    async def check_pauses(self, *, is_gated: bool = True) -> None:
        pass


@dataclass
class FakeRun:
    """A run whose state is stored as JSON text, as a store does."""

    agent: Agent
    input: dict[str, Any]
    id: str = "run-1"
    stored: str | None = None
    usage: list[ModelCalls] = field(default_factory=list)
    by: str | None = "ann"
    key: Key = field(default_factory=lambda: Key("default", "t1"))
    checkpoints: Any = None
    host: Any = field(default_factory=FakeHost)
    max_fields: int = 100
    is_first: bool = True
    asks: bool = True

    @property
    def state(self) -> FrameworkState | None:
        return FrameworkState.model_validate_json(self.stored) if self.stored else None

    async def must_pause(self, tool: str, args: Mapping[str, Any]) -> bool:
        return await GatedRun(agent=self.agent, host=self.host, asks=self.asks).must_pause(tool, args)

    async def prune_checkpoints(self) -> None:
        pass

    def count_usage(self, calls: ModelCalls) -> None:
        self.usage.append(calls)


class Direct:
    """A run that is opened anew for each step, as another process would."""

    def __init__(self, runtime: Runtime, agent: Agent, input: dict[str, Any]) -> None:
        self.runtime, self.run, self.out = runtime, FakeRun(agent, input), FakeOutput()

    def opened(self) -> OpenRun:
        assert self.runtime.describe(self.run.agent)
        return self.runtime.open(self.run)

    async def look(self) -> Standing:
        return await self.opened().look()

    async def advance(self, answers: Mapping[str, Sequence[Request]] | None = None) -> Standing:
        self.out = FakeOutput()
        state = await self.opened().advance(answers or {}, self.out)
        assert sorted(self.out.ended) == sorted(self.out.texts)
        assert state
        self.run.stored = state.model_copy(update={"run_id": self.run.id}).model_dump_json()
        return await self.look()

    def next_run(self, input: dict[str, Any]) -> None:
        self.run.id, self.run.input = f"{self.run.id}+", input


def ended(question: Question, decision: Any, **answer: Any) -> dict[str, Sequence[Request]]:
    """Return the answer to a question, as `advance` takes it."""
    request = asked(question)
    reply = Answer.parse({"decision": decision, "digest": request.digest, **answer})
    return {question.id: [request.completed(reply, by=Decider("bob", is_admin=True), channel="test", now=NOON)[0]]}


def silent(question: Question) -> dict[str, Sequence[Request]]:
    """Return an expired request."""
    return {question.id: [asked(question).model_copy(update={"status": "expired", "ended_at": NOON})]}


def asked(question: Question) -> Request:
    """Return the pending request of a question."""
    (ask,) = question.asks
    checked = ask.checked(max_fields=100, may_be_derived=True)
    request, _ = Request.asked(checked, id="q-1", now=NOON, by="agent")
    return request


def read_module(page: str) -> dict[str, Any]:
    """Return the names of the module that a how-to saves; the main environment cannot run it."""
    text = (ROOT / "docs/how-to" / page).read_text("utf-8")
    return module_of(text.partition('```python title="shop.py"\n')[2].partition("```")[0])


def module_of(code: str) -> dict[str, Any]:
    """Return the names of a module with this code."""
    # The frameworks look up annotations in the module.
    module = sys.modules["shop"] = types.ModuleType("shop")
    exec(code, vars(module))
    del sys.modules["shop"]
    return vars(module)
