"""The last request served to each token on each thread.

An answer names no request, and may approve only the served one.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from ringi.domain.request import Request
from ringi.server.refusals import RefusalError

MAX_SERVED = 50_000


class ServedRequest(NamedTuple):
    """One request as it was served."""

    request_id: str
    digest: str


class ServedRequests:
    """The served requests known to this process; the oldest are evicted first."""

    def __init__(self) -> None:
        self._last: OrderedDict[tuple[str, str, str], ServedRequest] = OrderedDict()

    def record(self, tenant: str, token: str, thread_id: str, request: Request | None) -> None:
        """Record the request served to a token on a thread; None if no request waits."""
        key = (tenant, token, thread_id)
        self._last.pop(key, None)
        if request:
            self._last[key] = ServedRequest(request.id, request.digest)
        if len(self._last) > MAX_SERVED:
            self._last.popitem(last=False)

    def last(self, tenant: str, token: str, thread_id: str) -> ServedRequest:
        """Return the last request served to a token on a thread, or raise `RefusalError`."""
        found = self._last.get((tenant, token, thread_id))
        if found is None:
            what = f"this token has not read the open request of thread {thread_id!r}: load the thread first"
            raise RefusalError(409, "not_served", what)
        return found
