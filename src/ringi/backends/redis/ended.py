"""Pages of ended requests in the order `ended`, from the list of a tenant by end."""

from __future__ import annotations

from collections.abc import AsyncIterator

from ringi.backends.redis.lists import DIGITS, NEWEST, field_of, plan_of
from ringi.backends.redis.server import Server, named
from ringi.backends.redis.urgent import FIRST_CHUNK, MAX_CHUNK, Pick, time_digits
from ringi.domain.endings import EndedQuery
from ringi.domain.request import Request


class EndedPages:
    """Reads pages in the order `ended`.

    Args:
        server: The server.
        lists: The key of the lists of requests.
        pick: Reads those of some records that fit a plan, at most so many.
    """

    def __init__(self, server: Server, lists: str, pick: Pick) -> None:
        self._lists, self._pick, self._peek = lists, pick, server.script("peek")

    async def read(self, ended: EndedQuery) -> list[bytes]:
        """Return the rows of at most `query.limit` matching requests, the latest end first."""
        plan, limit, found = plan_of(Request, ended.query), ended.query.limit, list[bytes]()
        async for places in self._descending(ended):
            found += await self._pick(plan, limit - len(found), places)
            if len(found) >= limit:
                break
        return found

    async def _descending(self, ended: EndedQuery) -> AsyncIterator[list[bytes]]:
        """Yield the positions on the list behind the previous page, the latest end first, in chunks."""
        name, below, size = named("ended", str(ended.query.tenant)), start_of(ended), FIRST_CHUNK
        while below:
            (members,) = await self._peek([self._lists], [size, below, name])
            places = [member[len(name.encode()) + 1 :] for member in members]
            yield [place[DIGITS:] for place in places]
            below = places[-1] if len(places) == size else b""
            size = min(2 * size, MAX_CHUNK)


def start_of(ended: EndedQuery) -> bytes:
    """Return what follows the name of the list in the member below which a page begins."""
    if ended.after is None:
        return NEWEST
    ended_at, created_at, id = ended.after
    return f"{time_digits(ended_at)}{time_digits(created_at)}".encode() + field_of(str(ended.query.tenant), id)
