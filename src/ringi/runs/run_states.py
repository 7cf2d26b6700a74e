"""The states of runs: stored beside the thread, as JSON that every store accepts, and read outside a run."""

from __future__ import annotations

import asyncio
import json
import math
from contextlib import suppress
from typing import Any, NamedTuple

from pydantic_core import to_json

from ringi.contracts.backend import Backend, Stream, StreamItem
from ringi.contracts.runtime import FrameworkState
from ringi.domain.record import Key
from ringi.domain.thread import Thread, checkpoint_thread, state_streams
from ringi.errors import InvalidError
from ringi.runs.messages import saver_of
from ringi.runs.model_form import clean_text

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

    async def take_over(self) -> FrameworkState | None:
        """Fence off older workers, and return the newest state; None if there is none."""
        await asyncio.gather(*(self._stream.append(key, (), fence=self._fence) for key in self._streams))
        found = await asyncio.gather(*map(self._read, self._streams))
        newest = max((each for each in found if each), default=None)
        if newest is None:
            return None
        self._next, self._count = 1 - found.index(newest), newest.order[1]
        return FrameworkState.model_validate_json(newest.text)

    async def write(self, state: FrameworkState) -> FrameworkState:
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


def storable_json_text(value: Any) -> str:
    """Return a value of the agent as JSON, without characters that a store refuses."""
    with suppress(ValueError):
        return to_json(value, by_alias=True, inf_nan_mode="null", fallback=str).decode()
    return clean_text(json.dumps(value, default=str, ensure_ascii=False, skipkeys=True))


def clean_json(value: Any) -> Any:
    """Return JSON data without characters that a store refuses.

    Args:
        value: Text, a number, a list or an object; nested values are cleaned too. Infinite numbers become None.
    """
    if isinstance(value, dict):
        return {clean_text(name): clean_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [clean_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return clean_text(value) if isinstance(value, str) else value


async def graph_state(backend: Backend, thread: Thread) -> dict[str, Any]:
    """Return the state of a thread's graph as of its newest step.

    Args:
        backend: The services of the store.
        thread: The thread.

    Returns:
        The values by channel; empty if the thread was erased.
    """
    config = {"thread_id": checkpoint_thread(thread.key), "checkpoint_ns": ""}
    saver = await saver_of(backend, thread)
    saved = await saver.aget_tuple({"configurable": config})
    return saved.checkpoint["channel_values"] if saved else {}
