"""What the parts of an inbox on a store share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from ringi.base.clock import Clock
from ringi.domain.record import Event, Page, Query
from ringi.domain.request import Request
from ringi.domain.voting import Caller, Decider
from ringi.inbox.absences import Absences
from ringi.inbox.api import Inbox
from ringi.inbox.feed import Feed
from ringi.inbox.lifetime import Closable

RequestStep = Callable[[Request], tuple[Request, Event | None]]
"""Returns the next version of a request and its event; the request itself changes nothing."""


class InboxCore(Closable, Inbox):
    """The store of an inbox, and the steps that its operations share."""

    tenant: str
    clock: Clock
    feed: Feed
    check: Callable[[Request], None]
    """Called with each version that is read or replaced; it raises to deny access."""

    @property
    def absences(self) -> Absences:
        """The people of the tenant who are away."""
        return Absences(self.store, self.tenant, self.clock)

    @abstractmethod
    async def page(self, query: Query) -> Page[Request]:
        """Return a page of this tenant's matching requests.

        Args:
            query: The conditions, the limit and the cursor.
        """

    @abstractmethod
    async def search(self, query: Query) -> list[Request]:
        """Return this tenant's matching requests, newest first, unless the query has another order.

        Args:
            query: The conditions and the limit.
        """

    @abstractmethod
    async def change(
        self, id: str, step: RequestStep, read: Request | None = None, check: Callable[[Request], None] | None = None
    ) -> Request:
        """Save the next version of a request, and notify everybody."""

    @abstractmethod
    async def notify(self, request: Request) -> None:
        """Notify everybody of a change of a request."""

    @abstractmethod
    async def publish(self, *topics: str) -> None:
        """Notify all processes; a failure is logged, and the waiters wake by polling."""

    @abstractmethod
    async def decider(self, by: Caller) -> Decider:
        """Return the person with those for whom the person stands; a `Decider` already has them."""

    @abstractmethod
    async def forget_erased(self) -> None:
        """Read again what other processes may have erased."""

    @abstractmethod
    async def forget_person(self, name: str) -> None:
        """Record that a person has no token any more, and mark what nobody else can answer."""


class InboxPart:
    """A part of an inbox on a store.

    Args:
        inbox: The inbox.
    """

    def __init__(self, inbox: InboxCore) -> None:
        self._inbox = inbox
