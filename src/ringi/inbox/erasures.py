"""The operations that erase content, also those that waited for the review of an override."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Callable
from datetime import timedelta

from ringi.contracts.backend import ABSENCES
from ringi.domain.record import SYSTEM, Erased, Key
from ringi.domain.request import Request
from ringi.inbox.feed import TOPIC, Feed
from ringi.inbox.lifetime import Closable
from ringi.inbox.people import PeopleOperations
from ringi.privacy.candidates import Erasure, Sweep

log = logging.getLogger(__name__)
Check = Callable[[Request], None]
RETENTION = "retention"
"""The name of the cursor up to which old content was erased."""


class ErasureOperations(Closable, PeopleOperations):
    """The part of an inbox that erases content."""

    feed: Feed

    async def erase(self, id: str, by: str) -> Request:
        erased, key = Erased(at=self.clock(), by=by, rule="request"), Key(self.tenant, id)
        request = await self._eraser.request(key, erased, self._check)
        # Its review is erased too.
        self.feed.forget()
        await self._notify(request)
        return request

    async def erase_some(self, sweep: Sweep, by: str) -> Erasure:
        done = await self._eraser.sweep(sweep, Erased(at=self.clock(), by=by, rule=sweep.checked(by).rule), self.tenant)
        if done.requests and not sweep.dry_run:
            await self._forget_erased()
        if done.journals and not sweep.dry_run:
            await self._publish(ABSENCES)
        if sweep.person and done.next is None and not sweep.dry_run:
            await self.forget_person(sweep.person)
        return done

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
            done = await self._eraser.sweep(sweep, Erased(at=self.clock(), by=SYSTEM, rule="age"), None)
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
        is_erased = await self._eraser.finish(await self.get(id), self.clock())
        if is_erased:
            await self._forget_erased()
        return is_erased

    async def _forget_erased(self) -> None:
        self.feed.forget()
        await self._publish(TOPIC)

    @abstractmethod
    async def _notify(self, request: Request) -> None:
        """Notify everybody of a change of a request."""

    @abstractmethod
    async def _publish(self, *topics: str) -> None:
        """Wake the subscribers of topics."""
