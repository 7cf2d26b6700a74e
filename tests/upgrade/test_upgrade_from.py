"""The version in `from.txt` leaves threads, votes, a hold and a grant; this one goes on, and nobody is asked again."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import sysconfig
import tarfile
import uuid
import zipfile
from collections import Counter
from datetime import timedelta
from io import BytesIO
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.faults.chaos.__main__ import end_of, under_load
from tests.faults.chaos.checker import broken_rules
from tests.faults.chaos.fleet import CODE, ENTRY, START, Fleet
from tests.faults.chaos.history import History
from tests.faults.chaos.load import Client
from tests.next_version import ROOT, environment
from tests.upgrade.agents import GROUP, ZOE

from ringi.base.clock import utc_now
from ringi.contracts.backend import Wakeup

COMMIT = Path(__file__).with_name("from.txt").read_text().strip()
AGENTS = "tests.upgrade.agents"
THREADS = 10
HOLD = 10
LIMIT = 60.0
FRAMEWORKS_PYTHON = ROOT / ".venv-frameworks/bin/python"
RUNTIMES = {"langgraph": ("langgraph", "function"), "frameworks": ("refund-openai-agents", "refund-pydantic-ai")}


def old_version(commit: str, folder: Path) -> Path:
    """Return the folder with the unpacked wheel of a commit."""
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=False)
    if archive.returncode:
        raise LookupError(f"this clone has no commit {commit} of tests/upgrade/from.txt: run `git fetch --unshallow`")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as source:
        source.extractall(folder / "source", filter="data")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=folder / "source", env={**os.environ, "RINGI_SKIP_UI": "1"}, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as files:
        files.extractall(folder / "code")
    return folder / "code"


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    code = old_version(COMMIT, tmp_path_factory.mktemp("old"))
    imported = [sys.executable, "-c", "import ringi; print(ringi.__file__)"]
    found = subprocess.run(imported, cwd=ROOT, env=environment(code), capture_output=True, text=True, check=True)
    assert Path(found.stdout.strip()).is_relative_to(code)
    return code


class Board(NamedTuple):
    """An agent that asks two people."""

    agent: Client
    zoe: Client
    yan: Client
    root: Client
    names: tuple[str, ...]
    """The agents whose runs wait."""

    @property
    def threads(self) -> list[str]:
        return [f"{name}-{n}" for name in self.names for n in range(THREADS)]

    async def leave(self) -> None:
        """Leave what the next version continues."""
        for thread in self.threads:
            name, _, number = thread.rpartition("-")
            body = {"agent": name, "input": {"order": int(number), "amount": 40}}
            await self.agent.insist("start", "POST", f"/v1/threads/{thread}/runs", thread, body)
        async with asyncio.timeout(LIMIT):
            while len(await self.pending()) < len(self.threads):
                await Wakeup().wait(0.1)
        votes = await self.ask("votes", quorum=[{"count": 2}])
        assert (await self.approve(self.zoe, votes))["status"] == "pending"
        until = (utc_now() + timedelta(hours=1)).isoformat()
        await self.approve(self.zoe, await self.ask("grant"), grant={"until": until, "where": {}})
        assert await self.use_grant("before") == 1
        held = await self.ask("held", hold=HOLD)
        assert (await self.approve(self.zoe, held))["status"] == "pending"

    async def finish(self) -> None:
        """Answer what is open, and return when all has ended."""
        assert (await self.approve(self.yan, await self.get("requests/votes")))["status"] == "completed"
        assert await self.use_grant("after") == 2
        await self.decide(len(self.threads))
        for name in self.names:
            # From the index by agent, which an older version did not have.
            ended = (await self.get(f"requests?agent={name}&order=ended&limit=200"))["items"]
            assert {f"{name}-{n}" for n in range(THREADS)} <= {request["thread_id"] for request in ended}
        async with asyncio.timeout(LIMIT):
            while (await self.get("requests/held"))["status"] != "completed":
                await Wakeup().wait(0.2)
        # It is marked first, which an older version did not do.
        erased = await self.root.insist("erase", "POST", "/v1/requests/votes/erase", "votes", {})
        assert erased["title"] == "erased"

    async def decide(self, number: int) -> None:
        """Approve at most so many calls of runs, and return when these runs are done.

        A process that is stopped while a run continues leaves it to another, which may repeat its last step.
        """
        decided = (await self.pending())[:number]
        for request in decided:
            await self.approve(self.zoe, request)
        async with asyncio.timeout(LIMIT):
            for thread in (request["thread_id"] for request in decided):
                while (await self.get(f"threads/{thread}"))["status"] != "done":
                    assert len(await self.asked_by(thread)) == 1, f"{thread} asks again"
                    await Wakeup().wait(0.2)

    async def pending(self) -> list[dict[str, Any]]:
        """Return the open calls of runs."""
        page = await self.get(f"requests?status=pending&group={GROUP}&limit=100")
        return [request for request in page["items"] if request["thread_id"]]

    async def asked_by(self, thread: str) -> list[str]:
        """Return the ids of the requests of a run."""
        return [request["id"] for request in (await self.get(f"requests?thread_id={thread}"))["items"]]

    async def ask(self, id: str, **fields: Any) -> dict[str, Any]:
        action = {"name": "refund", "args": {"reason": id}}
        body = {"id": id, "title": f"{id}?", "action": action, "groups": [GROUP], **fields}
        return await self.agent.insist("ask", "POST", "/v1/requests", id, body)

    async def approve(self, who: Client, request: dict[str, Any], **more: Any) -> dict[str, Any]:
        body = {"decision": "approve", "digest": request["digest"], **more}
        return await who.insist("answer", "POST", f"/v1/requests/{request['id']}/respond", request["id"], body)

    async def use_grant(self, name: str) -> int:
        """Ask until a server knows the grant, and return the number of the use."""
        for number in count():
            if answer := (await self.ask(f"{name}-{number}"))["response"]:
                return int(answer["grant_use"]["number"])
            await Wakeup().wait(0.5)
        raise AssertionError(name)

    async def get(self, path: str) -> dict[str, Any]:
        return await self.zoe.insist("read", "GET", f"/v1/{path}")


async def stop_and_start(running: Fleet, board: Board, history: History) -> None:
    """Stop all, start all with this version, then answer."""
    await board.leave()
    await running.replace(running.members, CODE)
    await board.finish()


async def roll_under_load(running: Fleet, board: Board, history: History) -> None:
    """Replace one half, answer through servers of both versions, and replace the rest, while others ask and answer."""
    async with under_load(running, history):
        await board.leave()
        await running.replace(running.members[::2], CODE)
        await board.decide(len(board.threads) // 2)
        await running.replace(running.members[1::2], CODE)
        await board.finish()


def start_command(runtimes: str) -> tuple[str, ...]:
    """Return the command that runs `ringi` with the frameworks of these runtimes; it takes the rest from here."""
    if runtimes == "langgraph":
        return START
    if not FRAMEWORKS_PYTHON.exists():
        pytest.skip("the other frameworks are not installed: run `make frameworks` first")
    return str(FRAMEWORKS_PYTHON), "-c", f"import sys; sys.path.append({sysconfig.get_path('purelib')!r}); {ENTRY}"


@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", [stop_and_start, roll_under_load])
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("runtimes", RUNTIMES)
async def test_nobody_is_asked_again_and_each_effect_happens_once(
    runtimes: str, store: str, way: Any, old: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    if store == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    servers, start = 2 if way is roll_under_load else 1, start_command(runtimes)
    with History(tmp_path / "history.jsonl") as history:
        async with Fleet(tmp_path, url, servers=servers, workers=1, agents=AGENTS, code=old, start=start) as running:
            zoe, yan = (Client(running, history, "person", name, groups=(GROUP,)) for name in (ZOE, "yan"))
            agent, root = Client(running, history, "agent", "asker"), Client(running, history, "admin", "root")
            board = Board(agent, zoe, yan, root, RUNTIMES[runtimes])
            await way(running, board, history)
            asked = [await board.asked_by(thread) for thread in board.threads]
            end = await end_of(running, url)
            for client in (agent, zoe, yan, root):
                await client.close()
        others = end._replace(threads=[thread for thread in end.threads if thread["id"] not in board.threads])
        broken = broken_rules([*history.calls()], others) if way is roll_under_load else {}

    effects = Counter(line.split()[0] for line in end.effects)
    verify = [*START, "verify", "--url", url, "--json"]
    verified = await asyncio.to_thread(subprocess.run, verify, env=environment(CODE), capture_output=True, check=False)
    assert [len(requests) for requests in asked] == [1] * len(board.threads)
    assert [effects[request] for (request,) in asked] == [1] * len(board.threads)
    assert json.loads(verified.stdout)["findings"] == []
    assert {rule: found for rule, found in broken.items() if found} == {}


def test_a_clone_without_the_commit_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match="run `git fetch --unshallow`"):
        old_version("0" * 40, tmp_path)
