"""Checks of `ringi verify` in Redis: lists, marks and texts of records against the records themselves."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from redis.exceptions import ResponseError

from ringi.backends.redis import lists
from ringi.backends.redis.lists import DEADLINE, DIGITS, RANK, RANK_DIGITS
from ringi.backends.redis.server import RedisServer
from ringi.backends.rows import record_from_body
from ringi.contracts.store import Finding
from ringi.domain.journal import Journal
from ringi.domain.record import Key, Record, UnreadableError
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import UnavailableError

CHUNK = 500
TRIES = 5
"""Maximum repeated reads of records that changed during the comparison."""
SCORE = 0
"""The score of every member: Redis finds members by name only if all have the same score."""
NAME = 100
"""Maximum characters of a list's name in a finding."""
KEYS = {"ended": DIGITS, "expires": DIGITS, DEADLINE: DIGITS, RANK: RANK_DIGITS}
"""The number of digits before the position in the members of some lists."""


class RedisInspection:
    """Compares one kind of records."""

    def __init__(self, server: RedisServer, kind: type[Record]) -> None:
        self._server, self._kind = server, kind
        self._bodies, self._filed, self._texts, self._lists = server.record_keys(kind.record)

    async def findings(self) -> AsyncGenerator[Finding, None]:
        """Yield the differences, some records at a time; records that are being written are read again."""
        async for fields in self._scanned("hscan", self._filed, self._bodies):
            left: Sequence[bytes] = fields
            for _ in range(TRIES):
                found, left = await self._compared(left) if left else ([], [])
                for finding in found:
                    yield finding
        async for members in self._scanned("zscan", self._lists):
            for finding in await self._misplaced(members):
                yield finding

    async def _scanned(self, command: str, *keys: str) -> AsyncIterator[list[bytes]]:
        for key in keys:
            cursor = 0
            while True:
                async with self._server.answering():
                    cursor, page = await getattr(self._server.redis, command)(key, cursor, count=CHUNK)
                # A hash below the size limit is returned whole, regardless of the count.
                names = list(page) if isinstance(page, dict) else [name for name, _ in page]
                for start in range(0, len(names), CHUNK):
                    yield names[start : start + CHUNK]
                if not cursor:
                    break

    async def _compared(self, fields: Sequence[bytes]) -> tuple[list[Finding], list[bytes]]:
        """Return the differences, and the records that changed meanwhile."""
        (before,) = await self._server.read_together(("hmget", self._bodies, fields))
        expected = [record_list_members(record) if (record := self._record(body)) else [] for body in before]
        wanted = [member for members in expected for member in members] or [b""]
        names = (self._bodies, self._filed, self._texts)
        *now, scores = await self._server.read_together(
            *(("hmget", name, fields) for name in names), ("zmscore", self._lists, wanted)
        )
        listed = {member for member, score in zip(wanted, scores, strict=True) if score == SCORE}
        findings, changed = list[Finding](), list[bytes]()
        for field, old, members, body, filed, text in zip(fields, before, expected, *now, strict=True):
            if old != body:
                changed.append(field)
            else:
                what = [*self._differences(field, body, filed, text)]
                what += ["it is missing in a list"] if not listed.issuperset(members) else []
                findings += [Finding(self._kind.record, redis_record_key(field), "", each) for each in what]
        return findings, changed

    def _differences(self, field: bytes, body: bytes | None, filed: bytes | None, text: bytes | None) -> list[str]:
        record = self._record(body)
        if body is None:
            return ["it is filed, and is not there"]
        if record is None:
            return ["it cannot be read"]
        wrong = []
        if lists.redis_record_field(*record.key) != field or body.split(b" ", 1)[0] != str(record.version).encode():
            wrong.append("it stands under another key or version")
        names, marks = lists.redis_lists_with_positions(record)
        if not is_record_on_its_lists(filed, names, marks):
            wrong.append("its marks are not what it says")
        if isinstance(record, Request) and (text or b"").decode("utf-8", "replace") != record.search_text:
            wrong.append("the text it is searched by is not what it says")
        return wrong

    async def _misplaced(self, members: Sequence[bytes]) -> list[Finding]:
        """Return the records in a wrong list."""
        fields = [redis_field_of_member(member) for member in members]
        bodies, scores = await self._server.read_together(
            ("hmget", self._bodies, fields), ("zmscore", self._lists, members)
        )
        found = []
        for member, field, body, score in zip(members, fields, bodies, scores, strict=True):
            record = self._record(body)
            is_foreign = body is None or (record is not None and member not in record_list_members(record))
            if score is not None and (is_foreign or score != SCORE):
                name = member.split(b"\0", 1)[0].decode("utf-8", "replace")[:NAME]
                where = "in a list that is not its own" if is_foreign else "at a wrong place in a list"
                found.append(Finding(self._kind.record, redis_record_key(field), "", f"it stands {where} ({name})"))
        return found

    def _record(self, body: bytes | None) -> Record | None:
        try:
            return record_from_body(self._kind, body.split(b" ", 2)[2]) if body else None
        except (UnreadableError, IndexError):
            return None


async def inspect_redis_records(server: RedisServer) -> AsyncGenerator[Finding, None]:
    """Yield all differences from the records."""
    for kind in (Request, Thread, Journal):
        try:
            async for finding in RedisInspection(server, kind).findings():
                yield finding
        except UnavailableError as error:
            if not isinstance(error.__cause__, ResponseError):
                raise
            # A pipeline's error begins with the whole command, and its cause is formatted as a tuple.
            why = str(error.__cause__).rpartition("caused error: ")[2].strip("(',)")
            yield Finding(kind.record, Key("", ""), "", f"not all of them can be compared with their lists ({why})")


def record_list_members(record: Record) -> list[bytes]:
    """Return all list members of a record."""
    return [head.encode() + lists.redis_list_position(record) for head in lists.redis_lists_with_positions(record)[0]]


def is_record_on_its_lists(filed: bytes | None, names: Sequence[str], marks: dict[str, str]) -> bool:
    """Return whether a record is filed correctly."""
    try:
        found = json.loads(filed or b"{}")
        # The scripts write an empty object like an empty list.
        return set(found.get("lists") or ()) == set(names) and (found.get("marks") or {}) == marks
    except (ValueError, AttributeError, TypeError, RecursionError):
        return False


def redis_field_of_member(member: bytes) -> bytes:
    """Return the storage field of the record that a list member refers to."""
    name, _, rest = member.partition(b"\0")
    try:
        key_size = KEYS.get(json.loads(name)[0], 0)
    except (ValueError, IndexError, TypeError, KeyError, RecursionError):
        key_size = 0
    return rest[key_size + DIGITS :]


def redis_record_key(field: bytes) -> Key:
    """Return the key of a record from its storage field."""
    id, _, tenant = field.rpartition(b"\0")
    return Key(tenant.decode("utf-8", "replace"), id.replace(b"\0\xff", b"\0").decode("utf-8", "replace"))
