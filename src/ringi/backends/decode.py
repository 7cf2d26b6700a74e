"""Decoding of stored JSON to records: an unreadable record fails only direct reads of it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache

from pydantic import ValidationError

from ringi.contracts.store import R
from ringi.domain.record import Query, Record
from ringi.errors import UnreadableError

log = logging.getLogger(__name__)
Body = str | bytes


def record_of(kind: type[R], body: Body) -> R:
    """Return the stored record, or raise `UnreadableError`."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        bare = _bare_or_none(body)
        raise UnreadableError(kind.record, bare.id if bare else "?", why) from error


async def page(kind: type[R], query: Query, bodies_of: Callable[[Query], Awaitable[Sequence[Body]]]) -> list[R]:
    """Return a page of records; unreadable ones are skipped, and later records take their place."""
    size = query.limit
    while True:
        bodies = await bodies_of(query.model_copy(update={"limit": size}))
        found = [record for body in bodies if (record := _record_or_none(kind, body))]
        if len(found) >= query.limit or len(bodies) < size:
            return found[: query.limit]
        # Read again with a larger size: unreadable records provide no cursor to continue after them.
        size += 2 * (len(bodies) - len(found))


def _record_or_none(kind: type[R], body: Body) -> R | None:
    try:
        return record_of(kind, body)
    except UnreadableError as error:
        _warn(str(error))
        return None


@lru_cache(1000)
def _warn(what: str) -> None:
    # Once: the lists that contain it are read several times a second.
    log.warning("left out of a list: %s", what)


def _bare_or_none(body: Body) -> Record | None:
    try:
        return Record.model_validate_json(body)
    except ValidationError:  # The record is damaged.
        return None
