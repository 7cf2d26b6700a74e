"""The inbox over HTTP: same operations, models and errors; failed calls are retried."""

from __future__ import annotations

import base64
import math
import time
import uuid
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, Self, Unpack
from urllib.parse import quote

from ringi.base.canonical_json import jsonable
from ringi.base.clock import utc_now
from ringi.client.transport import ApiCall, Transport, absence_of, away_of, pause_of
from ringi.domain.absence import Absence, Away
from ringi.domain.ask import Answer, Ask, Decision, Outcome, Receipt, parse_body
from ringi.domain.checks import CheckRecipe, CheckReport
from ringi.domain.filters import Filter, FindOptions
from ringi.domain.grants import GrantView, NewGrant
from ringi.domain.memories import Memory
from ringi.domain.pauses import Pause
from ringi.domain.record import AGENT, START, Event, Page, Position
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.domain.voting import Caller
from ringi.errors import InvalidError, LostReplyError, UnavailableError, WaitTimeoutError
from ringi.forms.field_parts import MAX_FILE, AttachedFile
from ringi.inbox import api
from ringi.inbox.api import InboxAPI, Seen, answer_to, id_of, refuse_name
from ringi.inbox.lifetime import Lifetime
from ringi.inbox.pauses import paused_error
from ringi.privacy.candidates import Erasure, Sweep

REQUESTS, FEED, MEMORIES = "/v1/requests", "/v1/events", "/v1/memories"
ABSENCES, AWAY, GRANTS, PAUSES = "/v1/absences", "/v1/away", "/v1/grants", "/v1/pauses"
BEGINNING = "0"
"""The position before the first event, as written in a header."""
PAGE = 200
POLL_SECONDS = 25.0
"""The maximum seconds for which a server delays a reply."""
CHECKS, SUGGESTIONS = "/v1/checks", "/v1/suggestions"


class Client(InboxAPI):
    """An inbox behind a server's URL. The owner of the token asks and answers.

    A lost call, or one that the server cannot accept now, is retried for `retry_for` seconds. Retries never ask or
    decide twice. A call that cannot be retried safely raises `LostReplyError` if its reply is lost. Every call can also
    raise `UnavailableError`, `ForbiddenError` or `HttpError`.

    Arguments and errors are those of `InboxAPI`, with these differences. The token identifies the caller: a `by` or the
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
    def grants(self) -> ClientGrants:
        return ClientGrants(self)

    @property
    def suggestions(self) -> ClientSuggestions:
        return ClientSuggestions(self)

    @property
    def pauses(self) -> ClientPauses:
        return ClientPauses(self)

    @property
    def people(self) -> ClientPeople:
        return ClientPeople(self)

    @property
    def checks(self) -> ClientChecks:
        return ClientChecks(self)

    @property
    def memories(self) -> ClientMemories:
        return ClientMemories(self)

    @property
    def trail(self) -> ClientTrail:
        return ClientTrail(self)

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
        body = {**to_json(ask.plain().model_copy(update={"policy": None})), "id": id}
        return request_of(await self.transport.call(ApiCall("POST", REQUESTS, id, body)))

    async def get(self, id: str) -> Request:
        return request_of(await self.transport.call(ApiCall("GET", path_of(id), id)))

    async def find(
        self, *, limit: int = 50, cursor: str | None = None, **conditions: Unpack[FindOptions]
    ) -> Page[Request]:
        found = Filter.parse(conditions).model_dump(mode="json", exclude_defaults=True)
        page = await self.transport.pages(REQUESTS, found, limit, cursor)
        return Page(map(request_of, page), page.next)

    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        return (await self._page(after, limit, request_id))[0]

    async def follow(
        self, after: Position | None = None, *, request_id: str | None = None
    ) -> AsyncGenerator[Event, None]:
        position = await self.transport.position(FEED) if after is None else after
        path, known = FEED if request_id is None else f"{path_of(request_id)}/events", set[Position]()
        async with aclosing(self.transport.positions(path, lambda: position or BEGINNING)) as positions:
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
        seen: Request | Seen,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        by: Caller = None,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        grant: NewGrant | Mapping[str, Any] | None = None,
        override: str | None = None,
    ) -> Request:
        more = {"data": data, "args": args, "message": message, "grant": grant, "override": override}
        return await self._change(seen, "respond", by, to_json(answer_to(seen, decision, more)))

    async def undo(self, request: Request | str, *, by: Caller = None) -> Request:
        return await self._change(request, "undo", by, {})

    async def attach(
        self, request: Request | str, field: str, name: str, content: bytes, *, by: Caller = None
    ) -> AttachedFile:
        refuse_name(by)
        if len(content) > MAX_FILE:
            raise InvalidError.of(field, f"has {len(content)} bytes: send a file of at most {MAX_FILE} bytes")
        id, body = id_of(request), {"field": field, "name": name, "data": base64.b64encode(content).decode()}
        file: AttachedFile = await self.transport.call(ApiCall("POST", f"{path_of(id)}/attachments", id, body))
        return file

    async def attachment(self, request: Request | str, number: int) -> bytes:
        id = id_of(request)
        call = ApiCall("GET", f"{path_of(id)}/attachments/{number}", f"{id}/{number}", kind="attachment", is_raw=True)
        content: bytes = await self.transport.call(call)
        return content

    async def claim(self, request: Request | str, *, by: Caller = None) -> Request:
        return await self._change(request, "claim", by, {})

    async def release(self, request: Request | str, *, by: Caller = None) -> Request:
        return await self._change(request, "release", by, {})

    async def reassign(
        self,
        request: Request | str,
        *,
        assignee: str | None = None,
        groups: Sequence[str] = (),
        unknown: bool = False,
        by: Caller = None,
    ) -> Request:
        # After the change, a retry could be rejected, or take the request away from the new assignee.
        to = {"assignee": assignee, "groups": list(groups), **({"unknown": True} if unknown else {})}
        return await self._change(request, "reassign", by, to, is_repeatable=False)

    async def cancel(self, request: Request | str, reason: str | None = None, *, by: Caller = None) -> Request:
        refuse_name(by)
        id = id_of(request)
        call = ApiCall("POST", f"{path_of(id)}/cancel", id, {"reason": reason}, is_repeatable=False)
        try:
            return request_of(await self.transport.call(call))
        except LostReplyError:
            found = await self.get(id)
        if (found.status, found.reason) == ("cancelled", reason):
            return found
        return request_of(await self.transport.call(call))

    async def report_outcome(
        self,
        request: Request | str,
        outcome: Outcome,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
        by: Caller = None,
    ) -> Request:
        receipt = parse_body(Receipt, {"outcome": outcome, "result_digest": result_digest, "attempt": attempt})
        return await self._change(request, "outcome", by, jsonable(receipt))

    async def erase(self, request: Request | str, *, by: Caller = None) -> Request:
        return await self._change(request, "erase", by, {})

    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        id, ends_at = id_of(request), math.inf if timeout is None else time.monotonic() + timeout
        seen: Request | None = None
        while True:
            seconds_left = max(0.0, ends_at - time.monotonic())
            try:
                seen = await self._poll(id, seconds_left)
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
        return [event_of(tenant, item) for item in page["items"]], page["next"]

    async def _read_events(self, position: Position, request_id: str | None) -> tuple[list[Event], Position, bool]:
        events, next = await self._page(position, PAGE, request_id)
        # A page may end with events that the token may not see.
        return events, next or (events[-1].position if events else position), next is None

    async def _poll(self, id: str, seconds: float) -> Request:
        call = ApiCall("GET", path_of(id), id, params={"wait": min(seconds, POLL_SECONDS)})
        return request_of(await self.transport.call(call, retry_for=seconds))

    async def _change(
        self,
        request: Request | Seen | str,
        operation: str,
        by: Caller,
        body: dict[str, Any],
        *,
        is_repeatable: bool = True,
    ) -> Request:
        refuse_name(by)
        id = request if isinstance(request, str) else request.id
        call = ApiCall("POST", f"{path_of(id)}/{operation}", id, body, is_repeatable=is_repeatable)
        return request_of(await self.transport.call(call))

    async def actor(self) -> str:
        """Return the name of the token's owner in records, such as `agent:bot`."""
        session = await self.session()
        return f"{AGENT}{session['name']}" if session["role"] == "agent" else str(session["name"])

    async def session(self) -> dict[str, Any]:
        """Return the name, the role and the tenant of the token."""
        if self._known_session is None:
            self._known_session = await self.transport.call(ApiCall("GET", "/v1/session"))
        return self._known_session


class ClientPart:
    """A part of a client.

    Args:
        client: The client.
    """

    def __init__(self, client: Client) -> None:
        self._client, self._transport = client, client.transport


class ClientGrants(ClientPart, api.Grants):
    """The grants behind a server's URL."""

    async def list(self) -> Page[GrantView]:
        items = (await self._transport.call(ApiCall("GET", GRANTS)))["items"]
        return Page(GrantView.model_validate(item, extra="ignore") for item in items)

    async def revoke(self, id: str, *, by: Caller = None) -> None:
        refuse_name(by)
        await self._transport.call(ApiCall("POST", f"{GRANTS}/{quote(id, safe='')}/revoke", id, {}, kind="grant"))


class ClientSuggestions(ClientPart, api.Suggestions):
    """The suggested rules behind a server's URL."""

    async def list(self) -> Page[Suggestion]:
        items = (await self._transport.call(ApiCall("GET", SUGGESTIONS)))["items"]
        return Page(Suggestion.model_validate(item, extra="ignore") for item in items)

    async def accept(
        self,
        id: str,
        *,
        until: datetime | None = None,
        max_uses: int = 1_000,
        one_in: int = 20,
        by: Caller = None,
    ) -> Request:
        refuse_name(by)
        body = {"until": jsonable(until), "max_uses": max_uses, "one_in": one_in}
        path = f"{SUGGESTIONS}/{quote(id, safe='')}/accept"
        call = ApiCall("POST", path, id, body, is_repeatable=False, kind="suggestion")
        return request_of(await self._transport.call(call))


class ClientPauses(ClientPart, api.Pauses):
    """The pauses behind a server's URL."""

    async def begin(
        self, reason: str, *, agent: str | None = None, until: datetime | None = None, by: Caller = None
    ) -> Pause:
        refuse_name(by)
        body = {"agent": agent, "reason": reason, "until": jsonable(until)}
        return pause_of(await self._transport.call(ApiCall("POST", PAUSES, body=body)))

    async def list(self) -> Page[Pause]:
        return Page(pause_of(item) for item in (await self._transport.call(ApiCall("GET", PAUSES)))["items"])

    async def end(self, id: str, *, by: Caller = None) -> None:
        refuse_name(by)
        call = ApiCall("DELETE", f"{PAUSES}/{quote(id, safe='')}", id, is_repeatable=False, kind="pause")
        await self._transport.end(call)

    async def check(self, agent: str | None = None) -> None:
        session, pauses = await self._client.session(), await self.list()
        own = session["name"] if session["role"] == "agent" else None
        # The server has omitted those that have ended: this machine's clock may be wrong.
        for pause in pauses:
            if pause.applies_to(agent) or pause.applies_to(own):
                raise paused_error(pause, utc_now)


class ClientPeople(ClientPart, api.People):
    """The absences behind a server's URL; the groups are those of the token."""

    async def leave(self, deputy: str, until: datetime, *, unknown: bool = False, by: Caller = None) -> Absence:
        refuse_name(by)
        actor = await self._client.actor()
        body = {"deputy": deputy, "until": jsonable(until)} | ({"unknown": True} if unknown else {})
        away = away_of(actor, await self._transport.call(ApiCall("PUT", AWAY, body=body)))
        return away.absence or Absence(person=actor, deputy=deputy, until=until)

    async def come_back(self, *, by: Caller = None) -> None:
        refuse_name(by)
        await self._transport.call(ApiCall("DELETE", AWAY))

    async def away(self, *, by: Caller = None) -> Away:
        refuse_name(by)
        return away_of(await self._client.actor(), await self._transport.call(ApiCall("GET", AWAY)))

    async def absences(self) -> Page[Absence]:
        return Page(absence_of(each) for each in (await self._transport.call(ApiCall("GET", ABSENCES)))["items"])

    async def end_absence(self, person: str, *, by: Caller = None) -> None:
        refuse_name(by)
        call = ApiCall("DELETE", ABSENCES, person, params={"person": person}, is_repeatable=False, kind="absence")
        await self._transport.end(call)


class ClientChecks(ClientPart, api.Checks):
    """The checks behind a server's URL."""

    async def plant(
        self, checks: Sequence[CheckRecipe | Mapping[str, Any]], *, share: float | None = None, by: Caller = None
    ) -> list[str]:
        refuse_name(by)
        recipes = [each.model_dump(exclude_unset=True) if isinstance(each, CheckRecipe) else each for each in checks]
        body = {"checks": jsonable(recipes), **({} if share is None else {"share": share})}
        reply = await self._transport.call(ApiCall("POST", CHECKS, body=body, is_repeatable=False))
        return [str(id) for id in reply["ids"]]

    async def report(self) -> CheckReport:
        return CheckReport.model_validate(await self._transport.call(ApiCall("GET", CHECKS)), extra="ignore")


class ClientMemories(ClientPart, api.Memories):
    """The memories of the token's person."""

    async def list(self, person: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        refuse_name(person)
        page = await self._transport.pages(MEMORIES, {}, limit, cursor)
        return Page([await self._memory(item) for item in page], page.next)

    async def get(self, id: str, person: str | None = None) -> Memory:
        refuse_name(person)
        return await self._memory(await self._transport.call(memory_call("GET", id)))

    async def edit(
        self, id: str, data: dict[str, Any], *, told_at: datetime | None = None, by: Caller = None
    ) -> Memory:
        refuse_name(by)
        body = {"data": data, "told_at": jsonable(told_at)}
        return await self._memory(await self._transport.call(memory_call("PATCH", id, body)))

    async def delete(self, id: str, *, by: Caller = None) -> None:
        refuse_name(by)
        await self._transport.end(memory_call("DELETE", id))

    async def _memory(self, body: dict[str, Any]) -> Memory:
        return Memory.model_validate({**body, "person": await self._client.actor()}, extra="ignore")


class ClientTrail(ClientPart, api.Trail):
    """The record behind a server's URL."""

    async def erase_some(self, sweep: Sweep, *, by: Caller = None) -> Erasure:
        refuse_name(by)
        result = await self._transport.call(ApiCall("POST", "/v1/erasures", body=jsonable(sweep)))
        return Erasure.model_validate(result, extra="ignore")


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
