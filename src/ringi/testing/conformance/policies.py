"""Conformance tests of runtimes: a policy decides about each call as it runs, or its agent is refused."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ringi.base.settings import SettingError
from ringi.domain.record import DEFAULT_TENANT, Query
from ringi.domain.request import Request
from ringi.policy.rules import Policy
from ringi.runs.agent import Agent
from ringi.runs.context import idempotency_key
from ringi.testing.conformance.removed_gates import RemovedGateConformance
from ringi.testing.conformance.running_agents import (
    THREAD,
    ArgumentChange,
    Effects,
    ModelTurn,
    Refund,
    RestorablePath,
    agent_asking_on_store,
    requests_of_stopped_agent,
    worker_running_on_store,
)

LARGE = 5000
ASK: dict[str, Any] = {"tools": ["refund"]}
SMALL: dict[str, Any] = {"amount": {"at_most": 100}}
ALLOW_SMALL: dict[str, Any] = {**ASK, "effect": "allow", "where": SMALL}
AUTO_APPROVE_SMALL: dict[str, Any] = {**ASK, "auto_approve": [{"name": "small", "where": SMALL}]}
DENY_LARGE: dict[str, Any] = {**ASK, "effect": "deny", "name": "large", "where": {"amount": {"above": 500}}}


def arguments_with_large_amount(args: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call with a large amount."""
    return {**args, "amount": LARGE}


class KeyedEffects(list[Refund]):
    """Effects, and the idempotency keys of the calls that had them."""

    def __init__(self) -> None:
        super().__init__()
        self.keys: list[str] = []

    def append(self, effect: Refund) -> None:
        """Add an effect with the key of its call."""
        super().append(effect)
        self.keys.append(str(idempotency_key()))


class PolicyConformance(RemovedGateConformance):
    """The part of `RuntimeConformance` about policies."""

    def gated_agent(
        self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any], change: ArgumentChange | None = None
    ) -> Agent:
        """Return an agent whose tool `refund` has no gate but the policy, which covers it as usual for the framework.

        Call `pytest.skip` with the reason if no policy can cover the calls of the framework.

        Args:
            turns: The turns of the model.
            effects: The effects of the tool.
            policy: The policy as plain data.
            change: Changes the arguments of each call as late as the framework lets code of the agent do so, such as in
                a hook, a guardrail or a middleware; None for no change.
        """
        raise NotImplementedError

    def function_agent(self, turns: Sequence[ModelTurn], effects: Effects, policy: dict[str, Any]) -> Agent:
        """Return an agent whose tool is the function `refund`, which `ringi.gate` gates with the policy.

        Call `pytest.skip` with the reason if the framework has no functions as tools.
        """
        raise NotImplementedError

    @pytest.mark.parametrize("kind", ["gated_agent", "function_agent"])
    async def test_calls_that_a_rule_approves_have_the_same_keys_after_a_restore(
        self, url: str, tmp_path: Path, kind: str
    ) -> None:
        turns: list[ModelTurn] = [[Refund(1, LARGE)], [Refund(2), Refund(2)], [Refund(2)], "Done."]
        policy, restored = {"rules": [AUTO_APPROVE_SMALL]}, RestorablePath(url, tmp_path)

        def agent(turns: Sequence[ModelTurn], effects: Effects) -> Agent:
            made: Agent = getattr(self, kind)(turns, effects, policy)
            return made

        [asked] = await requests_of_stopped_agent(url, agent(turns, []))
        restored.keep()

        async def repeated() -> list[str]:
            """Restore the store, let the run end in a new worker, and return the keys of all its effects."""
            restored.put_back()
            effects = KeyedEffects()
            repeating = agent(turns[1:], effects)
            async with worker_running_on_store(url, repeating) as run:
                await run.respond(asked, "approve")
                assert (await run.rest()).status == "done"
                assert sorted(effects) == [Refund(1, LARGE), Refund(2), Refund(2), Refund(2)]
                found = await run.backend.store.find(Request, Query(tenant=DEFAULT_TENANT, thread_id=THREAD, limit=50))
            assert sorted(effects.keys) == sorted(request.id for request in found)
            return sorted(effects.keys)

        keys = await repeated()
        assert len(set(keys)) == len(keys) == 4
        assert await repeated() == keys

    @pytest.mark.parametrize("is_changed", [False, True])
    @pytest.mark.parametrize("allowed", [ALLOW_SMALL, AUTO_APPROVE_SMALL])
    async def test_a_denied_call_does_not_run(self, url: str, allowed: dict[str, Any], is_changed: bool) -> None:
        effects, policy = Effects(), {"rules": [DENY_LARGE, allowed]}
        turns: list[ModelTurn] = [[Refund(amount=30 if is_changed else LARGE)], "Sorry."]
        agent = self.gated_agent(turns, effects, policy, arguments_with_large_amount if is_changed else None)
        async with agent_asking_on_store(url, agent):
            assert effects == []

    async def test_a_call_that_the_policy_does_not_allow_waits_for_people(self, url: str, effects: Effects) -> None:
        policy = {"rules": [ALLOW_SMALL], "otherwise": "ask"}
        agent = self.gated_agent([[Refund(1), Refund(2, LARGE)], "Done."], effects, policy)
        async with agent_asking_on_store(url, agent) as (run, [request]):
            await run.respond(request, "approve")

            assert (await run.rest()).status == "done"
            assert sorted(effects) == [Refund(1), Refund(2, LARGE)]

    async def test_a_call_runs_only_with_the_arguments_that_were_shown(self, url: str, effects: Effects) -> None:
        agent = self.gated_agent([[Refund()], "Done."], effects, {"rules": [ASK]}, arguments_with_large_amount)
        async with agent_asking_on_store(url, agent) as (run, [request]):
            assert request.action
            visible = Refund(**request.action.args)

            await run.respond(request, "approve")

            await run.rest()
            assert effects in ([], [visible])
            assert visible in (Refund(), Refund(**arguments_with_large_amount(Refund()._asdict())))

    def test_a_policy_is_refused_unless_the_runtime_checks_each_call(self) -> None:
        agent = self.agent([], [])
        if agent.served.description.checks_calls:
            return

        with pytest.raises(SettingError, match=r"agents\.refunds\.policy"):
            _ = replace(agent, policy=Policy.parse({"rules": [ASK]})).served
