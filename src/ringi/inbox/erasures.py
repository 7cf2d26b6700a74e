"""The operations that erase content, also those that waited for the review of an override."""

from __future__ import annotations

import logging
from datetime import timedelta

from ringi.domain.record import SYSTEM, Erased, Key
from ringi.domain.request import Request
from ringi.domain.voting import Caller, as_decider
from ringi.inbox.api import id_of
from ringi.inbox.core import InboxCore
from ringi.inbox.feed import TOPIC
from ringi.privacy.candidates import Sweep

log = logging.getLogger(__name__)
RETENTION = "retention"
"""The name of the cursor up to which old content was erased."""


class ErasureOperations(InboxCore):
    """The part of an inbox that erases content."""

    async def erase(self, request: Request | str, *, by: Caller = None) -> Request:
        erased = Erased(at=self.clock(), by=as_decider(by).name, rule="request")
        after = await self.eraser.request(Key(self.tenant, id_of(request)), erased, self.check)
        # Its review is erased too.
        self.feed.forget()
        await self.notify(after)
        return after

    async def retain(self, days: float) -> int:
        """Erase the content of old requests and of their threads, for all tenants.

        Args:
            days: The minimum time since the end of a request, in days.

        Returns:
            The number of erased requests.
        """
        number, before = 0, self.clock() - timedelta(days=days)
        while True:
            after = await self.store.cursor(RETENTION)
            sweep = Sweep(before=before, after=after)
            done = await self.eraser.sweep(sweep, Erased(at=self.clock(), by=SYSTEM, rule="age"), None)
            number += len(done.requests)
            if done.requests:
                self.feed.forget()
            for skipped, why in done.left.items():
                log.warning("the retention skipped %s: %s", skipped, why)
            if done.upto != after:
                await self.store.move_cursor(RETENTION, after, done.upto)
            if done.next is None:
                return number

    async def finish_erasures(self, id: str) -> bool:
        """Do the erasures that waited for the review of an override; idempotent.

        Args:
            id: The id of the review.

        Returns:
            Whether something was erased.

        Raises:
            ConflictError: One of them cannot be done now, such as one of a request on legal hold.
            NotFoundError: There is no such request.
        """
        is_erased = await self.eraser.finish(await self.get(id), self.clock())
        if is_erased:
            await self.forget_erased()
        return is_erased

    async def forget_erased(self) -> None:
        """Read again what other processes may have erased."""
        self.feed.forget()
        await self.publish(TOPIC)
