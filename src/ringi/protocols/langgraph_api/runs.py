"""A run in LangGraph's stream format, from an input or an answer to its end or its next pause."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import NamedTuple

from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.protocols.langgraph_api.access import CallerAccess
from ringi.protocols.langgraph_api.views import langchain_message, langchain_review_request, langgraph_interrupt
from ringi.runs.agui_events import AguiEvent
from ringi.runs.stream_writer import superseded_message_id
from ringi.server.serialize import plain_json_bytes
from ringi.server.sse.run_output import (
    MessageTranscript,
    agui_user_message,
    interrupt_that_asks,
    messages_of_runs,
    newest_pause_that_asks,
    readable_requests_by_id,
    run_output,
)
from ringi.server.sse.sse import StreamConnection

VALUE_EVENTS = frozenset({"TOOL_CALL_END", "TOOL_CALL_RESULT", "TEXT_MESSAGE_END"})
"""Events after which the values are sent again."""


class StartedRun(NamedTuple):
    """A started run, and the format of its stream."""

    access: CallerAccess
    thread_id: str
    graph: str
    run_id: str
    modes: frozenset[str]
    thread: Thread | None
    """None if the answered request has no run in Ringi: the stream is empty."""
    answered_request: Request | None = None


def encode_langgraph_event(name: str, data: object) -> bytes:
    """Return one event of a LangGraph stream."""
    return b"event: " + name.encode() + b"\ndata: " + plain_json_bytes(data) + b"\n\n"


async def send_langgraph_run(connection: StreamConnection, started: StartedRun) -> None:
    """Send all remaining events."""
    await connection.write(encode_langgraph_event("metadata", {"run_id": started.run_id, "attempt": 1}))
    if started.thread is None:
        state = await started.access.state(started.thread_id)
        await connection.write(encode_langgraph_event("values", state["values"]))
    else:
        if "events" in started.modes:
            # Agent Inbox shows the run as started when it receives a node.
            node = {"langgraph_node": started.thread.agent}
            event = {"event": "on_chain_start", "name": started.thread.agent, "run_id": started.run_id, "data": {}}
            await connection.write(encode_langgraph_event("events", {**event, "metadata": node}))
        async for chunk in LangGraphRunSender(started, started.thread).chunks(connection):
            await connection.write(chunk)


class LangGraphRunSender:
    """One run, as streamed to one reader."""

    def __init__(self, started: StartedRun, thread: Thread) -> None:
        self._started, self._thread, self._backend = started, thread, started.access.components.backend
        self._transcript, self._state = MessageTranscript(), dict(thread.values)
        self._place_of_images = started.access.image_location(thread)

    async def chunks(self, connection: StreamConnection) -> AsyncIterator[bytes]:
        """Yield the chunks of the stream."""
        runs = await self._started.access.newest_runs(self._thread)
        # The run itself is sent from its first event.
        earlier = [run for run in runs if run.id != self._thread.run_id]
        own = [message for run in runs if run.id == self._thread.run_id for message in run.user_messages]
        self._transcript.messages += messages_of_runs(earlier, self._place_of_images)
        self._transcript.messages += [agui_user_message(message, self._place_of_images) for message in own]
        after, waits_on = await self._answered_pause()
        if waits_on:
            yield await self._values_with_request()
            return
        key, run_id = self._thread.key, str(self._thread.run_id)
        async for items in run_output(self._backend, key, run_id, connection.turns):
            for item in items:
                self._add(item.event)
                for chunk in await self._encode(item.event) if item.number > after else ():
                    yield chunk
                if item.number > after and item.event["type"] in ("RUN_FINISHED", "RUN_ERROR"):
                    return

    async def _answered_pause(self) -> tuple[int, bool]:
        """Return the pause that an answer ends, and whether the run still waits for others."""
        answered_request = self._started.answered_request
        if answered_request is None:
            return 0, False
        number, ids = await newest_pause_that_asks(self._backend, self._thread, {answered_request.id})
        found = await readable_requests_by_id(self._backend.store, self._thread.tenant, ids)
        open_at = {interrupt_that_asks(request) for request in found.values() if not request.is_final}
        return number, interrupt_that_asks(answered_request) in open_at

    def _add(self, event: AguiEvent) -> None:
        if event["type"] == "RUN_STARTED" and event.get("input"):
            known_ids = {message["id"] for message in self._transcript.messages}
            messages = [each for each in event["input"].get("messages", ()) if each["id"] not in known_ids]
            self._transcript.messages += [agui_user_message(message, self._place_of_images) for message in messages]
        elif event["type"] == "STATE_SNAPSHOT":
            self._state = event["snapshot"]
        self._transcript.add(event)

    async def _encode(self, event: AguiEvent) -> list[bytes]:
        modes = self._started.modes
        if event["type"] == "RUN_ERROR":
            error = {"error": event.get("code") or "Error", "message": event["message"]}
            return [encode_langgraph_event("error", error)]
        if event["type"] == "RUN_FINISHED":
            return [await self._values_with_request()]
        if event["type"] == "TEXT_MESSAGE_CONTENT" and modes & {"messages", "messages-tuple"}:
            chunk = {"type": "AIMessageChunk", "id": event["messageId"], "content": event["delta"]}
            return [encode_langgraph_event("messages", [chunk, {"langgraph_node": self._thread.agent}])]
        has_new_values = event["type"] in VALUE_EVENTS or superseded_message_id(event) is not None
        if has_new_values or (event["type"] == "RUN_STARTED" and event.get("input")):
            return [self._values()]
        return []

    async def _values_with_request(self) -> bytes:
        """Return the values with the reader's current request; it is served only once the thread is read.

        Otherwise an answer that is sent twice would count for the next question.
        """
        waiting = (await self._started.access.look(self._started.thread_id)).waiting
        answered_request = self._started.answered_request
        if waiting is None or (answered_request and waiting.id == answered_request.id):
            return self._values()
        return self._values(__interrupt__=[langgraph_interrupt(waiting, langchain_review_request(waiting))])

    def _values(self, **asked: object) -> bytes:
        messages = [langchain_message(message) for message in self._transcript.messages]
        visible = {"messages": messages} if messages else {}
        return encode_langgraph_event("values", {**self._state, **visible, **asked})
