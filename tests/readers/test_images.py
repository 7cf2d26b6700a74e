"""Images that the published clients of the AI SDK and of AG-UI send, and read again in the history."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.domain.test_display import png
from tests.readers.test_ag_ui import CLIENTS, done, talking
from tests.readers.test_ai_sdk import chatting, did, text

TEXT = base64.b64encode(png(40, 30)).decode()
SEEN = f"I see image/png ({len(png(40, 30))} bytes). You said: look"


@pytest.mark.parametrize("sdk", [5, 6, 7])
async def test_the_ai_sdk_sends_files_and_repeats_them_from_the_history(
    house: DemoServer, tmp_path: Path, sdk: int
) -> None:
    file = {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": f"data:image/png;base64,{TEXT}"}
    id, how = f"image-{sdk}", {"sdk": sdk, "query": f"?agent=chat&sdk={sdk}"}
    async with chatting(house, tmp_path, id, **how) as chat:
        await chat.do("say", "look", [file])
        assert text(await chat.until(did("say"))) == SEEN
    with house.client() as client:
        (run,) = client.get(f"/v1/chat/{id}").json()["runs"]
    assert [part["type"] for part in run["messages"][0]["parts"]] == ["text", "file"]
    async with chatting(house, tmp_path, id, messages=run["messages"], **how) as chat:
        await chat.do("regenerate")
        assert text(await chat.until(did("regenerate"))) == SEEN


@pytest.mark.parametrize("client", CLIENTS)
async def test_ag_ui_sends_an_image_and_reads_it_in_the_history(house: DemoServer, tmp_path: Path, client: str) -> None:
    image = {"type": "image", "source": {"type": "data", "value": TEXT, "mimeType": "image/png"}}
    id = f"agui-image-{CLIENTS.index(client)}"
    async with talking(house, tmp_path, id, client=client) as agent:
        state = await done(agent, "say", [{"type": "text", "text": "look"}, image])
        assert state["messages"][-1]["content"] == SEEN
    async with talking(house, tmp_path, id, client=client) as agent:
        message, answer = (await done(agent, "connect"))["messages"]
    source = {"type": "url", "value": f"/v1/threads/{id}/images/1", "mimeType": "image/png"}
    assert message["content"][1]["source"] == source
    assert answer["content"] == SEEN
