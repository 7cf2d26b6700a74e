"""Random calls through gates that are killed, and people who answer at random; what ran is compared with the record.

`python -m tests.gateways.mcp_gate.random_calls 10000 [SEED]` makes that many calls.
"""

from __future__ import annotations

import asyncio
import random
import sys
import tempfile
import time
from collections import Counter, defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import psutil
from mcp import Client, MCPError
from tests.gateways.mcp_gate.gates import Place
from tests.runs.world import until

from ringi import Request
from ringi.audit.verify import verify_store
from ringi.domain import Query
from ringi.errors import ConflictError
from ringi.inbox.inbox import StoreInbox

RULES = {
    "rules": [
        {"tools": ["write"], "where": {"times": {"at_most": 10}}, "effect": "allow"},
        {"tools": ["fail"], "effect": "deny", "name": "no failures", "reason": "never"},
    ]
}
ALLOWED, ASKED, EDITED = 5, 50, 70
PARALLEL = 6
GATES = 2
CALLS_A_KILL = 150
GIVES_UP = 0.5
"""Seconds after which an impatient client cancels its call."""


class World:
    """The calls that clients made, and the people who answer."""

    def __init__(self, place: Place, inbox: StoreInbox, count: int, seed: int) -> None:
        self.place, self.inbox, self.random = place, inbox, random.Random(seed)
        self.made = Counter[tuple[str, int]]()
        self.answers = Counter[str]()
        self.kills = 0
        self._left = count
        self._answered = set[str]()
        self._gates = dict[int, psutil.Process]()

    async def run(self) -> None:
        """Make all calls, from several clients at once."""
        # What forks the gates starts now, because a new child of this process is taken for a gate.
        self.place.gate()
        people = asyncio.create_task(self._answer())
        await asyncio.gather(*(self._client(number) for number in range(GATES)))
        people.cancel()
        await asyncio.wait({people})

    async def _client(self, number: int) -> None:
        while self._left > 0:
            known = {process.pid for process in psutil.Process().children()}
            try:
                async with self.place.client("--wait", "1") as client:
                    (gate,) = [
                        each
                        for each in psutil.Process().children()
                        if each.pid not in known and each.pid not in {gate.pid for gate in self._gates.values()}
                    ][:1]
                    self._gates[number] = gate
                    calls = [asyncio.create_task(self._calls(client)) for _ in range(PARALLEL)]
                    if self._left > CALLS_A_KILL:
                        stop_at = self._left - CALLS_A_KILL
                        await until(partial(self._is_at, stop_at), "calls are made", limit=300)
                        gate.kill()
                        self.kills += 1
                    await asyncio.gather(*calls)
            except* (MCPError, OSError):
                pass

    async def _is_at(self, left: int) -> bool:
        return self._left <= left

    async def _calls(self, client: Client) -> None:
        while self._left > 0:
            self._left -= 1
            tool, times = self.random.choice([("write", ALLOWED), ("write", ASKED), ("write", ASKED), ("fail", 1)])
            # Some calls are equal to others that are on their way, or that somebody gave up.
            text = f"{self._left // 3 if times == ASKED else self._left}"
            arguments: dict[str, Any] = {"code": int(text)} if tool == "fail" else {"text": text, "times": times}
            self.made[text, times] += 1
            call = asyncio.create_task(client.call_tool(tool, arguments))
            await asyncio.wait({call}, timeout=GIVES_UP if self.random.random() < 0.2 else None)
            call.cancel()
            await asyncio.wait({call})
            if not call.cancelled() and (error := call.exception()):
                raise error

    async def _answer(self) -> None:
        while True:
            for request in await self.inbox.search(Query(statuses=("pending",))):
                if request.id not in self._answered:
                    await self._decide(request)
            await asyncio.wait({asyncio.current_task()}, timeout=0.02)  # type: ignore[type-var]

    async def _decide(self, request: Request) -> None:
        self._answered.add(request.id)
        how = self.random.choice(["approve", "approve", "edit", "reject", "none", "cancel"])
        self.answers[how] += 1
        assert request.action
        try:
            if how == "cancel":
                await self.inbox.cancel(request.id, by="ann")
            elif how != "none":
                args = {**request.action.args, "times": EDITED} if how == "edit" else None
                decision: Any = how
                await self.inbox.respond(request, decision, by="ann", args=args)
        except ConflictError:
            pass

    async def check(self) -> dict[str, int]:
        """Compare what ran with what was approved; return the figures."""
        count, findings = await verify_store(self.inbox.store)
        assert findings == []
        requests = await self.inbox.search(Query(limit=100_000))
        approvals = defaultdict[tuple[str, int], list[Request]](list)
        for request in requests:
            assert request.action
            if request.granted is not None:
                approvals[str(request.granted.args["text"]), int(request.granted.args["times"])].append(request)
        ran = self.place.ran()
        runs = defaultdict[tuple[str, int], list[float]](list)
        for call in ran:
            assert call["tool"] == "write", f"a denied call ran: {call}"
            runs[call["args"]["text"], call["args"]["times"]].append(call["at"])
        for (text, times), at in runs.items():
            if times == ALLOWED:
                assert len(at) <= self.made[text, times], f"{text} ran {len(at)} times"
                continue
            approved = approvals[text, times]
            assert len(at) <= len(approved), f"{text} ran {len(at)} times with {len(approved)} approvals"
            answered = sorted(request.response.at.timestamp() for request in approved if request.response)
            # The n-th run has at least n answers before it.
            assert all(run >= answer - 0.001 for run, answer in zip(sorted(at), answered, strict=False)), text
        for key, approved in approvals.items():
            committed = sum(request.outcome == "committed" for request in approved)
            unknown = sum(request.outcome == "unknown" for request in approved)
            assert committed <= len(runs[key]) <= committed + unknown, f"{key}: {committed}, {unknown}, {runs[key]}"
        outcomes = Counter(request.outcome for request in requests if request.granted is not None)
        return {
            "calls": sum(self.made.values()),
            "ran": len(ran),
            "requests": len(requests),
            "events": count,
            "kills": self.kills,
            **self.answers,
            **{f"outcome {name}": number for name, number in outcomes.items()},
        }


async def random_calls(folder: Path, count: int, seed: int) -> dict[str, int]:
    """Make random calls, compare what ran with the record, and return the figures."""
    place = Place(folder).rules(RULES)
    async with place.inbox() as inbox:
        world = World(place, inbox, count, seed)
        await world.run()
        return await world.check()


if __name__ == "__main__":
    began, chosen = time.monotonic(), int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(10**6)
    with tempfile.TemporaryDirectory() as temporary:
        figures = asyncio.run(random_calls(Path(temporary), int(sys.argv[1]), chosen))
    sys.stdout.write(f"seed {chosen}, {time.monotonic() - began:.0f} s: {figures}\n")
