"""Images of a message that was refused: they are released, they do not pile up, and an erasure reaches them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.test_image_recovery import stored_numbers
from tests.test_images import Talk, photo, talk

from ringi.backends.sqlite.database import Task
from ringi.connect import Backend
from ringi.errors import UnavailableError, UnreadableError
from ringi.record import Key

LOST = UnavailableError("the connection is lost")


def failing_to_begin(backend: Backend, patch: pytest.MonkeyPatch, error: Exception = LOST) -> list[tuple[Any, Any]]:
    """Have the store refuse to begin runs, and return what it was to save."""
    put, late = backend.store.put, list[tuple[Any, Any]]()

    async def fail(record: Any, event: Any) -> None:
        if event and event.type == "thread.started":
            late.append((record, event))
            raise error
        await put(record, event)

    patch.setattr(backend.store, "put", fail)
    return late


async def refused(here: Talk, error: Exception = LOST, times: int = 1) -> list[tuple[Any, Any]]:
    """Send a message with an image that is refused, so often, and return what may be saved yet."""
    with pytest.MonkeyPatch.context() as patch:
        late = failing_to_begin(here.backend, patch, error)
        for _ in range(times):
            with pytest.raises(type(error)):
                await here.start("refused", photo())
    return late


CERTAIN = {
    "no turn": UnavailableError("no turn in 10 s", unwritten=True),
    "unreadable": UnreadableError("thread", "t1", "it was damaged"),
}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("kind", CERTAIN)
async def test_images_go_at_once_when_nothing_can_have_been_saved(kind: str, *, begun: bool) -> None:
    async with talk("memory://") as here:
        if begun:
            await here.say("text")
        await refused(here, CERTAIN[kind])
        assert await stored_numbers(here.backend) == []


async def test_an_image_that_cannot_be_released_does_not_hide_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk("memory://") as here:

        async def away(key: Key, *, fence: int) -> int:
            raise LOST

        monkeypatch.setattr(here.backend.stream, "delete", away)
        failing_to_begin(here.backend, monkeypatch, CERTAIN["no turn"])
        with pytest.raises(UnavailableError, match="no turn in 10 s"):
            await here.start("refused", photo())


async def test_a_write_that_sqlite_never_began_says_that_nothing_is_written() -> None:
    task = Task(lambda _: None, asyncio.get_running_loop().create_future(), needs_turn=True, until=0.0)
    task.give_up()
    error = task.future.exception()
    assert isinstance(error, UnavailableError)
    assert error.is_unwritten
    assert not task.take()
