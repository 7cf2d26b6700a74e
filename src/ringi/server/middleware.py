"""The outermost middleware: security checks, security headers, and the log of what auditors read."""

from __future__ import annotations

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from http import HTTPStatus
from typing import Any

from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ringi.base.bounded import Bounded
from ringi.contracts.backend import Backend
from ringi.domain.record import Key
from ringi.errors import RingiError, UnavailableError
from ringi.inbox import tracing
from ringi.inbox.journals import EntryAndState, write_entry
from ringi.server.auth.authenticator import NEW_COOKIES, READERS, Principal, server_base_path
from ringi.server.identity import public_url
from ringi.server.message_parts import MAX_ENCODED_IMAGES
from ringi.server.problems import problem_response
from ringi.server.refusals import MalformedError, RefusalError
from ringi.server.schemas import MAX_BODY
from ringi.server.settings import ServerSettings

LOG = "access-log"
"""The id of the journal, in each tenant."""
WINDOW_SECONDS = 900.0
"""Within this time, a repeated read by the same person is not recorded again."""
CACHE_SIZE = 10_000
UNRECORDED = frozenset({"/v1/session", "/v1/info", "/v1/requests/counts"})
"""Routes that return nothing of a request or a thread."""
RECORDED_PARAMETERS = ("request_id", "thread_id")
"""The query parameters that name a record. Others, such as a search, may contain personal data."""
Caller = tuple[str, str, str]
"""Tenant, role and name."""


class AuditorReadLog:
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

    def __init__(self, log: AuditorReadLog, scope: Scope, send: Send) -> None:
        self._log, self._scope, self._send, self._is_refused = log, scope, send, False
        # The authentication adds an auditor.
        self._readers = scope[READERS] = list[Principal]()

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
    path = str(scope["path"]).removeprefix(server_base_path(scope))
    parameters = QueryParams(scope["query_string"])
    named = [f"{name}={parameters[name]}" for name in RECORDED_PARAMETERS if name in parameters]
    return f"{path}?{'&'.join(named)}" if named else path


log = logging.getLogger(__name__)
LOOPBACK = frozenset({"localhost", "127.0.0.1", "[::1]"})
HEAD = "ringi.head"
"""Scope key of a HEAD call that is handled as GET."""
SEND = "ringi.send"
"""Scope key of the server's own `send`: for streams, the layers between cost as much as sending."""
CALLER, REPLY_BYTES = "ringi.caller", "ringi.reply_bytes"
"""Keys of a call's state: who calls, and the size of the reply's last part."""
MAX_BODIES = 64 * 1024 * 1024
"""Bytes of bodies that one caller may send at the same time, in calls that are not answered yet."""
MAX_SIGN_IN = 16 * 1024
"""Maximum body size of a sign-in, which is read before the caller is known."""
UPLOAD = re.compile(r"/v1/requests/[^/]+/attachments")
CHATS = ("/v1/chat", "/agui/")
RUNS = re.compile(r"/(?:v1|langgraph)/threads/[^/]+/runs(?:/[a-z]+)?")
SET_COOKIE = b"set-cookie"
WRITES = frozenset({"POST", "PUT", "PATCH", "DELETE"})
NO_STORE = (b"cache-control", b"no-store")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)
SECURITY = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
TLS_SECURITY = [*SECURITY, (b"strict-transport-security", b"max-age=31536000")]


class SecurityMiddleware:
    """Checks host, body and media type before the application; failures produce only problem documents."""

    def __init__(self, app: ASGIApp, settings: ServerSettings, log: AuditorReadLog) -> None:
        self._app, self._settings, self._log = app, settings, log
        self._is_public_tls = (public_url() or "").startswith("https:")
        self._hosts = LOOPBACK | {host.lower() for host in settings.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on one call, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        cookies = scope[NEW_COOKIES] = list[bytes]()
        # Below another application's path, the host is that application's.
        is_tls_only = (self._is_public_tls or scope["scheme"] == "https") and not server_base_path(scope)
        sender = ResponseSender(scope, send, cookies, is_head=scope["method"] == "HEAD", is_tls_only=is_tls_only)
        try:
            receive = self._check_call(scope, receive)
            scope[SEND] = send
            if sender.is_head:
                scope = {**scope, "method": "GET", HEAD: True}
            parent = tracing.incoming(scope["headers"])
            with tracing.within(parent) if parent else nullcontext():
                await self._app(scope, receive, RecordingSender(self._log, scope, sender))
        except Exception as error:
            if not isinstance(error, RingiError):
                log.exception("%s %s failed", scope["method"], scope["path"])
            if not sender.is_started:
                await problem_response(error)(scope, receive, sender)

    def _check_call(self, scope: Scope, receive: Receive) -> Receive:
        self._check_host([value for name, value in scope["headers"] if name == b"host"])
        if scope["method"] not in WRITES:
            return receive
        headers: dict[bytes, bytes] = dict(reversed(scope["headers"]))  # The first of several counts.
        refuse_other_than_json_body(headers)
        length = headers.get(b"content-length", b"0")
        limit = self._limit(scope["path"].removeprefix(server_base_path(scope)))
        if not length.isdigit() or int(length[:20]) > limit:
            raise body_too_large_error(limit)
        return LimitedBody(receive, limit)

    def _limit(self, path: str) -> int:
        if path == "/v1/session":
            return MAX_SIGN_IN
        if UPLOAD.fullmatch(path):
            return max(MAX_BODY, self._settings.max_body)
        if path.startswith(CHATS):
            # For the whole history, and the newest message.
            return self._settings.max_history + 2 * MAX_ENCODED_IMAGES
        return self._settings.max_body + (MAX_ENCODED_IMAGES if RUNS.fullmatch(path) else 0)

    def _check_host(self, hosts: list[bytes]) -> None:
        if len(hosts) != 1:
            raise MalformedError(f"the call has {len(hosts)} Host headers: send exactly one")
        host = hosts[0].decode("latin-1")
        if re.sub(r":[0-9]+\Z", "", host.lower()) not in self._hosts:
            what = f"host {host!r} is not allowed: use a host name with which the server was started"
            raise RefusalError(421, "host", what)


def body_too_large_error(limit: int) -> RefusalError:
    """Return the error of a body above the limit."""
    return RefusalError(413, "too_large", f"the body is larger than {limit} bytes: send less data, or a link to it")


def refuse_other_than_json_body(headers: Mapping[bytes, bytes]) -> None:
    """Raise `RefusalError` for a body that is not JSON: forms of other sites cannot send JSON."""
    media_type = headers.get(b"content-type")
    has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
    if media_type is None and not has_body:
        return
    text = (media_type or b"").decode("latin-1")
    if text.partition(";")[0].strip().lower() != "application/json":
        what = f"content type {text!r} is not supported: send application/json"
        raise RefusalError(415, "media_type", what)


class LimitedBody:
    """A body that is cut off at the limit, regardless of its announced length."""

    __slots__ = ("_left", "_limit", "_receive")

    def __init__(self, receive: Receive, limit: int) -> None:
        self._receive, self._left, self._limit = receive, limit, limit

    async def __call__(self) -> Message:
        """Return the next part, or raise `RefusalError` above the limit."""
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            raise body_too_large_error(self._limit)
        return message


class BodyOfCaller:
    """The body of one call: beyond what its caller sends in other calls at the same time, it is refused.

    Args:
        held: The bytes of each caller's calls that are not answered yet.
        caller: The caller.
        check: Raises if the caller may no longer call; it is called with each part.
        receive: Returns the parts of the body.
        send: Sends the parts of the reply.
    """

    __slots__ = ("_caller", "_check", "_held", "_own", "_receive", "_send")

    def __init__(
        self, held: dict[Caller, int], caller: Caller, check: Callable[[], object], receive: Receive, send: Send
    ) -> None:
        self._held, self._caller, self._own = held, caller, 0
        self._check, self._receive, self._send = check, receive, send

    async def receive(self) -> Message:
        """Return the next part, or raise `UnavailableError` above the limit."""
        message = await self._receive()
        if message["type"] != "http.request":
            return message
        self._check()
        size = len(message.get("body", b""))
        self._own += size
        sent = self._held[self._caller] = self._held.get(self._caller, 0) + size
        if MAX_BODIES < sent != self._own:
            what = f"{self._caller[2]!r} sends more than {MAX_BODIES} bytes at once: send one call after another"
            raise UnavailableError(what, 1, code="limit")
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the reply, which ends the use of the body."""
        if self._own:
            self.end()
        await self._send(message)

    def end(self) -> None:
        """Forget the body."""
        if self._own:
            self._held[self._caller] -= self._own
            self._own = 0
            if not self._held[self._caller]:
                del self._held[self._caller]


class ResponseSender:
    """A reply with the common headers, and without a body for HEAD."""

    __slots__ = ("_common", "_cookies", "_send", "_state", "is_head", "is_started")

    def __init__(self, scope: Scope, send: Send, cookies: list[bytes], *, is_head: bool, is_tls_only: bool) -> None:
        self._send, self._cookies, self.is_head, self.is_started = send, cookies, is_head, False
        self._state = scope.setdefault("state", {})
        self._common = TLS_SECURITY if is_tls_only else SECURITY

    async def __call__(self, message: Message) -> None:
        """Send one part."""
        if message["type"] == "http.response.start":
            self.is_started = True
            own = list(message.get("headers", ()))
            names = [name for name, _ in own]
            cookies = [] if SET_COOKIE in names else [(SET_COOKIE, cookie) for cookie in self._cookies]
            is_cached = NO_STORE[0] in names or message["status"] == HTTPStatus.NOT_MODIFIED
            headers = [*own, *cookies, *self._common, *([] if is_cached else [NO_STORE])]
            message = {**message, "headers": headers}
        elif self.is_head:
            message = {**message, "body": b""}
        else:
            self._state[REPLY_BYTES] = len(message.get("body", b""))
        await self._send(message)
