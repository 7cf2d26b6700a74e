"""The access log: which auditor read what and when, as entries of a journal in the audit trail."""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableSequence
from typing import Any

from starlette.datastructures import QueryParams
from starlette.types import Message, Scope, Send

from ringi.base.bounded import Bounded
from ringi.contracts.backend import Backend
from ringi.domain.record import Key
from ringi.errors import RingiError
from ringi.inbox.journals import EntryAndState, write_entry
from ringi.server.auth.authenticator import READERS, Principal, base_of
from ringi.server.problems import problem_response

LOG = "access-log"
"""The id of the journal, in each tenant."""
WINDOW_SECONDS = 900.0
"""Within this time, a repeated read by the same person is not recorded again."""
CACHE_SIZE = 10_000
UNRECORDED = frozenset({"/v1/session", "/v1/info", "/v1/requests/counts"})
"""Routes that return nothing of a request or a thread."""
RECORDED_PARAMETERS = ("request_id", "thread_id")
"""The query parameters that name a record. Others, such as a search, may contain personal data."""


class AccessLog:
    """Records reads durably before their replies are sent: one entry for each person, path and quarter of an hour."""

    def __init__(self, backend: Backend) -> None:
        self._store, self._clock = backend.store, backend.clock
        self._recorded = Bounded[tuple[Key, str], float](CACHE_SIZE)
        self._pending: dict[Key, dict[str, None]] = {}
        self._writing = asyncio.Lock()

    async def record(self, reader: Principal, path: str) -> None:
        """Record one read.

        Args:
            reader: The auditor.
            path: The path of the call, with the parameters that name a record.
        """
        who = Key(reader.tenant, reader.name)
        if path in UNRECORDED or self._is_recorded(who, path):
            return
        self._pending.setdefault(who, {})[path] = None
        # Reads that arrive during a write are saved together by the next one.
        async with self._writing:
            if self._is_recorded(who, path):
                return
            paths = [each for each in {path: None} | self._pending.pop(who, {}) if not self._is_recorded(who, each)]
            await self._save(who, paths)
            for each in paths:
                self._recorded[who, each] = time.monotonic()

    def _is_recorded(self, who: Key, path: str) -> bool:
        at = self._recorded.get((who, path))
        return at is not None and time.monotonic() - at < WINDOW_SECONDS

    async def _save(self, who: Key, paths: list[str]) -> None:
        def make(state: dict[str, Any]) -> EntryAndState:
            return {"read": paths}, {"reads": state["reads"] + len(paths)}

        await write_entry(self._store, Key(who.tenant, LOG), {"reads": 0}, make, by=who.id, now=self._clock())


class RecordingSender:
    """Sends a reply, after the read is recorded; if that fails, an error in its place."""

    __slots__ = ("_is_refused", "_log", "_readers", "_scope", "_send")

    def __init__(self, log: AccessLog, readers: MutableSequence[Principal], scope: Scope, send: Send) -> None:
        self._log, self._readers, self._scope, self._send = log, readers, scope, send
        self._is_refused = False

    async def __call__(self, message: Message) -> None:
        """Send one part."""
        if self._readers and message["type"] == "http.response.start" and message["status"] < 400:
            try:
                await self._log.record(self._readers[0], recorded_path(self._scope))
            except RingiError as error:
                self._is_refused = True
                await problem_response(error)(self._scope, _nothing, self._send)
        if not self._is_refused:
            await self._send(message)


async def _nothing() -> Any:
    """Receive nothing: an error needs no body."""


def recorded_path(scope: Scope) -> str:
    """Return the path of a call for the log, with the parameters that name a record."""
    path = str(scope["path"]).removeprefix(base_of(scope))
    parameters = QueryParams(scope["query_string"])
    named = [f"{name}={parameters[name]}" for name in RECORDED_PARAMETERS if name in parameters]
    return f"{path}?{'&'.join(named)}" if named else path


def with_access_log(log: AccessLog, scope: Scope, send: Send) -> Send:
    """Return a `send` that records the read of an auditor, whom the authentication adds to the scope."""
    readers: list[Principal] = []
    scope[READERS] = readers
    return RecordingSender(log, readers, scope, send)
