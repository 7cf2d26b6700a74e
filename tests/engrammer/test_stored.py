from __future__ import annotations

from pathlib import Path

from tests.engrammer.lab import Models
from tests.engrammer.served import Json, post, served

from ringi.connect import open_backend
from ringi.contracts.backend import Backend
from ringi.domain.journal import Journal
from ringi.engrammer.persistence import append_entry, journal_id, read_entries, read_playbook
from ringi.engrammer.playbook import Playbook, fold
from ringi.testing.clock import NOON

TENANT = "default"


async def add(backend: Backend, text: str, name: str = "cook") -> Playbook:
    return await append_entry(backend, TENANT, name, lambda now: now.add_entry("others", text), by="ann", now=NOON)


async def test_what_another_process_enters_is_found_after_what_is_known(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/ringi.db"
    async with open_backend(url) as here, open_backend(url) as there:
        await add(here, "Salt the water.")
        assert [each.version for each in await read_entries(here.store, TENANT, "cook")] == [2]
        await add(there, "Rest the dough.")
        after = await add(there, "Taste it.")

        found = await read_entries(here.store, TENANT, "cook")

        assert [each.version for each in found] == [2, 3, 4]
        assert found == await read_entries(there.store, TENANT, "cook")
        assert fold((each.entry, each.at) for each in found) == after == await read_playbook(here.store, TENANT, "cook")


async def test_who_changes_the_list_of_entries_they_got_changes_nobody_elses() -> None:
    async with open_backend("memory://") as backend:
        await add(backend, "Salt the water.")
        (await read_entries(backend.store, TENANT, "cook")).clear()

        assert len(await read_entries(backend.store, TENANT, "cook")) == 1


async def test_a_bullet_that_was_stored_without_its_time_is_a_note_of_that_time_all_the_same() -> None:
    async with served("memory://", Models()) as world:
        playbook = await add(world.backend, "Salt the water.", "engrammer")
        asked: Json = {"source": "playbook", "noteId": "b-00001"}
        note = await post(world.client(), "/engrammerFlow_getNote", **asked)
        older = {id: each.model_dump(exclude={"created_at"}) for id, each in playbook.bullets.items()}
        journal = await world.backend.store.get(Journal, TENANT, journal_id("engrammer"))
        state = {**journal.state, "bullets": older}
        await world.backend.store.put(*journal.written({"op": "tag"}, state, by="ann", now=NOON))

        assert (await read_playbook(world.backend.store, TENANT, "engrammer")).bullets["b-00001"].created_at is None
        assert await post(world.client(), "/engrammerFlow_getNote", **asked) == note
