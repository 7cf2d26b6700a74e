from __future__ import annotations

from pathlib import Path

from ringi.connect import open_backend
from ringi.contracts.backend import Backend
from ringi.testing.clock import NOON
from ringi_apps.engrammer.persistence import append_entry, read_entries, read_playbook
from ringi_apps.engrammer.playbook import Playbook, fold

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
