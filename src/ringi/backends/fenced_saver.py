"""A LangGraph checkpointer that writes only while its worker still holds the thread, with the places of interrupts.

LangGraph draws an id for each checkpoint and derives those of tasks and interrupts from it, so a run that a restored
store repeats has other ones. Its steps have the same numbers and paths.
"""

from __future__ import annotations

import asyncio
import re
import threading
import zlib
from abc import abstractmethod
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME
from langgraph.types import Interrupt

from ringi.base.loops import running_loop
from ringi.base.outages import report_outages
from ringi.domain.thread import FenceError, Thread
from ringi.errors import NotFoundError

SHORTENED = "+ringi.images"
"""The suffix of the type of a shortened value."""
MARK = b"\0ringi.image:"
ESCAPED = MARK + b"="
"""Replaces text that looks like a mark but was written by others."""
MARKED = re.compile(re.escape(MARK) + rb"(?:=|([0-9a-f]{64})\0)")
HEAD = 10
"""Characters that identify the beginning of an image: its format takes up as many."""
COMPRESSED = "+ringi.zlib"
"""The suffix of the type of a compressed value."""
SMALL = 2_000
"""Bytes up to which a value is not compressed."""
SAMPLE = 16_000
"""The number of first bytes that must shrink to half: media and encrypted data would cost time and save nothing."""
LEVEL = 1


class CompactSerializer(JsonPlusSerializer):
    """LangGraph's own serializer, which omits the images of one thread, and compresses large values."""

    is_plain = False
    """True to write values without images as LangGraph does, for its own savers. Both forms are always readable."""

    def __init__(self) -> None:
        super().__init__()
        self.know({})

    def know(self, texts: Mapping[str, bytes]) -> None:
        """Register the images of the thread, in base64 by their digests."""
        self._texts, self._heads = texts, defaultdict[bytes, list[tuple[bytes, str]]](list)
        # The longest first: an image may begin with another complete image.
        for digest, text in sorted(texts.items(), key=lambda item: -len(item[1])):
            self._heads[text[:HEAD]].append((text, digest))
        self._begins = re.compile(b"|".join(map(re.escape, [MARK, *self._heads])))

    def dumps_typed(self, obj: object) -> tuple[str, bytes]:
        """Return a serialized value without the known images, compressed if it is large and if that pays."""
        kind, data = super().dumps_typed(obj)
        shorter = b"".join(self._shortened(data)) if self._texts else data
        if len(shorter) != len(data):
            kind, data = f"{kind}{SHORTENED}", shorter
        if self.is_plain or len(data) <= SMALL:
            return kind, data
        sample = data[:SAMPLE]
        if len(zlib.compress(sample, LEVEL)) * 2 > len(sample):
            return kind, data
        return f"{kind}{COMPRESSED}", zlib.compress(data, LEVEL)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return a value with its images; raise `NotFoundError` if an image is unknown."""
        kind, whole = data
        if kind.endswith(COMPRESSED):
            kind, whole = kind.removesuffix(COMPRESSED), zlib.decompress(whole)
        if kind.endswith(SHORTENED):
            kind, whole = kind.removesuffix(SHORTENED), MARKED.sub(self._restored, whole)
        return super().loads_typed((kind, whole))

    def _shortened(self, data: bytes) -> Iterator[bytes]:
        done = start = 0
        while found := self._begins.search(data, start):
            start, end, mark = found.start(), found.end(), ESCAPED
            if found[0] != MARK:
                known = ((text, digest) for text, digest in self._heads[found[0]] if data.startswith(text, start))
                text, digest = next(known, (b"", ""))
                if not text:
                    start += 1
                    continue
                end, mark = start + len(text), MARK + digest.encode() + b"\0"
            yield data[done:start]
            yield mark
            done = start = end
        yield data[done:]

    def _restored(self, found: re.Match[bytes]) -> bytes:
        if not found[1]:
            return MARK
        digest = found[1].decode()
        if digest not in self._texts:
            raise NotFoundError("image", digest)
        return self._texts[digest]


Saver = BaseCheckpointSaver[Any]
ERROR_SOURCE_NODE = "__error_source_node__"
"""LangGraph's own name for the entry of a failed step that an error handler takes over."""
LOOP_WAIT_SECONDS = 1.0
"""Seconds for which a step on its own thread waits for the event loop, before the loop counts as blocked."""
PLACE = "ringi_place"
"""The key in the schema of a stored interrupt with its place."""


async def flush_no_checkpoints(task_id: str | None) -> None:
    """Do nothing."""


class FencedCheckpointSaver(Saver):
    """The checkpoints of one run: `_write` checks the holder of the thread in the transaction of the write.

    A worker that was suspended, lost its lease and resumes late gets `FenceError` instead of a commit.
    """

    before_write: Callable[[str | None], Awaitable[None]] = staticmethod(flush_no_checkpoints)
    """Called with the task whose results are about to be saved; None for a whole checkpoint."""
    after_read: Callable[[CheckpointTuple | None], CheckpointTuple | None] = staticmethod(lambda saved: saved)
    """Returns a checkpoint that was read, as the graph receives it."""
    check_write: Callable[[str | None, Sequence[tuple[str, Any]]], None] = staticmethod(lambda task_id, writes: None)
    """Raises an error to refuse a task's results, or a whole checkpoint; the arguments are those of `before_write`."""
    notes: Mapping[str, Any] = MappingProxyType({})
    """Metadata that each checkpoint gets in addition when it is written."""

    def __init__(self, held: Thread) -> None:
        self.serializer = CompactSerializer()
        super().__init__(serde=self.serializer)
        self._held = held
        self._loop, self._loop_thread = running_loop(), threading.get_ident()
        self._is_loop_blocked = False
        self._places = InterruptPlaces()
        self.failed = set[str]()
        """The steps of the outermost graph that failed on an answer."""
        self.last_read: CheckpointTuple | None = None
        """The newest checkpoint of the outermost graph as last read; read-only, because the graph uses it."""
        self.next_read: CheckpointTuple | None = None
        """The result of the next read of the newest checkpoint, unless something is written before."""

    def expect_no_checkpoint(self) -> None:
        """Note that no worker has held the thread before, so that reads of the store may be omitted."""

    def forget(self) -> None:
        """Read the newest checkpoint from the store again, because another saver has changed it."""
        self.next_read = None

    def _refuse_other(self, now: Thread) -> None:
        """Raise `FenceError` unless the thread is unchanged since its worker took it."""
        if not now.is_held_as(self._held):
            raise FenceError(self._held.id, self._held.fence)

    def _note_read(self, found: CheckpointTuple | None) -> None:
        if found:
            self._places.note_step(found.checkpoint["id"], found.metadata)

    def _begin_put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> None:
        """Check and note a checkpoint that is about to be written."""
        self.check_write(None, ())
        self.next_read = None
        if not config["configurable"].get("checkpoint_ns"):
            self._places.end_step()
        self._places.note_step(checkpoint["id"], metadata)

    def _stored_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str
    ) -> Sequence[tuple[str, Any]]:
        """Return a task's writes with the places of its interrupts; of a failed or cancelled one only the error.

        A step that failed on an answer is recorded.

        LangGraph takes a task with any result for a finished one: its conditional edges, which come after the results,
        would never run. It would also give a failed step its answers forever, regardless of later answers.
        """
        error = next((value for channel, value in writes if channel == ERROR), None)
        if error is not None and not any(channel == ERROR_SOURCE_NODE for channel, _ in writes):
            if not isinstance(error, asyncio.CancelledError) and any(channel == RESUME for channel, _ in writes):
                # A subgraph's namespace begins with the outermost step: `name:task|name:task`.
                outermost = config["configurable"].get("checkpoint_ns", "").partition("|")[0].rpartition(":")[2]
                self.failed.add(outermost or task_id)
            writes = [(ERROR, error)]
        return self._places.placed(config["configurable"], writes, task_path)

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        with report_outages():
            found: CheckpointTuple | None = self._read_now("get_tuple", config)
        self._note_read(found)
        return self.after_read(found)

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        with report_outages():
            found = self._read_now("list", config, **options)
        yield from found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self._begin_put(config, checkpoint, metadata)
        self._flush_before(None)
        with report_outages():
            placed: RunnableConfig = self._write_now(
                "put", config, checkpoint, {**metadata, **self.notes}, new_versions
            )
        return placed

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.check_write(task_id, writes)
        self.next_read = None
        self._flush_before(task_id)
        with report_outages():
            stored = self._stored_writes(config, writes, task_id, task_path)
            self._write_now("put_writes", config, stored, task_id, task_path)

    def _flush_before(self, task_id: str | None) -> None:
        """Let the event loop store the step's output, unless the step itself blocks the loop."""
        if self._is_loop_blocked or self._loop is None:
            return
        if threading.get_ident() == self._loop_thread:
            self._is_loop_blocked = True
            return
        flushed = asyncio.run_coroutine_threadsafe(call_before_write(self, task_id), self._loop)
        try:
            flushed.result(LOOP_WAIT_SECONDS)
        except TimeoutError:
            # Agent code holds the loop until this very call ends: waiting for the loop would deadlock. The loop stores
            # the output later; canceled in the middle, it would lose output that the step does not repeat.
            self._is_loop_blocked = True

    @abstractmethod
    async def _read(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a read method of the real saver; iterators are returned as a list."""

    @abstractmethod
    async def _write(self, method: str, *args: Any) -> Any:
        """Check the holder of the thread and call a write method of the real saver, atomically."""

    @abstractmethod
    def _read_now(self, method: str, *args: Any, **options: Any) -> Any:
        """Do the same as `_read` on the caller's own thread, without the event loop, which may wait for the caller."""

    @abstractmethod
    def _write_now(self, method: str, *args: Any) -> Any:
        """Do the same as `_write` on the caller's own thread, without the event loop."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        place = config["configurable"]
        is_newest = not place.get("checkpoint_ns") and not place.get("checkpoint_id")
        known, self.next_read = self.next_read, None
        if is_newest and known:
            return self.after_read(known)
        with report_outages():
            found: CheckpointTuple | None = await self._read("get_tuple", config)
        self._note_read(found)
        if is_newest:  # LangGraph also reads earlier ones.
            self.last_read = found
        return self.after_read(found)

    async def alist(self, config: RunnableConfig | None, **options: Any) -> AsyncIterator[CheckpointTuple]:
        with report_outages():
            found = await self._read("list", config, **options)
        for item in found:
            yield item

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        self._begin_put(config, checkpoint, metadata)
        with report_outages():
            await self.before_write(None)
            placed: RunnableConfig = await self._write(
                "put", config, checkpoint, {**metadata, **self.notes}, new_versions
            )
        return placed

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        self.check_write(task_id, writes)
        self._is_loop_blocked, self.next_read = False, None
        with report_outages():
            await self.before_write(task_id)
            stored = self._stored_writes(config, writes, task_id, task_path)
            await self._write("put_writes", config, stored, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        with report_outages():
            await self._write("delete_thread", thread_id)

    async def keep_newest(self, thread_id: str) -> None:
        """Delete all checkpoints except the newest of the graph, and of each subgraph with its own memory.

        Only for a thread with no pending step. A thread whose `DeltaChannel` needs older checkpoints is unchanged.
        """
        with report_outages():
            await self._keep_newest(thread_id)

    async def _keep_newest(self, thread_id: str) -> None:
        await self._write("keep_newest", thread_id)


async def call_before_write(saver: FencedCheckpointSaver, task_id: str | None) -> None:
    """Run a saver's actions before a write, on its loop."""
    with report_outages():
        await saver.before_write(task_id)


def call_saver_method(saver: Saver, method: str, *args: Any, **options: Any) -> Any:
    """Call a synchronous method of a saver; return an iterator as a list."""
    result = getattr(saver, method)(*args, **options)
    return list(islice(result, options.get("limit"))) if method == "list" else result


class InterruptPlace(NamedTuple):
    """The place of an interrupt, as the graphs around it have written it so far."""

    depth: int
    """The depth of the outermost graph that has written it; 0 for the outermost graph of the run."""
    text: str
    """For each graph the number of the step, the path of the task, and the number of the answers that it has."""


class InterruptPlaces:
    """The places of the interrupts of one run."""

    def __init__(self) -> None:
        self._steps: dict[str, Any] = {}
        self._places: dict[str, InterruptPlace] = {}

    def note_step(self, checkpoint_id: str, metadata: Mapping[str, Any]) -> None:
        """Note the step of a checkpoint that was read or is being written."""
        self._steps[checkpoint_id] = metadata.get("step", checkpoint_id)

    def end_step(self) -> None:
        """Forget the steps so far: a step of the outermost graph has ended, and all graphs within it."""
        self._steps.clear()
        self._places.clear()

    def placed(
        self, place: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_path: str
    ) -> Sequence[tuple[str, Any]]:
        """Return the writes of a task with the places of its interrupts.

        An inner graph writes an interrupt before the step around it does.

        Args:
            place: The configuration of the checkpoint of the task.
            writes: The writes of the task.
            task_path: The path of the task in its graph.
        """
        if not any(channel == INTERRUPT for channel, _ in writes):
            return writes
        id, space = str(place.get("checkpoint_id")), str(place.get("checkpoint_ns") or "").split("|")
        depth = sum(":" in each for each in space)
        # A number without a name tells several graphs apart that one task calls.
        graph = "" if ":" in space[-1] else space[-1]
        answers = sum(len(value) for channel, value in writes if channel == RESUME and isinstance(value, list))
        own = InterruptPlace(depth, f"{graph}:{self._steps.get(id, id)}:{task_path}:{answers}")
        return [
            (channel, tuple(self._with_place(each, own) for each in value) if channel == INTERRUPT else value)
            for channel, value in writes
        ]

    def _with_place(self, interrupt: Interrupt[Any], own: InterruptPlace) -> Interrupt[Any]:
        inner = self._places.get(interrupt.id, own)
        if inner.depth > own.depth:
            own = own._replace(text=f"{own.text}/{inner.text}")
        elif inner.depth == own.depth:
            # A task and the one that called it write one interrupt in the same graph: the more specific place stays.
            own = max(inner, own, key=lambda place: len(place.text))
        self._places[interrupt.id] = own
        schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else {}
        return Interrupt(interrupt.value, interrupt.id, response_schema={**schema, PLACE: own.text})


def interrupt_places_in_writes(pending_writes: Sequence[tuple[str, str, Any]]) -> dict[str, str]:
    """Return the most specific places of the interrupts in the writes of a checkpoint, by their ids."""
    places = dict[str, str]()
    for _, channel, interrupts in pending_writes:
        for interrupt in interrupts if channel == INTERRUPT else ():
            place = (interrupt.response_schema or {}).get(PLACE, "")
            places[interrupt.id] = max(place, places.get(interrupt.id, ""), key=len)
    return places


def without_interrupt_place(schema: Any) -> dict[str, Any] | None:
    """Return the schema of a stored interrupt as the graph gave it; None for none."""
    return {name: each for name, each in schema.items() if name != PLACE} or None if isinstance(schema, dict) else None
