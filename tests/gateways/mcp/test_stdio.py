"""`ringi mcp`: any client asks people over stdin and stdout."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from tests.gateways.mcp.clients import COMMAND, ERAS, KINDS, Stdio, connected, plain_environment

from ringi import Request
from ringi.connect import store_inbox
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox

EACH_CLIENT = [(kind, era) for kind in KINDS for era in ERAS]
PROMPTS = [{"name": "amount", "type": "number", "required": True}, {"name": "why", "type": "text"}]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def server(home: Path) -> Stdio:
    return Stdio(plain_environment(RINGI_HOME=str(home)))


@pytest.fixture
async def inbox(home: Path) -> AsyncIterator[StoreInbox]:
    async with store_inbox(f"sqlite:///{home / 'ringi.db'}", poll_interval=0.05) as inbox:
        yield inbox


each_client = pytest.mark.parametrize(("kind", "era"), EACH_CLIENT)


async def answer(inbox: StoreInbox, id: str, decision: Any = "approve", **more: Any) -> Request:
    request = await inbox.get(id)
    return await inbox.respond(Seen(id, request.digest), decision, by="ann", **more)


async def say(inbox: StoreInbox, id: str) -> None:
    await answer(inbox, id, "respond", message="Yes.")


@each_client
async def test_a_question_is_answered_in_words(server: Stdio, inbox: StoreInbox, kind: str, era: str) -> None:
    async with connected(server, kind, era) as model:
        asked = await model.call("ask_human", title="Which colour?", description="For the *door*.")
        assert (asked["status"], asked["approved"]) == ("pending", False)
        assert "get_request" in asked["next"]

        await answer(inbox, asked["id"], "respond", message="Blue.")

        ended = await model.call("get_request", id=asked["id"])
        assert (ended["status"], ended["decision"], ended["message"], ended["responder"]) == (
            "completed", "respond", "Blue.", "ann",
        )  # fmt: skip
        stored = await inbox.get(asked["id"])
        assert (stored.asked_by, stored.description) == ("agent:mcp", "For the *door*.")


@each_client
async def test_a_form_returns_its_data(server: Stdio, inbox: StoreInbox, kind: str, era: str) -> None:
    async with connected(server, kind, era) as model:
        asked = await model.call("ask_human", title="How much?", fields=PROMPTS)
        await answer(inbox, asked["id"], data={"amount": 40, "why": "broken"})

        assert (await model.call("get_request", id=asked["id"]))["data"] == {"amount": 40, "why": "broken"}


@each_client
async def test_an_approval_returns_the_arguments_as_edited(
    server: Stdio, inbox: StoreInbox, kind: str, era: str
) -> None:
    async with connected(server, kind, era) as model:
        asked = await model.call("request_approval", title="Refund?", action="refund", args={"amount": 40})
        await answer(inbox, asked["id"], "edit", args={"amount": 20})

        ended = await model.call("get_request", id=asked["id"])
        assert (ended["approved"], ended["args"]) == (True, {"amount": 20})


@each_client
async def test_a_wait_ends_when_the_person_answers(server: Stdio, inbox: StoreInbox, kind: str, era: str) -> None:
    async with connected(server, kind, era) as model:
        asked = await model.call("ask_human", title="Go?")
        async with anyio.create_task_group() as group:
            group.start_soon(say, inbox, asked["id"])

            assert (await model.call("get_request", id=asked["id"], wait=20))["status"] == "completed"


@each_client
async def test_a_wait_without_an_answer_says_that_it_must_be_called_again(server: Stdio, kind: str, era: str) -> None:
    async with connected(server, kind, era) as model:
        asked = await model.call("ask_human", title="Go?")

        waited = await model.call("get_request", id=asked["id"], wait=0.2)
        assert waited["status"] == "pending"
        assert waited["next"].startswith("Still waiting for a person. Call get_request with this id again")


@pytest.mark.parametrize("decision", ["reject", "cancel", "expire"])
async def test_what_nobody_approved_is_not_approved(server: Stdio, inbox: StoreInbox, decision: str) -> None:
    async with connected(server) as model:
        seconds = 0.05 if decision == "expire" else None
        asked = await model.call("request_approval", title="Drop?", action="drop", expires_in=seconds)
        if decision == "reject":
            await answer(inbox, asked["id"], "reject", message="Never.")
        elif decision == "cancel":
            await model.call("cancel_request", id=asked["id"], reason="Not needed.")

        ended = await model.call("get_request", id=asked["id"])

    assert ended["status"] == {"reject": "completed", "cancel": "cancelled", "expire": "expired"}[decision]
    assert (ended["approved"], ended.get("args")) == (False, None)


async def test_one_id_asks_once(server: Stdio, inbox: StoreInbox) -> None:
    async with connected(server) as model:
        first = await model.call("ask_human", title="Go?", id="deploy-7")
    async with connected(server, "fastmcp", "2025-11-25") as model:
        text = await model.refused("ask_human", title="Stop?", id="deploy-7")

    async with connected(server) as model:
        assert (await model.call("ask_human", title="Go?", id="deploy-7"))["id"] == first["id"] == "deploy-7"
    assert "deploy-7" in text
    assert len(await inbox.find()) == 1


async def test_a_cancelled_request_stays_cancelled_and_an_answered_one_answered(
    server: Stdio, inbox: StoreInbox
) -> None:
    async with connected(server) as model:
        asked = await model.call("ask_human", title="Go?")
        await answer(inbox, asked["id"], "respond", message="Yes.")

        assert (await model.call("cancel_request", id=asked["id"]))["status"] == "completed"


async def test_requests_of_others_do_not_exist(server: Stdio, inbox: StoreInbox) -> None:
    other = await inbox.ask("Secret?", id="secret")
    async with connected(server) as model:
        for tool in ("get_request", "cancel_request"):
            hidden, random = await model.refused(tool, id=other.id), await model.refused(tool, id="random")
            assert hidden.replace(other.id, "random") == random
        with pytest.raises(Exception, match="no request"):
            await model.client.read_resource("ringi://requests/secret")
        assert (await model.client.list_resources()).resources == []


async def test_own_requests_are_resources(server: Stdio) -> None:
    async with connected(server) as model:
        asked = await model.call("ask_human", title="Go?", id="go")

        listed = (await model.client.list_resources()).resources
        read = (await model.client.read_resource("ringi://requests/go")).contents[0]
        templates = (await model.client.list_resource_templates()).resource_templates

    assert [str(each.uri) for each in listed] == ["ringi://requests/go"]
    assert json.loads(read.text) == asked
    assert [each.uri_template for each in templates] == ["ringi://requests/{id}"]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a misspelled argument": ({"title": "Go?", "feilds": PROMPTS}, "feilds"),
    "a form without options": ({"title": "Go?", "fields": [{"name": "a", "type": "select"}]}, "form.fields[0].options"),
    "two forms": ({"title": "Go?", "fields": PROMPTS, "options": ["a"]}, "only one of"),
    "no title": ({}, "title"),
    "a blank title": ({"title": " "}, "title"),
    "a derived id": ({"title": "Go?", "id": "q-" + "0" * 32}, "id"),
    "an id with a slash": ({"title": "Go?", "id": "../secret"}, "id"),
    "no group": ({"title": "Go?", "groups": [""]}, "groups"),
    "a deep schema": ({"title": "Go?", "schema": {"a": json.loads("[" * 70 + "]" * 70)}}, "arguments"),
    "a long text": ({"title": "Go?", "description": "a" * 300_000}, "arguments"),
    "a hostile pattern": ({"title": "Go?", "schema": {"properties": {"a": {"pattern": "("}}}}, "schema"),
}


@pytest.mark.parametrize("name", WRONG)
async def test_a_wrong_question_asks_nobody_and_says_what_to_correct(
    server: Stdio, inbox: StoreInbox, name: str
) -> None:
    arguments, named = WRONG[name]
    async with connected(server) as model:
        assert named in await model.refused("ask_human", **arguments)
        assert (await model.call("ask_human", title="Still here?"))["status"] == "pending"
    assert len(await inbox.find()) == 1


NOISE = """
import logging, sys, warnings
print("printed at the start")
logging.basicConfig(level=1, stream=sys.stdout, force=True)
from ringi.domain.ask import Ask
parse = Ask.parse.__func__
def noisy(cls, body):
    print("printed")
    sys.__stdout__.write("written\\n")
    import os
    os.write(1, b"past every buffer\\n")
    os.system("echo from a child")
    logging.getLogger("loud").critical("logged")
    warnings.warn("warned")
    return parse(cls, body)
Ask.parse = classmethod(noisy)
"""


async def test_stdout_carries_the_protocol_only(home: Path, tmp_path: Path, inbox: StoreInbox) -> None:
    """Whatever prints, logs or writes to the standard output does not reach the client."""
    script = tmp_path / "noisy.py"
    start = NOISE.replace('print("printed at the start")\n', "")
    script.write_text(f"{start}\nimport sys\nsys.argv = ['ringi', 'mcp']\nfrom ringi.cli import main\nmain()\n")
    noisy = Stdio(plain_environment(RINGI_HOME=str(home)), (str(Path(COMMAND[0]).with_name("python")), str(script)))
    async with connected(noisy, "sdk", "2025-11-25") as model:
        asked = await model.call("ask_human", title="Go?")
        assert (await model.call("get_request", id=asked["id"], wait=0))["status"] == "pending"

    lines = await anyio.to_thread.run_sync(spoken, noisy)
    assert [json.loads(line)["id"] for line in lines] == [1, 2]


def spoken(server: Stdio) -> list[bytes]:
    """Return the lines on the standard output of a server that serves a whole conversation."""
    version = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": version},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": {"name": "ask_human", "arguments": {"title": "Go?"}}},
    ]
    conversation = b"".join(json.dumps({"jsonrpc": "2.0", **each}).encode() + b"\n" for each in messages)
    with subprocess.Popen(
        server.command, env=server.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(conversation)
        process.stdin.flush()
        lines = [process.stdout.readline() for _ in range(2)]
        process.stdin.close()
        rest = process.stdout.read()
        assert process.stderr
        assert b"past every buffer" in process.stderr.read()
    assert rest == b""
    return lines


async def test_an_unreachable_server_is_an_error_on_stderr(tmp_path: Path) -> None:
    environment = plain_environment(RINGI_HOME=str(tmp_path), RINGI_URL="http://127.0.0.1:9")
    done = await anyio.run_process(COMMAND, env=environment, check=False, cwd=tmp_path, input=b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"RINGI_TOKEN" in done.stderr


def test_the_help_needs_no_extra() -> None:
    done = subprocess.run([*COMMAND, "--help"], capture_output=True, text=True, check=True, env=os.environ, timeout=60)
    assert "ask people" in done.stdout
