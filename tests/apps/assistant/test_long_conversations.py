"""What a long conversation leaves in the database."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.apps.assistant.talk import Office, talking
from tests.runs.world import until

ROWS = "SELECT (SELECT count(*) FROM threads), (SELECT count(*) FROM checkpoints), (SELECT count(*) FROM writes)"


async def test_a_database_does_not_grow_by_checkpoints_however_long_one_talks(tmp_path: Path) -> None:
    file, office = tmp_path / "ringi.db", Office()
    office.goes_on()

    async def has_one_for_each_thread() -> bool:
        with closing(sqlite3.connect(file)) as database:
            threads, checkpoints, writes = database.execute(ROWS).fetchone()
        return bool(checkpoints == threads > 1 and not writes)

    async with talking(office, f"sqlite:///{file}") as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.answer("approve")
        await talk.until_carried_out()
        await until(has_one_for_each_thread, "the work beside the talk has ended")
        await talk.say("goal: shrink")
        for n in range(60):
            memory = await talk.say(f"word {n}")
        await until(has_one_for_each_thread, "the last turn has removed its checkpoints")
        assert memory.items["goals"].value == "shrink"
        assert "You said word 0" in await talk.words()
