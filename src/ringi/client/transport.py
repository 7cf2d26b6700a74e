"""One call to a server, made again while that is safe; a refusal comes back as the error that it was there."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from ringi import errors
from ringi.base.canonical_json import canonical
from ringi.errors import (
    FieldError,
    HttpError,
    LimitError,
    LostReplyError,
    RingiError,
    SettingError,
    UnavailableError,
    UnreachableError,
)
from ringi.inbox import tracing
from ringi.inbox.lifetime import Lifetime

GRACE_SECONDS = 10.0
"""How long a server may take for a reply, beyond what it was asked to wait."""
SILENCE_SECONDS = 40.0
"""How long a stream may be silent: a server beats every 15 s."""
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)
LOST = (httpx.NetworkError, httpx.TimeoutException, httpx.RemoteProtocolError, httpx.ProxyError)
GATEWAY = (502, 504)
"""What a proxy says when the server did not answer it; the call may have arrived."""


@dataclass(frozen=True)
class Call:
    """What is sent, and what is known of it when it comes to naming what went wrong."""

    method: str
    path: str
    id: str = ""
    body: Mapping[str, Any] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    is_repeatable: bool = True
    """Whether sending it twice does the same as sending it once."""
    kind: str = "request"
    """What the id is of."""
    is_raw: bool = False
    """Whether the reply is no JSON."""

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


class Transport:
    """The connections to one server, under one token."""

    def __init__(self, url: str, token: str, retry_for: float) -> None:
        if not url.startswith(("http://", "https://")):
            raise SettingError("url", url, "give the address of a server, such as https://inbox.example.com")
        self.url, self._retry_for = url.rstrip("/"), retry_for
        # A hundred waits would take all connections of the default pool, and leave none to ask with.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
        self.lifetime = Lifetime("client")
        self._http = httpx.AsyncClient(headers={"authorization": f"Bearer {token.strip()}"}, limits=limits)

    async def close(self) -> None:
        """Close all connections; who still waits gets `ClosedError`."""
        if not self.lifetime.is_elsewhere:
            self.lifetime.end()
            await self._http.aclose()

    async def call(self, call: Call, *, retry_for: float | None = None) -> Any:
        """Return the JSON of the reply, None where there is nothing to say, or raise what the server refused it with.

        A call that got lost, and one that the server could not take, is made again until `retry_for` seconds are over.
        """
        patience = RetryPolicy(self._retry_for if retry_for is None else retry_for)
        while True:
            try:
                return await self._once(call)
            except (LimitError, UnavailableError) as error:
                await patience.pause(error)

    async def rings(self, path: str, place: Callable[[], str | None]) -> AsyncGenerator[str, None]:
        """Yield the position of each event of a stream past `place()`, and "" for each sign of life.

        A stream that breaks is opened again past the place that it is then; it raises `UnavailableError` when that
        was in vain for as long as a call is tried.
        """
        patience = RetryPolicy(self._retry_for)
        while True:
            try:
                async with self._lines(Call("GET", path), place()) as lines:
                    while (line := await self._next(lines)) is not None:
                        patience = RetryPolicy(self._retry_for)
                        if line.startswith("id: "):
                            yield line[4:]
                        elif line.startswith((":", "retry: ")):
                            yield ""
                await patience.pause(UnreachableError(self.url, "the stream ended"))
            except (LimitError, UnavailableError) as error:
                await patience.pause(error)

    @asynccontextmanager
    async def _lines(self, call: Call, place: str | None) -> AsyncIterator[AsyncIterator[str]]:
        headers = {"last-event-id": place} if place else {}
        timeout = httpx.Timeout(SILENCE_SECONDS, connect=GRACE_SECONDS)
        opened = self._http.stream(call.method, self.url + call.path, headers=headers, timeout=timeout)
        try:
            # What is held between two lines is not used: to close it cancels nobody who does something else meanwhile.
            with self.lifetime.using():
                reply = await opened.__aenter__()
            async with AsyncExitStack() as stack:
                stack.push_async_exit(opened.__aexit__)
                if not reply.is_success:
                    raise error_of(self.url, call, reply, read_json(await reply.aread()))
                yield reply.aiter_lines()
        except LOST as error:
            raise UnreachableError(self.url, str(error) or type(error).__name__) from error

    async def _next(self, lines: AsyncIterator[str]) -> str | None:
        with self.lifetime.using():
            return await anext(lines, None)

    async def _once(self, call: Call) -> Any:
        reply = await self._sent(call)
        if reply.status_code == 204:
            return None
        if call.is_raw and reply.is_success:
            return reply.content
        body = read_json(reply.content)
        if reply.is_success and isinstance(body, dict):
            return body
        raise error_of(self.url, call, reply, body)

    async def _sent(self, call: Call) -> httpx.Response:
        headers = tracing.outgoing()
        headers |= {"content-type": "application/json"} if call.body is not None else {}
        timeout = httpx.Timeout(GRACE_SECONDS + call.params.get("wait", 0), connect=GRACE_SECONDS)
        try:
            with self.lifetime.using():
                return await self._http.request(
                    call.method,
                    self.url + call.path,
                    params=dict(call.params),
                    content=written(call.body),
                    headers=headers,
                    timeout=timeout,
                )
        except LOST as error:
            why = str(error) or type(error).__name__
            if not call.is_repeatable and not isinstance(error, NEVER_SENT):
                raise LostReplyError(str(call), why) from error
            raise UnreachableError(self.url, why) from error


def read_json(content: bytes) -> Any:
    """Return what the JSON of a reply says, None for what is none."""
    try:
        return json.loads(content)
    except ValueError:
        return None


class RetryPolicy:
    """How long to try, and with which pauses: growing, and never all clients at once."""

    def __init__(self, seconds: float) -> None:
        self._ends_at, self._next = time.monotonic() + seconds, FIRST_PAUSE

    async def pause(self, error: LimitError | UnavailableError) -> None:
        """Wait before the next try, as long as the server asked at least, or raise the error when time is up."""
        seconds = max(error.retry_after, self._next * random.uniform(0.5, 1))
        if time.monotonic() + seconds > self._ends_at:
            raise error
        self._next = min(2 * self._next, LONGEST_PAUSE)
        await asyncio.sleep(seconds)


def written(body: Mapping[str, Any] | None) -> bytes | None:
    """Return a body as bytes, or raise `InvalidError` for what is no portable JSON."""
    if body is None:
        return None
    canonical(body)
    return json.dumps(body, ensure_ascii=False).encode()


@dataclass(frozen=True)
class Refusal:
    """What a server said when it refused a call."""

    call: Call
    status: int
    problem: Mapping[str, Any]
    retry_after: float

    @property
    def detail(self) -> str:
        """The server's own words."""
        return str(self.problem.get("detail", ""))


Told = Callable[[Refusal], RingiError]
ERROR_BY_CODE: dict[str, Told] = {
    "final": lambda told: errors.FinalError(
        told.call.id, str(told.problem.get("state", "completed")), told.problem.get("winner")
    ),
    "pending": lambda told: errors.PendingError(told.call.id),
    "busy": lambda told: errors.ConflictError(told.detail),
    "digest_mismatch": lambda told: errors.DigestMismatchError(told.call.id, str((told.call.body or {}).get("digest"))),
    "claimed": lambda told: errors.ClaimedError(told.call.id, str(told.problem.get("claimed_by", "somebody else"))),
    "different": lambda told: errors.DifferentAskError(told.call.id),
    "conflict": lambda told: errors.ConflictError(told.detail),
    "invalid": lambda told: errors.InvalidError(
        [FieldError(each["field"], each["message"]) for each in told.problem.get("errors", [])]
    ),
    "not_found": lambda told: errors.NotFoundError(told.call.kind, told.call.id),
    "forbidden": lambda told: errors.ForbiddenError(told.detail),
}
"""From the code of a problem document to the error that the inbox raises."""


def error_of(url: str, call: Call, reply: httpx.Response, body: Any) -> RingiError:
    """Return the error that a reply stands for."""
    problem = body if isinstance(body, dict) else {}
    told = Refusal(call, reply.status_code, problem, seconds_of(reply.headers.get("retry-after")))
    code = problem.get("code")
    if reply.status_code == 429:
        return LimitError(told.detail or f"{call}: too many calls", told.retry_after)
    if reply.status_code == 503 or (reply.status_code in GATEWAY and call.is_repeatable):
        return UnreachableError(url, told.detail or f"HTTP {reply.status_code}", told.retry_after)
    if reply.status_code in GATEWAY:
        return LostReplyError(str(call), f"HTTP {reply.status_code}")
    if code not in ERROR_BY_CODE:
        return unknown(told, code)
    return ERROR_BY_CODE[code](told)


def unknown(told: Refusal, code: str | None) -> HttpError:
    """Return the error of a reply that no verb expects."""
    if not told.detail:
        return HttpError.foreign(str(told.call), told.status)
    return HttpError.refused(str(told.call), told.status, code, told.detail)


def seconds_of(retry_after: str | None) -> float:
    """Return the seconds of a Retry-After header, which may hold a number or a date."""
    if not retry_after:
        return 0.0
    if retry_after.strip().isdecimal():
        return float(retry_after)
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time.time())
    except ValueError:
        return 0.0
