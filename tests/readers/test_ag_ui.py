"""AG-UI's own client, as it is published, against a real server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.readers.node import Reader, reading

State = dict[str, Any]
REFUND = "refund 40 for order 1182"
CLIENTS = ("@ag-ui/client", "ag-ui-client-of-copilotkit")
"""The newest, and the one that CopilotKit 1.75 ships."""


def talking(
    server: DemoServer, folder: Path, id: str, agent: str = "chat", role: str = "person", client: str = CLIENTS[0]
) -> AbstractAsyncContextManager[Reader]:
    who = {"token": server.tokens[role], "agent": agent, "client": client}
    return reading("ag_ui.mjs", folder, url=server.url, id=id, **who)


async def done(client: Reader, *command: Any) -> State:
    await client.do(*command)
    return await client.until(lambda state: state.get("did") == command[0])


def types(client: Reader) -> list[str]:
    """Return what came since the last command, every kind once."""
    ends = [n for n, line in enumerate(client.lines) if "did" in line]
    begin = ends[-2] + 1 if len(ends) > 1 else 0
    return list(dict.fromkeys(line["event"]["type"] for line in client.lines[begin:] if "event" in line))


def last_event(client: Reader) -> State:
    found: State = [line["event"] for line in client.lines if "event" in line][-1]
    return found


def entry(interrupt: State, payload: Any = None, status: str = "resolved") -> State:
    answer = {"interruptId": interrupt["id"], "status": status}
    return answer if payload is None else {**answer, "payload": payload}


async def test_an_answer_streams_in(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-plain") as client:
        state = await done(client, "say", "hello")
        assert [message["role"] for message in state["messages"]] == ["user", "assistant"]
        assert state["messages"][-1]["content"].startswith("You said: hello")
        assert (types(client)[0], types(client)[-1]) == ("RUN_STARTED", "RUN_FINISHED")


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        ({"approved": True}, "refunded 40"),
        ({"approved": True, "editedArgs": {"order": 1182, "amount": 15}}, "refunded 15"),
        ({"approved": False, "reason": "too late"}, "not refunded: too late"),
        ({"approved": "yes"}, "not refunded"),
        ({}, "not refunded"),
    ],
)
async def test_a_call_of_a_tool_runs_only_as_it_was_approved(
    house: DemoServer, tmp_path: Path, payload: State, text: str
) -> None:
    async with talking(house, tmp_path, tmp_path.name) as client:
        paused = await done(client, "say", REFUND)
        (interrupt,) = paused["interrupts"]
        calls = [call for message in paused["messages"] for call in message.get("toolCalls", [])]
        assert (interrupt["reason"], interrupt["toolCallId"]) == ("tool_call", calls[0]["id"])
        after = await done(client, "resume", [entry(interrupt, payload)])
        assert text in after["messages"][-1]["content"]
        assert after["interrupts"] == []
        assert "TOOL_CALL_START" not in types(client)


async def test_a_form_is_answered_by_its_data_and_a_wrong_one_stays_open(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-form") as client:
        (interrupt,) = (await done(client, "say", "ask me"))["interrupts"]
        assert interrupt["responseSchema"]["properties"]["sport"]
        wrong = await done(client, "resume", [entry(interrupt, {"sport": "chess"})])
        assert (types(client), last_event(client)["code"], "failed" in wrong) == (["RUN_ERROR"], "invalid", False)
        after = await done(client, "resume", [entry(interrupt, {"sport": "running"})])
        assert '"sport":"running"' in after["messages"][-1]["content"]


async def test_answers_that_come_one_by_one_are_kept_until_all_are_there(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-two", "two_questions") as client:
        first, second = (await done(client, "start", {}))["interrupts"]
        left = (await done(client, "resume", [entry(first, "blue"), entry(second)]))["interrupts"]
        assert [each["id"] for each in left] == [second["id"]]
        again = await done(client, "resume", [entry(second, "Tokyo")])
        assert set(again["state"]["answers"].values()) == {"blue", "Tokyo"}
        await client.do("forget")
        await client.until(lambda state: state.get("did") == "forget")
        repeated = await done(client, "resume", [entry(second, "Tokyo")])
        assert (repeated["state"], types(client)[0]) == (again["state"], "RUN_STARTED")


@pytest.mark.parametrize(("what", "code"), [("unknown", "not_found"), ("decided", "final"), ("cancelled", "final")])
async def test_what_cannot_be_answered_is_a_run_error(house: DemoServer, tmp_path: Path, what: str, code: str) -> None:
    async with talking(house, tmp_path, f"agui-{what}") as client:
        (interrupt,) = (await done(client, "say", REFUND))["interrupts"]
        with house.client("admin") as admin:
            if what == "decided":
                body = {"decision": "reject", "digest": interrupt["metadata"]["digest"]}
                admin.post(f"/v1/requests/{interrupt['id']}/respond", json=body).raise_for_status()
            if what == "cancelled":
                admin.post(f"/v1/threads/agui-{what}/cancel", json={}).raise_for_status()
        await client.do("forget")
        await client.until(lambda state: state.get("did") == "forget")
        asked = {**interrupt, "id": "q-none"} if what == "unknown" else interrupt
        await done(client, "resume", [entry(asked, {"approved": True})])
        assert (types(client), last_event(client)["code"]) == (["RUN_ERROR"], code)


async def test_an_agent_cannot_resume_what_waits_for_a_person(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-agent", role="agent") as client:
        (interrupt,) = (await done(client, "say", REFUND))["interrupts"]
        refused = await done(client, "resume", [entry(interrupt, {"approved": True})])
        assert "403" in refused["failed"]
        assert house.thread("agui-agent")["status"] == "interrupted"


async def test_a_server_that_is_killed_in_a_pause_takes_the_answer_when_it_is_back(tmp_path: Path) -> None:
    with DemoServer(tmp_path) as server:
        async with talking(server, tmp_path, "agui-killed") as client:
            (interrupt,) = (await done(client, "say", REFUND))["interrupts"]
            server.kill()
            server.start()
            after = await done(client, "resume", [entry(interrupt, {"approved": True})])
            assert "refunded 40" in after["messages"][-1]["content"]


async def test_the_same_message_sent_again_is_heard_once(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-twice") as client:
        await done(client, "say", "hello", "m1")
    first = house.until("agui-twice", "done")
    async with talking(house, tmp_path, "agui-twice") as client:
        again = await done(client, "say", "hello", "m1")
    assert again["messages"][-1]["content"].startswith("You said: hello")
    assert house.until("agui-twice", "done")["run_id"] == first["run_id"]


@pytest.mark.parametrize("package", CLIENTS)
async def test_each_client_runs_and_resumes_under_one_run_id(house: DemoServer, tmp_path: Path, package: str) -> None:
    async with talking(house, tmp_path, f"agui-{tmp_path.name}", client=package) as client:
        paused = await done(client, "say", REFUND)
        assert "failed" not in paused
        (begun,) = [line["event"] for line in client.lines if line.get("event", {}).get("type") == "RUN_STARTED"]
        assert begun["input"]["runId"] == begun["runId"]
        interrupt = last_event(client)["outcome"]["interrupts"][0]
        after = await done(client, "resume", [entry(interrupt, {"approved": True})])
        assert "refunded 40" in after["messages"][-1]["content"]


@pytest.mark.parametrize("package", CLIENTS)
async def test_a_client_that_connects_gets_the_history_and_what_waits(
    house: DemoServer, tmp_path: Path, package: str
) -> None:
    id = f"agui-{tmp_path.name}"
    async with talking(house, tmp_path, id, client=package) as client:
        assert (await done(client, "connect"))["messages"] == [], "nobody has said anything yet"
        await done(client, "say", "hello")
        before = await done(client, "say", REFUND)
        waiting = last_event(client)["outcome"]["interrupts"]
    async with talking(house, tmp_path, id, client=package) as client:
        again = await done(client, "connect")
        assert "MESSAGES_SNAPSHOT" in types(client)
        assert again["messages"] == before["messages"]
        assert last_event(client)["outcome"]["interrupts"] == waiting
        after = await done(client, "resume", [entry(waiting[0], {"approved": True})])
    async with talking(house, tmp_path, id, client=package) as client:
        assert (await done(client, "connect"))["messages"] == after["messages"]


async def test_who_may_not_know_of_a_thread_gets_an_empty_history(house: DemoServer, tmp_path: Path) -> None:
    async with talking(house, tmp_path, "agui-secret") as client:
        await done(client, "say", "hello")
    async with talking(house, tmp_path, "agui-secret", role="agent") as client:
        hidden = await done(client, "connect")
        assert (hidden["messages"], types(client)) == ([], ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"])
