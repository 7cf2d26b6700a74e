"""`ringi backup` and `ringi restore`: whole copies or none, beside writers, and never over what is in use."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import output_of, printed, refused, ringi
from tests.faults.chaos.agents import EFFECTS, several
from tests.runs.world import at_work

import ringi as public
from ringi.errors import UnavailableError


@pytest.fixture
def filled(tmp_path: Path) -> Desk:
    """A store with one question in a folder of its own."""
    desk = Desk(tmp_path / "home")
    desk.folder.mkdir()
    printed(desk, "ask", "Shall we keep a copy?")
    return desk


def titles(path: Path) -> list[str]:
    with public.sync.open(f"sqlite:///{path}") as inbox:
        return sorted(request.title for request in inbox.find())


def test_a_copy_is_verified_whole_and_private(filled: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"

    assert output_of(filled, "backup", str(copy)) == f"{copy}: 1 events, verified\n"

    assert [path.name for path in tmp_path.iterdir()] == ["home", "copy.db"] or copy.exists()
    assert not [path for path in tmp_path.iterdir() if "partial" in path.name]
    assert copy.stat().st_mode & 0o777 == 0o600
    assert titles(copy) == ["Shall we keep a copy?"]


def test_a_file_that_is_there_is_replaced_only_when_told(filled: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    copy.write_text("mine")

    assert "the file exists" in refused(filled, 2, "backup", str(copy))
    assert copy.read_text() == "mine"
    assert printed(filled, "backup", str(copy), "--force") == {"file": str(copy), "events": 1}


def test_the_log_of_a_damaged_store_is_not_added_to_the_copy(filled: Desk, tmp_path: Path) -> None:
    copy, store = tmp_path / "copy.db", filled.folder / "ringi.db"
    output_of(filled, "backup", str(copy))
    store.write_bytes(b"no database" * 1000)
    log = store.with_name("ringi.db-wal")
    log.write_bytes(b"an old log")

    old_store = Path(printed(filled, "restore", str(copy), "--force")["kept"])

    assert old_store.with_name(f"{old_store.name}-wal").read_bytes() == b"an old log"
    assert not log.exists() or log.read_bytes() != b"an old log"
    assert titles(store) == ["Shall we keep a copy?"]


def test_a_store_that_is_not_there_or_is_itself_the_copy_is_refused(filled: Desk, tmp_path: Path) -> None:
    missing = f"sqlite:///{tmp_path}/missing.db"

    assert "there is no file" in refused(filled, 2, "backup", str(tmp_path / "copy.db"), "--url", missing)
    assert "the store itself" in refused(filled, 2, "backup", str(filled.folder / "ringi.db"), "--force")
    assert "use pg_dump" in refused(filled, 2, "backup", str(tmp_path / "copy.db"), "--url", "postgresql://x/y")
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_a_store_that_was_tampered_with_leaves_no_copy(filled: Desk, tmp_path: Path) -> None:
    with closing(sqlite3.connect(filled.folder / "ringi.db")) as connection, connection:
        connection.execute("UPDATE requests SET body = replace(body, 'keep', 'burn')")

    assert "title is not what its events say" in refused(filled, 1, "backup", str(tmp_path / "copy.db"))
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_copies_beside_a_busy_writer_are_whole(filled: Desk, tmp_path: Path) -> None:
    is_enough = threading.Event()

    async def write() -> None:
        async with public.open(f"sqlite:///{filled.folder}/ringi.db") as inbox:
            while not is_enough.is_set():
                asked = await inbox.ask("Refund?", context={"text": "x" * 10_000})
                await inbox.cancel(asked.id, by="ann")

    writer = threading.Thread(target=lambda: asyncio.run(write()))
    writer.start()
    try:
        counts = [printed(filled, "backup", str(tmp_path / f"{n}.db"))["events"] for n in range(3)]
    finally:
        is_enough.set()
        writer.join(10)
    assert counts == sorted(counts)


def test_a_copy_is_restored_where_nothing_is(filled: Desk, tmp_path: Path) -> None:
    output_of(filled, "backup", str(tmp_path / "copy.db"))
    new = tmp_path / "new" / "ringi.db"

    output_of(filled, "restore", str(tmp_path / "copy.db"), "--url", f"sqlite:///{new}")

    assert titles(new) == ["Shall we keep a copy?"]
    assert (tmp_path / "copy.db").exists()


def test_a_store_that_holds_something_is_replaced_only_when_told_and_is_kept(filled: Desk, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    output_of(filled, "backup", copy)
    printed(filled, "ask", "And this one?")

    assert "the store is not empty" in refused(filled, 1, "restore", copy)
    old_store = Path(printed(filled, "restore", copy, "--force")["kept"])

    assert titles(filled.folder / "ringi.db") == ["Shall we keep a copy?"]
    assert titles(old_store) == ["And this one?", "Shall we keep a copy?"]
    assert output_of(filled, "verify") == "1 events, 0 findings\n"


def test_an_empty_store_is_replaced_and_not_kept(filled: Desk, tmp_path: Path) -> None:
    copy, empty = str(tmp_path / "copy.db"), f"sqlite:///{tmp_path}/empty.db"
    output_of(filled, "backup", copy)
    output_of(filled, "migrate", "--url", empty)

    assert json.loads(output_of(filled, "restore", copy, "--url", empty, "--json"))["kept"] is None


def test_a_store_that_a_process_has_open_is_never_replaced(filled: Desk, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    output_of(filled, "backup", copy)

    with public.sync.open(f"sqlite:///{filled.folder}/ringi.db") as inbox:
        assert "a process has it open" in refused(filled, 1, "restore", copy, "--force")
        inbox.ask("Still there?")

    assert titles(filled.folder / "ringi.db") == ["Shall we keep a copy?", "Still there?"]
    assert not [path for path in filled.folder.iterdir() if "restore" in path.name or "partial" in path.name]


def test_a_copy_that_is_damaged_is_not_restored(filled: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    output_of(filled, "backup", str(copy))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM events")

    new = f"sqlite:///{tmp_path}/new.db"
    assert "the record has no events" in refused(filled, 1, "restore", str(copy), "--url", new)
    assert "no such file" in refused(filled, 2, "restore", str(tmp_path / "nothing.db"), "--url", new)
    assert not (tmp_path / "new.db").exists()


def test_the_log_of_a_store_that_is_gone_is_not_added_to_the_copy(filled: Desk, tmp_path: Path) -> None:
    copy = str(tmp_path / "copy.db")
    output_of(filled, "backup", copy)
    new = tmp_path / "new.db"
    with closing(sqlite3.connect(filled.folder / "ringi.db", isolation_level=None)) as other:
        other.execute("UPDATE requests SET version = 7")
        shutil.copy(f"{filled.folder}/ringi.db-wal", f"{new}-wal")

    assert "--force" in refused(filled, 1, "restore", copy, "--url", f"sqlite:///{new}")
    output_of(filled, "restore", copy, "--url", f"sqlite:///{new}", "--force")

    assert ringi(filled, "verify", "--url", f"sqlite:///{new}").stdout == "1 events, 0 findings\n"


def test_a_process_from_before_is_refused_after_a_file_was_replaced(filled: Desk, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    output_of(filled, "backup", str(copy))

    with public.sync.open(f"sqlite:///{filled.folder}/ringi.db") as inbox:
        copy.replace(filled.folder / "ringi.db")
        with pytest.raises(UnavailableError, match="another file was put"):
            inbox.ask("Still there?")


def test_effects_of_a_restored_run_have_the_same_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    desk, effects, copy = Desk(tmp_path), tmp_path / "effects", str(tmp_path / "copy.db")
    monkeypatch.setenv(EFFECTS, str(effects))

    async def begin() -> None:
        async with at_work(desk.url, [several]) as world:
            await world.run("several", {"order": "one"})

    async def end() -> list[str]:
        """Let the run end, and return the keys of the effects since then."""
        async with at_work(desk.url, [several]) as world:
            assert (await world.answer(await world.one(), "approve")).status == "interrupted"
            assert (await world.answer(await world.one(), "approve")).status == "done"
        return effects.read_text().splitlines()

    asyncio.run(begin())
    output_of(desk, "backup", copy)
    keys = asyncio.run(end())
    output_of(desk, "restore", copy, "--force")

    assert asyncio.run(end()) == [*keys, *keys]
    assert len(set(keys)) == len(keys) == 4
