"""Processes that die between the record of a check and the check itself."""

from __future__ import annotations

import signal

import pytest
from tests.faults.processes import child

from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain.ask import Action
from ringi.errors import NotAuthorizedError

KILLED = -signal.SIGKILL


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RINGI_CHECKS", "1")


@pytest.mark.parametrize("url", ["sqlite", "postgres", "redis"], indirect=True)
@pytest.mark.parametrize(("point", "stored"), [("checks.before_put", 0), ("checks.after_put", 1)])
async def test_a_death_leaves_no_check_that_is_not_on_record(url: str, point: str, stored: int) -> None:
    async with store_inbox(url) as inbox:
        await inbox.ask("Refund?", id="real", action=Action("refund", {"of": "r1"}))
    async with child(url, "plant", "refund", failpoint=point) as planting:
        assert await planting.death() == KILLED
    async with store_inbox(url) as inbox:
        found = [request for request in await inbox.find() if request.id != "real"]
        report = await inbox.checks.report()
        assert (len(found), [view.id for view in report.items]) == (stored, [request.id for request in found])
        for request in found:
            done = await inbox.respond(request, "approve", by="ann")
            assert done.granted is None
            with pytest.raises(NotAuthorizedError):
                done.authorize("refund", {"of": "wrong"})
        assert (await verify_store(inbox.store))[1] == []
