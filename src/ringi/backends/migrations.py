"""The numbered SQL files of a backend, and the versions compatible with each.

`003_what.sql` only adds: a program that knows only 002 keeps working beside newer ones. After
`004_what.breaking.sql` it would do harm, and refuses to open the store. The first one counts as breaking, so a store
in which nothing breaking is recorded was made before it.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

from ringi.base.extras import UnsupportedError
from ringi.base.settings import SettingError, without_password

NO_STORE = "this holds no store of Ringi: give the store with --url or RINGI_URL"
OLDER = "an older Ringi wrote it: run `ringi migrate` first, on a copy if it is a backup"
UPGRADE = "a newer Ringi has changed this store in ways that this one does not know: upgrade it"
RESTORE = "restore a backup, or give the URL of another store"
LISTED = "migrations.oldest"
"""The name of a column that the list of migrations of no other program has."""
CREATED = re.compile(r"^CREATE (?:UNLOGGED |VIRTUAL )?(TABLE|INDEX) (\w+)", re.MULTILINE)


class Migration(NamedTuple):
    """One step from a schema to the next."""

    number: int
    script: str
    oldest: int
    """The last migration that a program must know to work on this schema; 0 if none is required."""


class StoreSchema(NamedTuple):
    """What a database holds."""

    number: int
    """Its last migration; 0 for an empty store."""
    applied: dict[int, int]
    """The list of its migrations, each with the last one that a program must know."""
    names: set[str]
    """Its tables and indexes, and the columns of `migrations` as `migrations.column`."""


def backend_migrations(backend: str) -> list[Migration]:
    """Return the steps of a backend in order."""
    found = sorted((files("ringi.backends") / backend / "sql").iterdir(), key=lambda file: file.name)
    return [_migration(file.name, file.read_text("utf-8")) for file in found if file.name.endswith(".sql")]


def _migration(name: str, script: str) -> Migration:
    number = int(name[:3])
    return Migration(number, script, number if number == 1 or name.endswith(".breaking.sql") else 0)


def refuse_unknown_schema(url: str, number: int, oldest: int, known: int) -> None:
    """Refuse a store that this version cannot use.

    Args:
        url: The store.
        number: Its last migration; 0 for an empty store.
        oldest: The last migration that a program must know.
        known: The last migration of this version.

    Raises:
        UnsupportedError: The store is from before the first release.
        SettingError: A newer version has changed it.
    """
    if number and not oldest:
        what = f"{without_password(url)} is from before the first release and cannot be read"
        raise UnsupportedError(f"{what}: give the URL of an empty store")
    if oldest > known:
        raise SettingError("url", url, UPGRADE)


def refuse_unusable_schema(url: str, schema: StoreSchema, known: list[Migration]) -> None:
    """Refuse a database that this version cannot use, that is damaged, or that has tables of another program.

    Args:
        url: The store.
        schema: What it holds.
        known: The migrations of this version.

    Raises:
        UnsupportedError: The store is from before the first release.
        SettingError: A newer version has changed it, it is damaged, or another program uses it.
    """
    refuse_unknown_schema(url, schema.number, max(schema.applied.values(), default=0), len(known))
    for number, script, _ in known:
        made = CREATED.findall(script)
        tables = [name for kind, name in made if kind == "TABLE"]
        if number in schema.applied:
            if missing := [name for name in tables if name not in schema.names]:
                raise SettingError("url", url, f"the table {missing[0]} is missing: {RESTORE}")
        elif LISTED not in schema.names:
            _refuse_foreign_tables(url, schema, ["migrations", *tables])
        elif number <= schema.number or any(name in schema.names for _, name in made):
            raise SettingError("url", url, f"migration {number} is missing in the table migrations: {RESTORE}")


def _refuse_foreign_tables(url: str, schema: StoreSchema, tables: list[str]) -> None:
    if foreign := [name for name in tables if name in schema.names]:
        what = f"Ringi did not make the table {foreign[0]}, or the table migrations was lost"
        raise SettingError("url", url, f"{what}: give the URL of another store, or restore a backup")


def refuse_other_schema(url: str, schema: StoreSchema, known: list[Migration]) -> None:
    """Raise `SettingError` for a store that is not of this version, or none of Ringi's."""
    if LISTED not in schema.names:
        raise SettingError("url", url, NO_STORE)
    refuse_unusable_schema(url, schema, known)
    if schema.number < len(known):
        raise SettingError("url", url, OLDER)
