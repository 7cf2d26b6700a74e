"""Many people vote at once on half as many requests, on two servers that are killed at random."""

from __future__ import annotations

import asyncio
import random
import uuid
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.faults.processes import child
from tests.faults.test_kill_fleet import machine
from tests.servers import free_port

import ringi
from ringi.audit.verify import verify_store
from ringi.connect import Backend, open_backend, open_inbox_on_backend, store_inbox
from ringi.contracts.backend import Wakeup
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.inbox.inbox import StoreInbox
from ringi.server.auth.authenticator import Keys

SECRET = "s" * 40
VOTES_EACH = 6
STAGES: list[dict[str, Any]] = [{"count": 2}, {"groups": ["even"], "count": 1}]
KILLS = 4
"""How many kills are enough; when all have voted before, there were fewer."""


class Servers:
    """Two servers of one store; each is killed and started again, on its port."""

    def __init__(self, url: str, home: Path) -> None:
        self._url, self._home, self.ports = url, home, [free_port(), free_port()]
        self.kills, self._ready = 0, [asyncio.Event(), asyncio.Event()]

    async def keep(self, number: int, stop: asyncio.Event) -> None:
        """Let a server run for a random time, kill it, and start it again, until the end."""
        command = ("serve", "--port", str(self.ports[number]), "--poll-interval", "0.1", "--json")
        settings = {"RINGI_SECRET": SECRET}
        while not stop.is_set():
            async with machine(self._url, self._home / str(number), *command, **settings):
                self._ready[number].set()
                with suppress(TimeoutError):
                    seconds = random.uniform(0.2, 1.0) if self.kills < KILLS else None
                    await asyncio.wait_for(stop.wait(), seconds)
                self.kills += not stop.is_set()

    async def ready(self) -> None:
        await asyncio.gather(*(each.wait() for each in self._ready))

    def url(self) -> str:
        return f"http://127.0.0.1:{random.choice(self.ports)}"


async def vote(servers: Servers, client: httpx.AsyncClient, token: str, request: Request) -> httpx.Response:
    """Send one vote until a server answers."""
    body = {"decision": "approve", "digest": request.digest}
    rest = Wakeup()
    while True:
        with suppress(httpx.HTTPError):
            url = f"{servers.url()}/v1/requests/{request.id}/respond"
            reply = await client.post(url, json=body, headers={"Authorization": f"Bearer {token}"})
            if reply.status_code != 503:
                return reply
        await rest.wait(0.05)


async def votes_of_everybody(servers: Servers, requests: list[Request]) -> dict[tuple[str, str], int]:
    """Let twice as many people vote on some requests at once; return the status of each vote by person and request."""
    keys, found = Keys(SECRET), dict[tuple[str, str], int]()

    async def votes(number: int, client: httpx.AsyncClient) -> None:
        name, groups = f"person-{number}", ("even",) if number % 2 == 0 else ()
        token = keys.mint(role="person", name=name, groups=groups)
        for request in random.sample(requests, VOTES_EACH):
            found[name, request.id] = (await vote(servers, client, token, request)).status_code

    async with httpx.AsyncClient(timeout=10, limits=httpx.Limits(max_connections=60)) as client:
        await asyncio.gather(*(votes(number, client) for number in range(2 * len(requests))))
    return found


async def check(backend: Backend, inbox: StoreInbox, requests: list[Request], votes: dict[tuple[str, str], int]) -> int:
    """Check each request against what the servers have answered; return the number of completed ones."""
    events = [event for request in requests for event in await inbox.events(limit=500, request_id=request.id)]
    ends = Counter(event.record_id for event in events if event.type == "request.completed")
    stored = {request.id: request for request in await inbox.search(Query(limit=len(requests)))}
    for request in stored.values():
        voters = {vote.subject for vote in request.votes}
        agreed = {name for (name, id), status in votes.items() if id == request.id and status in (200, 202)}
        # What was answered with success is there; what got no answer may be there too.
        assert agreed <= voters, request.id
        assert ends[request.id] == (request.status == "completed")
        if request.response:
            assert len(set(request.response.voters)) == len(request.response.voters) == 3
            assert [each.stage for each in request.votes].count(0) == 2
            (last,) = (each for each in request.votes if each.stage == 1)
            assert int(last.responder.removeprefix("person-")) % 2 == 0
    assert (await verify_store(backend.store))[1] == []
    return len(ends)


# The HTTP client leaves the sockets of servers that were killed to the garbage collector.
@pytest.mark.timeout(240)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("size", [30, pytest.param(100, marks=pytest.mark.tier("all"))])
async def test_each_request_gets_one_decision_and_names_its_voters(
    postgres_url: str, tmp_path: Path, size: int
) -> None:
    url, stop = f"{postgres_url}?schema=t{uuid.uuid4().hex}", asyncio.Event()
    servers = Servers(url, tmp_path)
    async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
        action = ringi.Action("pay", {"amount": 900})
        requests = [await inbox.ask(f"Pay {n}?", action=action, quorum=STAGES) for n in range(size)]
        running = [asyncio.create_task(servers.keep(number, stop)) for number in range(2)]
        await servers.ready()
        votes = await votes_of_everybody(servers, requests)
        stop.set()
        await asyncio.gather(*running)
        done = await check(backend, inbox, requests, votes)
    assert set(votes.values()) <= {200, 202, 403, 409}
    assert servers.kills, "nobody was killed while people voted"
    assert done > size / 2


@pytest.mark.parametrize("point", ["change.before_commit", "change.after_commit"])
async def test_a_server_dies_between_any_two_steps_of_a_decision(tmp_path: Path, point: str) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    async with store_inbox(url) as inbox:
        await inbox.ask("Pay?", id="r1", action=ringi.Action("refund", {"of": "r1"}), quorum=[{"count": 2}], hold=1)
    for voter in ("ann", "bob"):
        async with child(url, "vote", "r1", voter, failpoint=point) as voting:
            assert await voting.death() == -9
        async with child(url, "vote", "r1", voter) as again:
            await again.says("voted")
    async with store_inbox(url) as inbox:
        request = await inbox.wait("r1", 20)
        assert request.response
        assert request.response.voters == ("ann", "bob")
        types = [event.type for event in await inbox.events(request_id="r1")]
        assert types == ["request.created", "request.voted", "request.held", "request.completed"]
        assert (await verify_store(inbox.store))[1] == []
