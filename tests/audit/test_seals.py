"""Seals that are kept elsewhere find what a whole rewritten, shortened or reordered history hides."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from ringi.audit.seals import Seal, Sealer, SealReport, compare_events_with_seals, read_seals
from ringi.audit.verify import verify_store
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.domain.ask import Action
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock

KEY = "a key that is not in the store"


class Sealed:
    """A file with a history, and the seals on it in another folder."""

    def __init__(self, folder: Path) -> None:
        self.path, self.seals = folder / "ringi.db", folder / "seals.jsonl"

    @asynccontextmanager
    async def inbox(self) -> AsyncIterator[StoreInbox]:
        async with SqliteDatabase(self.path) as database:
            yield StoreInbox(SqliteStore(database), MemoryNotifier(1), clock=ManualClock())

    async def asked(self, *ids: str, title: str = "Refund?") -> None:
        async with self.inbox() as inbox:
            for id in ids:
                await inbox.ask(title, id=id, action=Action("refund", {"amount": 40}))

    async def seal(self, key: str = KEY) -> None:
        async with self.inbox() as inbox:
            await Sealer(inbox.store, self.seals, key, ManualClock()).seal()

    async def verdict(self, key: str = KEY) -> SealReport:
        async with self.inbox() as inbox:
            return await compare_events_with_seals(inbox.store, read_seals(self.seals), key)

    async def plain(self) -> int:
        """Return how much the check without seals finds."""
        async with self.inbox() as inbox:
            return len((await verify_store(inbox.store))[1])

    def execute(self, *statements: str) -> None:
        connection = sqlite3.connect(self.path)
        with connection:
            for statement in statements:
                assert connection.execute(statement).rowcount > 0
        connection.close()


@pytest.fixture
async def sealed(tmp_path: Path) -> Sealed:
    """Two events, a seal, two events, a seal."""
    sealed = Sealed(tmp_path)
    for ids in (("a", "b"), ("c", "d")):
        await sealed.asked(*ids)
        await sealed.seal()
    return sealed


async def test_an_untouched_history_is_as_it_was_sealed(sealed: Sealed) -> None:
    assert await sealed.verdict() == SealReport([], 4, 0)


async def test_what_came_after_the_last_seal_is_said_to_be_outside(sealed: Sealed) -> None:
    await sealed.asked("e", "f", "g")

    assert await sealed.verdict() == SealReport([], 4, 3)


async def test_a_server_that_starts_again_goes_on_where_it_stopped(sealed: Sealed) -> None:
    await sealed.seal()
    await sealed.asked("e")
    await sealed.seal()

    assert [seal.count for seal in read_seals(sealed.seals)] == [2, 4, 5]
    assert await sealed.verdict() == SealReport([], 5, 0)


async def test_an_older_copy_of_the_store_lacks_what_was_sealed(sealed: Sealed, tmp_path: Path) -> None:
    shutil.copy(sealed.path, tmp_path / "older.db")
    await sealed.asked("e")
    await sealed.seal()
    shutil.copy(tmp_path / "older.db", sealed.path)
    for part in ("-wal", "-shm"):
        sealed.path.with_name(sealed.path.name + part).unlink(missing_ok=True)

    verdict = await sealed.verdict()

    assert await sealed.plain() == 0
    assert (verdict.sealed, verdict.later) == (4, 0)
    assert "over 5 events finds only 4: the others are missing" in verdict.findings[0]


async def test_a_history_that_was_written_anew_with_all_its_hashes_is_found(sealed: Sealed) -> None:
    sealed.path.unlink()
    for part in ("-wal", "-shm"):
        sealed.path.with_name(sealed.path.name + part).unlink(missing_ok=True)
    await sealed.asked("a", "b")
    await sealed.asked("c", "d", title="Refund!")

    verdict = await sealed.verdict()

    assert await sealed.plain() == 0
    assert (len(verdict.findings), verdict.sealed) == (1, 2)
    assert "over 4 events is broken" in verdict.findings[0]


async def test_a_record_that_was_deleted_with_all_its_events_is_found(sealed: Sealed) -> None:
    sealed.execute("DELETE FROM events WHERE record_id = 'c'", "DELETE FROM requests WHERE id = 'c'")

    assert await sealed.plain() == 0
    assert "finds only 3" in (await sealed.verdict()).findings[0]


async def test_two_records_that_were_made_in_another_order_are_found(sealed: Sealed) -> None:
    swap = "UPDATE events SET position = {} WHERE position = {}"
    sealed.execute(swap.format(9, 1), swap.format(1, 2), swap.format(2, 9))

    assert await sealed.plain() == 0
    assert "over 2 events is broken" in (await sealed.verdict()).findings[0]


async def test_an_event_that_was_put_between_is_found(sealed: Sealed) -> None:
    await sealed.asked("e")
    move = "UPDATE events SET position = {} WHERE position = {}"
    sealed.execute(move.format(9, 4), move.format(4, 5))

    assert await sealed.plain() == 0
    assert "over 4 events is broken" in (await sealed.verdict()).findings[0]


@pytest.mark.parametrize("column", ["at", "payload_digest", "hash"])
async def test_an_event_that_was_edited_is_found_with_or_without_its_seal(sealed: Sealed, column: str) -> None:
    value = "7" if column == "at" else f"{column} || '0'"
    sealed.execute(f"UPDATE events SET {column} = {value} WHERE position = 4")

    assert await sealed.plain() + len((await sealed.verdict()).findings) > 0


@pytest.mark.parametrize("field", ["count", "head", "at"])
async def test_a_seal_that_was_edited_is_no_seal(sealed: Sealed, field: str) -> None:
    first, last = read_seals(sealed.seals)
    other = {"count": 3, "head": "0" * 64, "at": last.at.replace(year=2020)}[field]
    forged = last.model_copy(update={field: other})
    sealed.seals.write_text(f"{first.model_dump_json()}\n{forged.model_dump_json()}\n")

    verdict = await sealed.verdict()

    assert "is not by this key" in verdict.findings[0]
    assert (verdict.sealed, verdict.later) == (2, 2)


async def test_a_seal_by_another_key_is_no_seal(sealed: Sealed) -> None:
    verdict = await sealed.verdict("another key")

    assert (len(verdict.findings), verdict.sealed, verdict.later) == (2, 0, 4)


async def test_a_line_that_was_cut_short_does_not_hide_the_others(sealed: Sealed) -> None:
    whole = sealed.seals.read_text()
    sealed.seals.write_text(whole[:-30])
    await sealed.seal()

    assert [seal.count for seal in read_seals(sealed.seals)] == [2, 4]
    assert await sealed.verdict() == SealReport([], 4, 0)


async def test_an_idle_store_gets_no_seals(sealed: Sealed) -> None:
    before = sealed.seals.read_bytes()
    await sealed.seal()

    assert sealed.seals.read_bytes() == before
    assert sealed.seals.stat().st_mode & 0o777 == 0o600


def test_a_seal_is_what_its_key_signed() -> None:
    seal = Seal(count=1, head="h", position="1", at=ManualClock()()).signed(KEY)

    assert seal.is_by(KEY)
    assert not seal.model_copy(update={"position": "2"}).is_by(KEY)
    assert Seal.model_validate_json(seal.model_dump_json()).is_by(KEY)
