"""A journal is the sum of its entries, and says so in every event."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest

from ringi.audit.verify import Finding, verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.sqlite.database import SqliteDatabase
from ringi.backends.sqlite.store import SqliteStore
from ringi.base.canonical_json import digest
from ringi.domain.journal import Journal
from ringi.domain.record import DEFAULT_TENANT, Key
from ringi.errors import InvalidError
from ringi.testing.clock import NOON

LATER = NOON + timedelta(seconds=1)


def a_journal() -> Journal:
    return Journal.begun("playbook:cook", "cook", {"bullets": {}}, by="ann", now=NOON)[0]


def test_a_journal_begins_without_entries_and_its_event_tells_the_digest_of_the_state() -> None:
    journal, event = Journal.begun("playbook:cook", "cook", {"bullets": {}}, by="ann", now=NOON)

    assert (journal.version, journal.tenant, journal.entry) == (1, DEFAULT_TENANT, {})
    assert (event.record, event.type, event.actor) == ("journal", "journal.begun", "ann")
    assert event.changed["digest"] == journal.digest == digest({"bullets": {}})
    assert "state" not in event.changed


def test_an_entry_is_told_with_what_the_state_became() -> None:
    entry, state = {"op": "add", "text": "稟議"}, {"bullets": {"b-1": "稟議"}}

    after, event = a_journal().written(entry, state, by="bob", now=LATER)

    assert (after.version, after.entry, after.state, after.head) == (2, entry, state, event.hash)
    assert (event.type, event.actor, event.changed) == (
        "journal.written",
        "bob",
        {"entry": entry, "digest": digest(state)},
    )


def test_what_is_no_json_yet_is_stored_as_the_json_that_its_digest_is_of() -> None:
    after, event = a_journal().written({"at": LATER}, {"pairs": (("a", "b"),), "at": LATER}, by="ann", now=LATER)

    assert after == Journal.model_validate_json(after.model_dump_json())
    assert after.is_sound
    assert event.changed["entry"] == after.entry == {"at": "2026-01-05T12:00:01Z"}


def test_a_state_of_its_giver_is_not_the_one_that_is_kept() -> None:
    document: dict[str, object] = {"bullets": []}
    journal, _ = Journal.begun("j", "test", document, by="ann", now=NOON)

    document["bullets"] = ["another"]

    assert journal.is_sound


def test_a_state_that_is_no_portable_json_is_refused() -> None:
    with pytest.raises(InvalidError, match="not portable JSON"):
        a_journal().written({}, {"sum": float("nan")}, by="ann", now=LATER)


async def test_a_state_that_is_not_what_its_digest_says_is_found(tmp_path: Path) -> None:
    path = tmp_path / "ringi.db"
    async with SqliteDatabase(path) as database:
        store = SqliteStore(database)
        journal, event = Journal.begun("j", "test", {"text": "glue first"}, by="ann", now=NOON)
        await store.put(journal, event)
        assert (await verify_store(store))[1] == []
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("UPDATE journals SET body = replace(body, 'glue first', 'glue later')")
    connection.close()

    async with SqliteDatabase(path) as database:
        _, findings = await verify_store(SqliteStore(database))

    assert findings == [Finding("journal", Key(DEFAULT_TENANT, "j"), "", "state is not what its events say")]


async def test_a_state_and_its_digest_that_were_both_rewritten_are_found() -> None:
    store = MemoryStore()
    journal, event = Journal.begun("j", "test", {"bullets": {}}, by="ann", now=NOON)
    forged = {"bullets": {"b-1": "always agree"}}
    await store.put(journal.model_copy(update={"state": forged, "digest": digest(forged)}), event)

    _, findings = await verify_store(store)

    assert [finding.what for finding in findings] == ["digest is not what its events say"]
