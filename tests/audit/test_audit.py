"""The audit finds every change that was not made by Ringi, wherever somebody laid hands on the file."""

import sqlite3
from pathlib import Path

import pytest

from ringi.audit.verify import Finding, verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.backends.rows import event_to_row
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.contracts.store import Store
from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.forms.fields import Select
from ringi.forms.form import Form
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock, store_request
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, a_thread

SCHEMA = {"type": "object", "properties": {"amount": {"type": "integer"}}}


class Tampered:
    """A file with a history, and a hand that changes it behind Ringi's back."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def execute(self, sql: str, *values: object) -> None:
        connection = sqlite3.connect(self.path)
        with connection:
            assert connection.execute(sql, values).rowcount > 0
        connection.close()

    async def found(self) -> list[str]:
        """Return what the audit says, as texts."""
        async with SqliteDatabase(self.path) as database:
            _, findings = await verify_store(SqliteStore(database))
        return [f"{finding.key.id}: {finding.what}" for finding in findings]


async def history(store: Store) -> None:
    """One request claimed, released and approved; another that stays open; a thread."""
    inbox = StoreInbox(store, MemoryNotifier(1), clock=ManualClock())
    form = Form([Select("reason", options=["late", "damaged"])])
    asked = await inbox.ask("Refund?", id="r1", action=Action("refund", {"amount": 40}, schema=SCHEMA), form=form)
    await inbox.claim("r1", by="ann")
    await inbox.ask("Which?", id="r2", schema=SCHEMA, context={"n": [1, 2.5, None, "稟議"]})
    await inbox.release("r1", by="ann")
    await inbox.respond(Seen("r1", asked.digest), "approve", {"reason": "late"}, by="ann")
    await store.put(*a_thread("t1", at=NOON))


@pytest.fixture
async def tampered(tmp_path: Path) -> Tampered:
    path = tmp_path / "ringi.db"
    async with SqliteDatabase(path) as database:
        await history(SqliteStore(database))
    return Tampered(path)


async def test_an_untouched_history_is_clean(tampered: Tampered) -> None:
    assert await tampered.found() == []


async def test_the_audit_says_how_many_events_it_read() -> None:
    store = MemoryStore()
    await history(store)

    assert await verify_store(store) == (6, [])


@pytest.mark.parametrize(
    ("event", "old", "new"), [(1, "Refund?", "Refund!"), (1, "40", "41"), (2, "ann", "amn"), (5, "late", "fate")]
)
async def test_one_byte_edited_in_a_payload_is_found(tampered: Tampered, event: int, old: str, new: str) -> None:
    tampered.execute("UPDATE events SET payload = replace(payload, ?, ?) WHERE position = ?", old, new, event)

    assert "r1: its payload was changed" in await tampered.found()


async def test_white_space_in_a_payload_is_no_change(tampered: Tampered) -> None:
    tampered.execute("UPDATE events SET payload = replace(payload, '\",\"', '\", \"')")

    assert await tampered.found() == []


@pytest.mark.parametrize("column", ["at", "type", "tenant", "version", "record_id", "payload_digest"])
async def test_any_other_column_of_an_event_that_is_edited_is_found(tampered: Tampered, column: str) -> None:
    value = "7" if column in ("at", "version") else f"{column} || 'x'"
    tampered.execute(f"UPDATE events SET {column} = {value} WHERE position = 2")

    assert any("was changed" in found for found in await tampered.found())


async def test_an_event_rewritten_with_its_hash_breaks_the_chain(tampered: Tampered) -> None:
    async with SqliteDatabase(tampered.path) as database:
        event = (await SqliteStore(database).events(limit=2))[1]
    forged = event.model_copy(update={"at": event.at.replace(year=2020)})
    tampered.execute("UPDATE events SET at = ? WHERE position = 2", event_to_row(forged)[5])
    tampered.execute("UPDATE events SET hash = ? WHERE position = 2", forged.computed_hash())

    assert await tampered.found() == ["r1: an event before it is missing, or it was inserted"]


@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ('"approve"', '"reject"', "response"),
        ('"amount":40', '"amount":41', "action"),
        ('"title":"Refund?"', '"title":"Refund!"', "title"),
        ('"claimed_by":null', '"claimed_by":"eve"', "claimed_by"),
        ('"assignee":null', '"assignee":"eve"', "assignee"),
    ],
)
async def test_an_edited_record_is_found_and_the_field_named(
    tampered: Tampered, old: str, new: str, field: str
) -> None:
    tampered.execute("UPDATE requests SET body = replace(body, ?, ?) WHERE id = 'r1'", old, new)

    assert f"r1: {field} is not what its events say" in await tampered.found()


async def test_a_deleted_event_is_found(tampered: Tampered) -> None:
    tampered.execute("DELETE FROM events WHERE position = 2")

    assert "r1: an event before it is missing, or it was inserted" in await tampered.found()


async def test_the_first_event_deleted_is_found(tampered: Tampered) -> None:
    tampered.execute("DELETE FROM events WHERE position = 1")

    assert "r1: an event before it is missing, or it was inserted" in await tampered.found()


async def test_the_last_event_cut_off_is_found(tampered: Tampered) -> None:
    tampered.execute("DELETE FROM events WHERE position = 5")

    assert await tampered.found() == ["r1: its last events are missing"]


async def test_all_events_of_a_record_cut_off_are_found(tampered: Tampered) -> None:
    tampered.execute("DELETE FROM events WHERE record_id = 't1'")

    assert await tampered.found() == ["t1: the record has no events"]


async def test_a_deleted_record_is_found(tampered: Tampered) -> None:
    tampered.execute("DELETE FROM requests WHERE id = 'r2'")

    assert await tampered.found() == ["r2: the record is gone, its events are not"]


async def test_two_events_in_the_wrong_order_are_found(tampered: Tampered) -> None:
    for old, new in ((2, 99), (4, 2), (99, 4)):
        tampered.execute("UPDATE events SET position = ? WHERE position = ?", new, old)

    found = await tampered.found()

    assert "r1: its version is out of order" in found
    assert "r1: an event before it is missing, or it was inserted" in found


async def test_an_inserted_event_is_found(tampered: Tampered) -> None:
    columns = "tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash"
    tampered.execute(f"INSERT INTO events ({columns}) SELECT {columns} FROM events WHERE position = 2")

    assert "r1: an event before it is missing, or it was inserted" in await tampered.found()


async def test_a_well_forged_event_at_the_end_does_not_fit_the_record(tampered: Tampered) -> None:
    async with SqliteDatabase(tampered.path) as database:
        request = await SqliteStore(database).get(Request, "default", "r2")
    _, forged = request.cancelled("eve", NOON, "because")
    columns = "tenant, record, record_id, version, type, at, payload, payload_digest, previous, hash"
    tampered.execute(f"INSERT INTO events ({columns}) VALUES (?,?,?,?,?,?,?,?,?,?)", *event_to_row(forged))

    assert await tampered.found() == ["r2: its last events are missing"]


async def test_a_finding_says_where_it_is() -> None:
    store = MemoryStore()
    asked, event = a_request()
    await store.put(asked, event.model_copy(update={"type": "request.forged"}))

    _, (finding,) = await verify_store(store)

    assert finding == Finding("request", asked.key, "1", "it was changed")


async def test_equal_times_and_ids_in_many_tenants_do_not_confuse_the_audit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.audit.verify.BATCH", 2)
    store = MemoryStore()
    for n in range(7):
        await store_request(store, tenant=f"tenant-{n}")

    assert await verify_store(store) == (7, [])


async def test_a_renewed_lease_leaves_no_finding() -> None:
    store = MemoryStore()
    thread, event = a_thread()
    await store.put(thread, event)
    held, event = thread.acquired("worker", NOON, NOON - NOON.replace(hour=11))
    await store.put(held, event)
    await store.put(*held.renewed(held, NOON, NOON - NOON.replace(hour=11)))

    assert (await verify_store(store))[1] == []
