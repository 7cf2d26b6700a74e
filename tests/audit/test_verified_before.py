"""`ringi verify --expect` goes on from the last seal up to which it found everything intact."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.audit.test_seals import Sealed
from tests.cli.desk import Desk
from tests.cli.test_commands import ringi

from ringi.audit.seals import VerifiedSeals, read_seals
from ringi.audit.verify import Finding
from ringi.base.canonical_json import sha256_of_text
from ringi.cli import verification
from ringi.cli.verification import verify_with_seals

KEY = "the key of the seals"


@pytest.fixture
async def sealed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sealed:
    """Two events and their seal; this process is the one who verifies."""
    monkeypatch.setenv("RINGI_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RINGI_SEAL_KEY", KEY)
    sealed = Sealed(tmp_path)
    await sealed.asked("a", "b")
    await sealed.seal(KEY)
    return sealed


async def verified(sealed: Sealed, path: Path | None = None, *, is_anew: bool = False) -> tuple[int, int, int | None]:
    """Return the events that were read, the number of findings, and the number of events that were intact before."""
    url = f"sqlite:///{path or sealed.path}"
    done = await verify_with_seals(url, [sealed.seals], is_anew=is_anew)
    wrong = len(done.findings) + len(done.seals.findings)
    return done.events, wrong, done.since.count if done.since else None


async def test_only_what_is_newer_than_the_seal_is_read(sealed: Sealed) -> None:
    assert await verified(sealed) == (2, 0, None)
    assert await verified(sealed) == (0, 0, 2)
    await sealed.asked("c")
    assert await verified(sealed) == (1, 0, 2)
    await sealed.seal(KEY)
    assert await verified(sealed) == (1, 0, 2)
    assert await verified(sealed) == (0, 0, 3)
    assert await verified(sealed, is_anew=True) == (3, 0, None)


async def test_what_is_newer_is_checked_with_its_whole_history(sealed: Sealed) -> None:
    await verified(sealed)
    async with sealed.inbox() as inbox:
        await inbox.respond(await inbox.get("a"), "approve", by="ann")
    sealed.execute("UPDATE requests SET body = replace(body, 'Refund?', 'Gift?') WHERE id = 'a'")
    assert await verified(sealed) == (1, 1, 2)


@pytest.mark.parametrize(
    "fault",
    [
        "UPDATE events SET payload = replace(payload, 'Refund?', 'Gift?') WHERE record_id = 'a'",
        "UPDATE requests SET body = replace(body, 'Refund?', 'Gift?') WHERE id = 'b'",
    ],
)
async def test_what_was_changed_after_it_was_verified_is_found_anew_only(sealed: Sealed, fault: str) -> None:
    await verified(sealed)
    sealed.execute(fault)
    assert await verified(sealed) == (0, 0, 2)
    assert (await verified(sealed, is_anew=True))[1] > 0


@pytest.mark.parametrize(
    "fault", ["DELETE FROM events WHERE record_id = 'a'", "UPDATE events SET hash = 'x' WHERE record_id = 'a'"]
)
async def test_a_missing_or_another_event_is_found_in_any_case(sealed: Sealed, fault: str) -> None:
    await verified(sealed)
    await sealed.asked("c")
    sealed.execute(fault)
    _, wrong, since = await verified(sealed)
    assert wrong > 0
    assert since is None, "nothing counts as intact any more"


async def test_a_copy_is_another_store(sealed: Sealed, tmp_path: Path) -> None:
    await verified(sealed)
    copy = Path(shutil.copy(sealed.path, tmp_path / "copy.db"))
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE requests SET body = replace(body, 'Refund?', 'Gift?') WHERE id = 'a'")
    events, wrong, since = await verified(sealed, copy)
    assert (events, since, wrong > 0) == (2, None, True)


async def test_a_seal_that_others_wrote_counts_for_nothing(sealed: Sealed, tmp_path: Path) -> None:
    (seal,) = read_seals(sealed.seals)
    path, url = tmp_path / "home" / "verified.jsonl", f"sqlite:///{sealed.path}"
    others = VerifiedSeals(path, url, "another key")
    for forged in (seal, seal.model_copy(update={"count": 1}), seal.signed("another key")):
        path.unlink(missing_ok=True)
        others.keep(forged)
        assert (await verified(sealed))[2] is None


async def test_a_right_seal_that_nobody_verified_counts_for_nothing(sealed: Sealed, tmp_path: Path) -> None:
    (seal,) = read_seals(sealed.seals)
    sealed.execute("UPDATE events SET payload = replace(payload, 'Refund?', 'Gift?') WHERE record_id = 'a'")
    path = tmp_path / "home" / "verified.jsonl"
    path.parent.mkdir()
    store = sha256_of_text(f"sqlite:///{sealed.path}".encode())
    for mark in (store, seal.signature, seal.head, "", "é"):
        path.write_text(f"{mark} {seal.model_dump_json()}\n")
        events, wrong, since = await verified(sealed)
        assert (events, wrong > 0, since) == (2, True, None)


async def test_what_was_verified_of_one_store_does_not_count_for_another(sealed: Sealed, tmp_path: Path) -> None:
    await verified(sealed)
    copy = Path(shutil.copy(sealed.path, tmp_path / "copy.db"))
    assert await verified(sealed, copy) == (2, 0, None)
    for path in (sealed.path, copy):
        assert await verified(sealed, path) == (0, 0, 2), "the place in each is kept"


async def test_a_file_that_is_no_list_of_seals_counts_for_nothing(sealed: Sealed, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "verified.jsonl").write_text("x\n\n{} {}\n")
    assert await verified(sealed) == (2, 0, None)


async def test_a_store_with_findings_is_verified_again(sealed: Sealed) -> None:
    sealed.execute("UPDATE requests SET body = replace(body, 'Refund?', 'Gift?') WHERE id = 'a'")
    for _ in range(2):
        events, wrong, since = await verified(sealed)
        assert (events, wrong > 0, since) == (2, True, None)


async def test_many_events_are_checked_in_two_processes(sealed: Sealed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "MANY", 1)
    assert await verified(sealed) == (2, 0, None)
    sealed.execute("UPDATE requests SET kind = 'other' WHERE id = 'a'")
    done = await verify_with_seals(f"sqlite:///{sealed.path}", [], is_anew=False)
    assert any("kind" in finding.what for finding in done.findings), done.findings
    assert isinstance(done.findings[0], Finding)


async def test_the_command_says_what_was_verified_before(sealed: Sealed, tmp_path: Path) -> None:
    desk = Desk(tmp_path)

    def verify(*options: str) -> str:
        done = ringi(desk, "verify", "--expect", str(sealed.seals), *options)
        assert done.returncode == 0, done
        return done.stdout

    assert "2 events, 0 findings" in await asyncio.to_thread(verify)
    again = await asyncio.to_thread(verify)
    assert "0 events, 0 findings\n2 earlier events were intact when they were sealed at 20" in again
    data = json.loads(await asyncio.to_thread(verify, "--json"))
    assert (data["events"], data["since"]["events"]) == (0, 2)
    assert "since" not in json.loads(await asyncio.to_thread(verify, "--json", "--all"))
