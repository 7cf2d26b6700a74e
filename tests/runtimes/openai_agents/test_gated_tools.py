"""Tools of the SDK that are no functions, with the real client over HTTP: a person sees each call and decides it."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("agents")

from agents import Agent as SDKAgent
from agents.items import ToolApprovalItem
from tests.runtimes.openai_agents.gated_tools import CASES, effects_of, gated_agent, script_of, work_in_process
from tests.runtimes.openai_agents.responses_server import MODEL, ResponsesServer, responses_server

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import DEFAULT_TENANT
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker
from ringi.runtimes.openai_agents.run_state import openai_call_arguments, shell_or_patch_text
from ringi.testing.conformance.running_agents import THREAD, RunningAgent, worker_running_on_store


@pytest.fixture(params=list(CASES))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def provider(kind: str, tmp_path: Path) -> Iterator[ResponsesServer]:
    with responses_server(script_of(kind, tmp_path)) as server:
        yield server


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


@asynccontextmanager
async def working(kind: str, folder: Path, provider: ResponsesServer, store: str) -> AsyncIterator[tuple[Any, Agent]]:
    async with gated_agent(kind, folder, provider.url) as agent, worker_running_on_store(store, agent) as run:
        yield run, agent


async def test_a_call_shows_what_is_to_be_run_and_runs_once(
    kind: str, tmp_path: Path, provider: ResponsesServer, store: str
) -> None:
    case = CASES[kind]
    async with working(kind, tmp_path, provider, store) as (run, agent):
        await run.start(agent, "Do it, please.")
        (request,) = await run.pending()

        assert (request.action.name, request.action.args) == (case.name, case.args)
        assert request.context == {"tool_call_id": "c1", **case.context}
        assert request.description == "I have to do this."
        assert request.allowed == ("approve", "reject", "respond")
        assert request.display == case.display
        assert effects_of(tmp_path) == []

        await run.respond(request, "approve")
        thread = await run.rest()

    assert (thread.status, thread.error) == ("done", None)
    assert thread.values["output"].startswith("I read: ")
    assert effects_of(tmp_path) == [case.effect]
    assert len(provider.inputs) == 2


@pytest.mark.parametrize("decision", ["reject", "respond"])
async def test_a_refused_call_does_not_run_and_the_model_reads_why(
    kind: str, decision: str, tmp_path: Path, provider: ResponsesServer, store: str
) -> None:
    async with working(kind, tmp_path, provider, store) as (run, agent):
        await run.start(agent, "Do it, please.")
        (request,) = await run.pending()
        await run.respond(request, decision, message="Not on a Friday.")
        thread = await run.rest()

    assert (thread.status, thread.error) == ("done", None)
    assert "Not on a Friday." in str(provider.inputs[-1])
    assert effects_of(tmp_path) == []


@pytest.mark.parametrize("command", ["\ud800", "\0", "x" * 50_001, " "])
def test_a_command_that_cannot_be_shown_as_code_is_shown_in_the_arguments(command: str) -> None:
    call = {"type": "shell_call", "call_id": "c1", "action": {"commands": [command]}}
    item = ToolApprovalItem(SDKAgent(name="clerk"), call, tool_name="shell")

    assert shell_or_patch_text(item) is None
    assert openai_call_arguments(item) == {"commands": [command]}


async def test_a_run_whose_process_was_killed_resumes_in_another(
    kind: str, tmp_path: Path, provider: ResponsesServer, store: str
) -> None:
    arguments = (list(sys.path), kind, tmp_path, provider.url, store)
    process = multiprocessing.get_context("spawn").Process(target=work_in_process, args=arguments)
    process.start()
    async with gated_agent(kind, tmp_path, provider.url) as agent:
        try:
            async with open_backend(store, poll_interval=0.05) as backend, open_inbox_on_backend(backend) as inbox:
                watching = RunningAgent(backend, inbox, Worker(backend, inbox, agents_by_name([agent])))
                await watching.start(agent, "Do it, please.")
                (request,) = await watching.pending()
        finally:
            process.kill()
            process.join()
        async with worker_running_on_store(store, agent) as run:
            await run.respond(request, "approve")
            assert (await run.rest()).status == "done"

    assert effects_of(tmp_path) == [CASES[kind].effect]
    assert len(provider.inputs) == 2


async def test_a_run_after_a_canceled_one_has_no_open_call(
    kind: str, tmp_path: Path, provider: ResponsesServer, store: str
) -> None:
    async with working(kind, tmp_path, provider, store) as (run, agent):
        await run.start(agent, "Do it, please.")
        await run.pending()
        await run.worker.cancel(DEFAULT_TENANT, THREAD, by="ann")
        await run.rest()
        await run.start(agent, "Never mind.")
        thread = await run.rest()

    assert (thread.status, thread.values) == ("done", {"output": "Hello."})
    assert [item.get("type", "message") for item in provider.inputs[-1]] == ["message"] * 3
    assert effects_of(tmp_path) == []


async def test_the_output_has_the_call_and_its_result(
    kind: str, tmp_path: Path, provider: ResponsesServer, store: str
) -> None:
    async with working(kind, tmp_path, provider, store) as (run, agent):
        await run.start(agent, "Do it, please.")
        (request,) = await run.pending()
        await run.respond(request, "approve")
        thread = await run.rest()
        types = [event["type"] for event in await run.events()]

    assert types.count("TOOL_CALL_START") == types.count("TOOL_CALL_RESULT") == 1
    assert [use.model for use in thread.usage] == [MODEL]
