"""What a worker knows of the newest checkpoint of its thread, and the saver that omits reads of the store by it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.serde.base import SerializerProtocol

from ringi.backends.fenced_saver import FencedCheckpointSaver
from ringi.domain.thread import Thread

Found = TypeVar("Found")
Written = TypeVar("Written")


class UnknownCheckpointError(Exception):
    """The checkpoint has to be read from the store."""


class NewestCheckpoint(ABC, Generic[Found, Written]):
    """The newest checkpoint of the outermost graph of one thread, serialized, with its pending writes.

    The worker that holds a thread is the only writer of its checkpoints, so one read and its own writes tell it what
    the store returns. Each `load` deserializes anew, because graphs change the values that they load.
    """

    def __init__(self, thread_id: str) -> None:
        self._thread_id = thread_id
        self._is_known = self._has_stopped = False
        self._begun = self._open = 0

    def is_read_by(self, config: RunnableConfig) -> bool:
        """Return whether a read with this configuration returns this checkpoint."""
        return self._is_place(config) and not get_checkpoint_id(config)

    def load(self, config: RunnableConfig, serde: SerializerProtocol) -> CheckpointTuple | None:
        """Return what LangGraph reads from the store; raise `UnknownCheckpointError` if only the store knows it."""
        if not self._is_known:
            raise UnknownCheckpointError
        return self._load(config, serde)

    def expect_none(self) -> None:
        """Note that the store has no checkpoint; only before any read or write."""
        self._replace(None)
        self._is_known = True

    @contextmanager
    def reading(self) -> Iterator[list[Found | None]]:
        """Keep what the block reads and appends, unless a write overlaps with it."""
        found, begun, is_alone = list[Found | None](), self._begun, not self._open
        yield found
        if is_alone and begun == self._begun and not self._has_stopped:
            self._replace(found[0])
            self._is_known = True

    @contextmanager
    def writing(self, method: str, args: Sequence[Any]) -> Iterator[list[Written]]:
        """Apply what the block has committed and appends; after a failure nobody knows what is stored."""
        self._begun += 1
        self._open += 1
        written = list[Written]()
        try:
            yield written
            if method == "keep_newest":
                self.forget()
            elif not method.startswith("put"):
                self.stop()
            elif self._is_place(args[0]):
                self._apply(args, written)
        except BaseException:
            self.stop()
            raise
        finally:
            self._open -= 1

    def skip(self, method: str, args: Sequence[Any]) -> None:
        """Note a write from another thread of this process."""
        if not method.startswith("put") or self._is_place(args[0]):
            self.stop()

    def forget(self) -> None:
        """Leave the next read to the store."""
        self._begun += 1
        self._is_known = False

    def stop(self) -> None:
        """Leave all further reads to the store."""
        self._has_stopped, self._is_known = True, False

    def _is_place(self, config: RunnableConfig) -> bool:
        place = config["configurable"]
        return not place.get("checkpoint_ns") and place["thread_id"] == self._thread_id

    @abstractmethod
    def _load(self, config: RunnableConfig, serde: SerializerProtocol) -> CheckpointTuple | None:
        """Return what LangGraph makes of what is known."""

    @abstractmethod
    def _replace(self, found: Found | None) -> None:
        """Keep what was read in place of all else."""

    @abstractmethod
    def _apply(self, args: Sequence[Any], written: Sequence[Written]) -> None:
        """Apply a committed write of the outermost graph."""


class KnowingCheckpointSaver(FencedCheckpointSaver):
    """A saver that reads the newest checkpoint of its thread once, and then knows it."""

    def __init__(self, held: Thread, newest: NewestCheckpoint[Any, Any]) -> None:
        super().__init__(held)
        self._newest = newest

    def expect_no_checkpoint(self) -> None:
        """Note that no worker has held the thread before, so that reads of the store are omitted."""
        self._newest.expect_none()

    def forget(self) -> None:
        """Read the newest checkpoint from the store again, because another saver has changed it."""
        super().forget()
        self._newest.forget()

    async def _read(self, method: str, *args: Any, **options: Any) -> Any:
        if method == "get_tuple" and self._newest.is_read_by(args[0]):
            with suppress(UnknownCheckpointError):
                return self._newest.load(args[0], self.serde)
            with suppress(UnknownCheckpointError):
                return await self._read_newest(args[0])
        return await self._read_stored(method, *args, **options)

    @abstractmethod
    async def _read_newest(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Read the newest checkpoint, and keep it; raise `UnknownCheckpointError` if LangGraph reads more than that."""

    @abstractmethod
    async def _read_stored(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a read method of the real saver; iterators are returned as a list."""
