"""A server of Ringi that is killed while a call waits: nothing runs, and after its restart the call goes on."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.gateways.mcp.test_kill import Served
from tests.gateways.mcp_gate.gates import ASK, Place, answer, opened, text

from ringi.connect import store_inbox


@pytest.mark.timeout(180)
async def test_a_call_goes_on_after_a_restart_of_ringi(tmp_path: Path) -> None:
    home, place = tmp_path / "home", Place(tmp_path).rules(ASK)
    home.mkdir()
    served = Served(home)
    served.start()
    try:
        env = {"RINGI_URL": served.url, "RINGI_TOKEN": served.token("agent")}
        async with place.client(env=env) as client, store_inbox(f"sqlite:///{home / 'ringi.db'}") as inbox:
            asked = asyncio.create_task(client.call_tool("write", {"text": "a"}))
            (request,) = await opened(inbox)
            served.kill()
            await answer(inbox, "edit", args={"text": "b"})
            assert place.ran() == []
            served.start()
            assert text(await asked) == "wrote b 1 times"
            assert (await inbox.get(request.id)).outcome == "committed"
    finally:
        served.kill()
    assert len(place.ran()) == 1
