"""HTTP calls to one server, retried while that is safe; error replies become the errors of the inbox."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

import httpx

from ringi import errors
from ringi.base.canonical_json import canonical
from ringi.base.clock import retry_after_seconds, utc_now
from ringi.base.settings import SettingError
from ringi.errors import ConflictError, FieldError, LostReplyError, NotFoundError, RingiError, UnavailableError
from ringi.inbox import tracing
from ringi.inbox.lifetime import Lifetime

log = logging.getLogger(__name__)
HELD_BACK = (
    "%s of %s has sent nothing for %.0f s: a proxy probably holds back event streams, or the connection is dead; "
    "reading every %.0f s until the stream passes"
)
NO_POSITION = (
    "the reply to {url} has no Last-Event-ID header: use a server of the same version, and a proxy that passes it"
)
GRACE_SECONDS = 10.0
"""Seconds that a server may take for a reply, beyond the delay that the client requested."""
SILENCE_SECONDS = 30.0
"""Seconds that a stream may be silent: a server sends a heartbeat every 15 s."""
POLL_SECONDS = 5.0
"""Seconds between two reads of what a silent stream holds back; each is followed by another try of the stream."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError, httpx.ProxyError)
GATEWAY = (502, 504)
"""Status codes of a proxy whose server did not answer; the call may have arrived."""


@dataclass(frozen=True)
class ApiCall:
    """A request to the server, with the details for error messages."""

    method: str
    path: str
    id: str = ""
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    is_repeatable: bool = True
    """True if sending it twice has the same effect as sending it once."""
    kind: str = "request"
    """The kind of object that the id identifies."""
    is_raw: bool = False
    """True if the reply is not JSON."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """The connections to one server, with one token."""

    def __init__(self, url: str, token: str, retry_for: float) -> None:
        if not url.startswith(("http://", "https://")) or not urlsplit(url).hostname:
            raise SettingError("url", url, "give the address of a server, such as https://inbox.example.com")
        self.url, self._retry_for = url.rstrip("/"), retry_for
        if self.url.endswith("/v1"):
            raise SettingError("url", url, f"leave out /v1: give {self.url.removesuffix('/v1')}")
        # A hundred waits would occupy the whole default pool and block all other calls.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self.lifetime = Lifetime("client")
        self._http = httpx.AsyncClient(headers={"authorization": f"Bearer {token.strip()}"}, limits=limits)

    async def close(self) -> None:
        """Close all connections; waiters get `ClosedError`."""
        if not self.lifetime.is_elsewhere:
            self.lifetime.abort()
            await self._http.aclose()

    async def end(self, call: ApiCall) -> None:
        """Make a call after which something no longer exists."""
        try:
            await self.call(call)
        except LostReplyError:
            # The first attempt may have ended it.
            with suppress(NotFoundError):
                await self.call(call)

    async def pages(self, call: ApiCall, limit: int) -> dict[str, Any]:
        """Return the items of a list from as many pages as the server makes of it, and the cursor of the next page.

        Args:
            call: The call of the first page.
            limit: The maximum number of items.
        """
        items, params = list[Any](), dict(call.params)
        while len(items) < limit:
            page = await self.call(replace(call, params={**params, "limit": limit - len(items)}))
            items += page["items"]
            params["cursor"] = page["next"]
            if page["next"] is None:
                break
        return {"items": items, "next": params.get("cursor")}

    async def call(self, call: ApiCall, *, retry_for: float | None = None) -> Any:
        """Return the JSON of the reply, None for an empty one, or raise the error that the server replied.

        A lost call, or one that the server could not accept, is retried for `retry_for` seconds.
        """
        policy = RetryPolicy(self._retry_for if retry_for is None else retry_for)
        while True:
            try:
                return await self._call_once(call)
            except UnavailableError as error:
                await policy.pause(error)

    async def positions(self, path: str, after: Callable[[], str | None]) -> AsyncGenerator[str, None]:
        """Yield the position of each event of a stream after `after()`, and "" for each heartbeat.

        A broken stream is reopened at the current `after()`; `UnavailableError` is raised if that fails for as long
        as a call is retried. While a stream is silent, "" is yielded every few seconds.
        """
        policy, patience = RetryPolicy(self._retry_for), SILENCE_SECONDS
        while True:
            try:
                async with self._opened(ApiCall("GET", path), after(), patience) as reply:
                    lines = reply.aiter_lines()
                    while (line := await self._next(lines, patience)) is not None:
                        policy, patience = RetryPolicy(self._retry_for), SILENCE_SECONDS
                        if line.startswith("id: "):
                            yield line[4:]
                        elif line.startswith(("event: heartbeat", "retry: ")):
                            yield ""
                await policy.pause(unreachable_server_error(self.url, "the stream ended"))
            except (httpx.ReadTimeout, TimeoutError):
                if patience != POLL_SECONDS:
                    log.warning(HELD_BACK, path, self.url, patience, POLL_SECONDS)
                patience = POLL_SECONDS
                yield ""
            except UnavailableError as error:
                await policy.pause(error)

    async def position(self, path: str) -> str:
        """Return the position at which a stream starts now; a proxy that holds back its events passes its headers."""
        policy = RetryPolicy(self._retry_for)
        while True:
            try:
                async with self._opened(ApiCall("GET", path), None, GRACE_SECONDS) as reply:
                    if (position := reply.headers.get("last-event-id")) is None:
                        raise SettingError("url", self.url, NO_POSITION.format(url=self.url + path))
                    return str(position)
            except (httpx.ReadTimeout, TimeoutError) as error:
                await policy.pause(unreachable_server_error(self.url, type(error).__name__))
            except UnavailableError as error:
                await policy.pause(error)

    @asynccontextmanager
    async def _opened(self, call: ApiCall, position: str | None, patience: float) -> AsyncIterator[httpx.Response]:
        headers = {"last-event-id": position} if position else {}
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=GRACE_SECONDS)
        stream = self._http.stream(call.method, self.url + call.path, headers=headers, timeout=timeout)
        try:
            # The stream is not in use between two lines: closing it then cancels no other task.
            with self.lifetime.using():
                async with asyncio.timeout(patience):
                    reply = await stream.__aenter__()
            async with AsyncExitStack() as stack:
                stack.push_async_exit(stream.__aexit__)
                if not reply.is_success:
                    raise error_from_reply(self.url, call, reply, read_reply_json(await reply.aread()))
                yield reply
        except httpx.ReadTimeout:
            raise
        except LOST as error:
            raise unreachable_server_error(self.url, str(error) or type(error).__name__) from error

    async def _next(self, lines: AsyncIterator[str], patience: float) -> str | None:
        # The timeout of the connection stays the same as long as it is open, whatever it has sent.
        with self.lifetime.using():
            async with asyncio.timeout(patience):
                return await anext(lines, None)

    async def _call_once(self, call: ApiCall) -> Any:
        reply = await self._send(call)
        if reply.status_code == 204:
            return None
        if call.is_raw and reply.is_success:
            return reply.content
        body = read_reply_json(reply.content)
        if reply.is_success and isinstance(body, dict):
            return body
        raise error_from_reply(self.url, call, reply, body)

    async def _send(self, call: ApiCall) -> httpx.Response:
        headers = tracing.outgoing()
        content: bytes | None = None
        if call.body is not None:
            canonical(call.body)  # Refuses what is not portable JSON.
            content = json.dumps(call.body, ensure_ascii=False).encode()
            headers["content-type"] = "application/json"
        url = self.url + call.path
        timeout = httpx.Timeout(GRACE_SECONDS + call.params.get("wait", 0), connect=GRACE_SECONDS)
        try:
            with self.lifetime.using():
                return await self._http.request(
                    call.method, url, params=dict(call.params), content=content, headers=headers, timeout=timeout
                )
        except LOST as error:
            why = str(error) or type(error).__name__
            if not call.is_repeatable and not isinstance(error, NEVER_SENT):
                raise LostReplyError(str(call), why) from error
            raise unreachable_server_error(self.url, why) from error


def read_reply_json(content: bytes) -> Any:
    """Return the JSON of a reply, None if it is not JSON."""
    with suppress(ValueError):
        return json.loads(content)
    return None


class RetryPolicy:
    """The duration of retries and the pauses between them: growing, and jittered between clients."""

    def __init__(self, seconds: float) -> None:
        self._ends_at, self._next = time.monotonic() + seconds, FIRST_PAUSE

    async def pause(self, error: UnavailableError) -> None:
        """Sleep before the next attempt, at least as long as the server asked, or raise the error when time is up."""
        seconds = max(error.retry_after, self._next * random.uniform(0.5, 1))
        if time.monotonic() + seconds > self._ends_at:
            raise error
        self._next = min(2 * self._next, LONGEST_PAUSE)
        await asyncio.sleep(seconds)


ERROR_BY_CODE: dict[str, Callable[[ApiCall, Mapping[str, Any]], RingiError]] = {
    "final": lambda call, problem: ConflictError.ended(
        call.id, str(problem.get("state", "completed")), problem.get("winner")
    ),
    "pending": lambda call, _: ConflictError.pending(call.id),
    "busy": lambda _, problem: ConflictError(problem["detail"], "busy"),
    "digest_mismatch": lambda call, _: ConflictError.digest_mismatch(call.id, str((call.body or {}).get("digest"))),
    "claimed": lambda call, problem: ConflictError.claimed(call.id, str(problem.get("claimed_by", "somebody else"))),
    "held": lambda call, problem: ConflictError.held(
        call.id, f"{problem.get('responder')}", datetime.fromisoformat(f"{problem.get('until', utc_now())}")
    ),
    "under_review": lambda call, problem: ConflictError.under_review(call.id, str(problem.get("review", ""))),
    "legal_hold": lambda call, _: ConflictError.legal_hold(call.id),
    "different": lambda call, _: ConflictError.different(call.id),
    "conflict": lambda _, problem: ConflictError(problem["detail"]),
    "invalid": lambda _, problem: errors.InvalidError(list(map(field_error_from_server, problem.get("errors", [])))),
    "not_found": lambda call, _: NotFoundError(call.kind, call.id),
    "forbidden": lambda _, problem: errors.ForbiddenError(problem["detail"]),
    "fresh_sign_in": lambda _, problem: errors.ForbiddenError(problem["detail"], "fresh_sign_in"),
}
"""Maps the code of a problem document to the error that the inbox raises; the document has a `detail`."""


def field_error_from_server(each: Mapping[str, Any]) -> FieldError:
    """Return the error of one field from a problem document."""
    return FieldError(each["field"], each["message"], each.get("code", "invalid"), each.get("params", {}))


def error_from_reply(url: str, call: ApiCall, reply: httpx.Response, body: object) -> RingiError:
    """Return the error for a reply."""
    problem = body if isinstance(body, dict) else {}
    detail, code, status = str(problem.get("detail", "")), problem.get("code"), reply.status_code
    retry_after = retry_after_seconds(reply.headers.get("retry-after"), utc_now()) or 0.0
    if status == 429:
        return UnavailableError(detail or f"{call}: too many calls", retry_after, code="limit")
    if status == 503 or (status in GATEWAY and call.is_repeatable):
        return unreachable_server_error(url, detail or f"HTTP {status}", retry_after)
    if status in GATEWAY:
        return LostReplyError(str(call), f"HTTP {status}")
    if code in ERROR_BY_CODE:
        return ERROR_BY_CODE[code](call, {**problem, "detail": detail})
    if detail:
        return HttpError(f"{call}: {status}: {detail}", status=status, code=code)
    what = f"{call}: {status} without Ringi's JSON"
    return HttpError(f"{what}: check that this is the address of a Ringi server", status=status)


def unreachable_server_error(url: str, why: object, retry_after: float = 0.0) -> UnavailableError:
    """Return the error for a server that does not answer now."""
    what = f"{url} is not reachable ({why}): it is safe to try again later"
    return UnavailableError(what, retry_after, code="unreachable")


class HttpError(RingiError):
    """A server sent a reply that the client does not know.

    `status` is its HTTP status and `code` the code of its problem document; None if the reply has none.
    """

    def __init__(self, what: str, *, status: int | None = None, code: str | None = None) -> None:
        self.status, self.code = status, code
        super().__init__(what)
