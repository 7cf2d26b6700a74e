"""PostgreSQL from the command line, in processes of their own."""

from __future__ import annotations

import asyncio
import importlib
import signal
import subprocess
import sys
from asyncio.subprocess import DEVNULL
from pathlib import Path

import pytest
from tests.runs.world import opened, until

RINGI = [sys.executable, "-c", "from ringi.cli import main; main()"]
SLOW = """
import asyncio
from pathlib import Path
from typing import TypedDict
from langgraph.graph import START, StateGraph
from ringi.runs.agent import Agent

HERE = Path(__file__).parent

class State(TypedDict, total=False):
    said: str

async def slow(state: State) -> State:
    with (HERE / "begun").open("a") as begun:
        begun.write("once ")
    while not (HERE / "go").exists():
        await asyncio.sleep(0.01)
    return {"said": "done"}

graph = StateGraph(State).add_node("slow", slow).add_edge(START, "slow")
agents = [Agent("slow", graph.compile(), title="Slow", output=dict)]
"""


async def test_a_worker_that_is_told_to_end_finishes_what_it_began(
    schema_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_agent.py").write_text(SLOW)
    monkeypatch.syspath_prepend(tmp_path)
    command = [*RINGI, "worker", "--agents", "slow_agent", "--url", schema_url]
    async with opened(schema_url, importlib.import_module("slow_agent").agents) as world:
        worker = await asyncio.create_subprocess_exec(*command, cwd=tmp_path, stdout=DEVNULL)
        try:
            await world.start("slow", {})

            async def has_begun() -> bool:
                return (tmp_path / "begun").exists()

            await until(has_begun, "the run begins", 30)
            worker.send_signal(signal.SIGTERM)
            (tmp_path / "go").touch()
            assert await asyncio.wait_for(worker.wait(), 20) == 0
        finally:
            if worker.returncode is None:
                worker.kill()
                await worker.wait()
        assert ((await world.thread()).status, (await world.thread()).values) == ("done", {"said": "done"})
        assert (tmp_path / "begun").read_text() == "once "


def test_a_password_is_not_printed(schema_url: str) -> None:
    url = schema_url.replace("postgres@", "postgres:secret-word@")
    done = subprocess.run([*RINGI, "migrate", "--url", url], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "secret-word" in done.stdout + done.stderr) == (0, False)
    assert "postgres:…@" in done.stdout
    wrong = f"{url}&pool=none"
    done = subprocess.run([*RINGI, "verify", "--url", wrong], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode != 0, "secret-word" in done.stdout + done.stderr) == (True, False)
    assert "pool=" in done.stderr


def test_a_missing_extra_is_an_error_that_names_it() -> None:
    script = "import sys; sys.modules['asyncpg'] = None; from ringi.cli import main; main()"
    command = [sys.executable, "-c", script, "verify", "--url", "postgresql://postgres@127.0.0.1:1/nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "pip install 'ringi[postgres]'" in done.stderr
