"""Which request each token was served last on each thread: an answer names none, and may approve only that one."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from ringi.domain.request import Request
from ringi.server.refusals import RefusalError

MOST = 50_000


class NotServedError(RefusalError):
    """The caller answers what they were not shown."""

    status, code = 409, "not_served"

    def __init__(self, thread_id: str) -> None:
        super().__init__(f"nothing that waits on thread {thread_id!r} was served to this token: load the thread first")


class Seen(NamedTuple):
    """One request as it was served."""

    request_id: str
    digest: str


class Served:
    """What was served, as far as this process knows; the oldest is forgotten first."""

    def __init__(self) -> None:
        self._seen: OrderedDict[tuple[str, str, str], Seen] = OrderedDict()

    def note(self, tenant: str, token: str, thread_id: str, request: Request | None) -> None:
        """Take note of what a token is served on a thread; None: nothing that waits."""
        place = (tenant, token, thread_id)
        self._seen.pop(place, None)
        if request:
            self._seen[place] = Seen(request.id, request.digest)
        if len(self._seen) > MOST:
            self._seen.popitem(last=False)

    def seen(self, tenant: str, token: str, thread_id: str) -> Seen:
        """Return what a token was served last on a thread, or raise `NotServedError`."""
        found = self._seen.get((tenant, token, thread_id))
        if found is None:
            raise NotServedError(thread_id)
        return found
