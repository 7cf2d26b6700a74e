"""The AG-UI endpoint: it accepts a run's input and answers to interrupts, and streams the events of one stretch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Literal, NamedTuple

from fastapi import FastAPI
from pydantic import Field
from starlette.requests import Request as HttpRequest

from ringi.base.model import StrictModel
from ringi.base.validation import Name
from ringi.contracts.backend import StreamItem
from ringi.domain.ask import ANSWER, Id, parse_body
from ringi.domain.record import UnreadableError
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, RingiError
from ringi.files.images import NewImage
from ringi.runs.agui_events import (
    CANCELLED,
    SUCCESS,
    AguiEvent,
    run_error_event,
    run_finished_event,
    run_started_event,
    state_snapshot_event,
)
from ringi.runs.messages import run_user_messages
from ringi.runs.stream_writer import superseded_message_id
from ringi.server.auth.authenticator import Principal, channel_of, server_base_path
from ringi.server.auth.permissions import may_read, require_person
from ringi.server.calls import StrictPlainRoute, json_body
from ringi.server.extension import Extension, RouteContext
from ringi.server.language import server_texts_for_caller
from ringi.server.openapi import parameter, stream_docs
from ringi.server.problems import http_status_of_error
from ringi.server.serialize import plain_json_bytes
from ringi.server.sse.chat_parts import ChatMessageBuilder
from ringi.server.sse.conversation import Conversations, StreamAfterAction, agent_accepts_messages, parse_run_input
from ringi.server.sse.run_output import (
    HIDDEN_REASON,
    ImageLocation,
    RunHistory,
    interrupt_that_asks,
    interrupts_of_pause,
    messages_of_runs,
    newest_pause_that_asks,
    newest_runs_before_item,
    readable_requests_by_id,
    run_output,
)
from ringi.server.sse.sse import COMMENT, EventStream, StreamConnection, encode_sse

ENDS = ("RUN_FINISHED", "RUN_ERROR")


class Resume(StrictModel):
    """AG-UI's response to one interrupt; `resolved` without a payload leaves it open."""

    interrupt_id: Name = Field(alias="interruptId")
    status: Literal["resolved", "cancelled"]
    payload: Any = None
    metadata: dict[str, Any] | None = None


class AguiTurn(StrictModel):
    """AG-UI's input of a run; only the newest message is used, the server stores the others."""

    thread_id: Id = Field(alias="threadId")
    run_id: Name = Field(alias="runId")
    messages: list[Any] = []
    resume: list[Resume] | None = None
    forwarded_props: dict[str, Any] = Field(default={}, alias="forwardedProps")
    """The input of an agent that accepts no messages."""


class AguiContext(NamedTuple):
    """One stretch of a run that a client follows under its own run id."""

    caller: Principal
    run_id: str
    others_text: str
    """The text shown in place of a question that the client may not read."""
    base: str
    """The base path of Ringi."""
    thread: Thread | None = None
    after: int = 0
    """The start of the stretch: after the pause whose questions the client has answered."""
    error: AguiEvent | None = None
    """The reason that there is no stretch to follow."""
    still_open: frozenset[str] | None = None
    """The questions that the pause still asks; None once the run continues after it."""
    thread_id: str = ""
    """The thread whose history the client requests; it need not exist."""


class AguiRoutes:
    """`POST /agui/{agent}`, and `POST /agui/{agent}/connect` for the history."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._settings = context, context.components.settings
        self._backend = context.components.backend
        self._conversations = Conversations(context.components, context.limits)

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        stream = EventStream(self._context.auth, self._context.streams, heartbeat=COMMENT)
        for path, action in (("/agui/{agent}", self._turn), ("/agui/{agent}/connect", self._connect)):
            endpoint = StreamAfterAction(action, self._feed, stream)
            api.router.routes.append(StrictPlainRoute(path, endpoint, methods=["POST"]))

    async def _connect(self, http: HttpRequest) -> AguiContext:
        turn, agent, context = await self._read(http)
        if not await self._conversations.runner(agent).is_available(agent):
            raise NotFoundError("agent", agent)
        thread = None
        # A hidden thread must be indistinguishable from a missing one: a new conversation has an empty history.
        with suppress(NotFoundError):
            thread = await self._conversations.thread(context.caller, turn.thread_id)
        return context._replace(thread=thread, thread_id=turn.thread_id)

    async def _read(self, http: HttpRequest) -> tuple[AguiTurn, str, AguiContext]:
        """Return the input of a call, the name of its agent, and its context without a thread."""
        caller = self._context.caller(http.scope)
        turn = parse_body(AguiTurn, await json_body(http, max_depth=self._settings.max_depth), extra="allow")
        others_text, base = server_texts_for_caller(http.scope)["waits_for_others"], server_base_path(http.scope)
        return turn, str(http.path_params["agent"]), AguiContext(caller, turn.run_id, others_text, base)

    async def _turn(self, http: HttpRequest) -> AguiContext:
        turn, agent, context = await self._read(http)
        thread = await self._conversations.thread(context.caller, turn.thread_id)
        if not turn.resume:
            description = (await self._conversations.runner(agent).available_agents()).get(agent)
            if description is None:
                raise NotFoundError("agent", agent)
            input, images = turn.forwarded_props, tuple[NewImage | str, ...]()
            if agent_accepts_messages(description):
                input, images = parse_run_input(newest_agui_message(turn), turn.run_id)
            poll = self._context.long_poll(http.scope)
            thread = await self._conversations.begin(poll, thread, turn.thread_id, agent, input, images)
            return context._replace(thread=thread)
        require_person(context.caller)
        try:
            return await self._resume(context, turn, turn.resume, thread, channel_of(http.scope))
        except ForbiddenError:
            raise
        except RingiError as error:
            return context._replace(error=run_error_event(str(error), http_status_of_error(error)[1]))

    async def _resume(
        self, context: AguiContext, turn: AguiTurn, resume: list[Resume], thread: Thread | None, channel: str
    ) -> AguiContext:
        """Answer the requests of the entries; the others stay open, and given answers are not undone."""
        if thread is None:
            raise NotFoundError("thread", turn.thread_id)
        caller = context.caller
        found = [(entry, await self._request(caller, thread, entry)) for entry in resume]
        asked = [(entry, request) for entry, request in found if request]
        for _, request in asked:
            if request.run_id != thread.run_id:
                raise ConflictError.ended(request.id, request.status)
        answers = [answer_from_agui(request, entry) for entry, request in asked]
        ids = {entry.interrupt_id for entry in resume}
        after, pause_ids = await newest_pause_that_asks(self._backend, thread, ids)
        if not (asked or pause_ids):
            raise NotFoundError("request", resume[0].interrupt_id)
        for (entry, request), answer in zip(asked, answers, strict=True):
            # A client can only acknowledge a request that can no longer be answered.
            is_past = entry.status == "cancelled" and request.is_final
            if answer and not is_past:
                await self._conversations.answer(caller, request.id, answer, channel)
        return context._replace(thread=thread, after=after, still_open=await self._open_questions(caller, pause_ids))

    async def _request(self, caller: Principal, thread: Thread, entry: Resume) -> Request | None:
        """Return the request of an entry; None for an entry without an answer whose request the client may not read."""
        try:
            return await self._conversations.request(caller, thread.id, entry.interrupt_id)
        except (NotFoundError, UnreadableError):
            # A stock client has to name every interrupt of a pause, including those that it may not read.
            if entry.status == "resolved" and entry.payload is None:
                return None
            raise

    async def _open_questions(self, caller: Principal, ids: list[str]) -> frozenset[str] | None:
        left = defaultdict[str, set[str]](set)
        found = await readable_requests_by_id(self._backend.store, caller.tenant, ids)
        for request in found.values():
            left[interrupt_that_asks(request)] |= set() if request.is_final else {request.id}
        lost = set(ids).difference(found)
        # An interrupt may ask several requests and waits for all of them; interrupts do not wait for each other. An
        # unreadable request may belong to any of them, so a client could wait forever.
        return frozenset(lost).union(*left.values()) if lost or all(left.values()) else None

    async def _feed(self, connection: StreamConnection, context: AguiContext) -> None:
        stopping = run_error_event("the server is stopping", "unavailable")
        connection.goodbye = encode_agui_events(stopping)
        if context.thread_id:
            await self._send_history(connection, context)
        elif context.thread:
            await self._send_run(connection, context, context.thread)
        elif context.error:
            await connection.write(encode_agui_events(context.error))

    async def _send_run(self, connection: StreamConnection, context: AguiContext, thread: Thread) -> None:
        run_id, has_begun = str(thread.run_id), False
        message = ChatMessageBuilder(run_id, thread.id, thread.agent)
        async for items in run_output(self._backend, thread.key, run_id, connection.turns):
            for item in items:
                message.add(item.event)
                event = await self._bind_calls(context, message, item.event)
                if item.number == context.after and context.still_open is not None:
                    await connection.write(repeat_open_questions(event, context))
                    return
                if item.number <= context.after:
                    continue
                has_begun = True
                data = plain_json_bytes(with_run_id(event, context.run_id))
                await connection.write(encode_sse(data, id=str(item.number)))
                await self._correct(connection, context, message, item)
                if event["type"] in ENDS:
                    return
        await connection.write(encode_agui_events(*cancellation_events(thread.id, context.run_id, has_begun)))

    async def _send_history(self, connection: StreamConnection, context: AguiContext) -> None:
        """Send the history, then the live run from its beginning to its end or its newest pause."""
        thread, place = context.thread, (context.thread_id, context.run_id)
        runs = await self._runs(thread, None) if thread else []
        if thread and thread.run and thread.is_live:
            live = RunHistory(thread.run.id, run_user_messages(thread.run))
            runs = [*(run for run in runs if run.id != thread.run_id), live]
        begin = run_started_event(*place)
        values = [state_snapshot_event(thread.values)] if thread and thread.values else []
        snapshot = messages_snapshot_event(runs, ImageLocation(context.base, context.thread_id))
        await connection.write(encode_agui_events(begin, snapshot, *values))
        end = run_finished_event(*place, SUCCESS)
        if thread and thread.is_live:
            end = await self._send_live(connection, context, thread)
        await connection.write(encode_agui_events(with_run_id(end, context.run_id)))

    async def _runs(self, thread: Thread, before: int | None) -> Sequence[RunHistory]:
        size = self._settings.max_list
        return (await newest_runs_before_item(self._backend.stream, thread.key, size, before))[0]

    async def _send_live(self, connection: StreamConnection, context: AguiContext, thread: Thread) -> AguiEvent:
        """Send a run as one AG-UI run, without past pauses, and return its last event."""
        pause: AguiEvent | None = None
        message = ChatMessageBuilder(str(thread.run_id), thread.id, thread.agent)
        async for items in run_output(self._backend, thread.key, str(thread.run_id), connection.turns):
            if not items and pause:
                return await self._bind_calls(context, message, pause)
            for item in items:
                message.add(item.event)
                if item.event["type"] in ENDS and not interrupts_of_pause(item.event):
                    return item.event
                pause = item.event if interrupts_of_pause(item.event) else None
                if not pause and item.event["type"] != "RUN_STARTED":
                    await connection.write(encode_agui_events(item.event))
                    await self._correct(connection, context, message, item)
        return cancellation_events(thread.id, context.run_id, has_begun=True)[0]

    async def _correct(
        self, connection: StreamConnection, context: AguiContext, message: ChatMessageBuilder, item: StreamItem
    ) -> None:
        """Once a superseded text that was shown has ended, send the messages without it."""
        is_over = item.event["type"] in ("CUSTOM", "TEXT_MESSAGE_END")
        about = item.event.get("messageId", superseded_message_id(item.event)) if is_over else None
        if context.thread and about in message.superseded - message.open_texts:
            runs = await self._runs(context.thread, item.number + 1)
            snapshot = messages_snapshot_event(runs, ImageLocation(context.base, context.thread.id))
            await connection.write(encode_agui_events(snapshot))

    async def _bind_calls(self, context: AguiContext, message: ChatMessageBuilder, event: AguiEvent) -> AguiEvent:
        """Return a pause with the tool calls that its requests gate, without requests to others."""
        interrupts = interrupts_of_pause(event)
        if not interrupts:
            return event
        ids = [each["id"] for each in interrupts]
        found = await readable_requests_by_id(self._backend.store, context.caller.tenant, ids)
        bound_interrupts = []
        for each in interrupts:
            if (request := found.get(each["id"])) and may_read(context.caller, request):
                call = message.gated_call(request)
                bound_interrupts.append({**each, "toolCallId": call} if call else each)
            else:
                hidden = {"id": each["id"], "reason": HIDDEN_REASON, "message": context.others_text}
                bound_interrupts.append(hidden)
        return {**event, "outcome": {**event["outcome"], "interrupts": bound_interrupts}}


def messages_snapshot_event(runs: Sequence[RunHistory], location: ImageLocation) -> AguiEvent:
    """Return all messages of runs as one event."""
    # A plain dict: the models of AG-UI would add fields that its older clients refuse.
    return {"type": "MESSAGES_SNAPSHOT", "messages": messages_of_runs(runs, location)}


def newest_agui_message(turn: AguiTurn) -> dict[str, Any]:
    """Return the newest message; raise `InvalidError` unless it is a user message."""
    last = turn.messages[-1] if turn.messages else None
    if not isinstance(last, dict) or last.get("role") != "user":
        raise InvalidError.of("messages", "the newest message is not a user message: send one, or resume")
    return last


def answer_from_agui(request: Request, entry: Resume) -> dict[str, Any] | None:
    """Return an entry as the body of an answer; None for an entry without an answer, which leaves the question open."""
    payload = entry.payload
    head = {"digest": (entry.metadata or {}).get("digest", request.digest)}
    if entry.status == "cancelled":
        return {**head, "decision": "reject", "message": "cancelled"}
    if payload is None:
        return None
    if request.action:
        return {**head, **call_decision_from_agui(payload)}
    is_form = isinstance(payload, dict) and bool(request.form or request.data_schema)
    if request.answer_schema is not None and not is_form:
        return {**head, **plain_answer_from_agui(payload)}
    if request.form or request.data_schema:
        return {**head, "decision": "approve", "data": payload}
    text = payload.get("message") if isinstance(payload, dict) else payload
    return {**head, "decision": "respond", "message": text}


def plain_answer_from_agui(payload: object) -> dict[str, Any]:
    """Return a payload as the answer to a plain interrupt: text unchanged, any other value as JSON."""
    text = payload.get("message") if isinstance(payload, dict) and set(payload) == {"message"} else payload
    if isinstance(text, str):
        return {"decision": "respond", "message": text}
    return {"decision": "respond", "data": {ANSWER: payload}}


def call_decision_from_agui(payload: object) -> dict[str, Any]:
    """Return the decision on a call: only `approved: true` is an approval."""
    decision = payload if isinstance(payload, dict) else {}
    message = {"message": decision["reason"]} if decision.get("reason") else {}
    if decision.get("approved") is not True:
        return {"decision": "reject", **message}
    if decision.get("editedArgs") is None:
        return {"decision": "approve", **message}
    return {"decision": "edit", "args": decision["editedArgs"], **message}


def with_run_id(event: AguiEvent, run_id: str) -> AguiEvent:
    """Return an event under the client's run id, including the input that it repeats."""
    if "runId" not in event:
        return event
    input = {"input": {**event["input"], "runId": run_id}} if event.get("input") else {}
    return {**event, "runId": run_id, **input}


def cancellation_events(thread_id: str, run_id: str, has_begun: bool) -> list[AguiEvent]:
    """Return the final events of a run that was canceled while it waited, or before it began."""
    end = run_finished_event(thread_id, run_id, CANCELLED)
    begin = run_started_event(thread_id, run_id)
    return [end] if has_begun else [begin, end]


def repeat_open_questions(pause: AguiEvent, context: AguiContext) -> bytes:
    """Return a stretch that only repeats the open questions of a pause."""
    begin = run_started_event(pause["threadId"], context.run_id)
    left = [each for each in interrupts_of_pause(pause) if each["id"] in (context.still_open or ())]
    end = {**with_run_id(pause, context.run_id), "outcome": {**pause["outcome"], "interrupts": left}}
    return encode_agui_events(begin, end)


def encode_agui_events(*events: AguiEvent) -> bytes:
    """Return events as server-sent events without a number, because they are not in the thread's stream."""
    return b"".join(b"data: " + plain_json_bytes(event) + b"\n\n" for event in events)


AGENT_PATH = [parameter("agent", "path")]
AGUI: dict[str, Any] = {"body": "AguiTurn", "title": "AG-UI"}
RUN = "Send a message or answer open interrupts, and follow the run as AG-UI events"
CONNECT = "Get a thread's history, then follow its live run as AG-UI events"
EXTENSION = Extension(
    AguiRoutes,
    inputs=(AguiTurn,),
    operations={
        "/agui/{agent}": {"post": stream_docs("agui_run", RUN, "chat", AGENT_PATH, **AGUI)},
        "/agui/{agent}/connect": {"post": stream_docs("agui_connect", CONNECT, "chat", AGENT_PATH, **AGUI)},
    },
)
