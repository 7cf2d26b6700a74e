"""The conversation of an assistant as a graph: checks the input, asks the model, applies events, starts runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from ringi.base import OutageError, jsonable, reason_of, report_outages, utc_now
from ringi.domain import Key, Thread
from ringi.errors import InvalidError, NotFoundError
from ringi.runs import RunContext, abandon, run_context
from ringi.runtimes.langgraph import PersonMemories
from ringi_apps.assistant import front_model
from ringi_apps.assistant.background import answer_value, handler_scope
from ringi_apps.assistant.declarations import is_reference
from ringi_apps.assistant.event_context import (
    BACKGROUND_PREFIX,
    PENDING_STATUSES,
    BackgroundStart,
    ImmediateCall,
    TurnResult,
)
from ringi_apps.assistant.handlers import FetchedValue, HandlerError, Scope
from ringi_apps.assistant.jobs import CallJob, error_text, run_workflow
from ringi_apps.assistant.memory import ContextMemory, Provenance, store_value
from ringi_apps.assistant.memory_cache import MemoryCache
from ringi_apps.assistant.plans import Plan
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.rendering import value_parts
from ringi_apps.assistant.sentences import LANGUAGES, detect_language, render_sentences, sentence
from ringi_apps.assistant.settings import AssistantSettings
from ringi_apps.assistant.stored_values import is_unfit, with_current_values
from ringi_apps.assistant.text_approval import approve, find_approved_plan

log = logging.getLogger(__name__)
MAX_MEMORIES = 100
MAX_CALLS = 10
"""How many immediate actions one step of a turn may run; the reply names the others."""
MAX_MESSAGES = 60
"""How many messages the model receives. Facts from older messages are in the memory."""
BACKGROUND_EVENTS = frozenset(
    ("planned", "plan_failed", "answered", "approved", "rejected", "lapsed", "step", "executed", "execution_failed")
)
USER_EVENTS = frozenset(("action", "ask", "any", "refresh", "again", "unchanged", "cancel"))
"""The event types that people may send. The others come from the conversation itself or its background threads."""
WORKFLOW_EVENT = "assistant.workflow"
"""The event in the conversation's stream that announces a workflow in a background thread."""
WORKFLOW_KINDS = {"plan": "plan", "execute": "apply"}
"""The kinds of actions whose workflows run in background threads, by the kind of the thread."""
ACTION_EVENTS = frozenset(("said", "action", "again", "unchanged", "approved"))
"""The events that may start an action; before them, values that are no longer fresh are fetched."""


class ConversationState(TypedDict, total=False):
    """The graph state of a conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory: dict[str, Any]
    language: str
    words: str | None
    """The person's message; None if the input is an event."""
    reply: str
    """The front model's reply to it."""
    events: list[dict[str, Any]]
    """The events to apply next."""
    tried: list[str]
    """The infos whose handlers have run in this turn."""
    todo: dict[str, Any]
    """The work that the last turn result asks for."""


def build_conversation_graph(assistant: AssistantSettings) -> Any:
    """Return the graph of the conversation agent."""
    nodes = ConversationNodes(assistant)
    graph = StateGraph(ConversationState)
    # These names are stored in checkpoints.
    graph.add_node("receive", nodes.receive)
    graph.add_node("confirm", nodes.confirm)
    graph.add_node("hear", nodes.interpret)
    graph.add_node("take", nodes.apply_events)
    graph.add_node("look_up", nodes.look_up)
    graph.add_node("set_going", nodes.start_runs)
    graph.add_edge(START, "receive")
    graph.add_conditional_edges("receive", nodes.route_input, ["confirm", "hear", "take"])
    graph.add_edge("confirm", END)
    graph.add_edge("hear", "take")
    graph.add_conditional_edges("take", next_node, ["look_up", "set_going", END])
    graph.add_edge("look_up", "take")
    graph.add_conditional_edges("set_going", lambda state: "take" if state["events"] else END, ["take", END])
    return graph.compile()


def next_node(state: ConversationState) -> str:
    """Return the next node: values are fetched before runs are started."""
    todo = state["todo"]
    if todo["fetch"] or todo["calls"]:
        return "look_up"
    return "set_going" if todo["begin"] or todo["stop"] else END


class ConversationNodes:
    """The nodes of one assistant's conversation graph."""

    def __init__(self, assistant: AssistantSettings) -> None:
        self._assistant, self._definitions, self._memory_cache = assistant, assistant.definitions, MemoryCache()
        self._front_model = front_model.ForcedToolModel(assistant)

    async def receive(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Drop events that the sender may not send, detect the language, and load remembered values."""
        host, events = run_context(config), state["events"]
        allowed = BACKGROUND_EVENTS if is_background_sender(host) else USER_EVENTS
        refused = [event for event in events if event.get("type") not in allowed]
        if refused:
            log.warning("thread %s: %r may not send %r", host.key.id, host.by, refused[0].get("type"))
        before = state.get("language") or page_language(events)
        # Use the input: a repeated message keeps its old place, so the last message may be another one.
        language = detect_language(state["words"], before) if state["words"] else before
        with report_outages():
            stored = self._memory_cache.read(state.get("memory") or {})
            memory = await self._recall(stored, host)
            accepted = [*await find_lost_runs(memory, host), *(event for event in events if event not in refused)]
        update: ConversationState = {"language": language, "events": accepted}
        return (
            update if "memory" in state and memory is stored else {**update, "memory": self._memory_cache.write(memory)}
        )

    def route_input(self, state: ConversationState) -> str:
        """Return the first node for an input."""
        if state["words"] is None:
            return "take"
        is_confirmed = self._assistant.confirms_in_words and self._approved_plan(state)
        return "confirm" if is_confirmed else "hear"

    async def confirm(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Approve the plan that the message names."""
        plan = self._approved_plan(state)
        with report_outages():
            is_done = plan is not None and await approve(run_context(config), plan)
        message = sentence("confirmed" if is_done else "unconfirmed")
        return {"messages": [AIMessage(message.in_language(state["language"]))]}

    def _approved_plan(self, state: ConversationState) -> Plan | None:
        return find_approved_plan(self._memory_cache.read(state["memory"]), state["words"] or "")

    async def interpret(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Ask the front model once to interpret the message and to reply."""
        now = run_context(config).inbox.clock()
        memory = self._current_memory(state, now)
        messages = front_model.build_messages(self._assistant, memory, now, state["messages"], state["language"])
        answer = await self._front_model.ask(messages, config)
        host = run_context(config)
        event = front_model.parse_answer(answer, host.run_id, self._definitions, state["messages"])
        event |= await self._find_unavailable_choices(event["ops"], handler_scope(host), state["language"])
        # Keep only the text: providers reject a tool call without a result.
        replies: list[Any] = [AIMessage(answer.text, id=answer.id)] if answer.text.strip() else []
        return {"messages": replies, "reply": str(answer.text), "events": [*state["events"], event]}

    async def _find_unavailable_choices(
        self, ops: Sequence[Mapping[str, Any]], scope: Scope, language: str
    ) -> dict[str, Any]:
        """Find the proposed values that are not offered: the error of the lookup, or the offered labels."""
        handlers, errors, offered = self._assistant.handlers, dict[str, str](), dict[str, list[str]]()
        for op in ops:
            info = self._definitions.infos_by_key.get(op["key"])
            is_set = op["op"] in ("set", "correct")
            if info is None or info.choices is None or not is_set or info.is_any(op["value"]):
                continue
            try:
                if not await handlers.is_choice(info.choices, op["value"], scope):
                    errors[info.key] = ""
                    found = await handlers.options(info.choices, scope, language)
                    offered[info.key] = [option.label for option in found]
            except HandlerError as error:
                errors[info.key] = str(error)
        return {"not_offered": errors, "offered": offered}

    async def apply_events(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Apply the events, one after another."""
        host = run_context(config)
        who = (host.key.id, host.inbox.clock(), str(host.by), host.run_id)
        options: dict[str, Any] = {
            "confirms_in_words": self._assistant.confirms_in_words,
            "language": state["language"],
        }
        turn = ConversationReducer(self._definitions, *who, **options)
        before = self._memory_cache.read(state["memory"])
        outcome = turn.settle(before)
        # A handler that failed is not retried within the turn.
        if (due := self._due_fetches(turn, outcome, state)) and any(
            event["type"] in ACTION_EVENTS for event in state["events"]
        ):
            # Fetch first what an action may need; otherwise it would be rejected.
            return {"todo": {**state["todo"], "fetch": due, "asked_for": [], "calls": []}}
        for event in state["events"]:
            outcome = outcome.then(partial(turn.apply, event=event))
        outcome = turn.report_failures(outcome, before)
        due = self._due_fetches(turn, outcome, state)
        todo_before = state["todo"]
        calls = [call for n, call in enumerate(outcome.calls) if call not in outcome.calls[:n]]
        left_out = [self._definitions.action(call.action).label for call in calls[MAX_CALLS:]]
        unrun = (sentence("too_many", limit=MAX_CALLS, actions=list(dict.fromkeys(left_out))),) if left_out else ()
        words = render_sentences((*outcome.sentences, *unrun), state["language"])
        todo = {
            "fetch": list(dict.fromkeys((*outcome.fetch, *due))),
            "asked_for": list(outcome.fetch),
            "calls": jsonable(calls[:MAX_CALLS]),
            "begin": [*todo_before.get("begin", []), *jsonable(outcome.begin)],
            "stop": [*todo_before.get("stop", []), *outcome.stop],
        }
        messages: list[Any] = [*remove_old_messages(state["messages"]), *([AIMessage(words)] if words else [])]
        return {"memory": self._memory_cache.write(outcome.memory), "events": [], "todo": todo, "messages": messages}

    def _current_memory(self, state: ConversationState, now: datetime) -> ContextMemory:
        """Return the memory for handlers, workflows and the model: without values that do not fit the definitions."""
        return with_current_values(self._memory_cache.read(state["memory"]), self._definitions, now)

    def _due_fetches(self, turn: ConversationReducer, outcome: TurnResult, state: ConversationState) -> list[str]:
        return [key for key in turn.due_fetches(outcome.memory) if key not in state["tried"]]

    async def look_up(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Run handlers and immediate actions."""
        host, todo = run_context(config), state["todo"]
        memory = self._current_memory(state, host.inbox.clock())
        fetching = [self._fetch(memory, key, host, key in todo["asked_for"]) for key in todo["fetch"]]
        calls = map(ImmediateCall.model_validate, todo["calls"])
        calling = [self._call(memory, call, host, state["language"]) for call in calls]
        events = await asyncio.gather(*fetching, *calling)
        called = [event["value"] for event in events if event["type"] == "called" and event.get("value") is not None]
        answers = [part for value in called for part in value_parts(value)]
        # The front model may already have given this answer from the memory.
        answers = [answer for answer in answers if answer.split() != state.get("reply", "").split()]
        left = {**todo, "fetch": [], "calls": []}
        return {
            "events": [*events, *state["events"]],
            "tried": [*state["tried"], *todo["fetch"]],
            "todo": left,
            "messages": [AIMessage(answer) for answer in answers],
        }

    async def start_runs(self, state: ConversationState, config: RunnableConfig) -> ConversationState:
        """Stop the background threads that are no longer needed, and start new ones. Repeating it is safe."""
        host, events = run_context(config), list[dict[str, Any]]()
        for thread in state["todo"]["stop"]:
            with report_outages():
                await stop_run(host, thread)
        for begin in map(BackgroundStart.model_validate, state["todo"]["begin"]):
            # Do not start a thread that the same turn stopped.
            if begin.thread not in state["todo"]["stop"]:
                try:
                    with report_outages():
                        await self._start_run(host, begin, state["language"])
                except InvalidError as error:
                    # For example too large. Report the error now, as the next turn would not know it.
                    events.append({"type": "lost", "thread": begin.thread, "why": str(error)})
                else:
                    announce_workflow(begin)
        return {"todo": {}, "events": events}

    async def _start_run(self, host: RunContext, begin: BackgroundStart, language: str) -> None:
        runner, tenant = host.runner, host.key.tenant
        try:
            await runner.get(tenant, begin.thread)
        except NotFoundError:
            job = {**begin.job, "conversation": host.key.id, "language": language}
            agent = f"{self._assistant.name}.{'ask' if begin.kind == 'approve' else begin.kind}"
            await runner.start(tenant, begin.thread, agent, {"job": job}, by=f"{BACKGROUND_PREFIX}{host.key.id}")

    async def _fetch(self, memory: ContextMemory, key: str, host: RunContext, is_asked_for: bool) -> dict[str, Any]:
        info = self._definitions.info(key)
        literals = {name: value for name, value in info.params.items() if not is_reference(value)}
        references = {name: value["info"] for name, value in info.params.items() if is_reference(value)}
        params = literals | {
            name: memory.items[each].value for name, each in references.items() if is_collected(memory, each)
        }
        event = {"type": "fetched", "info": key, "is_asked_for": is_asked_for}
        # A cached value older than this is too old for the requested or required freshness.
        oldest = 0 if is_asked_for else self._definitions.max_ages.get(key)
        running = self._assistant.handlers.run(str(info.handler), params, handler_scope(host), max_age=oldest)
        return await run_to_event(event, running)

    async def _call(
        self, memory: ContextMemory, call: ImmediateCall, host: RunContext, language: str
    ) -> dict[str, Any]:
        action = self._definitions.action(call.action)
        inputs = {need.info: memory.items[need.info].value for need in action.needs if is_collected(memory, need.info)}
        event = {"type": "called", "action": action.id}
        if workflow := self._assistant.workflows.get(str(action.workflow)):
            return await run_to_event(
                event,
                asyncio.wait_for(
                    run_workflow(workflow, CallJob(call.args, inputs, language)), self._assistant.call_timeout
                ),
            )
        return await run_to_event(
            event, self._assistant.handlers.run(str(action.handler), {**call.args, **inputs}, handler_scope(host))
        )

    async def _recall(self, memory: ContextMemory, host: RunContext) -> ContextMemory:
        unfit = with_current_values(memory, self._definitions, host.inbox.clock()).items
        known = {key: unfit[key] for key, item in memory.items.items() if not item.is_default}
        lacking = {info.key for info in self._definitions.infos if info.scope == "user"}
        lacking -= {key for key, item in known.items() if not is_unfit(item)}
        if not lacking or is_background_sender(host):
            return memory
        for each in await PersonMemories(host.inbox, host.by).newest(MAX_MEMORIES):
            item = known.get(each.category)
            if each.category in lacking and (item is None or each.updated_at > item.observed_at):
                lacking.remove(each.category)
                info = self._definitions.info(each.category)
                source = Provenance(kind="remembered", actor=each.person, ref=each.id)
                value = answer_value(info, each.answer)
                memory = store_value(memory, info, value, source, each.updated_at, "observe", {})
        return memory


async def run_to_event(event: dict[str, Any], work: Awaitable[Any]) -> dict[str, Any]:
    """Return the event of a result, or of the error that occurred."""
    try:
        result = await work
        value = jsonable(result.value if isinstance(result, FetchedValue) else result)
    except (GraphBubbleUp, OutageError):
        raise
    except Exception as error:
        log.warning("%s: %s", ", ".join(map(str, event.values())), error)
        return {**event, "error": error_text(error)}
    if isinstance(result, FetchedValue):
        # Send the age, as the clock of the store may differ from that of this machine.
        return {**event, "value": value, "age": (utc_now() - result.observed_at).total_seconds()}
    return {**event, "value": value}


def announce_workflow(begin: BackgroundStart) -> None:
    """Announce the thread of a workflow in the conversation's stream."""
    if kind := WORKFLOW_KINDS.get(begin.kind):
        about = {"action_id": begin.job["action"], "version": begin.job["version"]}
        get_stream_writer()({"name": WORKFLOW_EVENT, "kind": kind, "thread_id": begin.thread, **about})


def is_collected(memory: ContextMemory, key: str) -> bool:
    """Tell whether an info has a value that handlers and workflows may receive."""
    return key in memory.items and memory.items[key].status == "collected"


def page_language(events: Iterable[dict[str, Any]]) -> str:
    """Return the language of the page, for a conversation without a message."""
    languages = [str(event.get("language")) for event in events]
    return next((language for language in languages if language in LANGUAGES), "en")


async def find_lost_runs(memory: ContextMemory, host: RunContext) -> list[dict[str, Any]]:
    """Return the events of background threads that ended without sending one."""
    waiting = [plan.thread_id for plan in memory.plans.values() if plan.status in PENDING_STATUSES and plan.thread_id]
    keys = [
        Key(host.key.tenant, id) for id in (*waiting, *memory.asks.values()) if f"{BACKGROUND_PREFIX}{id}" != host.by
    ]
    threads = {each.id: each for each in await host.runner.backend.store.get_many(Thread, keys)} if keys else {}
    ended = [id for _, id in keys if id not in threads or not threads[id].is_live]
    return [{"type": "lost", "thread": id, "why": end_reason(threads.get(id))} for id in ended]


def end_reason(thread: Thread | None) -> str:
    """Return the reason why a background thread ended."""
    if thread is None:
        return reason_of("not_started")
    return (thread.error.message if thread.error else None) or thread.reason or reason_of("stopped")


def is_background_sender(host: RunContext) -> bool:
    """Tell whether a background thread of this conversation sends the event."""
    return str(host.by).startswith(f"{BACKGROUND_PREFIX}{host.key.id}~")


async def stop_run(host: RunContext, thread: str) -> None:
    """Cancel a background thread, and withdraw its requests."""
    by = f"{BACKGROUND_PREFIX}{host.key.id}"
    try:
        await host.runner.cancel(host.key.tenant, thread, by=by)
        await abandon(host.runner.backend, host.inbox, thread, by=by)
    except NotFoundError:
        log.info("thread %s never began", thread)


def remove_old_messages(messages: Sequence[BaseMessage]) -> list[RemoveMessage]:
    """Return the removal of messages that the model no longer receives, up to a message of a person."""
    if len(messages) <= MAX_MESSAGES:
        return []
    begins = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    first = next((n for n in begins if n >= len(messages) - MAX_MESSAGES), len(messages) - MAX_MESSAGES)
    return [RemoveMessage(id=str(message.id)) for message in messages[:first]]
