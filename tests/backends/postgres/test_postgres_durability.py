"""An acknowledged change is on the disk, whatever the server, the role or a pooler has set."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from ringi.backends.postgres.agent_stores import PostgresAgentStores
from ringi.backends.postgres.checkpoints import PostgresCheckpoints
from ringi.backends.postgres.database import PostgresDatabase
from ringi.base.settings import SettingError
from ringi.connect import open_backend

SHOW = "SHOW synchronous_commit"


async def test_each_session_waits_for_the_disk_though_the_server_does_not(database: PostgresDatabase) -> None:
    """The servers of the tests have it off."""
    stores = PostgresAgentStores(database)
    async with PostgresCheckpoints(database) as checkpoints, checkpoints.connection() as of_a_run:
        with checkpoints.transaction_now() as of_a_thread, stores._opened().connection() as of_an_agent:
            sessions = [of_a_thread.execute(SHOW).fetchone(), of_an_agent.execute(SHOW).fetchone()]
        found = [await database.fetch(SHOW), await (await of_a_run.execute(SHOW)).fetchall(), sessions]
    stores.close()

    assert [[list(dict(row).values()) if isinstance(row, dict) else list(row) for row in rows] for rows in found] == [
        [["on"]],
        [["on"]],
        [["on"], ["on"]],
    ]


async def test_a_role_that_waits_for_the_standby_goes_on_to_do_so(database: PostgresDatabase, schema_url: str) -> None:
    role = f"careful_{database.schema}"
    await database.write(f"CREATE ROLE {role} SUPERUSER LOGIN")
    await database.write(f"ALTER ROLE {role} SET synchronous_commit = remote_apply")
    async with PostgresDatabase(schema_url.replace("//postgres@", f"//{role}@")) as careful:
        assert [tuple(row) for row in await careful.fetch(SHOW)] == [("remote_apply",)]
    await database.write(f"DROP ROLE {role}")


async def test_a_session_that_does_not_take_it_is_refused(
    database: PostgresDatabase, schema_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = PostgresDatabase.session_sql

    def without_commit(database: PostgresDatabase, **more: str) -> str:
        return "; ".join(each for each in settings(database, **more).split("; ") if "synchronous_commit" not in each)

    monkeypatch.setattr(PostgresDatabase, "session_sql", without_commit)

    with pytest.raises(SettingError, match=r"synchronous_commit.*off.*pooler"):
        async with PostgresDatabase(schema_url):
            pass


async def test_what_an_acknowledged_change_survives_is_shown(schema_url: str) -> None:
    assert urlsplit(schema_url).scheme == "postgresql"
    async with open_backend(schema_url) as backend:
        assert backend.durability == "on, fsync off"
