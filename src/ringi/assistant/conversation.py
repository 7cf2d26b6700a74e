"""The conversation of an assistant as a graph: receive, hear, take, look up, set going."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, RemoveMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_stream_writer
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from ringi.assistant import front
from ringi.assistant.background import scope_of, value_of
from ringi.assistant.catalog import is_reference
from ringi.assistant.confirming import approve, confirmed
from ringi.assistant.handlers import Fetched, HandlerError, Scope
from ringi.assistant.jobs import CallJob, called, told_of
from ringi.assistant.memory import ContextMemory, Source, observed
from ringi.assistant.persistence import Pages
from ringi.assistant.plans import Plan
from ringi.assistant.settings import AssistantSettings
from ringi.assistant.situation import SIDE, WAITED_FOR, Begin, Call, dumped
from ringi.assistant.speech import LANGUAGES, in_words, language_of, said
from ringi.assistant.turns import Outcome, Turn
from ringi.backends import report_outages
from ringi.base import jsonable, utc_now
from ringi.domain import Key, Thread
from ringi.errors import InvalidError, NotFoundError, OutageError
from ringi.runs import RunContext, abandon, run_context

log = logging.getLogger(__name__)
MOST_MEMORIES = 100
MOST_CALLS = 10
"""How many immediate actions are done in one step of a turn; no model needs more."""
CALL_SECONDS = 60.0
"""How long an immediate action may take: until it ends nothing else happens in the conversation."""
KEPT_MESSAGES = 60
"""How many messages the model is shown: what counts of older ones is in the memory."""
FROM_SIDES = frozenset(
    ("planned", "plan_failed", "answered", "approved", "rejected", "lapsed", "step", "executed", "execution_failed")
)
FROM_OUTSIDE = frozenset(("action", "ask", "refresh", "again", "unchanged", "cancel"))
"""What people may send; the rest is of the conversation itself, or of its side threads."""
WORKFLOW = "assistant.workflow"
"""The event in the conversation's stream that a workflow has begun in a thread beside it."""
WORKFLOWS = {"plan": "plan", "execute": "apply"}
"""The kinds of actions whose workflows run in a thread of their own, by what that thread does."""
NEEDING = frozenset(("said", "action", "again", "unchanged", "approved"))
"""What may set an action going, which then stands on what is looked up anew if it is no longer fresh."""


class Talk(TypedDict, total=False):
    """The state of a conversation."""

    messages: Annotated[list[AnyMessage], add_messages]
    memory: dict[str, Any]
    language: str
    words: str | None
    """What the person says now; None where the input is an event."""
    reply: str
    """What the front model answers to it."""
    events: list[dict[str, Any]]
    """What is to be taken next."""
    tried: list[str]
    """The infos whose handlers this turn has run."""
    todo: dict[str, Any]
    """What the last outcome sets going."""


def conversation(assistant: AssistantSettings) -> Any:
    """Return the graph of the conversation agent."""
    steps = Steps(assistant)
    graph = StateGraph(Talk)
    for step in (steps.receive, steps.confirm, steps.hear, steps.take, steps.look_up, steps.set_going):
        graph.add_node(step.__name__, step)
    graph.add_edge(START, "receive")
    graph.add_conditional_edges("receive", steps.first, ["confirm", "hear", "take"])
    graph.add_edge("confirm", END)
    graph.add_edge("hear", "take")
    graph.add_conditional_edges("take", ahead, ["look_up", "set_going", END])
    graph.add_edge("look_up", "take")
    graph.add_conditional_edges("set_going", lambda state: "take" if state["events"] else END, ["take", END])
    return graph.compile()


def ahead(state: Talk) -> str:
    """Return where a turn goes on: what it needs is looked up before anything is set going."""
    todo = state["todo"]
    if todo["fetch"] or todo["calls"]:
        return "look_up"
    return "set_going" if todo["begin"] or todo["stop"] else END


class Steps:
    """The nodes of one assistant's conversation."""

    def __init__(self, assistant: AssistantSettings) -> None:
        self._assistant, self._definitions, self._pages = assistant, assistant.definitions, Pages()

    async def receive(self, state: Talk, config: RunnableConfig) -> Talk:
        """Let in what may come from whoever sends it, learn the language, and what the person told before."""
        host, events = run_context(config), state["events"]
        allowed = FROM_SIDES if is_side(host) else FROM_OUTSIDE
        refused = [event for event in events if event.get("type") not in allowed]
        if refused:
            log.warning("thread %s: %r may not send %r", host.key.id, host.by, refused[0].get("type"))
        before = state.get("language") or pressed_in(events)
        # Of the input itself: a message that comes again stands where it stood, and the newest one is another's.
        language = language_of(state["words"], before) if state["words"] else before
        with report_outages():
            known = self._pages.read(state.get("memory") or {})
            memory = await self._recalled(known, host)
            kept = [*await lost(memory, host), *(event for event in events if event not in refused)]
        told: Talk = {"language": language, "events": kept}
        return told if "memory" in state and memory is known else {**told, "memory": self._pages.written(memory)}

    def first(self, state: Talk) -> str:
        """Return what is done with an input."""
        if state["words"] is None:
            return "take"
        is_confirmed = self._assistant.confirms_in_words and self._confirmed(state)
        return "confirm" if is_confirmed else "hear"

    async def confirm(self, state: Talk, config: RunnableConfig) -> Talk:
        """Approve what the person's words name, as they do."""
        plan = self._confirmed(state)
        with report_outages():
            is_done = plan is not None and await approve(run_context(config), plan)
        word = said("confirmed" if is_done else "unconfirmed")
        return {"messages": [AIMessage(word.in_language(state["language"]))]}

    def _confirmed(self, state: Talk) -> Plan | None:
        return confirmed(self._pages.read(state["memory"]), state["words"] or "")

    async def hear(self, state: Talk, config: RunnableConfig) -> Talk:
        """Ask the front model, once: what it understood, what is needed, and what to say."""
        memory, now = self._pages.read(state["memory"]), run_context(config).inbox.clock()
        told = front.told(self._assistant, memory, now, state["messages"], state["language"])
        answer = await front.model_of(self._assistant).ainvoke(told, config)
        host = run_context(config)
        heard = front.understood(answer, host.run_id, state["messages"])
        heard |= await self._not_offered(heard["ops"], scope_of(host), state["language"])
        # Its words alone: what it declared is in the memory, and a call without a result makes a provider refuse.
        words: list[Any] = [AIMessage(answer.text, id=answer.id)] if answer.text.strip() else []
        return {"messages": words, "reply": str(answer.text), "events": [*state["events"], heard]}

    async def _not_offered(self, ops: Sequence[Mapping[str, Any]], scope: Scope, language: str) -> dict[str, Any]:
        """Return the infos that the model gives a value which cannot be chosen: why nobody knows, or the choices."""
        handlers, told, offered = self._assistant.handlers, dict[str, str](), dict[str, list[str]]()
        for op in ops:
            info = self._definitions.infos_by_key.get(op["key"])
            if info is None or info.choices is None or op["op"] not in ("set", "correct"):
                continue
            try:
                if not await handlers.offers(info.choices, op["value"], scope):
                    told[info.key] = ""
                    found = await handlers.options(info.choices, scope, language)
                    offered[info.key] = [option.label for option in found]
            except HandlerError as error:
                told[info.key] = str(error)
        return {"not_offered": told, "offered": offered}

    async def take(self, state: Talk, config: RunnableConfig) -> Talk:
        """Take the events, one after another."""
        host = run_context(config)
        who = (host.key.id, host.inbox.clock(), str(host.by), host.run_id)
        turn = Turn(self._definitions, *who, confirms_in_words=self._assistant.confirms_in_words)
        outcome = turn.settled(self._pages.read(state["memory"]))
        # What failed is not tried again within the turn: its error shows.
        if (wanted := self._untried(turn, outcome, state)) and any(
            event["type"] in NEEDING for event in state["events"]
        ):
            # First what an action may need: it would be refused for want of what nobody has looked up yet.
            return {"todo": {**state["todo"], "fetch": wanted, "asked_for": [], "calls": []}}
        for event in state["events"]:
            outcome = outcome.then(partial(turn.take, event=event))
        wanted = self._untried(turn, outcome, state)
        before, words = state["todo"], in_words(outcome.words, state["language"])
        todo = {
            "fetch": list(dict.fromkeys((*outcome.fetch, *wanted))),
            "asked_for": list(outcome.fetch),
            "calls": dumped(outcome.calls),
            "begin": [*before.get("begin", []), *dumped(outcome.begin)],
            "stop": [*before.get("stop", []), *outcome.stop],
        }
        messages: list[Any] = [*old_messages(state["messages"]), *([AIMessage(words)] if words else [])]
        return {"memory": self._pages.written(outcome.memory), "events": [], "todo": todo, "messages": messages}

    def _untried(self, turn: Turn, outcome: Outcome, state: Talk) -> list[str]:
        return [key for key in turn.wanted(outcome.memory) if key not in state["tried"]]

    async def look_up(self, state: Talk, config: RunnableConfig) -> Talk:
        """Run handlers, and what is done at once."""
        host, memory, todo = run_context(config), self._pages.read(state["memory"]), state["todo"]
        fetching = [self._fetch(memory, key, host, key in todo["asked_for"]) for key in todo["fetch"]]
        calls = [Call.model_validate(call) for n, call in enumerate(todo["calls"]) if call not in todo["calls"][:n]]
        calling = [self._call(memory, call, host, state["language"]) for call in calls[:MOST_CALLS]]
        events = await asyncio.gather(*fetching, *calling)
        answers = [front.rendered(event["value"]) for event in events if is_answer(event)]
        # The front model may have told already what it sees in the memory.
        answers = [answer for answer in answers if answer.split() != state.get("reply", "").split()]
        left = {**todo, "fetch": [], "calls": []}
        return {
            "events": [*events, *state["events"]],
            "tried": [*state["tried"], *todo["fetch"]],
            "todo": left,
            "messages": [AIMessage(answer) for answer in answers],
        }

    async def set_going(self, state: Talk, config: RunnableConfig) -> Talk:
        """Stop the side threads that nobody needs any more, and begin the new ones; twice is once."""
        host, events = run_context(config), list[dict[str, Any]]()
        for thread in state["todo"]["stop"]:
            with report_outages():
                await stopped(host, thread)
        for begin in map(Begin.model_validate, state["todo"]["begin"]):
            # What the same turn began and stopped would be left behind, asking for nobody.
            if begin.thread not in state["todo"]["stop"]:
                try:
                    with report_outages():
                        await self._begin(host, begin, state["language"])
                except InvalidError as error:
                    # Too large, most of all: the next turn would only say that it never began.
                    events.append({"type": "lost", "thread": begin.thread, "why": str(error)})
                else:
                    tell_where(begin)
        return {"todo": {}, "events": events}

    async def _begin(self, host: RunContext, begin: Begin, language: str) -> None:
        runner, tenant = host.runner, host.key.tenant
        try:
            await runner.get(tenant, begin.thread)
        except NotFoundError:
            job = {**begin.job, "conversation": host.key.id, "language": language}
            agent = f"{self._assistant.name}.{'ask' if begin.kind == 'approve' else begin.kind}"
            await runner.start(tenant, begin.thread, agent, {"job": job}, by=f"{SIDE}{host.key.id}")

    async def _fetch(self, memory: ContextMemory, key: str, host: RunContext, is_asked_for: bool) -> dict[str, Any]:
        info = self._definitions.info(key)
        known = {name: value for name, value in info.params.items() if not is_reference(value)}
        asked = {name: value["info"] for name, value in info.params.items() if is_reference(value)}
        params = known | {name: memory.items[each].value for name, each in asked.items() if each in memory.items}
        told = {"type": "fetched", "info": key, "is_asked_for": is_asked_for}
        # Whoever asks to see it anew, or needs it fresh, is not helped by what was kept for longer than that.
        oldest = 0 if is_asked_for else self._definitions.oldest.get(key)
        running = self._assistant.handlers.run(str(info.handler), params, scope_of(host), max_age=oldest)
        return await tried(told, running)

    async def _call(self, memory: ContextMemory, call: Call, host: RunContext, language: str) -> dict[str, Any]:
        action = self._definitions.action(call.action)
        inputs = {need.info: memory.items[need.info].value for need in action.needs if need.info in memory.items}
        told = {"type": "called", "action": action.id}
        if workflow := self._assistant.workflows.get(str(action.workflow)):
            return await tried(
                told, asyncio.wait_for(called(workflow, CallJob(call.args, inputs, language)), CALL_SECONDS)
            )
        return await tried(
            told, self._assistant.handlers.run(str(action.handler), {**call.args, **inputs}, scope_of(host))
        )

    async def _recalled(self, memory: ContextMemory, host: RunContext) -> ContextMemory:
        lacking = {info.key for info in self._definitions.infos if info.scope == "user"} - memory.items.keys()
        if not lacking or is_side(host):
            return memory
        for each in await host.memories.newest(MOST_MEMORIES):
            if each.category in lacking - memory.items.keys():
                info, source = (
                    self._definitions.info(each.category),
                    Source(kind="remembered", actor=each.person, ref=each.id),
                )
                memory = observed(
                    memory, info.key, value_of(info, each.answer), source, each.told_at, self._definitions
                )
        return memory


async def tried(told: dict[str, Any], work: Awaitable[Any]) -> dict[str, Any]:
    """Return the event of what some work brought, or of why it did not."""
    try:
        found = await work
        value = jsonable(found.value if isinstance(found, Fetched) else found)
    except (GraphBubbleUp, OutageError):
        raise
    except Exception as error:
        log.warning("%s: %s", ", ".join(map(str, told.values())), error)
        return {**told, "error": told_of(error)}
    if isinstance(found, Fetched):
        # Its age: the conversation goes by the time of the store, of which this machine's may differ.
        return {**told, "value": value, "age": (utc_now() - found.observed_at).total_seconds()}
    return {**told, "value": value}


def is_answer(event: dict[str, Any]) -> bool:
    """Whether an event has what is told at once."""
    return event["type"] == "called" and event.get("value") is not None


def tell_where(begin: Begin) -> None:
    """Name the thread in which a workflow says what it says, at this place of the conversation's stream."""
    if kind := WORKFLOWS.get(begin.kind):
        about = {"action_id": begin.job["action"], "version": begin.job["version"]}
        get_stream_writer()({"name": WORKFLOW, "kind": kind, "thread_id": begin.thread, **about})


def pressed_in(events: Iterable[dict[str, Any]]) -> str:
    """Return the language of the page on which a conversation begins that nobody has said a word in."""
    told = [str(event.get("language")) for event in events]
    return next((language for language in told if language in LANGUAGES), "en")


async def lost(memory: ContextMemory, host: RunContext) -> list[dict[str, Any]]:
    """Return the events of side threads that ended without a word: nothing would ever come of what waits for them."""
    waiting = [plan.thread_id for plan in memory.plans.values() if plan.status in WAITED_FOR and plan.thread_id]
    keys = [Key(host.key.tenant, id) for id in (*waiting, *memory.asks.values()) if f"{SIDE}{id}" != host.by]
    found = {each.id: each for each in await host.runner.backend.store.get_many(Thread, keys)} if keys else {}
    ended = [id for _, id in keys if id not in found or not found[id].is_live]
    return [{"type": "lost", "thread": id, "why": why_ended(found.get(id))} for id in ended]


def why_ended(thread: Thread | None) -> str:
    """Return why a side thread is at its end."""
    if thread is None:
        return "it never began"
    return (thread.error.message if thread.error else None) or thread.reason or "it was stopped"


def is_side(host: RunContext) -> bool:
    """Whether a side thread of this very conversation sends the event."""
    return str(host.by).startswith(f"{SIDE}{host.key.id}~")


async def stopped(host: RunContext, thread: str) -> None:
    """Stop a side thread for good, and withdraw what it asks."""
    by = f"{SIDE}{host.key.id}"
    try:
        await host.runner.cancel(host.key.tenant, thread, by=by)
        await abandon(host.runner.backend, host.inbox, thread, by=by)
    except NotFoundError:
        log.info("thread %s never began", thread)


def old_messages(messages: Sequence[BaseMessage]) -> list[RemoveMessage]:
    """Return the removal of what the model is not shown any more, up to where a person speaks."""
    if len(messages) <= KEPT_MESSAGES:
        return []
    begins = [n for n, message in enumerate(messages) if isinstance(message, HumanMessage)]
    first = next((n for n in begins if n >= len(messages) - KEPT_MESSAGES), len(messages) - KEPT_MESSAGES)
    return [RemoveMessage(id=str(message.id)) for message in messages[:first]]
