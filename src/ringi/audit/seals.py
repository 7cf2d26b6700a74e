"""Seals: the digest of all events at one time, signed with a key that is not in the store."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ringi.base.canonical_json import canonical, jsonable, sha256_of_text
from ringi.base.model import StrictModel
from ringi.contracts.store import Store
from ringi.domain.record import START, Position

BATCH = 100
"""The number of events in a batch. It is small, because reading a batch blocks everything else."""


class Seal(StrictModel):
    """The digest of the first `count` events, in the order of the feed."""

    count: int
    head: str
    position: Position
    at: datetime
    signature: str = ""

    def signed(self, key: str) -> Seal:
        """Return the seal with a signature by this key."""
        return self.model_copy(update={"signature": self._signature(key)})

    def is_by(self, key: str) -> bool:
        """Return whether this key signed exactly this seal."""
        return hmac.compare_digest(self.signature.encode(), self._signature(key).encode())

    def _signature(self, key: str) -> str:
        return json_signature(key, jsonable(self.model_dump(exclude={"signature"})))


def json_signature(key: str, value: object) -> str:
    """Return the HMAC of plain JSON by a key, as hex digits."""
    return hmac.new(key.encode(), canonical(value), hashlib.sha256).hexdigest()


class DigestChain:
    """Chains the digest over all events that it has read."""

    def __init__(self, count: int = 0, head: str = "", position: Position = START) -> None:
        self.count, self.head, self.position = count, head, position

    async def read_new(self, store: Store, each: Callable[[], None] = lambda: None) -> bool:
        """Read to the present end and return whether there were new events; `each` is called after each event."""
        before, end = self.count, await store.tail()
        while self.position != end and (hashes := await store.hashes(self.position, BATCH)):
            for position, hash in hashes:
                # Without the position: a copy in another cluster may number events differently, but not reorder them.
                linked = hashlib.sha256(f"{self.head}\n{hash}".encode()).hexdigest()
                self.count, self.head, self.position = self.count + 1, linked, position
                each()
                if position == end:
                    break
        return self.count > before


class Sealer:
    """Writes a seal to a file whenever there are new events."""

    def __init__(self, store: Store, path: Path, key: str, clock: Callable[[], datetime]) -> None:
        self._store, self._path, self._key, self._clock = store, path, key, clock
        last = next((seal for seal in reversed(read_seals(path)) if seal.is_by(key)), None)
        self._walk = DigestChain(last.count, last.head, last.position) if last else DigestChain()
        self._one_at_a_time = asyncio.Lock()

    async def seal(self) -> None:
        """Seal the events since the last seal."""
        async with self._one_at_a_time:
            if not await self._walk.read_new(self._store):
                return
            seal = Seal(count=self._walk.count, head=self._walk.head, position=self._walk.position, at=self._clock())
            # A line break on both sides: an earlier truncated line must not merge with this one.
            await asyncio.to_thread(self._append, f"\n{seal.signed(self._key).model_dump_json()}\n")

    def _append(self, line: str) -> None:
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


class SealReport(NamedTuple):
    """The result of comparing seals with a store."""

    findings: list[str]
    sealed: int
    """The number of events that are unchanged since they were sealed."""
    later: int
    """The number of events after the last seal, which no seal covers."""


def read_seals(path: Path) -> list[Seal]:
    """Return the seals of a file; none if the file does not exist. Invalid lines are skipped."""
    found: list[Seal] = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with suppress(ValidationError):  # A full disk or a power failure may have truncated the line.
            found.append(Seal.model_validate_json(line))
    return found


class VerifiedSeals:
    """The seals up to which a store was found intact, in a file of the one who verifies.

    Each line is signed for this purpose: a seal says that events were there, not that anybody verified them. So nobody
    without the key can have a part of the store skipped.

    Args:
        path: The file.
        store: The URL of the store; a copy of it is another store.
        key: The key of the seals.
    """

    def __init__(self, path: Path, store: str, key: str) -> None:
        self._path, self._store, self._key = path, sha256_of_text(store.encode()), key

    def seals(self) -> list[Seal]:
        """Return the seals of this store that were kept with the key."""
        return [seal for mark, seal in self._lines() if hmac.compare_digest(mark.encode(), self._mark(seal).encode())]

    def keep(self, seal: Seal) -> None:
        """Keep a seal in place of the others of this store."""
        lines = [(mark, each) for mark, each in self._lines() if mark != self._mark(each)]
        text = "".join(f"{mark} {each.model_dump_json()}\n" for mark, each in [*lines, (self._mark(seal), seal)])
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(f".{os.getpid()}")
        new.write_text(text, "utf-8")
        new.replace(self._path)

    def _lines(self) -> Iterator[tuple[str, Seal]]:
        for line in self._path.read_text("utf-8").splitlines() if self._path.exists() else ():
            mark, _, text = line.partition(" ")
            with suppress(ValidationError):
                yield mark, Seal.model_validate_json(text)

    def _mark(self, seal: Seal) -> str:
        return json_signature(self._key, ["verified", self._store, jsonable(seal)])


async def compare_events_with_seals(store: Store, seals: Sequence[Seal], key: str) -> SealReport:
    """Compare the events with seals that were stored elsewhere.

    Together with the check of each event, this detects any byte that was edited, deleted, moved, inserted or cut off up
    to the last seal.

    Args:
        store: The store to compare.
        seals: The seals, in any order.
        key: The key that signed the seals.

    Returns:
        The findings, and the numbers of sealed and of later events.
    """
    return (await match_events_with_seals(store, seals, key))[0]


async def match_events_with_seals(
    store: Store, seals: Sequence[Seal], key: str
) -> tuple[SealReport, dict[int, Position]]:
    """Do the same, and return also the position in this store of the last event of each seal, by its count."""
    findings = [f"{describe_seal(seal)} is not by this key" for seal in seals if not seal.is_by(key)]
    # Two servers may have sealed the same number of events: both seals must match.
    own = sorted((seal for seal in seals if seal.is_by(key)), key=lambda seal: seal.count)
    counts, walk, heads = {seal.count for seal in own}, DigestChain(), dict[int, str]()
    positions = dict[int, Position]()

    def remember() -> None:
        if walk.count in counts:
            heads[walk.count], positions[walk.count] = walk.head, walk.position

    await walk.read_new(store, remember)
    broken = next((seal for seal in own if heads.get(seal.count) != seal.head), None)
    if broken and walk.count < broken.count:
        findings.append(f"{describe_seal(broken)} finds only {walk.count}: the others are missing")
    elif broken:
        findings.append(f"{describe_seal(broken)} is broken: one of them was changed, moved, inserted or deleted")
    sealed = max((count for count in counts if not broken or count < broken.count), default=0)
    return SealReport(findings, sealed, max(0, walk.count - max(counts, default=0))), positions


def describe_seal(seal: Seal) -> str:
    """Return the text that identifies a seal in messages."""
    return f"the seal of {seal.at:%Y-%m-%d %H:%M:%S} over {seal.count} events"
