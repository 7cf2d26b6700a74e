"""Every route, for every role, on what is theirs, another's, another tenant's, and nowhere."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from ipaddress import ip_network
from itertools import product
from typing import Any, NamedTuple

import httpx
import pytest
from tests.apps.assistant.served import served
from tests.apps.engrammer.rows import CONVERSATIONS, PLAYBOOKS
from tests.server.world import World, open_world, until
from tests.tiers import WIDE

from ringi.domain.ask import Answer
from ringi.domain.record import Query
from ringi.domain.thread import Thread
from ringi.server.identity import GroupRoles, TrustedProxy

ROLES = ("agent", "person", "admin", "auditor")
OWNERS = ("own", "other", "elsewhere", "random")
HIDDEN = "hidden"
"""The very bytes that a random id gets."""


class Row(NamedTuple):
    """What a route answers: for each role, to each owner; None where owners do not matter."""

    agent: Any
    person: Any
    admin: Any
    body: dict[str, Any] | None = None


def expected_of(method: str, path: str, role: str) -> Any:
    """Return what a route answers to a role: an auditor reads as an admin does, and writes nothing."""
    row = ROWS[method, path]
    if role != "auditor":
        return getattr(row, role)
    if (method, path) in OF_AUDITORS:
        return OF_AUDITORS[method, path]
    if method == "GET":
        return row.admin
    return never(403) if isinstance(row.admin, dict) else 403


def owned(own: int, other: int | str, elsewhere: int | str = HIDDEN) -> dict[str, Any]:
    return {"own": own, "other": other, "elsewhere": elsewhere, "random": 404}


def never(status: int) -> dict[str, Any]:
    return dict.fromkeys(OWNERS, status)


ANSWER = {"decision": "respond", "message": "yes", "digest": "?"}
HITL = {"request_id": "{id}", "session_id": "{id}", "action": "reject", "data": {}}
FILE = {"field": "file", "name": "a.txt", "data": "YQ=="}
NEW_RUN = {"agent": "two_questions", "input": {}}
MESSAGE = {"id": "m1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}
AGUI_TURN = {"threadId": "{id}", "runId": "r1", "messages": [{"id": "m1", "role": "user", "content": "Hello"}]}
CHAT_TURN = {"id": "{id}", "agent": "chat", "messages": [MESSAGE]}
READ = Row(owned(200, HIDDEN), owned(200, HIDDEN), owned(200, 200))
DECIDE = owned(200, HIDDEN)
SAME = dict.fromkeys(ROLES, 200)
REQUESTS = {
    ("GET", "/v1/requests/{id}"): READ,
    ("POST", "/v1/requests/{id}/respond"): Row(never(403), DECIDE, owned(200, 200), ANSWER),
    ("POST", "/hitl/respond"): Row(never(403), DECIDE, owned(200, 200), HITL),
    ("POST", "/v1/requests/{id}/claim"): Row(never(403), DECIDE, owned(200, 200), {}),
    ("POST", "/v1/requests/{id}/undo"): Row(never(403), owned(409, HIDDEN), owned(409, 409), {}),
    ("POST", "/v1/requests/{id}/release"): Row(never(403), DECIDE, owned(200, 200), {}),
    ("POST", "/v1/requests/{id}/reassign"): Row(
        never(403), DECIDE, owned(200, 200), {"assignee": "carl", "unknown": True}
    ),
    ("POST", "/v1/requests/{id}/cancel"): Row(owned(200, HIDDEN), owned(403, HIDDEN), owned(200, 200), {}),
    # They are pending: nothing has been approved.
    ("POST", "/v1/requests/{id}/outcome"): Row(
        owned(409, HIDDEN), owned(403, HIDDEN), owned(409, 409), {"outcome": "committed"}
    ),
    # None of these has a form, so that none takes a file.
    ("POST", "/v1/requests/{id}/attachments"): Row(never(403), owned(422, HIDDEN), owned(422, 422), FILE),
    ("GET", "/v1/requests/{id}/attachments/{number}"): Row(owned(404, HIDDEN), owned(404, HIDDEN), owned(404, 404)),
    # They are pending: only what has ended is erased.
    ("POST", "/v1/requests/{id}/erase"): Row(never(403), never(403), owned(409, 409), {}),
    ("POST", "/v1/requests/{id}/legal-hold"): Row(never(403), never(403), owned(200, 200), {"reason": "Case 7"}),
    ("DELETE", "/v1/requests/{id}/legal-hold"): Row(never(403), never(403), owned(200, 200)),
    ("GET", "/v1/requests/{id}/events"): READ,
    ("GET", "/v1/requests/{id}/precedent"): READ,
    ("GET", "/v1/audit?request_id={id}"): READ,
    ("GET", "/v1/deliveries?request_id={id}"): READ,
    # The id of a delivery is none of a request: nothing was sent of these.
    ("POST", "/v1/deliveries/{id}/redeliver"): Row(never(403), never(403), never(404)),
    # Nor is one of a pause.
    ("DELETE", "/v1/pauses/{id}"): Row(never(403), never(403), never(404)),
    # Nothing is suggested.
    ("POST", "/v1/suggestions/{id}/accept"): Row(never(403), never(404), never(404), {}),
    # No answer to these has a grant.
    ("POST", "/v1/grants/{id}/revoke"): Row(never(403), owned(404, HIDDEN), owned(404, 404), {}),
}
THREADS = {
    ("GET", "/v1/threads/{id}"): Row(owned(200, HIDDEN), owned(200, 200), owned(200, 200)),
    ("GET", "/v1/threads/{id}/stream"): Row(owned(200, HIDDEN), owned(200, 200), owned(200, 200)),
    ("GET", "/v1/threads/{id}/images/{number}"): Row(owned(404, HIDDEN), owned(404, 404), owned(404, 404)),
    ("POST", "/v1/threads/{id}/cancel"): Row(owned(200, HIDDEN), owned(200, 403), owned(200, 200), {}),
    ("POST", "/v1/threads/{id}/retry"): Row(never(403), never(403), owned(200, 200), {}),
    # Nothing failed on an answer: they stay as they are.
    ("POST", "/v1/threads/{id}/ask-again"): Row(never(403), never(403), owned(200, 200), {}),
    ("POST", "/v1/threads/{id}/abandon"): Row(never(403), never(403), owned(200, 200), {}),
    ("POST", "/v1/threads/{id}/runs"): Row(
        {"own": 409, "other": 404, "elsewhere": 202, "random": 202},
        {"own": 409, "other": 409, "elsewhere": 202, "random": 202},
        {"own": 409, "other": 409, "elsewhere": 202, "random": 202},
        NEW_RUN,
    ),
    # The id is in the body.
    ("POST", "/v1/chat"): Row(
        {"own": 409, "other": 404, "elsewhere": 200, "random": 200},
        {"own": 409, "other": 409, "elsewhere": 200, "random": 200},
        {"own": 409, "other": 409, "elsewhere": 200, "random": 200},
        CHAT_TURN,
    ),
    ("POST", "/agui/{agent}"): Row(
        {"own": 409, "other": 404, "elsewhere": 200, "random": 200},
        {"own": 409, "other": 409, "elsewhere": 200, "random": 200},
        {"own": 409, "other": 409, "elsewhere": 200, "random": 200},
        AGUI_TURN,
    ),
    # What is hidden has the same empty history as what does not exist.
    ("POST", "/agui/{agent}/connect"): Row(never(200), never(200), never(200), AGUI_TURN),
    ("GET", "/v1/chat/{id}"): Row(owned(200, HIDDEN), owned(200, 200), owned(200, 200)),
    # A chat that nobody has begun is no failure for who looks whether there is something to follow.
    ("GET", "/v1/chat/{id}/stream"): Row(
        {"own": 200, "other": 204, "elsewhere": 204, "random": 204},
        {"own": 200, "other": 200, "elsewhere": 204, "random": 204},
        {"own": 200, "other": 200, "elsewhere": 204, "random": 204},
    ),
}
STARTS = ("/v1/threads/{id}/runs", "/v1/chat", "/agui/{agent}")
PLAIN = {
    ("POST", "/v1/requests"): Row(201, 201, 201, {"title": "Go?"}),
    ("GET", "/v1/requests"): Row(200, 200, 200),
    ("GET", "/v1/requests/counts"): Row(200, 200, 200),
    ("GET", "/v1/requests/totals"): Row(200, 200, 200),
    ("POST", "/v1/requests/respond"): Row(403, 200, 200, {"items": [{"id": "nowhere", **ANSWER}]}),
    ("POST", "/v1/erasures"): Row(403, 403, 200, {"person": "nobody"}),
    ("GET", "/v1/operations"): Row(403, 200, 200),
    ("GET", "/v1/statistics"): Row(403, 200, 200),
    ("GET", "/v1/report"): Row(403, 403, 200),
    ("POST", "/v1/pauses"): Row(403, 403, 201, {"reason": "A test"}),
    ("GET", "/v1/pauses"): Row(200, 200, 200),
    ("GET", "/v1/grants"): Row(200, 200, 200),
    ("GET", "/v1/suggestions"): Row(403, 200, 200),
    ("GET", "/v1/checks"): Row(403, 403, 200),
    # They are off.
    ("POST", "/v1/checks"): Row(403, 403, 409, {"checks": [{"tool": "pay", "because": "Too much", "args": {}}]}),
    ("GET", "/v1/events"): Row(200, 200, 200),
    ("GET", "/v1/audit"): Row(200, 200, 200),
    ("GET", "/v1/access-log"): Row(403, 403, 200),
    ("GET", "/v1/agents"): Row(200, 200, 200),
    ("GET", "/v1/threads"): Row(200, 200, 200),
    ("GET", "/v1/memories"): Row(403, 200, 200),
    ("GET", "/v1/away"): Row(403, 200, 200),
    ("PUT", "/v1/away"): Row(403, 422, 422, {"deputy": "carl", "until": "2026-01-01T00:00:00Z"}),
    ("DELETE", "/v1/away"): Row(403, 204, 204),
    ("GET", "/v1/absences"): Row(403, 403, 200),
    ("GET", "/v1/deliveries/counts"): Row(403, 403, 200),
    ("DELETE", "/v1/absences?person=nobody"): Row(403, 403, 404),
    ("GET", "/v1/people"): Row(403, 200, 200),
    ("GET", "/v1/info"): Row(200, 200, 200),
    ("GET", "/v1/session"): Row(200, 200, 200),
    ("POST", "/v1/session"): Row(401, 401, 401, {"token": "none"}),
    ("DELETE", "/v1/session"): Row(204, 204, 204),
}
MEMORIES = {
    ("GET", "/v1/memories/{id}"): Row(never(403), DECIDE, owned(200, HIDDEN)),
    ("PATCH", "/v1/memories/{id}"): Row(never(403), DECIDE, owned(200, HIDDEN), {"data": {"note": "meat"}}),
    ("DELETE", "/v1/memories/{id}"): Row(never(403), owned(204, HIDDEN), owned(204, HIDDEN)),
}
OF_AUDITORS: dict[tuple[str, str], Any] = {
    # Memories are their persons' alone.
    ("GET", "/v1/memories"): 403,
    ("GET", "/v1/away"): 403,
    ("GET", "/v1/people"): 403,
    ("GET", "/v1/memories/{id}"): never(403),
    ("POST", "/v1/session"): 401,
    ("DELETE", "/v1/session"): 204,
}
"""Where an auditor is answered otherwise than by the rule of `expected_of`."""
KNOWN = Row(owned(200, HIDDEN), owned(200, 200), owned(200, 200))
ASSISTANTS = {
    ("GET", "/v1/assistants/{id}/memory"): KNOWN,
    ("DELETE", "/v1/assistants/{id}/memory"): KNOWN,
    ("GET", "/v1/assistants/{id}/memory/history"): KNOWN,
    ("GET", "/v1/assistants/{id}/actions"): KNOWN,
    ("POST", "/v1/assistants/{id}/actions/{action_id}"): Row(
        owned(202, HIDDEN), owned(202, 202), owned(202, 202), {}
    ),
}  # fmt: skip
ADDRESSES = (
    *("/", "/r/{id}", "/threads", "/t/{id}", "/chat", "/chat/{id}", "/learning", "/learning/{id}", "/memory"),
    *("/operations", "/overview", "/grants", "/sessions/{id}", "/assets", "/look.js"),
)
PICTURES = ("/stamp.svg", "/stamp-dot.svg")
SIGN_IN = ("/v1/session/ways", "/v1/session/oidc", "/v1/session/oidc/callback")
HEALTH = ("/healthz", "/readyz", "/metrics", "/openapi.json")
PUBLIC = {("GET", path) for path in (*HEALTH, *ADDRESSES, *PICTURES, *SIGN_IN, "/third-party-licenses.md")}
NEEDS_NO_TOKEN = {("POST", "/v1/session"), ("DELETE", "/v1/session")}
ENGRAMMERS = {place: Row(*values) for place, values in (CONVERSATIONS | PLAYBOOKS).items()}
ROWS = REQUESTS | THREADS | PLAIN | MEMORIES | ASSISTANTS | ENGRAMMERS


GROUP_ROLES = GroupRoles(admins=frozenset({"admin"}), auditors=frozenset({"auditor"}))
PROXY = TrustedProxy((ip_network("127.0.0.1"),), group_roles=GROUP_ROLES)


def routes_of(world: World) -> set[tuple[str, str]]:
    found = set()
    for route in world.app.routes:
        methods = getattr(route, "methods", None) or {"GET"}
        found |= {(method, str(getattr(route, "path", route))) for method in methods - {"HEAD", "OPTIONS"}}
    return found


def test_the_matrix_has_a_row_for_every_route(world: World) -> None:
    rows = {(method, path.partition("?")[0]) for method, path in ROWS} | PUBLIC
    assert routes_of(world) == rows


@pytest.fixture(params=["token", pytest.param("proxy", marks=WIDE)])
async def peopled(request: pytest.FixtureRequest, store_url: str) -> AsyncIterator[World]:
    """For each role a request and a thread of its own; the others', and another tenant's; people come by either way."""
    async with open_world(store_url, proxy=PROXY if request.param == "proxy" else None) as world:
        for tenant in ("default", "elsewhere"):
            for name in (*ROLES, "stranger"):
                by = "agent:agent" if name == "agent" else name
                is_persons = name == "person"
                who = {"by": "somebody" if is_persons else by, "assignee": "person" if is_persons else "nobody"}
                await world.asked(tenant=tenant, id=f"{tenant}-{name}", thread_id=f"{tenant}-{name}", **who)
                await world.runner.start(tenant, f"{tenant}-{name}", "two_questions", {}, by=by)
        yield world


def id_of(owner: str, role: str) -> str:
    return {"own": f"default-{role}", "other": "default-stranger", "elsewhere": f"elsewhere-{role}"}.get(
        owner, f"never-was-{role}"
    )


@pytest.mark.parametrize(("method", "path"), REQUESTS | THREADS, ids=lambda part: part)
async def test_a_route_answers_by_role_and_owner(peopled: World, method: str, path: str) -> None:
    row = ROWS[method, path]
    for role in ROLES:
        for owner in OWNERS:
            id, expected = id_of(owner, role), expected_of(method, path, role)[owner]
            reply = await call(peopled, method, path, row, role, id)
            if expected == HIDDEN:
                await assert_hidden(peopled, method, path, role, id, reply)
            else:
                assert reply.status_code == expected, (role, owner, reply.text)


async def assert_hidden(world: World, method: str, path: str, role: str, id: str, reply: httpx.Response) -> None:
    nowhere = await call(world, method, path, ROWS[method, path], role, "never-was")
    assert (reply.status_code, nowhere.status_code) == (404, 404), (role, id, reply.text)
    assert reply.content == nowhere.content.replace(b"never-was", id.encode())
    assert dict(reply.headers) | {"content-length": ""} == dict(nowhere.headers) | {"content-length": ""}


async def call(
    world: World, method: str, path: str, row: Row, role: str, id: str, name: str | None = None
) -> httpx.Response:
    is_proxied = world.settings.proxy is not None and role != "agent"
    client = world.proxied(role, name or role) if is_proxied else world.client(role, name or role)
    body = {name: id if part == "{id}" else part for name, part in row.body.items()} if row.body is not None else None
    if body and "digest" in body:
        known = await world.client("admin", "root", id.partition("-")[0]).get(f"/v1/requests/{id}")
        body["digest"] = known.json().get("digest", "?")
    body = {name: id if value == "{id}" else value for name, value in body.items()} if body is not None else None
    # A stream would not end here; HEAD asks the same and ends.
    place = path.format(id=id, agent="chat", action_id="refresh:projects", bullet="b-00009", number=1)
    is_stream = path.endswith(("/events", "/stream"))
    if is_stream:
        reply = await client.head(place)
        return reply if reply.status_code == 200 else await client.get(place)
    return await client.request(method, place, json=body)


@pytest.mark.parametrize(("method", "path"), MEMORIES, ids=lambda part: part)
async def test_a_memory_is_its_persons_alone(store_url: str, method: str, path: str) -> None:
    form, row = {"fields": [{"type": "text", "name": "note", "label": "Note"}]}, MEMORIES[method, path]
    async with open_world(store_url) as world:
        for tenant, name in product(("default", "elsewhere"), (*ROLES, "stranger")):
            asked = await world.asked(
                tenant=tenant, id=f"{tenant}-{name}", form=form, context={"memory_category": "food"}
            )
            answer = Answer(decision="approve", digest=asked.digest, data={"note": "fish"})
            await world.inbox.for_tenant(tenant).answer(asked.id, answer, by=name, channel="test")
        for role, owner in product(ROLES, OWNERS):
            id, expected = id_of(owner, role), expected_of(method, path, role)[owner]
            reply = await call(world, method, path, row, role, id)
            if expected == HIDDEN:
                await assert_hidden(world, method, path, role, id, reply)
            else:
                assert reply.status_code == expected, (role, owner, reply.text)
        (strangers,) = await world.inbox.memories.list("stranger")
        assert strangers.answer == {"note": "fish"}


@pytest.mark.parametrize(("method", "path"), ASSISTANTS, ids=lambda part: part)
async def test_a_conversation_is_known_to_its_tenants_people_and_to_the_agent_that_began_it(
    store_url: str, method: str, path: str
) -> None:
    input, row = {"event": {"type": "refresh", "info": "projects"}}, ASSISTANTS[method, path]
    async with served(store_url) as world:
        begun = list[Thread]()
        for tenant, name in product(("default", "elsewhere"), (*ROLES, "stranger")):
            by = "agent:agent" if name == "agent" else name
            begun.append(await world.runner.start(tenant, f"{tenant}-{name}", "office", input, by=by))
        for thread in begun:
            await until(partial(is_done, world, thread))
        elsewhere = [thread for thread in begun if thread.tenant == "elsewhere"]
        for role, owner in product(ROLES, OWNERS):
            id, expected = id_of(owner, role), expected_of(method, path, role)[owner]
            reply = await call(world, method, path, row, role, id)
            if expected == HIDDEN:
                await assert_hidden(world, method, path, role, id, reply)
            else:
                assert reply.status_code == expected, (role, owner, reply.text)
        assert [await run_of(world, thread) for thread in elsewhere] == [thread.run_id for thread in elsewhere]


async def is_done(world: World, thread: Thread) -> bool:
    return (await world.runner.get(*thread.key)).status == "done"


async def run_of(world: World, thread: Thread) -> str | None:
    return (await world.runner.get(*thread.key)).run_id


TWINS = {"agent": "agent:twin", "person": "twin"}
"""Two callers of one name, and as whom each of them acts."""
KNOWN_TO_ALL_PEOPLE = {
    "/v1/threads/{id}": 200,
    "/v1/threads/{id}/stream": 200,
    "/v1/chat/{id}": 200,
    "/v1/chat/{id}/stream": 200,
    "/v1/threads/{id}/cancel": 403,
    "/v1/threads/{id}/retry": 403,
    "/v1/threads/{id}/abandon": 403,
    "/v1/threads/{id}/ask-again": 403,
    "/v1/deliveries/{id}/redeliver": 403,
    "/v1/pauses/{id}": 403,
    "/v1/requests/{id}/erase": 403,
    "/v1/requests/{id}/legal-hold": 403,
}


EMPTY = {"/v1/chat/{id}/stream": 204, "/agui/{agent}/connect": 200}
"""What answers for a thread that is hidden as for one that has said nothing yet."""


@pytest.mark.parametrize(
    ("method", "path"), [row for row in REQUESTS | THREADS if row[1] not in STARTS], ids=lambda part: part
)
async def test_an_agent_and_a_person_of_one_name_never_meet(world: World, method: str, path: str) -> None:
    for role, actor in TWINS.items():
        await world.asked(id=f"default-{role}", thread_id=f"default-{role}", by=actor, assignee="nobody")
        await world.runner.start("default", f"default-{role}", "two_questions", {}, by=actor)
    row = ROWS[method, path]
    for role, other in (("agent", "person"), ("person", "agent")):
        reply = await call(world, method, path, row, role, f"default-{other}", name="twin")
        if role == "person" and path in KNOWN_TO_ALL_PEOPLE:
            assert reply.status_code == KNOWN_TO_ALL_PEOPLE[path], (role, reply.text)
        elif role == "agent" and (reply.status_code, row.agent["random"]) == (403, 403):
            assert reply.json()["code"] == "forbidden"
        else:
            assert reply.status_code == EMPTY.get(path, 404), (role, reply.text)
            assert reply.status_code != 200 or '"messages":[]' in reply.text
    assert {(await world.inbox.get(f"default-{role}")).status for role in TWINS} == {"pending"}
    assert "idle" not in {(await world.runner.get("default", f"default-{role}")).status for role in TWINS}


async def test_an_agent_and_a_person_of_one_name_find_each_their_own(world: World) -> None:
    for role in TWINS:
        client = world.client(role, "twin")
        body = {"title": "Go?", "id": f"of-{role}", "assignee": "nobody"}
        assert (await client.post("/v1/requests", json=body)).json()["asked_by"] == TWINS[role]
        assert (await client.post(f"/v1/threads/of-{role}/runs", json=NEW_RUN)).status_code == 202
    for role in TWINS:
        client = world.client(role, "twin")
        for path in ("/v1/requests?assignee=nobody", "/v1/threads"):
            listed = {item["id"] for item in (await client.get(path)).json()["items"]}
            is_all = role == "person" and path == "/v1/threads"
            assert listed == ({"of-agent", "of-person"} if is_all else {f"of-{role}"}), path
        audited = (await client.get("/v1/audit?limit=200")).json()["items"]
        asked = {event["record_id"] for event in audited if event["record_id"].startswith("of-")}
        assert asked == {f"of-{role}"}
        cancelled = (await client.post(f"/v1/requests/of-{role}/cancel", json={})).json()["id"]
        events = await world.inbox.events(request_id=cancelled)
        assert [event.actor for event in events if event.record == "request"] == [TWINS[role]] * 2
        await client.post(f"/v1/threads/of-{role}/cancel")
        events = [event for event in await world.inbox.events(request_id=f"of-{role}") if event.record == "thread"]
        ends = {event.type: event.actor for event in events if event.type in ("thread.started", "thread.cancelled")}
        assert ends == dict.fromkeys(("thread.started", "thread.cancelled"), TWINS[role])


@pytest.mark.parametrize("limit", ["asks_per_minute", "max_open_requests"])
async def test_an_agent_does_not_use_up_what_a_person_of_its_name_may_ask(store_url: str, limit: str) -> None:
    settings: dict[str, Any] = {limit: 1}
    async with open_world(store_url, **settings) as world:
        for role in TWINS:
            asks = [await world.client(role, "twin").post("/v1/requests", json={"title": "Go?"}) for _ in range(2)]
            assert [reply.status_code for reply in asks] == [201, 429], role


@pytest.mark.parametrize(("method", "path"), PLAIN, ids=lambda part: part)
async def test_a_route_without_an_owner_answers_by_role(world: World, method: str, path: str) -> None:
    row = PLAIN[method, path]
    for role in ROLES:
        reply = await call(world, method, path, row, role, "")
        assert reply.status_code == expected_of(method, path, role), (role, reply.text)


async def test_nothing_is_answered_without_a_token(world: World) -> None:
    for method, path in sorted(set(ROWS) - NEEDS_NO_TOKEN):
        reply = await world.stranger().request(
            method,
            path.format(id="some", agent="chat", action_id="count-1", bullet="b-00009", number=1),
            json=ROWS[method, path].body,
        )
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated"), (method, path)
        assert reply.headers["www-authenticate"] == "Bearer"


async def test_lists_hold_only_what_single_reads_would_show(peopled: World) -> None:
    for role in ROLES:
        client = peopled.client(role, role)
        for kind in ("requests", "threads"):
            listed = [item["id"] for item in (await client.get(f"/v1/{kind}?limit=200")).json()["items"]]
            assert listed
            assert all([(await client.get(f"/v1/{kind}/{id}")).status_code == 200 for id in listed])
            assert not [id for id in listed if id.startswith("elsewhere")]
        audited = (await client.get("/v1/audit?limit=200")).json()["items"]
        assert not [event for event in audited if event["record_id"].startswith("elsewhere")]
        seen = {event["record_id"] for event in audited if event["record"] == "request"}
        assert all([(await client.get(f"/v1/requests/{id}")).status_code == 200 for id in seen])


@pytest.mark.parametrize("method", ["GET", "HEAD"])
async def test_reading_everything_changes_nothing(peopled: World, method: str) -> None:
    store = peopled.backend.store

    async def is_quiet() -> bool:
        return {thread.status for thread in await store.find(Thread, Query(limit=100))} == {"interrupted"}

    await until(is_quiet)
    before = await store.events("", 1_000)
    admin = peopled.client("admin", "admin")
    for _, path in sorted(routes_of(peopled) | set(ROWS)):
        is_stream = path.endswith(("/events", "/stream"))
        place = path.format(
            id="default-admin", name="stamp", agent="chat", action_id="count-1", bullet="b-00009", number=1
        )
        reply = await admin.request("HEAD" if is_stream else method, place)
        assert reply.status_code < 500 or reply.status_code == 503
        if method == "HEAD":
            assert reply.content == b""
    assert await store.events("", 1_000) == before
