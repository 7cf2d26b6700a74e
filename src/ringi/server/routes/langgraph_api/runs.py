"""A run in LangGraph's stream format, from an input or an answer to its end or its next pause."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, NamedTuple

from ringi.connect import Backend
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.runs.replay_state import superseded_by
from ringi.server.routes.agui import place_of
from ringi.server.routes.langgraph_api.access import Access
from ringi.server.routes.langgraph_api.interrupts import interrupt, review_request
from ringi.server.routes.langgraph_api.views import Json, langchain_messages
from ringi.server.serialize import dump_json
from ringi.server.sse.run_output import open_interrupts, requests_by_id, run_output, told_so_far
from ringi.server.sse.run_pages import newest_runs
from ringi.server.sse.sse import Connection
from ringi.server.sse.transcript import Transcript, messages_of, user_message

Event = dict[str, Any]
TELLING = frozenset({"TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_END"})
"""Events after which the values are sent again."""


class Begun(NamedTuple):
    """A started run, and the format of its stream."""

    access: Access
    thread_id: str
    graph: str
    run_id: str
    modes: frozenset[str]
    thread: Thread | None
    """None if the answered request has no run in Ringi: the stream is empty."""
    answered: Request | None = None


def sent(name: str, data: Any) -> bytes:
    """Return one event of a LangGraph stream."""
    return b"event: " + name.encode() + b"\ndata: " + dump_json(data) + b"\n\n"


async def told(connection: Connection, backend: Backend, begun: Begun, most: int) -> None:
    """Send all remaining events."""
    await connection.write(sent("metadata", {"run_id": begun.run_id, "attempt": 1}))
    if begun.thread is None:
        await connection.write(sent("values", (await begun.access.state(begun.thread_id))["values"]))
    else:
        if "events" in begun.modes:
            # Agent Inbox shows the run as started when it receives a node.
            node = {"langgraph_node": begun.thread.agent}
            event = {"event": "on_chain_start", "name": begun.thread.agent, "run_id": begun.run_id, "data": {}}
            await connection.write(sent("events", {**event, "metadata": node}))
        async for chunk in Telling(backend, begun, begun.thread, most).chunks(connection):
            await connection.write(chunk)
    connection.goodbye = b""
    connection.end()


class Telling:
    """One run, as streamed to one reader."""

    def __init__(self, backend: Backend, begun: Begun, thread: Thread, most: int) -> None:
        self._backend, self._begun, self._thread, self._most = backend, begun, thread, most
        self._transcript, self._shown = Transcript(), dict(thread.values)
        self._place_of_images = begun.access.place(thread)

    async def chunks(self, connection: Connection) -> AsyncIterator[bytes]:
        """Yield the chunks of the stream."""
        runs, _ = await newest_runs(self._backend.stream, self._thread.key, self._most, None)
        # The run itself is sent from its first event.
        earlier = [run for run in runs if run.id != self._thread.run_id]
        own = [message for run in runs if run.id == self._thread.run_id for message in run.said]
        self._transcript.messages += messages_of(earlier, self._place_of_images)
        self._transcript.messages += [user_message(message, self._place_of_images) for message in own]
        after, waits_on = await self._place()
        if waits_on:
            yield await self._paused()
            return
        key, run_id = self._thread.key, str(self._thread.run_id)
        async for items in run_output(self._backend, key, run_id, connection.turns):
            for item in items:
                self._take(item.event)
                for chunk in await self._told(item.event) if item.number > after else ():
                    yield chunk
                if item.number > after and item.event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    return

    async def _place(self) -> tuple[int, bool]:
        """Return the pause that an answer ends, and whether the run still waits for others."""
        answered = self._begun.answered
        if answered is None:
            return 0, False
        items = await told_so_far(self._backend, self._thread.key, str(self._thread.run_id))
        asked = [(item.number, [each["id"] for each in open_interrupts(item.event)]) for item in items]
        number, ids = next(((number, ids) for number, ids in reversed(asked) if answered.id in ids), (0, []))
        found = await requests_by_id(self._backend.store, self._thread.tenant, ids)
        open_at = {place_of(request) for request in found.values() if not request.is_final}
        return number, place_of(answered) in open_at

    def _take(self, event: Event) -> None:
        if event["type"] == "RUN_STARTED" and event.get("input"):
            known = {message["id"] for message in self._transcript.messages}
            said = [each for each in event["input"].get("messages", ()) if each["id"] not in known]
            self._transcript.messages += [user_message(message, self._place_of_images) for message in said]
        elif event["type"] == "STATE_SNAPSHOT":
            self._shown = event["snapshot"]
        self._transcript.add(event)

    async def _told(self, event: Event) -> list[bytes]:
        modes = self._begun.modes
        if event["type"] == "RUN_ERROR":
            return [sent("error", {"error": event.get("code") or "Error", "message": event["message"]})]
        if event["type"] == "RUN_FINISHED":
            return [await self._paused()]
        if event["type"] == "TEXT_MESSAGE_CONTENT" and modes & {"messages", "messages-tuple"}:
            chunk = {"type": "AIMessageChunk", "id": event["messageId"], "content": event["delta"]}
            return [sent("messages", [chunk, {"langgraph_node": self._thread.agent}])]
        is_told = event["type"] in TELLING or superseded_by(event) is not None
        if is_told or (event["type"] == "RUN_STARTED" and event.get("input")):
            return [self._values()]
        return []

    async def _paused(self) -> bytes:
        """Return the values with the reader's current request, and record that it was served."""
        found = await self._begun.access.look(self._begun.thread_id)
        waiting = found.waiting
        if self._begun.answered and waiting and waiting.id == self._begun.answered.id:
            waiting = None
        asked = {"__interrupt__": [interrupt(waiting, review_request(waiting))]} if waiting else {}
        return self._values(asked)

    def _values(self, asked: Json | None = None) -> bytes:
        messages = langchain_messages(self._transcript.messages)
        return sent("values", {**self._shown, **({"messages": messages} if messages else {}), **(asked or {})})
