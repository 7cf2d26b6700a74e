"""A thread and output of its run are saved together or not at all."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ringi.connect import Backend, open_backend
from ringi.contracts.stream import StreamItem
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, FenceError
from ringi.testing.factories import a_thread

ITEM = StreamItem({"type": "CUSTOM", "name": "\0", "value": 1}, "origin")


@pytest.fixture(params=["sqlite", "postgres"])
async def backend(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Backend]:
    """An open store whose threads and output share transactions."""
    url = f"sqlite:///{tmp_path / 'ringi.db'}"
    if request.param == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    async with open_backend(url) as backend:
        yield backend


async def held(backend: Backend) -> Thread:
    """Store a thread that a worker holds, under the fence of the worker."""
    begun, event = a_thread("t1")
    await backend.store.put(begun, event)
    return await save(backend, begun)


async def save(backend: Backend, thread: Thread, *items: StreamItem) -> Thread:
    """Save the next version of a thread with items, under a higher fence."""
    changed, event = thread.changed("acquired", "worker", thread.updated_at, fence=thread.fence + 1)
    assert backend.put_with_items
    await backend.put_with_items(changed, event, items)
    return changed


async def stored(backend: Backend, thread: Thread) -> tuple[Thread, list[dict[str, object]], int]:
    """Return the thread, its output, and the number of its events."""
    items = await backend.stream.read(thread.key)
    events = await backend.store.events(record_id=thread.id)
    return await backend.store.get(Thread, *thread.key), [item.event for item in items], len(events)


async def test_a_thread_and_its_output_are_saved_together(backend: Backend) -> None:
    first = await held(backend)
    second = await save(backend, first, ITEM, ITEM)
    assert await stored(backend, second) == (second, [ITEM.event, ITEM.event], 3)
    with pytest.raises(FenceError):
        await backend.stream.append(first.key, [ITEM], fence=first.fence)


async def test_output_is_not_saved_if_the_thread_has_changed(backend: Backend) -> None:
    first = await held(backend)
    second = await save(backend, first)
    with pytest.raises(ConflictError):
        await save(backend, first, ITEM)
    assert await stored(backend, second) == (second, [], 3)


async def test_a_thread_is_not_saved_if_its_fence_is_refused(backend: Backend) -> None:
    first = await held(backend)
    await backend.stream.append(first.key, (), fence=first.fence + 9)
    with pytest.raises(FenceError):
        await save(backend, first, ITEM)
    assert await stored(backend, first) == (first, [], 2)
