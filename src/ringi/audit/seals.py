"""Seals: what all events together are at a time, signed with a key that is not in the store."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ringi.base.canonical_json import canonical, jsonable
from ringi.contracts.store import Store
from ringi.domain.record import START, Event, Frozen, Position

BATCH = 100
"""Small: everything else stands still while a batch is read in."""


class Seal(Frozen):
    """The first `count` events, in the order of the feed, as one number."""

    count: int
    head: str
    position: Position
    at: datetime
    signature: str = ""

    def signed(self, key: str) -> Seal:
        """Return it with the signature by a key."""
        return self.model_copy(update={"signature": self._signature(key)})

    def is_by(self, key: str) -> bool:
        """Whether this key signed exactly this."""
        return hmac.compare_digest(self.signature.encode(), self._signature(key).encode())

    def _signature(self, key: str) -> str:
        text = canonical(jsonable(self.model_dump(exclude={"signature"})))
        return hmac.new(key.encode(), text, hashlib.sha256).hexdigest()


class Walk:
    """All events as one chain, as far as they were walked."""

    def __init__(self, count: int = 0, head: str = "", position: Position = START) -> None:
        self.count, self.head, self.position = count, head, position

    async def on(self, store: Store, each: Callable[[], None] = lambda: None) -> bool:
        """Walk on to what is the end now, and return whether there was anything new; `each` is called after each."""
        before, end = self.count, await store.tail()
        while self.position != end and (events := await store.events(self.position, BATCH)):
            for event in events:
                self._take(event)
                each()
                if event.position == end:
                    break
        return self.count > before

    def _take(self, event: Event) -> None:
        # The position is left out: a copy in another cluster may number anew, but not in another order.
        linked = hashlib.sha256(f"{self.head}\n{event.hash}".encode()).hexdigest()
        self.count, self.head, self.position = self.count + 1, linked, event.position


class Sealer:
    """Writes a seal to a file whenever there is something new."""

    def __init__(self, store: Store, path: Path, key: str, clock: Callable[[], datetime]) -> None:
        self._store, self._path, self._key, self._clock = store, path, key, clock
        last = next((seal for seal in reversed(read_seals(path)) if seal.is_by(key)), None)
        self._walk = Walk(last.count, last.head, last.position) if last else Walk()
        self._one_at_a_time = asyncio.Lock()

    async def seal(self) -> None:
        """Seal what has happened since the last time."""
        async with self._one_at_a_time:
            if not await self._walk.on(self._store):
                return
            seal = Seal(count=self._walk.count, head=self._walk.head, position=self._walk.position, at=self._clock())
            # A line break on both sides: what was cut short before must not swallow this one.
            await asyncio.to_thread(self._append, f"\n{seal.signed(self._key).model_dump_json()}\n")

    def _append(self, line: str) -> None:
        with os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


class Verdict(NamedTuple):
    """What seals say of a store."""

    findings: list[str]
    sealed: int
    """Events that are as they were when they were sealed."""
    later: int
    """Events after the last seal: of these no seal says anything."""


def read_seals(path: Path) -> list[Seal]:
    """Return the seals of a file, none where it is not there. A line that is no seal says nothing, and is left out."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    return [seal for seal in map(parsed_seal, lines) if seal]


def parsed_seal(line: str) -> Seal | None:
    """Return the seal of a line, None for one that was cut short when a disk was full or the power went."""
    try:
        return Seal.model_validate_json(line)
    except ValidationError:
        return None


async def compare(store: Store, seals: Sequence[Seal], key: str) -> Verdict:
    """Compare the events with seals that were kept elsewhere.

    Up to the last seal it finds one byte that was edited, deleted, moved, inserted or cut off, together with the plain
    check of each event.
    """
    findings = [f"{told(seal)} is not by this key" for seal in seals if not seal.is_by(key)]
    # Two servers may have sealed as many events each: both must be right.
    own = sorted((seal for seal in seals if seal.is_by(key)), key=lambda seal: seal.count)
    counts, walk, heads = {seal.count for seal in own}, Walk(), dict[int, str]()

    def remember() -> None:
        if walk.count in counts:
            heads[walk.count] = walk.head

    await walk.on(store, remember)
    broken = next((seal for seal in own if heads.get(seal.count) != seal.head), None)
    if broken:
        findings.append(broken_by(broken, walk.count))
    sealed = max((count for count in counts if not broken or count < broken.count), default=0)
    return Verdict(findings, sealed, max(0, walk.count - max(counts, default=0)))


def told(seal: Seal) -> str:
    """Return how a seal is named to people."""
    return f"the seal of {seal.at:%Y-%m-%d %H:%M:%S} over {seal.count} events"


def broken_by(seal: Seal, count: int) -> str:
    """Return what a seal says of events that are not those it was put on."""
    if count < seal.count:
        return f"{told(seal)} finds only {count}: the others are missing"
    return f"{told(seal)} is broken: one of them was changed, moved, inserted or deleted"
