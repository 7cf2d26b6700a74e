"""The states of runs whose framework has no checkpoints, stored in streams beside the thread."""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from ringi.contracts.runtime import State
from ringi.contracts.stream import Stream, StreamItem
from ringi.domain.record import Key
from ringi.domain.thread import state_streams
from ringi.errors import InvalidError
from ringi.runs.json_values import clean_json

CHUNK = 192 * 1024
"""Characters of one stream item."""
MAX_STATE = 16 * 1024 * 1024
"""Maximum characters of a state."""
PAGE = 8


class Found(NamedTuple):
    """A stored state in one of the streams, and its place in the order of states."""

    order: tuple[int, int]
    text: str


class RunStates:
    """The newest state of one thread. Two streams take turns, so that the previous state is there until the next is.

    Args:
        stream: The streams of the store.
        key: The key of the thread.
        fence: The fence of the worker that holds the thread.
    """

    def __init__(self, stream: Stream, key: Key, fence: int) -> None:
        self._stream, self._streams, self._fence = stream, state_streams(key), fence
        self._next, self._count = 0, 0

    async def take_over(self) -> State | None:
        """Fence off older workers, and return the newest state; None if there is none."""
        await asyncio.gather(*(self._stream.append(key, (), fence=self._fence) for key in self._streams))
        found = await asyncio.gather(*map(self._read, self._streams))
        newest = max((each for each in found if each), default=None)
        if newest is None:
            return None
        self._next, self._count = 1 - found.index(newest), newest.order[1]
        return State.model_validate_json(newest.text)

    async def write(self, state: State) -> State:
        """Store the next state durably, in place of all earlier ones, and return it as it is stored.

        Characters that a store refuses are replaced: they would be noticed only after the calls of the run.

        Raises:
            FenceError: Another worker holds the thread.
            InvalidError: The state is too large.
        """
        state = state.model_copy(update={"data": clean_json(state.data)})
        text = state.model_dump_json()
        if len(text) > MAX_STATE:
            why = f"the state of the run has {len(text)} characters: keep at most {MAX_STATE}"
            raise InvalidError.of("state", why, "too_large")
        key, order = self._streams[self._next], [self._fence, self._count + 1]
        parts = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
        head = {"type": "STATE", "order": order, "parts": len(parts)}
        await self._stream.delete(key, fence=self._fence)
        items = [StreamItem({**head, "text": part}) for part in parts]
        await self._stream.append(key, items, fence=self._fence)
        self._next, self._count = 1 - self._next, self._count + 1
        return state

    async def _read(self, key: Key) -> Found | None:
        items, after = list[StreamItem](), 0
        while page := await self._stream.read(key, after, PAGE):
            items, after = items + page, page[-1].number
        # The parts of a state are appended at once, so a part never stands alone.
        if not items:
            return None
        fence, number = items[0].event["order"]
        return Found((fence, number), "".join(item.event["text"] for item in items))
