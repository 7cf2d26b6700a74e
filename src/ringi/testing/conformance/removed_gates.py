"""Conformance tests of runtimes: a refused call does not run, even if a later deploy has removed its gate."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi.runs.agent import Agent
from ringi.testing.conformance.running_agents import (
    Effects,
    ModelTurn,
    Refund,
    RunningAgent,
    first_true_value,
    requests_of_stopped_agent,
    worker_running_on_store,
)


class RemovedGateConformance:
    """Conformance tests of a runtime whose agent loses the gate of its tool while a call waits.

    Either the runtime reads the answer from its own state, and the call does not run. Or an operator has to act: then
    the request is not acknowledged, and request and thread have the same attention.
    """

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        """Return an agent whose tool `refund` needs approval within `expires_in` seconds."""
        raise NotImplementedError

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        """Return the same agent after a deploy that has removed the approval: its tool runs at once."""
        raise NotImplementedError

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """The URL of an empty store that several processes can open."""
        return f"sqlite:///{tmp_path / 'ringi.db'}"

    @pytest.fixture
    def effects(self) -> Effects:
        """The effects of the tool: none yet."""
        return []

    @pytest.mark.parametrize("decision", ["reject", "respond", "cancel"])
    async def test_a_refused_call_whose_gate_was_removed_does_not_run(self, url: str, decision: str) -> None:
        effects = Effects()
        [request] = await requests_of_stopped_agent(url, self.agent([[Refund()], "Sorry."], effects))

        async with worker_running_on_store(url, self.ungated_agent(["Sorry."], effects)) as run:
            await end_without_approval(run, request, decision)
            thread = await thread_at_rest(run, request)

        assert effects == []
        assert thread.status in ("done", "error")

    async def test_no_call_runs_before_its_answer_when_the_gate_was_removed(self, url: str, effects: Effects) -> None:
        agent = self.agent([[Refund(1), Refund(2)], "Sorry."], effects)
        [one, two] = await requests_of_stopped_agent(url, agent)

        async with worker_running_on_store(url, self.ungated_agent(["Sorry."], effects)) as run:
            await end_without_approval(run, two, "reject")
            await thread_at_rest(run, two)
            assert effects == []
            try:
                await end_without_approval(run, one, "reject")
                await thread_at_rest(run, one)
            except ConflictError as error:  # The end of the run cancels it, at any moment.
                if error.code != "final":
                    raise

        assert effects == []


async def end_without_approval(run: RunningAgent, request: Request, decision: Any) -> None:
    """End a request without an approval."""
    if decision == "cancel":
        await run.inbox.cancel(request.id, by="bob")
    else:
        await run.respond(request, decision, message="It is too old.")


async def thread_at_rest(run: RunningAgent, request: Request) -> Thread:
    """Return the thread at rest, after a check that the answer was read, or that an operator has to act."""

    async def settled() -> Thread | None:
        now, thread = await run.inbox.get(request.id), await run.thread()
        return None if now.is_unacknowledged or thread.status == "running" else thread

    thread, now = await first_true_value(settled), await run.inbox.get(request.id)
    assert (now.acknowledged_at is None) == (now.attention is not None)
    assert thread.attention == now.attention
    return thread
