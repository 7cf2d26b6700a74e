"""Elicitation: a person's client may show where to answer, or the form; nobody decides for another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import fastmcp.client.elicitation
import pytest
from mcp_types import ElicitResult
from mcp_types._v2025_11_25 import PrimitiveSchemaDefinition
from pydantic import TypeAdapter
from tests.gateways.mcp.clients import ERAS, KINDS, Stdio, connected, plain_environment
from tests.gateways.mcp.test_http import ACCEPT, server, tools_of
from tests.server.world import LIMIT, World, open_world, until

from ringi import Request
from ringi.domain.ask import Ask
from ringi.gateways.mcp import elicitation
from ringi.gateways.mcp.elicitation import elicitation_schema
from ringi.gateways.mcp.routes import EXTENSION, PATH
from ringi.server.auth.revocations import Revocation
from ringi.testing.clock import NOON

each_client = pytest.mark.parametrize(("kind", "era"), [(kind, era) for kind in KINDS for era in ERAS])
each_era = pytest.mark.parametrize("era", ERAS)
FIELDS = [
    {"name": "amount", "type": "number", "required": True, "min": 1, "max": 100},
    {"name": "why", "type": "select", "options": [{"value": "a", "label": "Broken"}, {"value": "b", "label": "Late"}]},
]
ELICITATION = "io.modelcontextprotocol/clientCapabilities"


class Screen:
    """What a client's person sees, and answers."""

    def __init__(self, action: str = "accept", content: dict[str, Any] | None = None) -> None:
        self.action, self.content, self.prompts = action, content, list[Any]()

    async def sdk(self, context: Any, params: Any) -> Any:
        self.prompts.append(params)
        return ElicitResult(action=self.action, content=self.content)

    async def fastmcp(self, message: str, type: Any, params: Any, context: Any) -> Any:
        self.prompts.append(params)
        return fastmcp.client.elicitation.ElicitResult(action=self.action, content=self.content)

    def of(self, kind: str) -> Any:
        return getattr(self, kind)


@pytest.fixture
async def live(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True, extensions=[EXTENSION]) as world:
        yield world


@each_client
async def test_an_agent_s_client_shows_where_to_answer(live: World, kind: str, era: str) -> None:
    screen = Screen()
    async with connected(server(live), kind, era, screen.of(kind)) as model:
        for tool, more in (("ask_human", {"fields": FIELDS}), ("request_approval", {"action": "x"})):
            screen.prompts.clear()
            asked = await model.call(tool, title="Go?", **more)
            (params,) = screen.prompts
            assert (params.mode, params.url) == ("url", f"{live.url}/r/{asked['id']}")
            assert "Go?" in params.message
            # Consent to open the page is no answer.
            assert (asked["status"], asked["approved"]) == ("pending", False)
    assert len(await live.inbox.find()) == 2


@each_client
async def test_a_client_shows_where_to_answer_over_stdio_too(tmp_path: Path, kind: str, era: str) -> None:
    screen, page = Screen(content={"answer": "Yes."}), "https://inbox.example.com"
    process = Stdio(plain_environment(RINGI_HOME=str(tmp_path), RINGI_PUBLIC_URL=page))
    async with connected(process, kind, era, screen.of(kind)) as model:
        asked = await model.call("ask_human", title="Go?")
    assert [(params.mode, params.url) for params in screen.prompts] == [("url", f"{page}/r/{asked['id']}")]
    assert asked["status"] == "pending"


@each_client
async def test_a_person_answers_a_form_in_the_client(live: World, kind: str, era: str) -> None:
    screen = Screen(content={"amount": 40, "why": "a"})
    async with connected(server(live, "person", "ann"), kind, era, screen.of(kind)) as model:
        asked = await model.call("ask_human", title="How much?", description="It broke.", fields=FIELDS)

    (params,) = screen.prompts
    assert (params.mode, params.message) == ("form", "How much?\n\nIt broke.")
    assert (asked["status"], asked["data"], asked["responder"]) == ("completed", {"amount": 40, "why": "a"}, "ann")
    (stored,) = await live.inbox.find()
    assert stored.response
    assert (stored.response.channel, stored.response.responder) == ("mcp", "ann")


@each_client
@pytest.mark.parametrize("options", [None, ["Blue", "Red"]])
async def test_a_person_answers_a_question_in_the_client(live: World, kind: str, era: str, options: Any) -> None:
    screen = Screen(content={"answer": "Blue"})
    async with connected(server(live, "person", "ann"), kind, era, screen.of(kind)) as model:
        asked = await model.call("ask_human", title="Which colour?", **({"options": options} if options else {}))

    found = (asked.get("message"), asked.get("data"))
    assert (asked["status"], found) == ("completed", (None, {"answer": "Blue"}) if options else ("Blue", None))


@each_era
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_a_form_that_is_closed_decides_nothing(live: World, era: str, action: str) -> None:
    screen = Screen(action)
    async with connected(server(live, "person", "ann"), "sdk", era, screen.sdk) as model:
        assert (await model.call("ask_human", title="How much?", fields=FIELDS))["status"] == "pending"


@each_era
@pytest.mark.parametrize(
    "content", [{}, {"amount": 1000}, {"amount": "40"}, {"amount": 4, "why": "z"}, {"amount": 4, "x": 1}]
)
async def test_an_answer_that_the_form_rejects_decides_nothing(live: World, era: str, content: Any) -> None:
    screen = Screen(content=content)
    async with connected(server(live, "person", "ann"), "sdk", era, screen.sdk) as model:
        asked = await model.call("ask_human", title="How much?", fields=FIELDS)
        assert asked["status"] == "pending"
        assert asked["next"].startswith("The answer was refused")
        assert (await model.call("get_request", id=asked["id"], wait=0))["status"] == "pending"


@each_era
@pytest.mark.parametrize("role", ["person", "admin"])
async def test_an_approval_is_never_a_form(live: World, era: str, role: str) -> None:
    screen = Screen(content={"approved": True, "decision": "approve", "answer": "approve"})
    async with connected(server(live, role, "ann"), "sdk", era, screen.sdk) as model:
        asked = await model.call("request_approval", title="Go?", action="go")
    assert [params.mode for params in screen.prompts] == ["url"]
    assert (asked["status"], asked["approved"]) == ("pending", False)


@each_era
@pytest.mark.parametrize("who", [("agent", "bot"), ("person", "bob")])
async def test_who_may_not_answer_gets_no_form(live: World, era: str, who: tuple[str, str]) -> None:
    screen = Screen(content={"answer": "Yes."})
    async with connected(server(live, *who), "sdk", era, screen.sdk) as model:
        asked = await model.call("ask_human", title="Go?", assignee="ann")
    assert [params.mode for params in screen.prompts] == ["url"]
    assert asked["status"] == "pending"


async def test_a_server_without_sign_in_elicits_no_form(tmp_path: Path) -> None:
    screen = Screen(content={"answer": "Yes."})
    async with (
        open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True, extensions=[EXTENSION], no_auth=True) as live,
        connected(server(live, "person", "ann"), "sdk", "2026-07-28", screen.sdk) as model,
    ):
        assert (await model.call("ask_human", title="Go?"))["status"] == "pending"
    assert [params.mode for params in screen.prompts] == ["url"]


@pytest.mark.parametrize("who", [("agent", "bot"), ("person", "ann")])
async def test_an_answer_that_nobody_asked_for_is_not_taken(live: World, who: tuple[str, str]) -> None:
    """A client that sends an elicitation's answer with its first call decides nothing."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        ELICITATION: {"elicitation": {"form": {}, "url": {}}},
    }
    forged = {"answer": {"action": "accept", "content": {"answer": "Yes."}}}
    call: dict[str, Any] = {"name": "ask_human", "arguments": {"title": "Go?", "id": "go"}, "_meta": meta}
    headers = {**ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask_human"}
    for more in ({"inputResponses": forged}, {"inputResponses": forged, "requestState": "go"}):
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**call, **more}}
        reply = await live.client(*who).post(PATH, json=body, headers=headers)
        assert reply.status_code in (200, 400)
    assert [each.status for each in await live.inbox.find()] == ["pending"]


async def test_the_state_of_one_caller_is_worth_nothing_to_another(live: World) -> None:
    """A person's form that an agent sends back with an answer decides nothing."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        ELICITATION: {"elicitation": {"form": {}, "url": {}}},
    }
    headers = {**ACCEPT, "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "ask_human"}
    params: dict[str, Any] = {"name": "ask_human", "arguments": {"title": "Go?", "id": "go"}, "_meta": meta}
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    asked = (await live.client("person", "ann").post(PATH, json=body, headers=headers)).json()["result"]
    assert asked["resultType"] == "input_required"
    answered = {"answer": {"action": "accept", "content": {"answer": "Yes."}}}
    body["params"] = {**params, "requestState": asked["requestState"], "inputResponses": answered}
    for who in (("agent", "bot"), ("person", "bob"), ("person", "ann", "elsewhere")):
        reply = await live.client(*who).post(PATH, json=body, headers=headers)
        assert reply.status_code == 400
        assert (await live.inbox.get("go")).status == "pending"
    done = (await live.client("person", "ann").post(PATH, json=body, headers=headers)).json()["result"]
    assert done["structuredContent"]["message"] == "Yes."


async def test_an_answer_on_the_page_ends_a_form_that_is_open(live: World) -> None:
    is_open = anyio.Event()

    async def look(context: Any, params: Any) -> Any:
        is_open.set()
        await anyio.sleep_forever()

    async def answer() -> None:
        await is_open.wait()
        (request,) = await live.inbox.find()
        await live.inbox.respond(request, "respond", message="Yes.", by="ann")

    async with connected(server(live, "person", "ann"), "sdk", "2025-11-25", look) as model:
        answering = asyncio.create_task(answer())
        asked = await model.call("ask_human", title="Go?")
        await answering
    assert (asked["status"], asked["message"]) == ("completed", "Yes.")


async def test_the_end_of_a_token_ends_a_form_that_is_open(live: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elicitation, "SECONDS", 3600.0)
    is_open = anyio.Event()

    async def look(context: Any, params: Any) -> Any:
        is_open.set()
        await anyio.sleep_forever()

    async def revoke() -> None:
        waits = len(live.app._streams._waits)
        await is_open.wait()
        await until(lambda: len(live.app._streams._waits) > waits)
        revocations = live.app._revocations
        await revocations.revoke(Revocation(tenant="default", name="ann", at=revocations.now() + 1, by="root"))

    async with connected(server(live, "person", "ann"), "sdk", "2025-11-25", look) as model:
        await tools_of(model)  # The client checks a result against the schema of its tool.
        revoking = asyncio.create_task(revoke())
        asked = await asyncio.wait_for(model.call("ask_human", title="Go?"), LIMIT)
        await revoking
        assert (asked["status"], "the token was revoked" in asked["next"]) == ("pending", True)


@each_era
async def test_a_repeated_call_elicits_again_and_asks_once(live: World, era: str) -> None:
    async with connected(server(live, "person", "ann"), "sdk", era, Screen("cancel").sdk) as model:
        await model.call("ask_human", title="Go?", id="go")
    async with connected(server(live, "person", "ann"), "sdk", era, Screen(content={"answer": "Yes."}).sdk) as model:
        assert (await model.call("ask_human", title="Go?", id="go"))["message"] == "Yes."
    async with connected(server(live, "person", "ann"), "sdk", era, Screen(content={"answer": "No."}).sdk) as model:
        assert (await model.call("ask_human", title="Go?", id="go"))["message"] == "Yes."


@each_era
async def test_a_rule_of_a_stored_request_holds_in_the_client_too(live: World, era: str) -> None:
    """Who may decide is outside of the digest: the same question may have been asked with a rule."""
    context = {"client": "mcp"}
    await live.asked(by="ann", id="go", title="Go?", context=context, exclude=["asker"])
    screen = Screen(content={"answer": "Yes."})
    async with connected(server(live, "person", "ann"), "sdk", era, screen.sdk) as model:
        asked = await model.call("ask_human", title="Go?", id="go")
    assert (asked["status"], len(screen.prompts)) == ("pending", 1)
    assert "may not decide" in asked["next"]


PRIMITIVE: TypeAdapter[Any] = TypeAdapter(PrimitiveSchemaDefinition)
EACH_FIELD: list[dict[str, Any]] = [
    {"type": "text", "required": True, "placeholder": "p", "help": "h", "max_length": 5},
    {"type": "textarea", "default": "d"},
    {"type": "number", "min": 1, "step": 0.5},
    {"type": "slider", "min": 1, "max": 5, "step": 1},
    {"type": "boolean", "default": True},
    {"type": "date", "min": "2026-01-01"},
    {"type": "datetime"},
    {"type": "select", "options": ["a", "b"]},
    {"type": "radio", "options": [{"value": "a", "label": "A"}]},
    {"type": "multiselect", "options": ["a", "b"]},
    {"type": "checkbox", "options": [{"value": "a", "label": "A"}], "required": True},
]


@pytest.mark.parametrize("field", EACH_FIELD, ids=lambda field: field["type"])
def test_a_field_is_one_that_every_client_knows(field: dict[str, Any]) -> None:
    schema = elicitation_schema(asked_with(form={"fields": [{"name": "a", **field}]}))
    assert schema
    PRIMITIVE.validate_python(schema["properties"]["a"])
    assert set(schema) == {"type", "properties", "required"}


@pytest.mark.parametrize(
    "content",
    [
        {"form": {"fields": [{"name": "a", "type": "attachment"}]}},
        {"form": {"fields": [{"name": "a", "type": "select", "options": [1, 2]}]}},
        {"schema": {"type": "object", "properties": {"a": {"type": "array", "items": {"type": "string"}}}}},
        {"action": {"name": "go", "args": {}}},
        {"display": [{"type": "code", "text": "rm"}]},
        {"kind": "finish"},
    ],
    ids=("file", "whole numbers", "list", "action", "display", "finish"),
)
def test_what_a_client_cannot_show_needs_the_page(content: dict[str, Any]) -> None:
    assert elicitation_schema(asked_with(**content)) is None


def asked_with(**content: Any) -> Request:
    ask = Ask.parse({"title": "Go?", **content}).checked(max_fields=5)
    return Request.asked(ask, id="r", now=NOON, by="agent:bot", tenant="default")[0]
