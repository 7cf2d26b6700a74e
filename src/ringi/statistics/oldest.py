"""Finds the oldest pending request in a list that begins with the newest."""

from __future__ import annotations

from datetime import datetime, timedelta

from ringi.contracts.store import Store
from ringi.domain.record import Query, microseconds
from ringi.domain.request import Request

SECOND = timedelta(seconds=1)


async def oldest_pending(store: Store, query: Query, first: datetime) -> datetime | None:
    """Return the time at which the oldest pending request was asked, to the second; None if none is pending.

    The number of reads is the logarithm of the time since the first event.

    Args:
        store: The store of the requests.
        query: The requests that the caller may read.
        first: A time before which nothing was asked.
    """
    pending = query.model_copy(update={"statuses": ("pending",), "limit": 1})
    found = await store.find(Request, pending)
    low = first
    while found and (oldest := found[0].created_at) - low > SECOND:
        middle = low + (oldest - low) / 2
        before = pending.model_copy(update={"before": f"{microseconds(middle)}::"})
        older = await store.find(Request, before)
        if older:
            found = older
        else:
            low = middle
    return found[0].created_at if found else None
