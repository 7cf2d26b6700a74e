"""Many who learn in one moment: what a person approved is learned, however many were faster."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest
from tests.apps.engrammer.lab import TENANT, Models, insight, lab
from tests.runs.world import opened

from ringi.contracts.store import change_record
from ringi.errors import ConflictError
from ringi_apps.engrammer import persistence
from ringi_apps.engrammer.entries import Entry
from ringi_apps.engrammer.errors import BusyPlaybookError
from ringi_apps.engrammer.persistence import append_entry, read_entries
from ringi_apps.engrammer.playbook import Playbook, fold
from ringi_apps.engrammer.roles import BulletTag, Reflection

GLUE = "Clamp a glued joint for 30 minutes."
SAND = "Sand along the grain, never across it."
MANY = 60


class Crowd:
    """Others who were faster, so many times, whenever the playbook was about to change."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, times: int) -> None:
        self.left = times
        monkeypatch.setattr(persistence, "change_record", self._change)
        monkeypatch.setattr(persistence, "MAX_WAIT_SECONDS", 0.0)

    async def _change(self, store: Any, kind: Any, key: Any, step: Any) -> Any:
        if self.left:
            self.left -= 1
            raise ConflictError.too_often(kind.record, key.id)
        return await change_record(store, kind, key, step)


def added(number: int, now: Playbook) -> Entry:
    return now.add_entry("strategies", f"Rule {number}.", request_id=f"q-{number}")


@pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)
async def test_of_many_who_enter_at_once_through_two_openings_of_a_store_each_is_in_the_playbook_once(url: str) -> None:
    async with opened(url, []) as one, opened(url, []) as other:
        now = one.inbox.clock()
        await asyncio.gather(
            *(
                append_entry((one, other)[n % 2].backend, TENANT, "p", partial(added, n), by="thread:t", now=now)
                for n in range(MANY)
            )
        )
        playbook = await persistence.read_playbook(one.backend.store, TENANT, "p")
        written = await read_entries(one.backend.store, TENANT, "p")
        assert sorted(playbook.applied) == sorted(f"q-{n}" for n in range(MANY))
        assert playbook.version == MANY + 1
        assert fold((each.entry, each.at) for each in written) == playbook
        await one.verified()


async def test_who_finds_others_faster_all_the_time_is_told_that_trying_again_is_safe(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(file, []) as world:
        Crowd(monkeypatch, times=1)
        enters = partial(append_entry, world.backend, TENANT, "p", partial(added, 1), by="ann", now=world.inbox.clock())
        with pytest.raises(BusyPlaybookError, match="'playbook:p' is being changed by others"):
            await enters()
        assert (await enters()).applied == {"q-1": 2}


async def test_a_run_that_finds_the_playbook_busy_is_taken_up_again_and_what_else_it_asks_still_waits(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with lab(Models(lessons={"Q?": [insight(GLUE), insight(SAND)]}), file) as it:
        await it.ask("Q?")
        crowd = Crowd(monkeypatch, times=2)
        thread = await it.decide("approve")
        assert crowd.left == 0
        assert (thread.status, await it.texts()) == ("interrupted", [GLUE])
        assert [request.title for request in await it.waiting()] == [f"Learn: “{SAND}”"]
        await it.decide("approve")
        assert await it.texts() == [GLUE, SAND]


async def test_a_run_whose_counts_find_no_place_in_the_playbook_goes_on_without_them(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(lessons={"Q?": [insight(SAND)]})
    models.answers["Q?"] = "As I learned [b-00001]."
    models.reflections["Q?"] = Reflection(
        insights=[insight(SAND, quotes=["Q?"])], bullet_tags=[BulletTag(id="b-00001", tag="helpful")]
    )
    async with lab(models, file) as it:
        await it.learn(GLUE)
        crowd = Crowd(monkeypatch, times=1)
        thread = await it.ask("Q?")
        assert (thread.status, crowd.left, thread.outages) == ("interrupted", 0, None)
        assert (await it.playbook()).bullets["b-00001"].used == 0
