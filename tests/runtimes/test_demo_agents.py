"""The demo has one agent of each installed framework, and each tells the same story."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from ringi.demo import frameworks
from ringi.domain.record import DEFAULT_TENANT
from ringi.testing.conformance.running_agents import THREAD, running

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
    async with running(f"sqlite:///{tmp_path / 'ringi.db'}", agent) as here:
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


def test_the_frameworks_that_are_not_installed_are_named_by_their_extras() -> None:
    missing = [extra for package, extra in frameworks.EXTRAS.items() if not frameworks.is_installed(package)]
    assert frameworks.missing_extras() == missing
    assert len(frameworks.agents()) == len(frameworks.EXTRAS) - len(missing)
