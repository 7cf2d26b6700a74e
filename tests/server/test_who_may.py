"""Who may decide or change a request: each kind of caller, in each situation, on every route that can do it.

The tables follow the rules of who decides (separation, stages, deputies, roles), not the code.
"""

from __future__ import annotations

import ast
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
from tests.server.test_matrix import routes_of
from tests.server.world import World, open_world, until
from tests.sources import SOURCES, files, nodes_of, source_of

from ringi.base.clock import utc_now
from ringi.domain import voting
from ringi.domain.ask import Answer, Ask
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.voting import Decider
from ringi.gateways.mcp.routes import EXTENSION as MCP
from ringi.protocols.langgraph_api.routes import EXTENSION as LANGGRAPH
from ringi.server.problems import STATUSES
from ringi_apps.assistant.routes import EXTENSION as ASSISTANTS
from ringi_apps.engrammer.routes import EXTENSION as ENGRAMMERS

THREAD = "t1"


class Person(NamedTuple):
    """Who calls."""

    role: str
    name: str
    groups: tuple[str, ...] = ()
    tenant: str = "default"

    @property
    def actor(self) -> str:
        return f"agent:{self.name}" if self.role == "agent" else self.name


PEOPLE = {
    "anonymous": Person("", "nobody"),
    "agent": Person("agent", "bot"),
    "outsider": Person("person", "olaf"),
    "in the first stage": Person("person", "fay", ("finance",)),
    "in the second stage": Person("person", "lea", ("legal",)),
    "assignee": Person("person", "ann"),
    "admin": Person("admin", "root"),
    "auditor": Person("auditor", "eve"),
    "admin elsewhere": Person("admin", "root", tenant="elsewhere"),
    "deputy of fay": Person("person", "dora"),
    "former deputy": Person("person", "fred"),
    "starter": Person("person", "sam", ("finance",)),
    "asker": Person("person", "kim", ("finance",)),
    "deputy of starter": Person("person", "dean"),
    "deputy of asker": Person("person", "dawn"),
    "fay's colleague": Person("person", "mia", ("finance",)),
}
DEPUTIES = {"fay": "dora", "sam": "dean", "kim": "dawn", "gil": "sam", "gus": "kim", "gert": "mia"}
"""By absent person. Gil, Gus and Gert are in finance, so that those whom a rule excludes stand for somebody whom none
excludes; Fred was Fay's deputy until she came back and left again."""
GIL = Decider("gil", ("finance",))

PLAIN = {"assignee": "ann", "groups": ["finance"]}
STAGES = {**PLAIN, "exclude": ["starter", "asker"]}
SITUATIONS: dict[str, dict[str, Any]] = {
    "plain": PLAIN,
    "own run": {**PLAIN, "exclude": ["starter"]},
    "own ask": {**PLAIN, "exclude": ["asker"]},
    "separated": {**PLAIN, "exclude": ["starter", "asker"]},
    "first": {**STAGES, "quorum": [{"groups": ["finance"], "count": 2}, {"groups": ["legal"]}]},
    "second": {**STAGES, "quorum": [{"groups": ["finance"]}, {"groups": ["legal"]}]},
    "voted": {**STAGES, "quorum": [{"groups": ["finance"], "count": 2}, {"groups": ["legal"]}]},
    "held": {**PLAIN, "hold": 30},
}
"""`own`: the caller started the run, or asked. Others: Sam started the run, and Kim asked. Gil has decided the first
stage of `second`; Fay has voted in `voted` and answered `held`."""

TABLE = """
                    | plain   | own run  | own ask  | separated | first    | second    | voted    | held
anonymous           | unknown | unknown  | unknown  | unknown   | unknown  | unknown   | unknown  | unknown
agent               | refused | refused  | refused  | refused   | refused  | refused   | refused  | refused
outsider            | hidden  | hidden   | asked    | hidden    | hidden   | hidden    | hidden   | hidden
in the first stage  | decides | excluded | excluded | decides   | votes    | waits     | voted    | undoes
in the second stage | hidden  | hidden   | asked    | hidden    | waits    | completes | waits    | hidden
assignee            | decides | excluded | excluded | decides   | waits    | waits     | waits    | blocked
admin               | decides | excluded | excluded | decides   | waits    | waits     | waits    | blocked
auditor             | refused | refused  | refused  | refused   | refused  | refused   | refused  | refused
admin elsewhere     | hidden  | hidden   | hidden   | hidden    | hidden   | hidden    | hidden   | hidden
deputy of fay       | decides | excluded | excluded | decides   | votes    | waits     | waits    | blocked
former deputy       | hidden  | hidden   | asked    | hidden    | hidden   | hidden    | hidden   | hidden
starter             | decides | excluded | excluded | excluded  | excluded | excluded  | excluded | blocked
asker               | decides | excluded | excluded | excluded  | excluded | excluded  | excluded | blocked
deputy of starter   | decides | excluded | excluded | excluded  | excluded | excluded  | excluded | blocked
deputy of asker     | decides | excluded | excluded | excluded  | excluded | excluded  | excluded | blocked
fay's colleague     | decides | excluded | excluded | decides   | votes    | waits     | votes    | blocked
"""
VERBS = ("approve", "reject", "claim", "reassign", "release", "undo", "attachments")
MEANINGS = {
    #            approve reject claim reassign release undo attachments
    "decides":   (200,    200,   200,  200,     200,    409, 422),
    "votes":     (202,    200,   409,  200,     200,    409, 422),
    "completes": (200,    200,   409,  200,     200,    409, 422),
    "voted":     (202,    200,   409,  200,     200,    409, 422),
    "waits":     (403,    200,   409,  200,     200,    409, 422),
    "excluded":  (403,    403,   403,  403,     403,    409, 403),
    "asked":     (403,    403,   403,  403,     403,    403, 403),
    "blocked":   (409,    409,   409,  409,     409,    403, 409),
    "undoes":    (202,    409,   409,  409,     409,    200, 409),
    "hidden":    (404,    404,   404,  404,     404,    404, 404),
    "refused":   (403,    403,   403,  403,     403,    403, 403),
    "unknown":   (401,    401,   401,  401,     401,    401, 401),
}  # fmt: skip
"""What each word of the table means for each verb. A rejection needs no quorum, and nothing is held when nobody has
answered. Only the asker and an admin of the tenant may cancel, or report an outcome. Who may attach a file is told that
the call has none; an admin may, for a decision with an override."""


def expected(caller: str, situation: str) -> dict[str, int]:
    """Return the status that each verb must get."""
    head, *lines = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip("\n").splitlines()]
    word = next(line for line in lines if line[0] == caller)[head.index(situation)]
    statuses = dict(zip(VERBS, MEANINGS[word], strict=True))
    if (caller, word) == ("admin", "excluded"):
        statuses["attachments"] = 422
    is_asker = caller == "asker" or (situation == "own ask" and word != "unknown")
    is_refused = statuses["claim"] in (401, 404)
    cancels = caller == "admin" or (is_asker and caller not in ("auditor", "admin elsewhere"))
    refusal = statuses["claim"] if is_refused else 403
    # Nothing is approved yet, so the outcome of nothing can be reported.
    return {**statuses, "cancel": 200 if cancels else refusal, "outcome": 409 if cancels else refusal}


Send = Callable[[httpx.AsyncClient, Request, str, Thread], Awaitable[int]]


async def respond(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    body = {"decision": verb, "digest": request.digest}
    return (await client.post(f"/v1/requests/{request.id}/respond", json=body)).status_code


async def respond_many(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    body = {"items": [{"id": request.id, "decision": verb, "digest": request.digest}]}
    reply = await client.post("/v1/requests/respond", json=body)
    return int(reply.json()["items"][0]["status"]) if reply.status_code == 200 else reply.status_code


async def hitl(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    body = {"request_id": request.id, "session_id": THREAD, "action": verb, "data": {}}
    return (await client.post("/hitl/respond", json=body)).status_code


async def chat(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    approval = {"id": request.id, "approved": verb == "approve"}
    parts = [
        {"type": "data-ringi-request", "id": request.id, "data": {"digest": request.digest}},
        {"type": "tool-pay", "state": "approval-responded", "approval": approval},
    ]
    message = {"id": thread.run_id, "role": "assistant", "parts": parts, "metadata": {"after": 0}}
    reply = await client.post("/v1/chat", json={"id": THREAD, "agent": "chat", "messages": [message]})
    # A thread of another tenant is like one without messages.
    return 404 if '"not_newest"' in reply.text else reply.status_code


async def agui(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    resume = {"interruptId": request.id, "status": "resolved", "payload": {"approved": verb == "approve"}}
    turn = {"threadId": THREAD, "runId": "mine", "messages": [], "resume": [resume]}
    reply = await client.post("/agui/chat", json=turn)
    found = [code for code in STATUSES if '"RUN_ERROR"' in reply.text and f'"code":"{code}"' in reply.text]
    return STATUSES[found[0]] if found else reply.status_code


async def langgraph_state(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    path = f"/langgraph/threads/request:{request.id}/state"
    return (await client.post(path, json={"as_node": "__end__", "values": None})).status_code


async def langgraph_run(
    client: httpx.AsyncClient, request: Request, verb: str, thread: Thread, *, path: str = "runs"
) -> int:
    command = {"resume": [{"type": "accept" if verb == "approve" else "ignore", "args": None}]}
    body = {"assistant_id": "ringi", "command": command}
    return (await client.post(f"/langgraph/threads/request:{request.id}/{path}", json=body)).status_code


async def change(client: httpx.AsyncClient, request: Request, verb: str, thread: Thread) -> int:
    body = {"reassign": {"assignee": "carl", "unknown": True}, "outcome": {"outcome": "committed"}}.get(verb, {})
    return (await client.post(f"/v1/requests/{request.id}/{verb}", json=body)).status_code


BOTH = ("approve", "reject")
DECIDING: dict[str, tuple[Send, tuple[str, ...]]] = {
    "/v1/requests/{id}/respond": (respond, BOTH),
    "/v1/requests/respond": (respond_many, BOTH),
    "/hitl/respond": (hitl, BOTH),
    "/v1/chat": (chat, BOTH),
    "/agui/{agent}": (agui, BOTH),
    "/langgraph/threads/{id}/state": (langgraph_state, ("reject",)),
    "/langgraph/threads/{id}/runs": (langgraph_run, BOTH),
    "/langgraph/threads/{id}/runs/stream": (partial(langgraph_run, path="runs/stream"), BOTH),
    **{f"/v1/requests/{{id}}/{verb}": (change, (verb,)) for verb in (*VERBS[2:], "cancel", "outcome")},
}
"""The routes by which a caller decides or changes a request, each with its verbs."""
OF_APPLICATIONS = {"/engrammerFlow_continue", "/v1/assistants/{id}/actions/{action_id}", "/mcp"}
"""The routes that decide requests of their own; they have tests of their own below, or in tests/gateways/mcp."""
OTHERS = {
    *("/v1/requests", "/v1/threads/{id}/runs", "/v1/assistants/{id}/memory", "/langgraph/threads"),
    *("/v1/threads/{id}/cancel", "/v1/threads/{id}/retry", "/v1/threads/{id}/ask-again", "/v1/threads/{id}/abandon"),
    *("/v1/requests/{id}/erase", "/v1/requests/{id}/legal-hold", "/v1/erasures"),
    *("/v1/deliveries/{id}/redeliver", "/v1/away", "/v1/absences", "/v1/memories/{id}", "/v1/session"),
    *("/v1/pauses", "/v1/pauses/{id}", "/v1/grants/{id}/revoke", "/v1/checks", "/v1/suggestions/{id}/accept"),
    *("/v1/playbooks/{id}/changes", "/v1/playbooks/{id}/tidy"),
    *("/v1/engrammer/{id}/feedback", "/v1/engrammer/{id}/questions", "/engrammerFlow_start", "/getEngrammerState"),
    *("/engrammerFlow_getNote", "/agui/{agent}/connect", "/langgraph/assistants/search", "/langgraph/threads/search"),
    "/langgraph/threads/{id}/history",
}
"""The routes that write but decide no request: the matrix of all routes has their rows."""
ANSWERING = {
    *("ringi/server/sse/conversation.py", "ringi/server/routes/requests.py", "ringi/server/routes/verbs.py"),
    *("ringi/protocols/hitl.py", "ringi/protocols/langgraph_api/access.py", "ringi/gateways/mcp/routes.py"),
    *("ringi_apps/engrammer/routes.py", "ringi_apps/assistant/routes.py", "ringi_apps/assistant/text_approval.py"),
    # The caller of these has the store itself, and names the person: see tests/inbox/test_inbox.py.
    *("ringi/inbox/inbox.py", "ringi/cli/commands/requests.py", "ringi/cli/terminal/request_screen.py"),
    "ringi/testing/harness.py",
}
"""The files that call `Inbox.answer`."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    """A server with a conversation that has ended, and deputies."""
    extensions = [ASSISTANTS, ENGRAMMERS, LANGGRAPH, MCP]
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", extensions=extensions) as world:
        await world.runner.start(
            "default", THREAD, "chat", {"messages": [{"role": "user", "content": "Hello"}]}, by="agent:bot"
        )

        async def is_done() -> bool:
            return (await world.runner.get("default", THREAD)).status == "done"

        await until(is_done)
        await name_deputies(world)
        yield world


async def name_deputies(world: World) -> None:
    """Name the deputies, and one who is a deputy no longer."""
    tomorrow = utc_now() + timedelta(days=1)
    await world.inbox.people.leave("fred", tomorrow, by=voting.Person("fay", ["finance"]), unknown=True)
    await world.inbox.people.come_back(by="fay")
    for absent, deputy in DEPUTIES.items():
        await world.inbox.people.leave(deputy, tomorrow, by=voting.Person(absent, ["finance"]), unknown=True)


def test_every_route_that_writes_has_a_row(world: World) -> None:
    writing = {path for method, path in routes_of(world) if method != "GET"}
    assert writing == DECIDING.keys() | OF_APPLICATIONS | OTHERS


@pytest.mark.tier("check")
def test_every_call_that_answers_has_a_row() -> None:
    found = set[str]()
    for file in files():
        for call in nodes_of(file) if ".answer(" in source_of(file) else ():
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "answer":
                found |= (
                    {file.relative_to(SOURCES).as_posix()} if any(each.arg == "by" for each in call.keywords) else set()
                )
    assert found == ANSWERING


async def asked(world: World, situation: str, caller: Person, thread: Thread) -> Request:
    """Return a new request in a situation, as the caller finds it."""
    asker = caller.actor if situation == "own ask" else "kim"
    starter = caller.name if situation == "own run" else "sam"
    action = {"name": "pay", "args": {"amount": 900}}
    ask = Ask.parse(
        {"title": "Pay?", "action": action, "thread_id": THREAD, "run_id": thread.run_id, **SITUATIONS[situation]}
    )
    request = await world.inbox.submit(ask, by=asker, starter=starter)
    before = {"second": GIL, "voted": Decider("fay", ("finance",)), "held": Decider("fay", ("finance",))}
    if voter := before.get(situation):
        await world.inbox.answer(
            request.id, Answer(decision="approve", digest=request.digest), by=voter, channel="http"
        )
    return await world.inbox.get(request.id)


def client_of(world: World, caller: Person) -> httpx.AsyncClient:
    if not caller.role:
        return world.stranger()
    return world.client(caller.role, caller.name, caller.tenant, caller.groups)


@pytest.mark.parametrize("situation", SITUATIONS)
async def test_each_caller_gets_what_the_table_says_on_every_route(world: World, situation: str) -> None:
    thread = await world.runner.get("default", THREAD)
    wrong = list[str]()
    for name, caller in PEOPLE.items():
        statuses, client = expected(name, situation), client_of(world, caller)
        untouched = await asked(world, situation, caller, thread)
        for path, (send, verbs) in DECIDING.items():
            for verb in verbs:
                is_allowed = statuses[verb] < 300
                request = await asked(world, situation, caller, thread) if is_allowed else untouched
                status = await send(client, request, verb, thread)
                after = await world.inbox.get(request.id)
                if not is_right(status, statuses[verb], path, caller) or not has_effect(
                    request, after, verb, statuses[verb]
                ):
                    wrong.append(f"{name}: {verb} at {path}: {status}, not {statuses[verb]}; it is {after.status}")
    assert not wrong, "\n".join(wrong)


def is_right(status: int, expected: int, path: str, caller: Person) -> bool:
    """Return whether a route answered as it must."""
    if caller.role == "agent" and expected == 403:
        # An agent is told that only people decide, or that what it may not read does not exist.
        return status in (403, 404)
    has_own_statuses = path in ("/v1/requests/{id}/respond", "/v1/requests/respond") or expected >= 300
    return status == expected if has_own_statuses else status < 300


def has_effect(before: Request, after: Request, verb: str, expected: int) -> bool:
    """Return whether a request changed as it must: not at all, if the caller was refused."""
    if expected >= 300:
        return after.version == before.version
    if verb in ("approve", "reject"):
        is_decided = after.response is not None and after.response.decision == verb
        return is_decided if expected == 200 else not after.is_final and bool(after.votes or after.held)
    ends = {
        "claim": bool(after.claimed_by),
        "reassign": after.assignee == "carl",
        "cancel": after.status == "cancelled",
    }
    return ends.get(verb, after.held is None)


@pytest.mark.parametrize("situation", ["own run", "own ask", "first", "second", "held"])
async def test_only_an_admin_of_the_tenant_decides_against_the_rules(world: World, situation: str) -> None:
    thread = await world.runner.get("default", THREAD)
    for name, caller in PEOPLE.items():
        request = await asked(world, situation, caller, thread)
        body = {"decision": "approve", "digest": request.digest, "override": "The house is on fire."}
        reply = await client_of(world, caller).post(f"/v1/requests/{request.id}/respond", json=body)
        after = await world.inbox.get(request.id)
        # A held answer is undone or takes effect first, whoever comes.
        if name == "admin" and situation != "held":
            assert (reply.status_code, after.response and after.response.override) == (200, body["override"])
        else:
            refused = expected(name, situation)["claim"]
            assert reply.status_code in ({refused} if refused in (401, 404) else {403, 409}), (name, reply.text)
            assert after.version == request.version
