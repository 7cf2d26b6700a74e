"""The inbox over HTTP: same operations, models and errors; failed calls are retried."""

from __future__ import annotations

import base64
import math
import time
import uuid
from abc import update_abstractmethods
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from functools import partial, wraps
from inspect import signature
from typing import Any, Self, cast, get_args, get_origin
from urllib.parse import quote

from pydantic import BaseModel

from ringi.base.canonical_json import jsonable
from ringi.base.clock import utc_now
from ringi.client.transport import ApiCall, Transport
from ringi.domain.ask import Ask, parse_body
from ringi.domain.memories import Memory
from ringi.domain.pauses import paused_error
from ringi.domain.record import AGENT, START, Event, Page, Position
from ringi.domain.request import Request
from ringi.domain.voting import Caller
from ringi.errors import InvalidError, LostReplyError, UnavailableError, WaitTimeoutError
from ringi.forms.field_parts import MAX_FILE, AttachedFile
from ringi.inbox import api
from ringi.inbox.api import Inbox, id_of, refuse_name
from ringi.inbox.lifetime import Lifetime
from ringi.inbox.operations import TABLE, Operation, names_in

REQUESTS, FEED = "/v1/requests", "/v1/events"
BEGINNING = "0"
"""The position before the first event, as written in a header."""
PAGE = 200
POLL_SECONDS = 25.0
"""The maximum seconds for which a server delays a reply."""


class Client(Inbox):
    """An inbox behind a server's URL. The owner of the token asks and answers.

    A lost call, or one that the server cannot accept now, is retried for `retry_for` seconds. Retries never ask or
    decide twice. A call that cannot be retried safely raises `LostReplyError` if its reply is lost. Every call can also
    raise `UnavailableError`, `ForbiddenError` or `HttpError`.

    Arguments and errors are those of `Inbox`, with these differences. The token identifies the caller: a `by` or the
    name of a person raises `InvalidError`. Lists and events contain only what the token may see. `follow` and `wait`
    continue through restarts of the server and broken connections. Events that are only in the audit trail may arrive
    some seconds later. `erase` and `trail.erase` require an administrator's token.

    Args:
        url: The address of the server, such as `https://inbox.example.com`.
        token: The token of the caller.
        retry_for: Seconds for which a call is retried.
    """

    def __init__(self, url: str, token: str, *, retry_for: float = 30.0) -> None:
        self.transport = Transport(url, token, retry_for)
        self._known_session: dict[str, Any] | None = None

    @property
    def _client(self) -> Client:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await (self._closing() if self._closing else self.transport.close())

    @property
    def lifetime(self) -> Lifetime:
        """The lifetime of the client."""
        return self.transport.lifetime

    async def submit(self, ask: Ask) -> Request:
        # A server-generated id would differ for each attempt.
        id = ask.id or uuid.uuid4().hex
        # A server refuses the source that a caller names.
        ask = ask.plain().model_copy(update={"policy": None})
        body = {name: value for name, value in jsonable(ask).items() if value is not None}
        return request_from_server(await self.transport.call(ApiCall("POST", REQUESTS, id, {**body, "id": id})))

    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        return (await self._page(after, limit, request_id))[0]

    async def follow(
        self, after: Position | None = None, *, request_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        position = await self.transport.position(FEED) if after is None else after
        path, known = FEED if request_id is None else f"{request_path(request_id)}/events", set[Position]()
        async with aclosing(self.transport.positions(path, lambda: position or BEGINNING)) as positions:
            async for notified in positions:
                # Events arrive in bursts, and the first notification fetches all of them.
                is_read = notified in known
                while not is_read:
                    events, next = await self._page(position, PAGE, request_id)
                    # A page may end with events that the token may not see.
                    position = next or (events[-1].position if events else position)
                    is_read, known = next is None, {event.position for event in events}
                    for event in events:
                        yield event

    async def attach(
        self, request: Request | str, field: str, name: str, content: bytes, *, by: Caller = None
    ) -> AttachedFile:
        refuse_name(by)
        if len(content) > MAX_FILE:
            raise InvalidError.of(field, f"has {len(content)} bytes: send a file of at most {MAX_FILE} bytes")
        sent = {"request": request, "field": field, "name": name, "data": base64.b64encode(content).decode()}
        return cast(AttachedFile, await self.perform(ROWS[Inbox.attach], sent))

    async def attachment(self, request: Request | str, number: int) -> bytes:
        id = id_of(request)
        path = f"{request_path(id)}/attachments/{number}"
        call = ApiCall("GET", path, f"{id}/{number}", kind="attachment", is_raw=True)
        return cast(bytes, await self.transport.call(call))

    async def cancel(self, request: Request | str, reason: str | None = None, *, by: Caller = None) -> Request:
        refuse_name(by)
        cancel = partial(self.perform, ROWS[Inbox.cancel], {"request": request, "reason": reason})
        try:
            return cast(Request, await cancel())
        except LostReplyError:
            found = await self.get(id_of(request))
        if (found.status, found.reason) == ("cancelled", reason):
            return found
        return cast(Request, await cancel())

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        id, ends_at = id_of(request), math.inf if timeout is None else time.monotonic() + timeout
        seen: Request | None = None
        while True:
            seconds_left = max(0.0, ends_at - time.monotonic())
            call = ApiCall("GET", request_path(id), id, params={"wait": min(seconds_left, POLL_SECONDS)})
            try:
                seen = request_from_server(await self.transport.call(call, retry_for=seconds_left))
            except UnavailableError:
                if seen is None:
                    raise
                raise WaitTimeoutError(id, timeout or 0) from None
            if seen.is_final:
                return seen
            if seconds_left <= 0:
                raise WaitTimeoutError(id, timeout or 0)

    async def _page(self, after: Position, limit: int, request_id: str | None) -> tuple[list[Event], Position | None]:
        tenant = (await self.session())["tenant"]
        params = {"after": after, "limit": limit} | ({} if request_id is None else {"request_id": request_id})
        page = await self.transport.call(ApiCall("GET", "/v1/audit", request_id or "", params=params))
        return [event_from_server(tenant, item) for item in page["items"]], page["next"]

    async def perform(self, row: Operation, arguments: Mapping[str, Any]) -> Any:
        """Call a verb over HTTP, and return its result.

        Args:
            row: The verb.
            arguments: Its arguments by name, without the caller's.
        """
        call = call_of(row, row.to_wire(arguments))
        if row.repeat == "gone":
            return await self.transport.end(call)
        fields = row.parameters.model_fields if row.parameters else {}
        if "cursor" in fields:
            body = await self.transport.pages(call, arguments.get("limit", fields["limit"].default))
        else:
            body = await self.transport.call(call)
        if get_origin(row.reply) is not Page:
            return body and await self._result(row.reply, body)
        (kind,) = get_args(row.reply)
        return Page([await self._result(kind, item) for item in body["items"]], body["next"])

    async def _result(self, kind: Any, body: Any) -> Any:
        if kind is Memory:
            body = {**body, "person": await self.actor()}
        if read := READERS.get(kind):
            return read(body)
        # Without the fields that only a newer server knows.
        return kind.model_validate(body, extra="ignore")

    async def actor(self) -> str:
        """Return the name of the token's owner in records, such as `agent:bot`."""
        session = await self.session()
        return f"{AGENT}{session['name']}" if session["role"] == "agent" else str(session["name"])

    async def session(self) -> dict[str, Any]:
        """Return the name, the role and the tenant of the token."""
        if self._known_session is None:
            self._known_session = await self.transport.call(ApiCall("GET", "/v1/session"))
        return self._known_session


class ClientPauses(api.Pauses):
    """The pauses behind a server's URL."""

    _client: Client

    async def check(self, agent: str | None = None) -> None:
        session, pauses = await self._client.session(), await self.list()
        own = session["name"] if session["role"] == "agent" else None
        # The server has omitted those that have ended: this machine's clock may be wrong.
        for pause in pauses:
            if pause.applies_to(agent) or pause.applies_to(own):
                raise paused_error(pause, utc_now)


def method_over_http(row: Operation) -> Callable[..., Awaitable[Any]]:
    """Return the method that calls a verb over HTTP.

    Args:
        row: The verb.
    """
    bind = signature(row.verb).bind

    # Without `updated` the mark of an abstract method would be copied too.
    @wraps(row.verb, updated=())
    async def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        arguments = dict(bind(self, *args, **kwargs).arguments)
        whole: Client = arguments.pop("self")._client
        if row.caller:
            refuse_name(arguments.pop(row.caller, None))
        conditions = arguments.pop("conditions", {})
        return await whole.perform(row, {**arguments, **conditions})

    return method


def completed(kind: Any) -> Any:
    """Give a class the verbs that it has not written itself, and return it; `TypeError` if one has no row.

    Args:
        kind: The class.
    """
    for row in TABLE:
        if getattr(kind, row.name, None) is row.verb and row.name in kind.__abstractmethods__:
            setattr(kind, row.name, method_over_http(row))
    update_abstractmethods(kind)
    if kind.__abstractmethods__:
        raise TypeError(f"{kind.__name__}: no row in the table of operations: {sorted(kind.__abstractmethods__)}")
    return kind


def part(verbs: Any) -> property:
    """Return a part of the client.

    Args:
        verbs: The abstract class of its verbs.
    """
    kind = completed(type(f"Client{verbs.__name__}", (verbs,), {}))

    def opened(client: Client) -> Any:
        made = kind()
        made._client = client
        return made

    return property(opened)


def connected(url: str, token: str, *, retry_for: float = 30.0) -> Client:
    """Return a client; type checkers do not see that its class has all verbs.

    Args:
        url: The address of the server.
        token: The token of the caller.
        retry_for: Seconds for which a call is retried.
    """
    made: Callable[..., Client] = cast(Any, Client)
    return made(url, token, retry_for=retry_for)


def request_path(id: str) -> str:
    """Return the URL path of a request."""
    return f"{REQUESTS}/{quote(id, safe='')}"


def call_of(row: Operation, fields: Mapping[str, Any]) -> ApiCall:
    """Return the call of a verb; raise `InvalidError` before anything is sent.

    Args:
        row: The verb.
        fields: The fields of its path, query and body.
    """
    values = {name: value for name, value in fields.items() if value is not None}
    id = str(values.get("id", values.get("person", "")))
    path = row.path.format(id=quote(id, safe=""))
    body = jsonable(values[row.whole]) if row.whole else None
    if row.body and not row.whole:
        body = set_fields_as_json(row.parse({name: values[name] for name in names_in(row.body) & values.keys()}))
    parameters: dict[str, Any] = {}
    if row.parameters:
        own = {name: value for name, value in values.items() if name != "id"}
        parameters = set_fields_as_json(parse_body(row.parameters, own))
    is_repeatable, kind = row.repeat == "safe", KINDS.get(row.room, row.room.removesuffix("s"))
    if row.method == "POST" and body is None:
        body = {}
    return ApiCall(row.method, path, id, body, parameters, is_repeatable=is_repeatable, kind=kind)


def set_fields_as_json(model: BaseModel) -> dict[str, Any]:
    """Return what is set of a model as plain JSON data."""
    data: dict[str, Any] = model.model_dump(mode="json", by_alias=True, exclude_unset=True)
    return data


def request_from_server(body: object) -> Request:
    """Return a request from a server's JSON, without the fields that only a newer server knows."""
    return Request.model_validate(body, extra="ignore")


def event_from_server(tenant: str, item: Any) -> Event:
    """Return an event from the audit trail of a server."""
    payload = {"actor": item["actor"], "changed": item["changed"]}
    return Event.model_validate({**item, "tenant": tenant, "payload": payload}, extra="ignore")


ROWS = {row.verb: row for row in TABLE}
KINDS = {"people": "absence", "memories": "memory"}
"""What a room's ids identify, where it is not the room's name without an s."""
READERS: dict[Any, Callable[[Any], Any]] = {
    AttachedFile: lambda body: body,
    list[str]: lambda body: list(map(str, body["ids"])),
}
"""How the results that are no model are read from a server's JSON."""
for verbs in (api.Grants, api.Suggestions, ClientPauses, api.People, api.Checks, api.Memories, api.Trail):
    setattr(Client, verbs.__name__.removeprefix("Client").lower(), part(verbs))
completed(Client)
