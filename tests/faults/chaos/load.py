"""Agents that ask, people who race for the answers, and those who only look: all over HTTP, all written down."""

from __future__ import annotations

import asyncio
import json
import random
import time
from typing import Any, Self

import httpx
from tests.faults.chaos.checker import ENDED, SECRET
from tests.faults.chaos.fleet import Fleet
from tests.faults.chaos.history import History

from ringi.domain.events import WEBHOOK_EVENTS
from ringi.server.auth.authenticator import Keys

PATIENCE = 10.0
ORDER = "of-the-first-tenant"
"""Stands in every text of the first tenant."""


class Client:
    """Somebody with a token who calls any of the servers."""

    def __init__(
        self,
        fleet: Fleet,
        history: History,
        role: Any,
        name: str,
        tenant: str = "default",
        groups: tuple[str, ...] = (),
    ) -> None:
        token = Keys.load(fleet.home).mint(tenant=tenant, role=role, name=name, groups=groups)
        self.name, self._history, self._fleet = name, history, fleet
        self._foreign = ORDER if tenant == "other" else SECRET
        self._dice = random.Random(name)
        self._http = httpx.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=PATIENCE)

    async def call(
        self, op: str, method: str, path: str, id: str = "", body: Any = None
    ) -> tuple[int | None, dict[str, Any]]:
        """Call a server and write down what came back."""
        invoked, code, seen, answer = time.time(), None, {}, {}
        try:
            reply = await self._http.request(method, f"{self._dice.choice(self._fleet.urls)}{path}", json=body)
            code, answer = reply.status_code, reply.json()
            seen = seen_in(op, code, answer) | self._leak(reply.text)
        except (httpx.HTTPError, ValueError):
            code = None
        self._history.add(op, id, self.name, invoked, code, seen)
        return code, answer

    async def insist(self, op: str, method: str, path: str, id: str = "", body: Any = None) -> dict[str, Any]:
        """Call until a server has said yes or no."""
        while True:
            code, answer = await self.call(op, method, path, id, body)
            if code is not None and code < 500 and code != 429:
                return answer
            await asyncio.sleep(0.1)

    async def feed(self, last: str | None, is_open: asyncio.Event) -> str | None:
        """Read the events from one server until the connection ends; return the last id.

        The event is set as soon as the server has said where the feed begins.
        """
        headers = {"Last-Event-ID": last} if last is not None else {}
        url, event = f"{self._dice.choice(self._fleet.urls)}/v1/events", {}
        timeout = httpx.Timeout(PATIENCE, read=60)
        try:
            async with self._http.stream("GET", url, headers=headers, timeout=timeout) as reply:
                async for line in reply.aiter_lines():
                    name, _, value = line.partition(": ")
                    event[name] = value
                    if not line and "id" in event:
                        last = event["id"]
                        is_open.set()
                        if "data" in event and event["event"] != "heartbeat":
                            await self._record_notice(event)
                    event = event if line else {}
        except httpx.HTTPError:
            await asyncio.sleep(0.1)
        return last

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def _record_notice(self, event: dict[str, str]) -> None:
        at, id = time.time(), json.loads(event["data"])["request"]["id"]
        self._history.add("told", id, self.name, at, 200, {"event": event["event"], "position": event["id"]})
        if event["event"].removeprefix("request.") in ENDED:
            await self.call("look", "GET", f"/v1/requests/{id}", id)

    def _leak(self, text: str) -> dict[str, Any]:
        return {"other": text[:200]} if self._foreign in text else {}


def seen_in(op: str, code: int, answer: dict[str, Any]) -> dict[str, Any]:
    """Return what a reply says of a request's state, or of who decided it."""
    if op == "respond":
        won = answer["response"] if code == 200 else answer.get("winner") or {}
        return {name: won[name] for name in ("decision", "responder") if name in won}
    return {"status": answer["status"]} if op in ("view", "look") and code == 200 else {}


class Load:
    """Everything that goes on at once."""

    def __init__(self, fleet: Fleet, history: History) -> None:
        self._fleet, self._history = fleet, history
        self._agent = Client(fleet, history, "agent", "bot")
        self.people = [Client(fleet, history, "person", name) for name in ("ann", "bob", "eve")]
        self._other = Client(fleet, history, "person", "mallory", "other")
        self._other_agent = Client(fleet, history, "agent", "other-bot", "other")
        self._watcher = Client(fleet, history, "admin", "watcher")
        self._open: dict[str, str] = {}
        self.threads: list[str] = []
        self.last: str | None = None
        self.is_watched = asyncio.Event()
        """Set once no later event can be missed."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for client in (self._agent, *self.people, self._other, self._other_agent, self._watcher):
            await client.close()

    async def run(self, pause: float) -> None:
        """Go on until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._ask(pause))
            group.create_task(self._ask_as_other())
            group.create_task(self._look())
            for person in self.people:
                group.create_task(self._answer(person, pause))

    async def watch(self) -> None:
        """Read the feed until cancelled, from the server that is there."""
        while True:
            self.last = await self._watcher.feed(self.last, self.is_watched)

    async def settle(self) -> None:
        """Answer what is still open, until every run is done."""
        ann = self.people[0]
        while pending := await self._pending(ann) or await self._unfinished(ann):
            for request in pending:
                if "digest" in request:
                    await self._decide(ann, request, "reject")
            await asyncio.sleep(0.2)

    async def catch_up(self) -> None:
        """Ask once more, and return when the feed has told so: then it has told of all before."""
        await self._agent.insist("ask", "POST", "/v1/requests", "last", {"id": "last", "title": f"{ORDER} last?"})
        while not any(call.op == "told" and call.request == "last" for call in self._history.calls()):
            await asyncio.sleep(0.2)

    async def deliver(self) -> None:
        """Return when the receiver was sent what the feed has told."""
        while True:
            calls = [call for call in self._history.calls() if call.op in ("told", "sent")]
            sent = {(call.request, call.seen["event"]) for call in calls if call.op == "sent"}
            noticed = {(call.request, call.seen["event"]) for call in calls if call.op == "told"}
            if all(event not in WEBHOOK_EVENTS or (id, event) in sent for id, event in noticed):
                return
            await asyncio.sleep(0.2)

    async def _ask(self, pause: float) -> None:
        while True:
            number = len(self.threads)
            id = f"t{number}"
            self.threads.append(id)
            order = {"agent": "payer", "input": {"order": f"{ORDER} {number}"}}
            await self._agent.insist("start", "POST", f"/v1/threads/{id}/runs", id, order)
            question = {"id": f"q{number}", "title": f"{ORDER} {number}?"}
            await self._agent.insist("ask", "POST", "/v1/requests", question["id"], question)
            await asyncio.sleep(pause)

    async def _ask_as_other(self) -> None:
        for number in range(10_000):
            question = {"id": f"q{number}", "title": f"{SECRET} {number}?"}
            await self._other_agent.insist("ask", "POST", "/v1/requests", f"other/q{number}", question)
            await self._other.call("list", "GET", "/v1/requests?limit=20")
            await asyncio.sleep(0.5)

    async def _look(self) -> None:
        dice, person = random.Random(7), self.people[2]
        while True:
            id = dice.choice(list(self._open) or ["none"])
            await person.call("view", "GET", f"/v1/requests/{id}", id)
            await asyncio.sleep(0.02)

    async def _answer(self, person: Client, pause: float) -> None:
        dice = random.Random(person.name)
        while True:
            for request in dice.sample(pending := await self._pending(person), k=min(3, len(pending))):
                self._open[request["id"]] = request["digest"]
                await self._decide(person, request, dice.choice(["approve", "reject"]))
            await asyncio.sleep(pause / 2)

    async def _decide(self, person: Client, request: dict[str, Any], decision: str) -> None:
        decision = decision if decision in request["allowed"] else "respond"
        body = {"decision": decision, "message": f"says {person.name}", "digest": request["digest"]}
        path = f"/v1/requests/{request['id']}/respond"
        await person.insist("respond", "POST", path, request["id"], body)

    async def _pending(self, person: Client) -> list[dict[str, Any]]:
        _, page = await person.call("list", "GET", "/v1/requests?status=pending&limit=20")
        return list(page.get("items", []))

    async def _unfinished(self, person: Client) -> list[dict[str, Any]]:
        for status in ("running", "interrupted"):
            code, page = await person.call("list", "GET", f"/v1/threads?status={status}")
            if code != 200 or page["items"]:
                return [page]
        return []
