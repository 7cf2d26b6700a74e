"""State that all screens share: the inbox, the person, and their drafts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import datetime

from ringi.cli.format.requests import clock
from ringi.cli.format.visible import visible
from ringi.cli.terminal.draft import Draft
from ringi.cli.terminal.request_list import RequestList
from ringi.cli.terminal.texts import ENGLISH as TEXTS
from ringi.domain.request import Request
from ringi.errors import RingiError
from ringi.inbox.inbox import Inbox


class InboxController:
    """The inbox and the drafts of one person."""

    def __init__(self, inbox: Inbox, name: str) -> None:
        self.inbox, self.name = inbox, name
        self.requests = RequestList(inbox)
        self.drafts: dict[str, Draft] = defaultdict(Draft)

    @property
    def has_unsent(self) -> bool:
        """Whether a draft for an open request has content."""
        ended = {request.id for request in self.requests.listed.values() if request.is_final}
        return any(draft.typed and id not in ended for id, draft in self.drafts.items())

    def now(self) -> datetime:
        """Return the time of the inbox."""
        return self.inbox.clock()

    async def claim(self, request: Request) -> str:
        """Claim a request; return the message to show."""
        return await self._attempt(self.inbox.claim(request.id, self.name), _claim_message)

    async def release(self, request: Request) -> str:
        """Release a request; return the message to show."""
        return await self._attempt(self.inbox.release(request.id, self.name), lambda _: TEXTS.released)

    async def _attempt(self, work: Awaitable[Request], describe: Callable[[Request], str]) -> str:
        try:
            return describe(await work)
        except RingiError as error:
            return visible(str(error))


def _claim_message(request: Request) -> str:
    return TEXTS.claimed.format(at=clock(request.claimed_until)) if request.claimed_until else ""
