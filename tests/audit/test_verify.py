"""`ringi verify` on SQLite: it only reads, names what is damaged, and goes on."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import Done, ringi

from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.testing import store_request

PAGE = 4096
COUNT = 120


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with some history, and nothing wrong with it."""
    path = tmp_path_factory.mktemp("original") / "ringi.db"
    asyncio.run(fill(path))
    return path


async def fill(path: Path) -> None:
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        for n in range(COUNT):
            asked = await store_request(store, f"request-{n}", context={"text": f"filler-{n} " + "x" * 400})
            await store.put(*asked.claimed("ann", asked.created_at, asked.created_at - asked.created_at))


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(original, tmp_path / "ringi.db"))


def verified(path: Path, *options: str) -> Done:
    return ringi(Desk(path.parent), "verify", "--url", f"sqlite:///{path}", *options)


def found(path: Path) -> list[str]:
    done = verified(path, "--json")
    findings: list[dict[str, Any]] = json.loads(done.stdout)["findings"]
    assert done.returncode == (1 if findings else 0)
    return [f"{finding['key'][1] or finding['record']}: {finding['what']}" for finding in findings]


def execute(path: Path, sql: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute(sql, values).rowcount != 0
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_whole_store_is_whole_and_nothing_beside_it_was_made(path: Path) -> None:
    before = (set(path.parent.iterdir()), path.read_bytes())

    done = verified(path)

    assert (done.returncode, done.stdout) == (0, f"{2 * COUNT} events, 0 findings\n")
    assert (set(path.parent.iterdir()), path.read_bytes()) == before


def test_a_store_that_is_not_there_is_an_error_and_is_not_made(tmp_path: Path) -> None:
    done = verified(tmp_path / "missing.db")

    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file" in done.stderr
    assert not list(tmp_path.iterdir())


def test_what_is_no_store_is_named(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("no database" * 1000)
    execute(tmp_path / "other.db", "CREATE TABLE other (n)")

    assert "no SQLite file" in verified(tmp_path / "text.db").stderr
    assert "no store of Ringi" in verified(tmp_path / "other.db").stderr


def test_an_empty_store_fails_unless_it_is_said_to_be_right(tmp_path: Path) -> None:
    ringi(Desk(tmp_path), "migrate")

    done = verified(tmp_path / "ringi.db")

    assert (done.returncode, done.stdout) == (1, "0 events, 0 findings\n")
    assert "the store is empty" in done.stderr
    assert verified(tmp_path / "ringi.db", "--allow-empty").returncode == 0


def test_an_older_store_is_not_migrated(path: Path) -> None:
    execute(path, "PRAGMA user_version = 0")

    done = verified(path)

    assert done.returncode == 2
    assert "run `ringi migrate` first" in done.stderr
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)


def test_what_a_running_process_has_not_moved_into_the_file_yet_is_seen(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA wal_autocheckpoint = 0")
        other.execute("UPDATE requests SET kind = 'finish' WHERE id = 'request-3'")

        assert "request-3: the index column kind is not what it says" in found(path)


DAMAGED: dict[str, tuple[str, str]] = {
    "a payload that is no JSON": (
        "UPDATE events SET payload = '{' WHERE record_id = 'request-7' AND version = 2",
        "event: it cannot be read (Expecting property name",
    ),
    "a payload that is no UTF-8": (
        "UPDATE events SET payload = CAST(replace(payload, 'ann', x'ff') AS TEXT)"
        " WHERE record_id = 'request-7' AND version = 2",
        "request-7: its payload was changed",
    ),
    "a time that no calendar has": (
        "UPDATE events SET at = 9000000000000000000 WHERE record_id = 'request-7' AND version = 2",
        "event: it cannot be read (",
    ),
    "a record that is no JSON": (
        "UPDATE requests SET body = substr(body, 1, 100) WHERE id = 'request-7'",
        "request-7: it cannot be read (",
    ),
}


@pytest.mark.parametrize(("sql", "what"), DAMAGED.values(), ids=DAMAGED)
def test_what_cannot_be_read_is_named_and_the_rest_is_checked(path: Path, sql: str, what: str) -> None:
    execute(path, sql)
    execute(path, "UPDATE requests SET body = replace(body, 'filler-90', 'forged') WHERE id = 'request-90'")

    findings = found(path)

    assert any(finding.startswith(what) for finding in findings), findings
    assert "request-90: context is not what its events say" in findings


def overwrite_page(path: Path, marker: bytes, wanted: Callable[[bytes], bool]) -> None:
    """Fill the first page that holds a text with what no page can be."""
    content = bytearray(path.read_bytes())
    pages = range(0, len(content), PAGE)
    start = next(at for at in pages if marker in content[at : at + PAGE] and wanted(bytes(content[at : at + PAGE])))
    content[start : start + PAGE] = b"\xff" * PAGE
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("marker", "what"),
    [(b"request.created", "event: it cannot be read"), (b'"version":2', "request: rows cannot be read up to")],
    ids=["events", "requests"],
)
def test_a_broken_page_is_named_and_the_rest_is_checked(path: Path, marker: bytes, what: str) -> None:
    execute(path, "UPDATE requests SET body = replace(body, 'filler-119', 'forged') WHERE id = 'request-119'")
    overwrite_page(path, marker, lambda page: page[0] == 13 and b"filler-2" in page and b"filler-119" not in page)

    findings = found(path)

    assert any(finding.startswith("store: SQLite's integrity check") for finding in findings), findings
    assert any(finding.startswith(what) for finding in findings), findings
    assert "request-119: context is not what its events say" in findings


INDEXES: dict[str, str] = {
    "UPDATE requests SET attention = 1 WHERE id = 'request-5'": "request-5: the index column attention is not what",
    "UPDATE requests SET version = 9 WHERE id = 'request-5'": "request-5: the index column version is not what",
    "UPDATE requests SET search = 'x' WHERE id = 'request-5'": "request-5: the index column search is not what",
    "UPDATE requests SET expires_at = 1 WHERE id = 'request-5'": "request-5: the index column expires_at is not what",
    "UPDATE requests SET audiences = '[\"*\"]' WHERE id = 'request-5'": "request-5: the index column audiences",
    "DELETE FROM shown WHERE place = (SELECT place FROM requests WHERE id = 'request-5')": (
        "request-5: it is missing in a list"
    ),
    "INSERT INTO shown SELECT 'to:eve', shelf, tenant, place FROM requests WHERE id = 'request-5'": (
        "request-5: it stands in a list that is not its own (to:eve)"
    ),
    "INSERT INTO ended SELECT 'all', tenant, 1, place FROM requests WHERE id = 'request-5'": (
        "request-5: it stands in a list that is not its own (all)"
    ),
    "INSERT INTO search (rowid, terms) VALUES (1, 'forged')": "store: the index of the search is not what",
}


@pytest.mark.parametrize("sql", INDEXES)
def test_what_lists_and_searches_go_by_is_compared_with_the_records(path: Path, sql: str) -> None:
    execute(path, sql)

    assert [finding for finding in found(path) if finding.startswith(INDEXES[sql])]


def test_a_request_without_any_index_entry_is_still_examined(path: Path) -> None:
    execute(path, "DELETE FROM events WHERE record_id = 'request-8' AND version = 1")

    assert "request-8: an event before it is missing, or it was inserted" in found(path)


def test_seals_say_how_far_they_hold_beside_an_event_that_cannot_be_read(path: Path) -> None:
    (path.parent / "kept.jsonl").write_text("")
    execute(path, "UPDATE events SET payload = '{' WHERE position = 9")

    done = verified(path, "--expect", str(path.parent / "kept.jsonl"))

    assert done.returncode == 1
    assert "event: it cannot be read" in done.stdout
    assert "0 events match the seals; 240 are newer than the last seal" in done.stdout
