"""The demo has one agent of each installed framework, and each tells the same story."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ringi import Policy
from ringi.demo import frameworks
from ringi.domain.record import DEFAULT_TENANT
from ringi.testing.conformance.running_agents import THREAD, worker_running_on_store

CASE = {"order": 1182, "amount": 40.5}


@pytest.mark.parametrize("package", frameworks.MODULES)
@pytest.mark.parametrize(
    ("decision", "answer", "farewell"),
    [
        ("approve", {}, "refunded 40.5 for order 1182"),
        ("edit", {"args": {"order": 1182, "amount": 30}}, "refunded 30 for order 1182"),
        ("reject", {}, "A person rejected this call. It did not run; do not repeat it as it is."),
    ],
)
async def test_an_agent_refunds_what_a_person_approves(
    tmp_path: Path, package: str, decision: str, answer: dict[str, Any], farewell: str
) -> None:
    if not frameworks.is_installed(package):
        pytest.skip(f"{package} is not installed")
    agent = import_module(f"ringi.demo.frameworks.{frameworks.MODULES[package]}").agent()
    async with worker_running_on_store(f"sqlite:///{tmp_path / 'ringi.db'}", agent) as here:
        await here.worker.start(DEFAULT_TENANT, THREAD, agent.name, CASE, by="ann")
        await here.rest()
        (request,) = await here.worker.pending(await here.thread())
        assert request.action
        assert (request.action.name, request.action.args) == ("refund", CASE)
        assert (
            request.description
            == "Chen Wei paid 40.5 for order 1182. It was delivered nine days late; the customer wrote twice."
        )
        await here.respond(request, decision, **answer)
        ended = await here.rest()
        assert (ended.status, ended.values) == ("done", {"output": f"I told the customer: {farewell}"})


POLICY = Policy.parse(
    {
        "rules": [
            {"tools": ["refund"], "effect": "deny", "name": "too-much", "where": {"amount": {"above": 500}}},
            {"tools": ["refund"], "where": {"amount": {"above": 20}}},
        ]
    }
)


@pytest.mark.parametrize("package", frameworks.MODULES)
async def test_an_edit_into_a_denied_call_runs_nothing_and_the_run_goes_on(tmp_path: Path, package: str) -> None:
    if not frameworks.is_installed(package):
        pytest.skip(f"{package} is not installed")
    agent = replace(import_module(f"ringi.demo.frameworks.{frameworks.MODULES[package]}").agent(), policy=POLICY)
    async with worker_running_on_store(f"sqlite:///{tmp_path / 'ringi.db'}", agent) as here:
        await here.worker.start(DEFAULT_TENANT, THREAD, agent.name, CASE, by="ann")
        await here.rest()
        (request,) = await here.worker.pending(await here.thread())
        await here.respond(request, "edit", args={"order": 1182, "amount": 900})
        ended = await here.rest()
        assert (ended.status, ended.values) == ("done", {"output": "I told the customer: the policy denies this call"})


def test_the_frameworks_that_are_not_installed_are_named_by_their_extras() -> None:
    extras = {"agents.run_state": "openai-agents", "pydantic_ai.tools": "pydantic-ai"}
    missing = [extra for module, extra in extras.items() if not frameworks.is_installed(module)]
    assert frameworks.missing_extras() == missing
    assert len(frameworks.agents()) == len(extras) - len(missing)
