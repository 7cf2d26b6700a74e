"""What all screens share: the inbox, who sits here, what was typed so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable
from datetime import datetime

from ringi.cli.format.requests import clock
from ringi.cli.format.visible import visible
from ringi.cli.terminal.draft import Draft
from ringi.cli.terminal.live import Live
from ringi.cli.terminal.words import ENGLISH as WORDS
from ringi.domain.request import Request
from ringi.errors import RingiError
from ringi.inbox.inbox import Inbox


class InboxController:
    """One person in front of one inbox."""

    def __init__(self, inbox: Inbox, name: str) -> None:
        self.inbox, self.name = inbox, name
        self.live = Live(inbox)
        self.drafts: dict[str, Draft] = defaultdict(Draft)

    @property
    def has_unsent(self) -> bool:
        """Whether something is typed for a request that still waits."""
        ended = {request.id for request in self.live.shown.values() if request.is_final}
        return any(draft.typed and id not in ended for id, draft in self.drafts.items())

    def now(self) -> datetime:
        """Return the time of the inbox."""
        return self.inbox.clock()

    async def claim(self, request: Request) -> str:
        """Keep others from a request; return what to tell."""
        return await self._told(self.inbox.claim(request.id, self.name), _claimed)

    async def release(self, request: Request) -> str:
        """Let others have a request; return what to tell."""
        return await self._told(self.inbox.release(request.id, self.name), lambda _: WORDS.released)

    async def _told(self, work: Awaitable[Request], told: Callable[[Request], str]) -> str:
        try:
            return told(await work)
        except RingiError as error:
            return visible(str(error))


def _claimed(request: Request) -> str:
    return WORDS.claimed.format(at=clock(request.claimed_until)) if request.claimed_until else ""
