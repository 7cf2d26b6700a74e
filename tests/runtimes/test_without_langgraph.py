"""Agents of another framework run where LangGraph is not installed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.runtimes.toy import installed

from ringi.base.extras import EXTRAS

ROOT = Path(__file__).parent.parent.parent
SCRIPT = """
import asyncio, sys
for name in {names!r}:
    sys.modules[name] = None
import ringi
from ringi import Agent
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.runs.agent import agents_by_name
from ringi.runs.worker import Worker
from tests.runtimes.toy import ToyAgent

async def main():
    toy = ToyAgent([[{{"order": 1, "amount": 40}}]])
    async with open_backend("sqlite:///ringi.db") as backend, open_inbox_on_backend(backend) as inbox:
        worker, stop = Worker(backend, inbox, agents_by_name([Agent("toy", toy)])), asyncio.Event()
        working = asyncio.create_task(worker.work(stop))
        thread = await worker.start("default", "t1", "toy", {{}}, by="ann")
        async with backend.notifier.subscribe(thread.topic) as wakeup:
            while (await worker.get("default", "t1")).status != "interrupted":
                await wakeup.wait(1)
            (request,) = await inbox.find(limit=9)
            await inbox.respond(request, "approve", by="ann")
            while (await worker.get("default", "t1")).status != "done":
                await wakeup.wait(1)
        stop.set()
        await working
        print(toy.effects)

asyncio.run(main())
"""


def test_an_agent_of_another_framework_needs_no_langgraph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with installed(tmp_path, monkeypatch):
        code = SCRIPT.format(names=EXTRAS["langgraph"])
        ran = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
            env={"PYTHONPATH": f"{tmp_path}:{ROOT}:{ROOT / 'src'}", "PATH": ""},
        )
    assert (ran.stdout, ran.stderr) == ("[{'order': 1, 'amount': 40}]\n", "")


GATED = """
import asyncio, sys
for name in {names!r}:
    sys.modules[name] = None
import ringi, ringi.runs.context

policy = {{"rules": [{{"tools": ["ship"], "effect": "allow"}}]}}

@ringi.gate(policy)
def ship(order: int) -> str:
    return f"shipped {{order}}"

print(asyncio.run(ringi.gate("ship", {{"order": 1}}, policy=policy)), ship(2))
"""


def test_a_gated_function_beside_agents_of_another_framework_needs_no_langgraph(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", GATED.format(names=EXTRAS["langgraph"])],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""},
    )
    assert (ran.stdout, ran.stderr) == ("{'order': 1} shipped 2\n", "")
