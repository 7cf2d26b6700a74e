"""The requests of the caller of a tool, which are all that the tools reach, and what a tool returns about one."""

from __future__ import annotations

import uuid
from contextlib import suppress
from typing import Any, Protocol

from pydantic import BaseModel, Field

from ringi.client.client import Client
from ringi.domain.ask import Answer, Ask, Decision
from ringi.domain.record import AGENT, Query
from ringi.domain.request import Request
from ringi.domain.request_data import Status
from ringi.errors import ForbiddenError, NotFoundError, WaitTimeoutError
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox

LOCAL = f"{AGENT}mcp"
"""The asker in a store that is opened without a server, and so without tokens."""
WAITING = "Still waiting for a person. Call get_request with this id again; until then nothing is approved."
REJECTED = "A person rejected this: do not do it."
ANSWERED = "A person answered."
APPROVED = "Approved: make exactly this call, with exactly these args, once."
UNANSWERED = "Nobody decided this, and nobody will: do not take an answer for granted."


class McpRequests(Protocol):
    """The requests of one caller; those of others do not exist here."""

    @property
    def session(self) -> str | None:
        """The session of the client, for the thread of its requests; None without sessions."""

    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request if its id exists with the same content and asker."""

    async def get(self, id: str) -> Request:
        """Return a request of the caller; raise `NotFoundError` for another one."""

    async def find(self, limit: int) -> list[Request]:
        """Return the newest requests of the caller."""

    async def wait(self, id: str, seconds: float) -> Request:
        """Return a request of the caller once it has ended, or as it is after some seconds."""

    async def cancel(self, id: str, reason: str | None) -> Request:
        """Cancel a request of the caller."""

    def may_answer(self, request: Request) -> bool:
        """Return whether the caller is signed in as a person who may answer the request on this connection."""

    async def answer(self, id: str, answer: Answer) -> Request:
        """Answer a request as the person who is signed in; raise `ForbiddenError` for everybody else."""

    def address(self, id: str) -> str | None:
        """Return the address of the page on which people answer; None if it is not known."""


class McpProcessRequests:
    """The requests of this process, in a store or behind a server. Nobody is signed in, so nobody can answer here.

    Args:
        inbox: The store, or the client of a server, whose token says who asks.
        server: The address of the page; None if it is not known.
    """

    def __init__(self, inbox: Inbox, server: str | None) -> None:
        self._inbox, self._server = inbox, server
        self.session: str | None = uuid.uuid4().hex[:12]

    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request."""
        if isinstance(self._inbox, StoreInbox):
            return await self._inbox.submit(ask, by=LOCAL)
        return await self._inbox.submit(ask)

    async def get(self, id: str) -> Request:
        """Return a request of this process's asker."""
        request = await self._inbox.get(id)
        if not request.is_from(await self._actor()):
            raise NotFoundError("request", id)
        return request

    async def find(self, limit: int) -> list[Request]:
        """Return the newest requests of this process's asker."""
        if isinstance(self._inbox, StoreInbox):
            return await self._inbox.search(Query(asked_by=LOCAL, limit=limit))
        # HTTP has no filter by asker: a person's token also lists what others ask that person.
        actor = await self._actor()
        return [each for each in await self._inbox.find(limit=limit) if each.is_from(actor)]

    async def wait(self, id: str, seconds: float) -> Request:
        """Return a request once it has ended, or as it is after some seconds."""
        request = await self.get(id)
        if request.is_final or seconds <= 0:
            return request
        with suppress(WaitTimeoutError):
            return await self._inbox.wait(request, seconds)
        return await self.get(id)

    async def cancel(self, id: str, reason: str | None) -> Request:
        """Cancel a request of this process's asker."""
        await self.get(id)
        return await self._inbox.cancel(id, reason, by=LOCAL if isinstance(self._inbox, StoreInbox) else None)

    def may_answer(self, request: Request) -> bool:
        """Return False: nobody is signed in."""
        return False

    async def answer(self, id: str, answer: Answer) -> Request:
        """Raise `ForbiddenError`."""
        raise ForbiddenError("nobody is signed in on this connection: answer on the page")

    def address(self, id: str) -> str | None:
        """Return the address of the page of a request."""
        return None if self._server is None else f"{self._server.rstrip('/')}/r/{id}"

    async def _actor(self) -> str:
        # Not at the start: the server may be unreachable then, and reachable at the first call.
        return await self._inbox.actor() if isinstance(self._inbox, Client) else LOCAL


def mcp_optional_field(description: str | None = None) -> Any:
    """Return a field that is left out while it is None: models read the text of each."""
    return Field(default=None, description=description, exclude_if=lambda value: value is None)


class RequestState(BaseModel):
    """A request as its asker sees it."""

    id: str
    status: Status
    decision: Decision | None = mcp_optional_field()
    approved: bool = Field(default=False, description="True only if the action may run, with `args`.")
    args: dict[str, Any] | None = mcp_optional_field("The approved arguments; a person may have edited them.")
    data: dict[str, Any] | None = mcp_optional_field("The answers by field name.")
    message: str | None = mcp_optional_field("The words of the person.")
    responder: str | None = mcp_optional_field()
    address: str | None = mcp_optional_field("The page on which people answer.")
    next: str = Field(default=WAITING, description="What to do now.")


def mcp_request_state(request: Request, address: str | None, note: str = "") -> RequestState:
    """Return the state of a request.

    Args:
        request: The request.
        address: The address of its page; None if it is not known.
        note: A remark in front of `next`.
    """
    response, granted = request.response, request.granted
    return RequestState(
        id=request.id,
        status=request.status,
        decision=response.decision if response else None,
        approved=granted is not None,
        args=granted.args if granted else None,
        data=response.data if response else None,
        message=response.message if response else request.reason,
        responder=response.responder if response else None,
        address=address,
        next=f"{note} {_next(request)}".strip(),
    )


def _next(request: Request) -> str:
    if not request.is_final:
        return WAITING
    if request.response is None:
        return UNANSWERED
    if request.response.decision == "reject":
        return REJECTED
    if request.action is None:
        return ANSWERED
    return APPROVED if request.granted else REJECTED
