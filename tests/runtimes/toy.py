"""A framework that nobody here knows, and the runtime that its author has written for Ringi."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringi.contracts.runtime import Description, FrameworkState, Output, Question, Standing, WorkerRun
from ringi.domain.ask import request_content_digest
from ringi.domain.request import Request
from ringi.domain.thread import ModelCalls
from ringi.runs.context import approval_question, decision_on_call

if TYPE_CHECKING:
    import pytest

ENTRY_POINT = "[ringi.runtimes]\ntests = tests.runtimes.toy:ToyRuntime\n"


@dataclass
class ToyAgent:
    """An agent that makes some calls, one stage after another; a call of `refund` needs consent."""

    stages: list[list[dict[str, Any]]]
    effects: list[dict[str, Any]] = field(default_factory=list)
    """The arguments of the refunds made so far."""
    secret: str = ""
    """Part of the state."""
    padding: int = 0
    """Characters that the state has in addition."""
    is_all: bool = True
    is_marked: bool = True
    """Whether the framework pauses at each call by itself."""


@contextmanager
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Install the runtime, as `pip` does."""
    about = folder / "toy_runtime-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-runtime\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRY_POINT)
    with monkeypatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield


class ToyRuntime:
    """Runs the toy agents."""

    schema_number = 1
    checks_calls = True

    def describe(self, agent: Any) -> Description | None:
        if not isinstance(agent.target, ToyAgent):
            return None
        needs: Any = "all" if agent.target.is_all else "each"
        reads = range(self.schema_number, self.schema_number + 1)
        return Description("toy", "1.0", reads=reads, needs=needs, checks_calls=self.checks_calls)

    def open(self, run: WorkerRun) -> ToyRun:
        return ToyRun(run, self.schema_number)


class ToyRun:
    """One run: its state holds the number of its stage, and the calls that wait."""

    failed: frozenset[str] = frozenset()
    read: frozenset[str] = frozenset()

    def __init__(self, run: WorkerRun, schema_number: int) -> None:
        self._run, self._schema_number = run, schema_number
        self._agent: ToyAgent = run.agent.target

    async def look(self) -> Standing:
        state = self._run.state
        if state is None or state.run_id != self._run.id:
            return Standing("new")
        data: Any = state.data
        return self._standing(data)

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> FrameworkState:
        state = self._run.state
        is_own = state is not None and state.run_id == self._run.id
        data: Any = state.data if state and is_own else {"stage": -1, "open": [], "log": []}
        out.begin()
        for id, (request,) in answers.items():
            decided = decision_on_call(request)
            if decided.decision in ("approve", "edit"):
                self._agent.effects.append(decided.args)
            data["log"].append(f"{id} {decided.decision}")
            data["open"] = [call for call in data["open"] if call["id"] != id]
        while not data["open"]:
            data["stage"] += 1
            out.text(f"stage-{data['stage']}", f"Stage {data['stage']}.")
            out.end_text(f"stage-{data['stage']}")
            if data["stage"] >= len(self._agent.stages):
                break
            calls = [args for args in self._agent.stages[data["stage"]] if await self._pauses_at(args)]
            data["open"] = [{"id": f"{data['stage']}:{n}", "args": args} for n, args in enumerate(calls)]
        data |= {"secret": self._agent.secret, "padding": "x" * self._agent.padding}
        self._run.count_usage(ModelCalls(model="toy", calls=1, input_tokens=3, output_tokens=2, seconds=0))
        return FrameworkState(
            framework="toy", version="1.0", schema_number=self._schema_number, data=json.loads(json.dumps(data))
        )

    async def rewind(self, position: str) -> None:
        raise AssertionError(position)

    async def _pauses_at(self, args: dict[str, Any]) -> bool:
        if self._agent.is_marked or await self._run.must_pause("refund", args):
            return True
        self._agent.effects.append(args)
        return False

    def _standing(self, data: Any) -> Standing:
        values = {"log": data["log"]}
        questions = tuple(question(call["id"], call["args"]) for call in data["open"])
        return Standing("paused" if questions else "done", questions, values)


def question(id: str, args: dict[str, Any]) -> Question:
    ask = approval_question(
        "refund", f"Refund {args.get('amount')}?", args, ("approve", "edit", "reject", "respond"), None
    )
    return Question(id, (ask,), (request_content_digest(ask),))
