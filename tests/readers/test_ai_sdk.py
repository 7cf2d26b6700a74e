"""The AI SDK's own reader and chat, as they are published, against a real server."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.readers.node import Reader, reading

State = dict[str, Any]
REFUND = "refund 40 for order 1182"


def chatting(server: DemoServer, folder: Path, id: str, **options: Any) -> AbstractAsyncContextManager[Reader]:
    return reading("ai_sdk.mjs", folder, url=server.url, id=id, token=server.tokens["person"], **options)


def newest(state: State) -> State:
    found: State = state["messages"][-1] if state["messages"] else {"parts": []}
    return found


def text(state: State) -> str:
    return " ".join(part["text"] for part in newest(state)["parts"] if part["type"] == "text")


def part(state: State, type: str) -> Any:
    return next((part for part in newest(state)["parts"] if part["type"] == type), None)


def asked(status: str) -> Any:
    def holds(state: State) -> bool:
        found = part(state, "data-ringi-request")
        return bool(found and found["data"]["status"] == status)

    return holds


def did(name: str) -> Any:
    return lambda state: state.get("did") == name


def finished(state: State) -> Any:
    return state.get("finished")


def respond(server: DemoServer, state: State, **answer: Any) -> None:
    request = part(state, "data-ringi-request")["data"]
    body = {"digest": request["digest"], **answer}
    with server.client() as client:
        client.post(f"/v1/requests/{request['id']}/respond", json=body).raise_for_status()


def form(server: DemoServer, state: State) -> None:
    respond(server, state, decision="approve", data={"sport": "swimming"})


async def test_an_answer_streams_in_as_one_message(house: DemoServer, tmp_path: Path) -> None:
    async with chatting(house, tmp_path, "plain") as chat:
        await chat.do("say", "hello")
        state = await chat.until(did("say"))
        words = {text(line) for line in chat.lines if len(line["messages"]) == 2}
        assert text(state) == "You said: hello I can pay money back, and I can ask you something."
        assert len(words) > 3, "it came at once"
        assert (state["status"], newest(state)["id"]) == ("ready", newest(state)["metadata"]["runId"])
        await chat.do("say", "again")
        state = await chat.until(did("say"))
        assert [message["role"] for message in state["messages"]] == ["user", "assistant"] * 2


async def test_the_stock_reader_reads_a_message_to_its_end(house: DemoServer, tmp_path: Path) -> None:
    async with chatting(house, tmp_path, "read") as chat:
        await chat.do("read", "hello")
        await chat.until(lambda state: state.get("readToTheEnd"))
        whole = [line["read"] for line in chat.lines if "read" in line][-1]
        assert whole["parts"][0]["text"].startswith("You said: hello")


async def test_a_form_keeps_the_stream_open_and_after_its_answer_the_same_message_goes_on(
    house: DemoServer, tmp_path: Path
) -> None:
    async with chatting(house, tmp_path, "form") as chat:
        await chat.do("say", "ask me")
        before = await chat.until(asked("pending"))
        assert before["status"] == "streaming"
        assert part(before, "data-ringi-request")["data"]["form"]["fields"][0]["name"] == "sport"
        form(house, before)
        after = await chat.until(did("say"))
        assert newest(after)["id"] == newest(before)["id"]
        assert [p["type"] for p in newest(after)["parts"]] == ["text", "dynamic-tool", "data-ringi-request", "text"]
        assert part(after, "data-ringi-request")["data"]["response"]["data"]["sport"] == "swimming"
        assert '"sport":"swimming"' in text(after)


@pytest.mark.parametrize(
    ("command", "state", "words"),
    [(("approve",), "output-available", "refunded 40"), (("reject", "too much"), "output-denied", "too much")],
    ids=["approve", "reject"],
)
async def test_a_tool_approval_is_given_by_the_client_alone(
    house: DemoServer, tmp_path: Path, command: tuple[str, ...], state: str, words: str
) -> None:
    async with chatting(house, tmp_path, f"native-{command[0]}", automatic=True) as chat:
        await chat.do("say", REFUND)
        before = await chat.until(finished)
        approval = part(before, "dynamic-tool")["approval"]
        assert (before["finished"], approval["id"]) == ("tool-calls", part(before, "data-ringi-request")["id"])
        await chat.do(command[0], approval["id"], *command[1:])
        after = await chat.until(finished)
        assert (newest(after)["id"], after["finished"]) == (newest(before)["id"], "stop")
        assert len(newest(after)["parts"]) == 4
        assert (part(after, "dynamic-tool")["state"], words in text(after)) == (state, True)
        assert part(after, "data-ringi-request")["data"]["response"]["responder"]


async def test_an_approval_that_comes_after_somebody_elses_no_approves_nothing(
    house: DemoServer, tmp_path: Path
) -> None:
    async with chatting(house, tmp_path, "late", automatic=True) as chat:
        await chat.do("say", REFUND)
        before = await chat.until(finished)
        respond(house, before, decision="reject", message="not this one")
        await chat.do("approve", part(before, "dynamic-tool")["approval"]["id"])
        after = await chat.until(finished)
        assert part(after, "dynamic-tool")["state"] == "output-denied"
        assert part(after, "dynamic-tool")["approval"]["approved"] is False
        assert "not refunded: not this one" in text(after)


async def test_with_hold_an_approval_is_given_elsewhere_while_the_stream_stays_open(
    house: DemoServer, tmp_path: Path
) -> None:
    async with chatting(house, tmp_path, "held", query="?hold=true") as chat:
        await chat.do("say", REFUND)
        before = await chat.until(asked("pending"))
        respond(house, before, decision="edit", args={"order": 1182, "amount": 15})
        after = await chat.until(did("say"))
        assert part(after, "dynamic-tool")["output"] == "refunded 15"


async def test_a_reload_in_a_pause_shows_the_whole_message_and_goes_on(house: DemoServer, tmp_path: Path) -> None:
    async with chatting(house, tmp_path, "reload") as chat:
        await chat.do("say", "ask me")
        before = await chat.until(asked("pending"))
    async with chatting(house, tmp_path, "reload") as chat:
        await chat.do("resume")
        again = await chat.until(asked("pending"))
        assert newest(again) == newest(before)
        form(house, again)
        after = await chat.until(did("resume"))
        assert (newest(after)["id"], '"sport":"swimming"' in text(after)) == (newest(before)["id"], True)
        await chat.do("resume")
        assert (await chat.until(did("resume")))["messages"] == after["messages"], "nothing runs, nothing comes"


async def test_a_reload_in_the_middle_of_a_word_repeats_nothing(house: DemoServer, tmp_path: Path) -> None:
    long = " ".join([*(f"word{n}" for n in range(60)), "and ask me."])
    async with chatting(house, tmp_path, "words") as chat:
        await chat.do("say", long)
        await chat.until(lambda state: len(state["messages"]) == 2 and "word1" in text(state))
    async with chatting(house, tmp_path, "words") as chat:
        await chat.do("resume")
        after = await chat.until(asked("pending"))
        assert text(after) == f"You want: {long} One moment, a person has to look at this."


async def test_a_server_that_is_killed_in_a_pause_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    with DemoServer(tmp_path) as server:
        async with chatting(server, tmp_path, "killed") as chat:
            await chat.do("say", "ask me")
            before = await chat.until(asked("pending"))
            server.kill()
            broken = await chat.until(finished)
            assert (broken["status"], newest(broken)) == ("error", newest(before))
            server.start()
            await chat.do("resume")
            await chat.until(lambda state: state["status"] == "streaming")
            form(server, before)
            after = await chat.until(did("resume"))
            assert newest(after)["id"] == newest(before)["id"]
            assert [p["type"] for p in newest(after)["parts"]] == ["text", "dynamic-tool", "data-ringi-request", "text"]


@pytest.mark.parametrize("status", ["interrupted", "running"])
async def test_a_cancelled_run_ends_its_message(house: DemoServer, tmp_path: Path, status: str) -> None:
    async with chatting(house, tmp_path, f"cancelled-{status}") as chat:
        await chat.do("say", "ask me" if status == "interrupted" else "word " * 200)
        await chat.until(asked("pending") if status == "interrupted" else lambda s: len(s["messages"]) == 2 and text(s))
        with house.client() as client:
            client.post(f"/v1/threads/cancelled-{status}/cancel", json={}).raise_for_status()
        after = await chat.until(did("say"))
        if status == "interrupted":
            assert part(after, "data-ringi-request")["data"]["status"] == "cancelled"
            assert part(after, "dynamic-tool")["state"] == "output-error"
        await chat.do("say", "hello")
        assert text(await chat.until(did("say"))).startswith("You said: hello")


async def test_new_words_while_a_person_is_asked_are_refused_with_the_reason(house: DemoServer, tmp_path: Path) -> None:
    async with chatting(house, tmp_path, "busy", automatic=True) as chat:
        await chat.do("say", REFUND)
        await chat.until(did("say"))
        await chat.do("say", "hello?")
        state = await chat.until(did("say"))
        assert (state["status"], "answer its requests or cancel it first" in state["error"]) == ("error", True)


async def test_saying_it_again_is_a_run_of_its_own(house: DemoServer, tmp_path: Path) -> None:
    async with chatting(house, tmp_path, "again") as chat:
        await chat.do("say", "hello")
        first = await chat.until(did("say"))
        await chat.do("regenerate")
        second = await chat.until(did("regenerate"))
        assert (len(second["messages"]), text(second)) == (2, text(first))
        assert newest(second)["id"] != newest(first)["id"]


@pytest.mark.parametrize("sdk", [5, 6, 7])
async def test_each_version_of_the_sdk_reads_an_approval_to_its_end(
    house: DemoServer, tmp_path: Path, sdk: int
) -> None:
    options = {"sdk": sdk, "query": f"?sdk={sdk}", "automatic": sdk > 5}
    async with chatting(house, tmp_path, f"sdk-{sdk}", **options) as chat:
        await chat.do("say", REFUND)
        if sdk == 5:
            before = await chat.until(asked("pending"))
            assert part(before, "dynamic-tool")["state"] == "input-available"
            respond(house, before, decision="approve")
        else:
            before = await chat.until(finished)
            await chat.do("approve", part(before, "dynamic-tool")["approval"]["id"])
        after = await chat.until(finished)
        assert (after.get("error"), part(after, "dynamic-tool")["state"]) == (None, "output-available")
        assert "refunded 40" in text(after)


@pytest.mark.parametrize("sdk", [5, 6, 7])
async def test_each_version_of_the_sdk_reads_a_refusal_that_was_given_elsewhere(
    house: DemoServer, tmp_path: Path, sdk: int
) -> None:
    async with chatting(house, tmp_path, f"no-{sdk}", sdk=sdk, query=f"?sdk={sdk}&hold=true") as chat:
        await chat.do("say", REFUND)
        respond(house, await chat.until(asked("pending")), decision="reject", message="not this one")
        after = await chat.until(finished)
        assert (after.get("error"), "not refunded: not this one" in text(after)) == (None, True)


async def test_an_unknown_version_of_the_sdk_is_refused(house: DemoServer) -> None:
    with house.client() as client:
        refused = client.get("/v1/chat/some/stream?sdk=4")
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "sdk")
