"""Whoever is erased leaves the playbook as it is, and their name in no place of its history."""

from pathlib import Path

from tests.runs.world import opened

from ringi.domain.record import ERASED_PERSON
from ringi.testing.clock import NOON, ManualClock
from ringi_apps.engrammer.persistence import append_entry, read_entries, read_playbook
from ringi_apps.engrammer.playbook import Playbook, fold

TENANT = "default"


async def test_a_playbook_is_the_sum_of_its_entries_also_when_who_wrote_some_is_erased(tmp_path: Path) -> None:
    async with opened(f"sqlite:///{tmp_path}/ringi.db", [], clock=ManualClock()) as world:

        async def add(text: str, by: str) -> Playbook:
            made = await append_entry(
                world.backend,
                TENANT,
                "cook",
                lambda now: now.add_entry("strategies", text, reason=f"{by} says so"),
                by=by,
                now=NOON,
            )
            return made

        await add("Salt the water.", "ann")
        await add("Rest the dough.", "bob")
        before = await add("Taste it.", "ann")

        seen = await read_entries(world.backend.store, TENANT, "cook")
        assert [each.by for each in seen] == ["ann", "bob", "ann"]

        done = await world.inbox.trail.erase(person="ann", by="root")

        assert done.journals == ("playbook:cook",)
        assert await read_playbook(world.backend.store, TENANT, "cook") == before
        history = await read_entries(world.backend.store, TENANT, "cook")
        assert [each.version for each in history] == [2, 3, 4]
        assert [(each.by, each.entry.reason) for each in history] == [
            (ERASED_PERSON, None),
            ("bob", "bob says so"),
            (ERASED_PERSON, None),
        ]
        assert fold((each.entry, each.at) for each in history) == before
        after = await add("Serve it hot.", "bob")
        assert after.version == 5
        history = await read_entries(world.backend.store, TENANT, "cook")
        assert fold((each.entry, each.at) for each in history) == after
        await world.verified()
