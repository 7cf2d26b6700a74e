"""Pauses through a client: an administrator pauses, and programs heed the pauses of their own agent."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token

import ringi
from ringi.base.clock import utc_now
from ringi.errors import ForbiddenError, InvalidError, PausedError
from ringi.integrations.functions import gate


async def test_a_client_pauses_resumes_and_heeds_the_pauses_of_its_own_agent(server: DemoServer) -> None:
    async with (
        ringi.Client(server.url, token(server, "root", "admin")) as admin,
        ringi.Client(server.url, token(server, "mailer", "agent")) as mailer,
        ringi.Client(server.url, token(server, "printer", "agent")) as printer,
    ):
        await mailer.check_pauses()
        pause = await admin.pause("wrong letters", agent="mailer", until=utc_now() + timedelta(hours=1))
        assert await admin.pauses() == [pause]
        with pytest.raises(PausedError, match="wrong letters"):
            await mailer.check_pauses()
        await printer.check_pauses()
        with pytest.raises(PausedError):
            await printer.check_pauses("mailer")
        with pytest.raises(ForbiddenError):
            await mailer.pause("no")
        with pytest.raises(InvalidError, match="reason"):
            await admin.pause("")
        request = await mailer.ask("Send?", id="gate-test", action=ringi.Action("send", {"n": 1}))
        assert request.status == "pending"
        await admin.resume(pause.id)
        await mailer.check_pauses()


async def test_an_approved_call_of_a_paused_client_does_not_begin(server: DemoServer) -> None:
    async with (
        ringi.Client(server.url, token(server, "root", "admin")) as admin,
        ringi.Client(server.url, token(server, "mailer", "agent")) as mailer,
    ):
        policy = {"rules": [{"tools": ["send"], "expires_in": 60}]}
        pause = await admin.pause("stop", agent="mailer")
        with pytest.raises(ringi.WaitTimeoutError) as waited:
            await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=0.1)
        request = await admin.get(waited.value.id)
        await admin.respond(request.id, "approve", digest=request.digest)
        with pytest.raises(PausedError):
            await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=10)
        await admin.resume(pause.id)
        assert await gate("send", {"n": 1}, policy=policy, key="letter-1", inbox=mailer, timeout=10) == {"n": 1}
