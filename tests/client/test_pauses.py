"""Pauses through a client: an administrator pauses, and programs heed the pauses of their own agent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token

import ringi
from ringi.base.clock import utc_now
from ringi.base.outages import PausedError
from ringi.errors import ForbiddenError, InvalidError, WaitTimeoutError
from ringi.integrations.functions import gate


async def test_a_client_pauses_resumes_and_heeds_the_pauses_of_its_own_agent(server: DemoServer) -> None:
    async with (
        ringi.open(server.url, token=token(server, "root", "admin")) as admin,
        ringi.open(server.url, token=token(server, "mailer", "agent")) as mailer,
        ringi.open(server.url, token=token(server, "printer", "agent")) as printer,
    ):
        await mailer.pauses.check()
        pause = await admin.pauses.begin("wrong letters", agent="mailer", until=utc_now() + timedelta(hours=1))
        assert await admin.pauses.list() == [pause]
        with pytest.raises(PausedError, match="wrong letters"):
            await mailer.pauses.check()
        await printer.pauses.check()
        with pytest.raises(PausedError):
            await printer.pauses.check("mailer")
        with pytest.raises(ForbiddenError):
            await mailer.pauses.begin("no")
        with pytest.raises(InvalidError, match="reason"):
            await admin.pauses.begin("")
        request = await mailer.ask("Send?", id="gate-test", action=ringi.Action("send", {"n": 1}))
        assert request.status == "pending"
        await admin.pauses.end(pause.id)
        await mailer.pauses.check()


async def test_an_approved_call_of_a_paused_client_does_not_begin(server: DemoServer) -> None:
    async with (
        ringi.open(server.url, token=token(server, "root", "admin")) as admin,
        ringi.open(server.url, token=token(server, "mailer", "agent")) as mailer,
    ):
        policy = {"rules": [{"tools": ["send"], "expires_in": 60}]}
        pause = await admin.pauses.begin("stop", agent="mailer")
        with pytest.raises(WaitTimeoutError) as waited:
            await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=0.1)
        request = await admin.get(waited.value.id)
        await admin.respond(request, "approve")
        with pytest.raises(PausedError):
            await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=10)
        await admin.pauses.end(pause.id)
        assert await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=10) == {"n": 1}
