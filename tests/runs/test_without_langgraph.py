"""Ringi without its extra for agents: everything but the running of graphs."""

from __future__ import annotations

import subprocess
import sys

import pytest

BLOCK = """
import sys
for name in ("langgraph", "langchain", "langchain_core"):
    sys.modules[name] = None
"""
RUN = """
import asyncio
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.base.settings import SettingError
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.worker import Worker

async def main():
    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        stop = asyncio.Event()
        worker = asyncio.create_task(Worker(backend, inbox, {}).work(stop))
        stop.set()
        await asyncio.wait_for(worker, 20)
        try:
            agents_by_name([Agent("a", None)])
        except SettingError as error:
            print(error)

asyncio.run(main())
"""


def without_langgraph(script: str) -> str:
    """Return what a script prints in a process that has no LangGraph."""
    done = subprocess.run(
        [sys.executable, "-c", BLOCK + script], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "name",
    [
        "stream_writer",
        "agent",
        "lease",
        "reconciler",
        "cleanup",
        "executor",
        "worker",
        "operations",
    ],
)
def test_all_but_the_running_of_graphs_can_be_imported_without_langgraph(name: str) -> None:
    without_langgraph(f"import ringi.runs.{name}")


def test_the_graphs_are_the_part_that_needs_langgraph() -> None:
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        without_langgraph("import ringi.runtimes.langgraph.graph_run")


def test_a_worker_without_langgraph_waits_if_it_has_no_agents_and_refuses_what_no_framework_runs() -> None:
    assert "NoneType is not an agent of an installed framework" in without_langgraph(RUN)
