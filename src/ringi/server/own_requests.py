"""The requests of one caller, with the checks of the routes, for the tools of `/mcp`."""

from __future__ import annotations

from contextlib import suppress

from ringi.domain.ask import Answer, Ask
from ringi.domain.decisions import MCP
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import NotFoundError, WaitTimeoutError
from ringi.inbox.inbox import Inbox
from ringi.server.auth.authenticator import Authenticator, Principal, VerifiedToken
from ringi.server.auth.permissions import (
    inbox_for,
    is_theirs_to_answer,
    refuse_hidden_thread,
    require_answerable,
    require_cancellable,
    require_person,
)
from ringi.server.components import ServerComponents
from ringi.server.limits import AskLimits
from ringi.server.refusals import UnauthenticatedError
from ringi.server.sse.sse import Streams


async def submit_for(components: ServerComponents, limits: AskLimits, caller: Principal, ask: Ask) -> Request:
    """Store an ask of a caller, or return the stored request if its id exists with the same content.

    Args:
        components: The components of the server.
        limits: The limits on new requests.
        caller: The caller.
        ask: The question.

    Raises:
        InvalidError: The ask breaks a rule.
        LimitError: The caller creates requests too fast, or has too many open ones.
        NotFoundError: The caller may not read the thread.
        DifferentAskError: The id exists with other content.
    """
    components.deliveries.check(ask.webhooks, caller.tenant)
    inbox = components.inbox.for_tenant(caller.tenant)
    if caller.role != "admin":
        await limits.check(inbox, caller, ask.id)
    if ask.thread_id is not None:
        await refuse_hidden_thread(inbox.store, caller, ask.thread_id)
    return await inbox.submit(ask, by=caller.asker)


class CallerRequests:
    """The requests that one caller has asked; those of others do not exist here.

    Args:
        components: The components of the server.
        limits: The limits on new requests.
        streams: The open connections of the server, whose end ends a wait.
        auth: The authenticator, which knows whether the token has been revoked meanwhile.
        token: The token of the caller.
        session: The session of the client; None without sessions.
        base: The address of the page.
    """

    def __init__(
        self,
        components: ServerComponents,
        limits: AskLimits,
        streams: Streams,
        auth: Authenticator,
        token: VerifiedToken,
        *,
        session: str | None,
        base: str,
    ) -> None:
        self._components, self._limits, self._streams = components, limits, streams
        self._auth, self._token, self._caller = auth, token, token.principal
        self._base, self.session = base, session
        self._is_signed_in = self._caller.role in ("person", "admin") and not components.settings.no_auth

    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request."""
        return await submit_for(self._components, self._limits, self._caller, ask)

    async def get(self, id: str) -> Request:
        """Return a request of the caller."""
        return await self._inbox.get(id)

    async def find(self, limit: int) -> list[Request]:
        """Return the newest requests of the caller."""
        return await self._inbox.find(Query(asked_by=self._caller.actor, limit=limit))

    async def wait(self, id: str, seconds: float) -> Request:
        """Return a request once it has ended, or as it is after some seconds."""
        inbox = self._inbox
        request = await inbox.get(id)
        if not request.is_final and seconds > 0:
            seconds = min(seconds, self._components.settings.max_wait)
            # A wait goes on after its HTTP call was aborted, so it counts on its own; no name has a colon.
            waiter = self._caller._replace(name=f"mcp:{self._caller.name}")
            with self._streams.slot(waiter), suppress(WaitTimeoutError):
                await self._streams.wait(inbox.wait(request, seconds), self._token)
            request = await self._inbox.get(id)
        return request

    async def cancel(self, id: str, reason: str | None) -> Request:
        """Cancel a request of the caller."""
        await self.get(id)
        inbox = inbox_for(self._components.inbox, self._caller, require_cancellable)
        return await inbox.cancel(id, self._caller.actor, reason)

    def may_answer(self, request: Request) -> bool:
        """Return whether the caller is signed in as a person to whom the request is open."""
        caller = self._caller
        return self._is_signed_in and (caller.role == "admin" or is_theirs_to_answer(caller, request))

    async def answer(self, id: str, answer: Answer) -> Request:
        """Answer a request as the person who is signed in, with the checks of each answer."""
        self._refuse_revoked()
        require_person(self._caller)
        inbox = inbox_for(self._components.inbox, self._caller, require_answerable)
        return await inbox.answer(id, answer, by=self._caller.decider, channel=MCP)

    def address(self, id: str) -> str | None:
        """Return the address of the page of a request."""
        return f"{self._base}/r/{id}"

    @property
    def _inbox(self) -> Inbox:
        self._refuse_revoked()
        return inbox_for(self._components.inbox, self._caller, require_own)

    def _refuse_revoked(self) -> None:
        # A wait or a form can last longer than the token.
        if self._auth.is_revoked(self._token):
            raise UnauthenticatedError.revoked()


def require_own(caller: Principal, request: Request) -> None:
    """Raise `NotFoundError` unless the caller has asked this request."""
    if request.tenant != caller.tenant or not request.is_from(caller.actor):
        raise NotFoundError("request", request.id)
