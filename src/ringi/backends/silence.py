"""A server that does not answer: calls are refused at once, instead of one wait for each, until it answers again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ringi.base.loops import cancel_all
from ringi.errors import UnavailableError

AGAIN_SECONDS = 0.5


class ServerSilence:
    """Whether a server is silent.

    Args:
        is_heard: Asks the server for a sign of life, within a limit of its own.
        part: The name of the component, for the error.
    """

    def __init__(self, is_heard: Callable[[], Awaitable[bool]], part: str = "the store") -> None:
        self._is_heard, self._part = is_heard, part
        self._listening: asyncio.Task[None] | None = None

    def refuse(self) -> None:
        """Raise `UnavailableError` while the server is silent."""
        if self._listening:
            raise UnavailableError("it does not answer", part=self._part)

    def begin(self) -> None:
        """Note that the server is silent, and listen until it is heard."""
        self._listening = self._listening or asyncio.create_task(self._listen())

    async def close(self) -> None:
        """Listen no longer."""
        await cancel_all(self._listening)

    async def _listen(self) -> None:
        is_heard = False
        while not is_heard:
            await asyncio.sleep(AGAIN_SECONDS)
            is_heard = await self._is_heard()
        self._listening = None
