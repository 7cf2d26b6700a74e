"""Stock clients that watch when a worker dies in the middle of a message, and those that come later."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.readers.node import reading
from tests.readers.test_ag_ui import CLIENTS
from tests.server.test_superseded import HALF, WHOLE, Stage, open_stage

State = dict[str, Any]


@pytest.fixture
async def stage() -> AsyncIterator[Stage]:
    async with open_stage() as stage:
        yield stage


def texts(state: State) -> list[str]:
    """Return the texts of the newest message that a front end of the AI SDK shows, as the documentation says."""
    newest: State = state["messages"][-1] if state.get("messages") else {"role": "user"}
    parts: list[State] = newest["parts"] if newest["role"] == "assistant" else []
    gone = [part["data"]["messageId"] for part in parts if part["type"] == "data-ringi-superseded"]
    texts = [part for part in parts if part["type"] == "text"]
    return [part["text"] for part in texts if part["providerMetadata"]["ringi"]["messageId"] not in gone]


@pytest.mark.parametrize("sdk", [5, 6, 7])
async def test_the_ai_sdk_can_leave_out_the_fragment(stage: Stage, tmp_path: Path, sdk: int) -> None:
    token = stage.world.token("person", "ann")
    options = {"url": stage.world.url, "id": "t1", "token": token, "sdk": sdk, "query": f"?agent=talk&sdk={sdk}"}
    async with reading("ai_sdk.mjs", tmp_path, **options) as chat:
        await chat.do("say", "hello")
        await stage.say_half()
        await chat.until(lambda state: texts(state) == [HALF])
        await stage.take_over()
        await chat.until(lambda state: texts(state) == [WHOLE])
        stage.end()
        state = await chat.until(lambda state: state.get("finished"))
        assert (texts(state), state.get("error")) == ([WHOLE], None)


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("how", ["say", "connect"])
async def test_ag_uis_client_loses_the_fragment(stage: Stage, tmp_path: Path, client: str, how: str) -> None:
    options = {"url": stage.world.url, "id": "t1", "token": stage.world.token("person", "ann"), "client": client}
    async with reading("ag_ui.mjs", tmp_path, agent="talk", **options) as agent:
        if how == "connect":
            await stage.begin()
        await agent.do(*(("say", "hello", "m1") if how == "say" else ("connect",)))
        await stage.say_half()
        await agent.until(lambda line: line.get("event", {}).get("delta") == HALF)
        await stage.take_over()
        await agent.until(lambda line: line.get("event", {}).get("delta") == WHOLE)
        stage.end()
        state = await agent.until(lambda line: line.get("did") == how)
        assert [message["content"] for message in state["messages"]] == ["hello", WHOLE]
