"""A LangGraph checkpointer that writes only while its worker still holds the thread."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)

T = TypeVar("T")
Saver = BaseCheckpointSaver[Any]
Work = Callable[[Saver], T]


async def nothing(task_id: str | None) -> None:
    """Do nothing."""


class FencedSaver(Saver):
    """The checkpoints of one run: `_write` checks the fence in the transaction of the write.

    A worker that was stopped, lost its lease and wakes late gets `FenceError` instead of a commit.
    """

    before_write: Callable[[str | None], Awaitable[None]] = staticmethod(nothing)
    """Told of the task whose results are about to be saved, None for a whole checkpoint."""

    @abstractmethod
    async def _read(self, work: Work[T]) -> T:
        """Run the work on the real saver."""

    @abstractmethod
    async def _write(self, work: Work[T]) -> T:
        """Check the fence and run the work on the real saver, both or neither."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        return await self._read(lambda saver: saver.get_tuple(config))

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        def listed(saver: Saver) -> list[CheckpointTuple]:
            found: Iterator[CheckpointTuple] = saver.list(config, filter=filter, before=before, limit=limit)
            return list(islice(found, limit))

        for item in await self._read(listed):
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        await self.before_write(None)
        return await self._write(lambda saver: saver.put(config, checkpoint, metadata, new_versions))

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        await self.before_write(task_id)
        await self._write(lambda saver: saver.put_writes(config, writes, task_id, task_path))

    async def adelete_thread(self, thread_id: str) -> None:
        await self._write(lambda saver: saver.delete_thread(thread_id))
