"""Engrammers on scripts that a test writes, served over HTTP by the real server, worker and store."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import httpx
from tests.apps.engrammer.lab import Models
from tests.server.world import World, is_at_rest, open_world, until

Json = dict[str, Any]


@contextlib.asynccontextmanager
async def served(url: str, *models: Models, named: str = "engrammer", **settings: Any) -> AsyncIterator[World]:
    """Open a server with an Engrammer for each of these models; the first has this name."""
    names = [named, *(f"other-{number}" for number in range(1, len(models)))]
    agents = [agent for name, each in zip(names, models, strict=True) for agent in each.engrammer(name=name).agents()]
    async with open_world(url, more_agents=agents, **settings) as world:
        yield world
        await until(partial(is_at_rest, world))


async def get(client: httpx.AsyncClient, path: str, **params: Any) -> Json:
    reply = await client.get(path, params=params)
    assert reply.status_code == 200, reply.text
    return dict(reply.json())


async def post(client: httpx.AsyncClient, path: str, status: int = 200, **body: Any) -> Json:
    reply = await client.post(path, json=body)
    assert reply.status_code == status, reply.text
    return dict(reply.json())


async def refused(client: httpx.AsyncClient, path: str, status: int, code: str, **body: Any) -> Json:
    """Call, and return the problem that comes back."""
    problem = await post(client, path, status, **body)
    assert problem["code"] == code, problem
    assert problem["status"] == status
    return problem


async def once(client: httpx.AsyncClient, id: str, holds: Callable[[Json], Any]) -> Json:
    """Return a conversation once it is so."""
    seen: list[Json] = []

    async def check() -> bool:
        seen[:] = [await get(client, f"/v1/engrammer/{id}")]
        return bool(holds(seen[0]))

    await until(check)
    return seen[0]


def is_(status: str) -> Callable[[Json], bool]:
    """Return whether a conversation has this status."""
    return lambda conversation: bool(conversation["status"] == status)


async def asked(client: httpx.AsyncClient, query: str, id: str = "c1", **more: Any) -> Json:
    """Ask, and return the conversation once it is at rest."""
    await post(client, f"/v1/engrammer/{id}/questions", 202, query=query, **more)
    return await once(client, id, lambda conversation: conversation["status"] != "running")


async def pending(client: httpx.AsyncClient, id: str = "c1") -> list[Json]:
    """Return what waits in a conversation, as the first design tells it."""
    state = await post(client, "/getEngrammerState", threadId=id)
    return list(state["pendingInsights"] or [])


def reference(insight: Json) -> Json:
    """Return a pending insight as a decision names it."""
    return {"id": insight["id"], "digest": insight["digest"]}


async def decide(client: httpx.AsyncClient, insight: Json, decision: str, **more: Any) -> Json:
    """Decide one insight by its request."""
    body = {"decision": decision, "digest": insight["digest"], **more}
    return await post(client, f"/v1/requests/{insight['id']}/respond", **body)


async def taught(client: httpx.AsyncClient, query: str, id: str) -> None:
    """Ask what teaches something, and approve all of it."""
    await asked(client, query, id)
    reply = await post(client, "/engrammerFlow_continue", threadId=id, userInput="approve_learning")
    assert reply == {"status": "done", "error": None}
