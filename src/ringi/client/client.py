"""The inbox over HTTP: same operations, models and errors; failed calls are retried."""

from __future__ import annotations

import base64
import math
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import datetime
from typing import Any, Self
from urllib.parse import quote

from ringi.base.canonical_json import jsonable
from ringi.base.clock import utc_now
from ringi.client.checks import CheckCalls
from ringi.client.transport import ApiCall, Transport, absence_of, away_of, pause_of
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import Answer, Ask, Decision, Outcome, Receipt, parse_body
from ringi.domain.grants import GrantView, NewGrant
from ringi.domain.memories import Memory
from ringi.domain.pauses import Pause
from ringi.domain.record import AGENT, START, Event, Position, Query
from ringi.domain.request import Request
from ringi.errors import (
    FieldError,
    ForbiddenError,
    InvalidError,
    LimitError,
    LostReplyError,
    NotFoundError,
    UnavailableError,
    WaitTimeoutError,
)
from ringi.forms.field_parts import MAX_FILE, AttachedFile
from ringi.inbox.api import id_of, ignore_progress
from ringi.inbox.pauses import paused_error
from ringi.privacy.candidates import Erasure, Sweep

REQUESTS, FEED, MEMORIES = "/v1/requests", "/v1/events", "/v1/memories"
ABSENCES, AWAY, GRANTS, PAUSES = "/v1/absences", "/v1/away", "/v1/grants", "/v1/pauses"
BEGINNING = "0"
"""The position before the first event, as written in a header."""
PAGE = 200
POLL_SECONDS = 25.0
"""The maximum seconds for which a server delays a reply."""
PARAMETERS = {
    "statuses": "status",
    "kind": "kind",
    "priority": "priority",
    "assignee": "assignee",
    **{name: name for name in ("order", "thread_id", "tool", "agent", "tier", "group")},
    "text": "q",
    "unexecuted": "unexecuted",
    "before": "cursor",
}
"""Maps the fields of a query to the parameters of the list."""
IMPLIED_FIELDS = {"tenant", "limit", "assigned_or_claimed_by", "now"}
"""Fields of a query that the token, the requested pages, a flag or the server's clock determine."""


class Client(CheckCalls):
    """An inbox behind a server's URL. The owner of the token asks and answers.

    A lost call, or one that the server cannot accept now, is retried for `retry_for` seconds. Retries never ask or
    decide twice. A call that cannot be retried safely raises `LostReplyError` if its reply is lost. Every call can also
    raise `UnavailableError`, `ForbiddenError`, `LimitError` or `HttpError`.

    Arguments and errors are those of `InboxAPI`, with these differences. Omit `by`, `person` and `responder`: the token
    identifies the caller, and another name raises `ForbiddenError`. Lists and events contain only what the token may
    see. `find` raises `InvalidError` for a field of `Query` that HTTP does not support. `count` lists the requests.
    `follow` and `wait` continue through restarts of the server and broken connections. Events that are only in the
    audit trail may arrive some seconds later. `erase`, `erase_all` and `erase_some` require an administrator's token.

    Args:
        url: The address of the server, such as `https://inbox.example.com`.
        token: The token of the caller.
        retry_for: Seconds for which a call is retried.
    """

    def __init__(self, url: str, token: str, *, retry_for: float = 30.0) -> None:
        self._transport = Transport(url, token, retry_for)
        self._session: dict[str, Any] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._transport.close()

    async def submit(self, ask: Ask) -> Request:
        # A server-generated id would differ for each attempt.
        id = ask.id or uuid.uuid4().hex
        # A server refuses the source that a caller names.
        body = {**to_json(ask.plain().model_copy(update={"policy": None})), "id": id}
        return request_of(await self._transport.call(ApiCall("POST", REQUESTS, id, body)))

    async def get(self, id: str) -> Request:
        return request_of(await self._transport.call(ApiCall("GET", path_of(id), id)))

    async def find(self, query: Query | None = None) -> list[Request]:
        query = query or Query()
        return list(map(request_of, await self._list(REQUESTS, await self._query_parameters(query), query.limit)))

    async def count(self, query: Query) -> int:
        return len(await self.find(query))

    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        return (await self._page(after, limit, request_id))[0]

    async def follow(
        self, after: Position | None = None, *, request_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        position = await self._transport.position(FEED) if after is None else after
        path, known = FEED if request_id is None else f"{path_of(request_id)}/events", set[Position]()
        async with aclosing(self._transport.positions(path, lambda: position or BEGINNING)) as positions:
            async for notified in positions:
                # Events arrive in bursts, and the first notification fetches all of them.
                is_read = notified in known
                while not is_read:
                    events, position, is_read = await self._read_events(position, request_id)
                    known = {event.position for event in events}
                    for event in events:
                        yield event

    async def respond(
        self,
        id: str,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        digest: str,
        responder: str | None = None,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        groups: Sequence[str] = (),
        grant: NewGrant | Mapping[str, Any] | None = None,
        override: str | None = None,
    ) -> Request:
        body = {"decision": decision, "data": data, "digest": digest, "args": args, "message": message, "grant": grant}
        return await self._change(id, "respond", responder, to_json(Answer.parse(body | {"override": override})))

    async def undo(self, id: str, by: str | None = None) -> Request:
        return await self._change(id, "undo", by, {})

    async def leave(
        self, deputy: str, until: datetime, *, by: str | None = None, groups: Sequence[str] = (), unknown: bool = False
    ) -> Absence:
        """Name a deputy, as `Inbox.leave` does; the groups are those of the token."""
        await self._refuse_other(by)
        body = {"deputy": deputy, "until": jsonable(until)} | ({"unknown": True} if unknown else {})
        away = away_of(await self.actor(), await self._transport.call(ApiCall("PUT", AWAY, body=body)))
        return away.absence or Absence(person=await self.actor(), deputy=deputy, until=until)

    async def come_back(self, by: str | None = None) -> None:
        await self._refuse_other(by)
        await self._transport.call(ApiCall("DELETE", AWAY))

    async def away(self, by: str | None = None) -> Away:
        await self._refuse_other(by)
        return away_of(await self.actor(), await self._transport.call(ApiCall("GET", AWAY)))

    async def find_absences(self) -> list[Absence]:
        return [absence_of(each) for each in (await self._transport.call(ApiCall("GET", ABSENCES)))["items"]]

    async def end_absence(self, name: str, by: str | None = None) -> None:
        await self._refuse_other(by)
        call = ApiCall("DELETE", ABSENCES, name, params={"person": name}, is_repeatable=False, kind="absence")
        await self._end(call)

    async def attach(
        self, id: str, field: str, name: str, content: bytes, *, by: str | None = None, groups: Sequence[str] = ()
    ) -> AttachedFile:
        await self._refuse_other(by)
        if len(content) > MAX_FILE:
            raise InvalidError.of(field, f"has {len(content)} bytes: send a file of at most {MAX_FILE} bytes")
        body = {"field": field, "name": name, "data": base64.b64encode(content).decode()}
        file: AttachedFile = await self._transport.call(ApiCall("POST", f"{path_of(id)}/attachments", id, body))
        return file

    async def attachment(self, id: str, number: int) -> bytes:
        call = ApiCall("GET", f"{path_of(id)}/attachments/{number}", f"{id}/{number}", kind="attachment", is_raw=True)
        content: bytes = await self._transport.call(call)
        return content

    async def claim(self, id: str, by: str | None = None, *, groups: Sequence[str] = ()) -> Request:
        return await self._change(id, "claim", by, {})

    async def release(self, id: str, by: str | None = None, *, groups: Sequence[str] = ()) -> Request:
        return await self._change(id, "release", by, {})

    async def reassign(
        self,
        id: str,
        by: str | None = None,
        *,
        assignee: str | None = None,
        groups: Sequence[str] = (),
        unknown: bool = False,
        by_groups: Sequence[str] = (),
    ) -> Request:
        # After the change, a retry could be rejected, or take the request away from the new assignee.
        to = {"assignee": assignee, "groups": list(groups), **({"unknown": True} if unknown else {})}
        return await self._change(id, "reassign", by, to, is_repeatable=False)

    async def cancel(self, id: str, by: str | None = None, reason: str | None = None) -> Request:
        await self._refuse_other(by)
        call = ApiCall("POST", f"{path_of(id)}/cancel", id, {"reason": reason}, is_repeatable=False)
        try:
            return request_of(await self._transport.call(call))
        except LostReplyError:
            request = await self.get(id)
        if (request.status, request.reason) == ("cancelled", reason):
            return request
        return request_of(await self._transport.call(call))

    async def report_outcome(
        self,
        id: str,
        outcome: Outcome,
        by: str | None = None,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
    ) -> Request:
        receipt = parse_body(Receipt, {"outcome": outcome, "result_digest": result_digest, "attempt": attempt})
        return await self._change(id, "outcome", by, jsonable(receipt))

    async def erase(self, id: str, by: str | None = None) -> Request:
        return await self._change(id, "erase", by, {})

    async def erase_all(
        self,
        by: str | None = None,
        *,
        person: str | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
        progress: Callable[[Erasure], None] = ignore_progress,
    ) -> Erasure:
        by = by or await self.actor()
        return await super().erase_all(by, person=person, before=before, dry_run=dry_run, progress=progress)

    async def erase_some(self, sweep: Sweep, by: str | None = None) -> Erasure:
        await self._refuse_other(by)
        result = await self._transport.call(ApiCall("POST", "/v1/erasures", body=jsonable(sweep)))
        return Erasure.model_validate(result, extra="ignore")

    async def memories(self, person: str | None = None, *, limit: int = 50, before: str | None = None) -> list[Memory]:
        await self._refuse_other(person)
        params = {} if before is None else {"cursor": before}
        return [await self._memory(item) for item in await self._list(MEMORIES, params, limit)]

    async def memory(self, id: str, person: str | None = None) -> Memory:
        await self._refuse_other(person)
        return await self._memory(await self._transport.call(memory_call("GET", id)))

    async def edit_memory(
        self, id: str, data: dict[str, Any], *, by: str | None = None, expected_updated_at: datetime | None = None
    ) -> Memory:
        await self._refuse_other(by)
        body = {"data": data, "told_at": jsonable(expected_updated_at)}
        return await self._memory(await self._transport.call(memory_call("PATCH", id, body)))

    async def delete_memory(self, id: str, *, by: str | None = None) -> None:
        await self._refuse_other(by)
        await self._end(memory_call("DELETE", id))

    async def pause(
        self, reason: str, *, by: str | None = None, agent: str | None = None, until: datetime | None = None
    ) -> Pause:
        await self._refuse_other(by)
        body = {"agent": agent, "reason": reason, "until": jsonable(until)}
        return pause_of(await self._transport.call(ApiCall("POST", PAUSES, body=body)))

    async def pauses(self) -> list[Pause]:
        return [pause_of(item) for item in (await self._transport.call(ApiCall("GET", PAUSES)))["items"]]

    async def resume(self, id: str, *, by: str | None = None) -> None:
        await self._refuse_other(by)
        call = ApiCall("DELETE", f"{PAUSES}/{quote(id, safe='')}", id, is_repeatable=False, kind="pause")
        await self._end(call)

    async def grants(self) -> list[GrantView]:
        items = (await self._transport.call(ApiCall("GET", GRANTS)))["items"]
        return [GrantView.model_validate(item, extra="ignore") for item in items]

    async def revoke_grant(self, id: str, *, by: str | None = None) -> None:
        await self._refuse_other(by)
        await self._transport.call(ApiCall("POST", f"{GRANTS}/{quote(id, safe='')}/revoke", id, {}, kind="grant"))

    async def check_pauses(self, agent: str | None = None) -> None:
        session, pauses = await self._get_session(), await self.pauses()
        own = session["name"] if session["role"] == "agent" else None
        # The server has omitted those that have ended: this machine's clock may be wrong.
        for pause in pauses:
            if pause.applies_to(agent) or pause.applies_to(own):
                raise paused_error(pause, utc_now)

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        id, ends_at = id_of(request), math.inf if timeout is None else time.monotonic() + timeout
        seen: Request | None = None
        while True:
            seconds_left = max(0.0, ends_at - time.monotonic())
            try:
                seen = await self._poll(id, seconds_left)
            except (LimitError, UnavailableError):
                if seen is None:
                    raise
                raise WaitTimeoutError(id, timeout or 0) from None
            if seen.is_final:
                return seen
            if seconds_left <= 0:
                raise WaitTimeoutError(id, timeout or 0)

    async def _page(self, after: Position, limit: int, request_id: str | None) -> tuple[list[Event], Position | None]:
        tenant = (await self._get_session())["tenant"]
        params = {"after": after, "limit": limit} | ({} if request_id is None else {"request_id": request_id})
        page = await self._transport.call(ApiCall("GET", "/v1/audit", request_id or "", params=params))
        return [event_of(tenant, item) for item in page["items"]], page["next"]

    async def _read_events(self, position: Position, request_id: str | None) -> tuple[list[Event], Position, bool]:
        events, next = await self._page(position, PAGE, request_id)
        # A page may end with events that the token may not see.
        return events, next or (events[-1].position if events else position), next is None

    async def _poll(self, id: str, seconds: float) -> Request:
        call = ApiCall("GET", path_of(id), id, params={"wait": min(seconds, POLL_SECONDS)})
        return request_of(await self._transport.call(call, retry_for=seconds))

    async def _change(
        self, id: str, operation: str, by: str | None, body: dict[str, Any], *, is_repeatable: bool = True
    ) -> Request:
        await self._refuse_other(by)
        call = ApiCall("POST", f"{path_of(id)}/{operation}", id, body, is_repeatable=is_repeatable)
        return request_of(await self._transport.call(call))

    async def _end(self, call: ApiCall) -> None:
        """Make a call after which something no longer exists."""
        try:
            await self._transport.call(call)
        except LostReplyError:
            # The first attempt may have ended it.
            with suppress(NotFoundError):
                await self._transport.call(call)

    async def _list(self, path: str, params: dict[str, Any], limit: int) -> list[Any]:
        items = list[Any]()
        while len(items) < limit:
            page = await self._transport.call(ApiCall("GET", path, params={**params, "limit": limit - len(items)}))
            items += page["items"]
            if page["next"] is None:
                break
            params = {**params, "cursor": page["next"]}
        return items

    async def _memory(self, body: dict[str, Any]) -> Memory:
        return Memory.model_validate({**body, "person": await self.actor()}, extra="ignore")

    async def _refuse_other(self, name: str | None) -> None:
        if name is None:
            return
        actor = await self.actor()
        if name != actor:
            remedy = f"omit the name, or use the token of {name!r}"
            raise ForbiddenError(f"the token belongs to {actor!r}, not to {name!r}: {remedy}")

    async def actor(self) -> str:
        """Return the name of the token's owner in records, such as `agent:bot`."""
        session = await self._get_session()
        return f"{AGENT}{session['name']}" if session["role"] == "agent" else str(session["name"])

    async def _get_session(self) -> dict[str, Any]:
        if self._session is None:
            self._session = await self._transport.call(ApiCall("GET", "/v1/session"))
        return self._session

    async def _query_parameters(self, query: Query) -> dict[str, Any]:
        conditions = {name: getattr(query, name) for name in query.model_fields_set - IMPLIED_FIELDS}
        unsupported = [name for name, value in conditions.items() if value and name not in PARAMETERS]
        person = query.assigned_or_claimed_by
        if person is not None and person != (await self._get_session())["name"]:
            unsupported.append("assigned_or_claimed_by")
        if unsupported:
            raise InvalidError(
                [FieldError(name, "the HTTP API has no such condition; omit it") for name in unsupported]
            )
        params = {PARAMETERS[name]: value for name, value in conditions.items() if value}
        return {**params, **({"mine": True} if person else {})}


def path_of(id: str) -> str:
    """Return the URL path of a request."""
    return f"{REQUESTS}/{quote(id, safe='')}"


def memory_call(method: str, id: str, body: dict[str, Any] | None = None) -> ApiCall:
    """Return the call about one memory."""
    path = f"{MEMORIES}/{quote(id, safe='')}"
    return ApiCall(method, path, id, body, is_repeatable=method != "DELETE", kind="memory")


def to_json(model: Ask | Answer) -> dict[str, Any]:
    """Return an ask or an answer as plain JSON data."""
    return {name: value for name, value in jsonable(model).items() if value is not None}


def request_of(body: object) -> Request:
    """Return a request from a server's JSON, without the fields that only a newer server knows."""
    return Request.model_validate(body, extra="ignore")


def event_of(tenant: str, item: Any) -> Event:
    """Return an event from the audit trail of a server."""
    payload = {"actor": item["actor"], "changed": item["changed"]}
    return Event.model_validate({**item, "tenant": tenant, "payload": payload}, extra="ignore")
