"""LangGraph as a runtime: one run of a graph, its position, its questions, its resumption and its output."""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import metadata
from types import MappingProxyType
from typing import Any, NamedTuple

from langchain_core.runnables import ensure_config
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.errors import GraphInterrupt, is_invalid_resume
from langgraph.graph import StateGraph
from langgraph.pregel import Pregel
from langgraph.store.base import BaseStore
from langgraph.types import Command, Interrupt, StateSnapshot
from pydantic import ValidationError

from ringi.backends.fenced_saver import interrupt_places_in_writes, without_interrupt_place
from ringi.base.canonical_json import canonical, jsonable
from ringi.base.outages import OutageError
from ringi.base.settings import SettingError, hitl_enabled
from ringi.contracts.runtime import (
    AgentServiceError,
    AnswerRefusedError,
    Description,
    OpenRun,
    Output,
    Question,
    Standing,
    WorkerRun,
)
from ringi.domain.ask import Ask, request_content_digest
from ringi.domain.request import Request
from ringi.domain.thread import checkpoint_thread
from ringi.errors import InvalidError, RingiError, UnavailableError
from ringi.runs.agent import Agent, UnfitValuesError
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.context import (
    RUN_CONTEXT,
    RunContext,
    call_key,
    checkable_arguments_schema,
    question_content_digest,
    set_context_variable,
    storable_value_as_text,
)
from ringi.runs.run import clean_json, storable_json_text
from ringi.runtimes.langgraph.answer_reads import REFUSED, AnswerReads, WaitingCalls, langchain_call_digest
from ringi.runtimes.langgraph.graphs import (
    ASK_INSTEAD,
    COMPILE,
    REVIEW_EACH,
    RunningGraphs,
    answer_spec,
    check_langgraph_versions,
    graph_breakpoints,
    graph_node_names,
    middleware_that_skips_review,
)
from ringi.runtimes.langgraph.interrupt_formats import (
    ANY_ANSWER,
    OWN,
    REFUSABLE,
    AnswerSpec,
    InterruptFormat,
    answer_schemas,
    read_interrupt,
)
from ringi.runtimes.langgraph.memories import PersonMemories
from ringi.runtimes.langgraph.stream_translator import StreamTranslator
from ringi.runtimes.langgraph.tool_arguments import graph_tools, invalid_tool_call_reason, tool_call_schema
from ringi.runtimes.langgraph.usage_meter import METER, UsageMeter

GATED_STEPS = "ringi_gated_steps"
"""The key of the GatedSteps in a run's configuration."""
CALL_PLACES = "ringi_call_places"
"""The key of the RunningGraphs in a run's configuration."""


def run_asks_people() -> bool:
    """Return whether this run asks: it is fixed at the start, or a run stopped by people could continue unasked."""
    decided = ensure_config().get("configurable", {}).get(ASKS)
    return hitl_enabled() if decided is None else bool(decided)


class OneConsentGuard:
    """The steps of a graph between two pauses, so that no gated function runs twice with one consent.

    The tool calls of one `ToolNode` share a step, but each has its own copy of the configuration, and may have its own
    thread. The copies refer to one instance. Each stretch of a run needs a new one: a call that outlives its stretch
    must not begin.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: set[str] = set()
        self._asking: set[str] = set()
        self._refused: dict[str, Exception] = {}
        """The steps in which a function was given the answer to another one's question."""

    @contextmanager
    def asking(self, place: str, name: str) -> Iterator[None]:
        """Let a function ask in the body of the `with` statement, which must not wait.

        Args:
            place: The checkpoint namespace of the step.
            name: The name of the function.

        Raises:
            RingiError: The answer would repeat a function that has begun in this step, or in one around it.
        """
        with self._lock:
            if any(is_place_within_step(place, each) for each in self._begun):
                raise RingiError(
                    f"{name} cannot ask in a step in which a gated function has already run, because that would run "
                    "again: call each in its own node or task; the tools of one ToolNode share its step"
                )
            if error := self._refused.get(place):
                # Its answer is taken: a question from here would wait at a place that LangGraph does not fill again.
                raise error
            try:
                yield
            except GraphInterrupt:
                self._asking.add(place)
                raise
            except Exception as error:
                if is_invalid_resume(error):
                    self._asking.add(place)
                    self._refused[place] = error
                raise

    def begin(self, place: str) -> None:
        """Record that a function begins.

        Args:
            place: The checkpoint namespace of the step.

        Raises:
            RingiError: Another function asks in this step, or inside it.
        """
        with self._lock:
            if any(is_place_within_step(each, place) for each in self._asking):
                raise RingiError(
                    "another gated function of this step asks, and the step runs again after the answer: call each in "
                    "its own node or task"
                )
            self._begun.add(place)


def is_place_within_step(place: str, step: str) -> bool:
    """Return whether a place is a step or inside it, such as `step:id|inner:id` inside `step:id`."""
    return place == step or place.startswith(f"{step}|")


def call_place_in_step(config: Any, call: str, id: str | None = None) -> str:
    """Return the place of a call in a step that Ringi runs; see `RunningGraphs.place`."""
    graphs: RunningGraphs = config["configurable"][CALL_PLACES]
    return graphs.place(config["configurable"], call, id)


RUN = "ringi_run"
ASKS = "ringi_asks"
"""The key that records whether a run asks people, as set when the run began."""
MAX_FIELDS = "ringi_max_fields"
"""The key of the maximum number of fields in a form, as set by the server."""
STREAM_MODES = ["messages", "custom", "debug"]
INTERRUPTS = "__interrupt__"
"""The channel in which a checkpoint stores the interrupts of its tasks."""
MAX_OUTPUT = 64_000
"""Maximum characters of JSON shown; an agent with more output selects a part with `output=`."""
MAX_TEXT = 8_000
"""Maximum characters of one message."""
ROLES = {"ai": "assistant", "AIMessageChunk": "assistant", "tool": "tool", "system": "system"}


class InterruptQuestion(NamedTuple):
    """An interrupt that waits for a person."""

    interrupt_id: str
    node: str
    asks: tuple[Ask, ...]
    """The questions to people; most interrupts ask one."""
    format: InterruptFormat
    schema: dict[str, Any] | None
    digests: tuple[str, ...] = ()
    """The digest of each question as the graph asks it, without the tool's schema."""
    refused_calls: Mapping[int, str] = MappingProxyType({})
    """The calls that their tools refuse, with the reason: the model receives it, and no person is asked."""
    task_id: str = ""
    """The step of the outermost graph that asks."""
    call: tuple[str, str] | None = None
    """The id and the tool of the call that starts after the answer; None if something else asks."""
    place: str = ""
    """The place of the interrupt in the run; empty if a version stored it that noted none."""

    @property
    def may_refuse_answers(self) -> bool:
        """True if the graph may refuse an answer that matches the schema."""
        return self.schema is not None and self.format is not OWN

    def waiting_calls(self, requests: Sequence[Request], tools: Mapping[str, BaseTool]) -> WaitingCalls:
        """Return the calls that must not run without an answer, with their reviews once they are answered."""
        calls = frozenset(key for ask in self.asks if (key := call_key(ask)))
        return WaitingCalls(self.call, calls, answered_call_reviews(self, requests, tools))

    def for_people(self) -> Question:
        """Return the question as all frameworks ask it."""
        return Question(
            self.interrupt_id,
            self.asks,
            self.digests,
            place=self.place,
            step=self.node,
            answered=frozenset(self.refused_calls),
            has_recipients=self.format is OWN,
            may_refuse=self.may_refuse_answers,
        )


class GraphRun:
    """A run of a graph, with the checkpointer of one lease; see `OpenRun`."""

    def __init__(self, run: WorkerRun) -> None:
        self._run, self.agent, graph = run, run.agent, run.agent.target
        saver = self._saver = run.checkpoints
        if run.is_first:
            saver.expect_no_checkpoint()
        # A graph that was compiled with a store uses its own store.
        self._graph = graph.copy(
            {"checkpointer": saver, "store": graph.store or agent_store_of_run(self.agent, run.host)}
        )
        # LangGraph's own tools can read a history only as LangGraph writes it.
        saver.serializer.is_plain = self.agent.history
        self._tools = graph_tools(graph)
        settings = {"thread_id": checkpoint_thread(run.key), MAX_FIELDS: run.max_fields, RUN_CONTEXT: run.host}
        self._config: Any = {"configurable": settings, "metadata": {RUN: run.id}}
        self._questions: tuple[InterruptQuestion, ...] = ()
        self._has_begun = False
        self._has_earlier = False
        """Whether the newest checkpoint follows another one."""
        self._reads = AnswerReads({}, {}, run.host.refused_calls)
        self._meter = UsageMeter(run.count_usage, run.key.id)

    async def look(self) -> Standing:
        """Return the position of the run, from its newest checkpoint."""
        snapshot: StateSnapshot = await self._graph.aget_state(self._config)
        saved: CheckpointTuple | None = self._saver.last_read
        # The run begins from it. With pending writes, the state above has changed it.
        self._saver.next_read = saved if saved and not saved.pending_writes else None
        questions = self._questions = self._open_questions(snapshot, saved)
        metadata: Any = snapshot.metadata or {}
        self._has_begun, self._has_earlier = metadata.get(RUN) == self._run.id, snapshot.parent_config is not None
        # Otherwise a rejected call would run if questions are disabled before its run resumes.
        is_asking = metadata.get(ASKS, True) if self._has_begun else hitl_enabled()
        self._config["configurable"][ASKS] = self._config["metadata"][ASKS] = is_asking
        host, asks = self._run.host, [ask for question in questions for ask in question.asks]
        host.set_open_questions(asks)
        # `next` omits steps with saved results: after a crash these results still have to be committed.
        tasks = {task.id: task for task in snapshot.tasks}
        asking = frozenset(id for id, task in tasks.items() if task.interrupts)
        swallowed = tuple(host.swallowed_questions({request_content_digest(ask) for ask in asks}, asking))
        if not self._has_begun:
            return Standing("new", swallowed=swallowed)
        lost = interrupts_of_lost_steps(saved, tasks.keys())
        is_running = bool(tasks) and not questions
        return Standing(
            "paused" if questions else "ready" if tasks else "done",
            tuple(question.for_people() for question in questions),
            None if is_running and not lost else self.output(snapshot.values),
            lost=lost,
            swallowed=swallowed,
            # A step has neither ended nor asked: its worker has died.
            is_interrupted=any(task.result is None and not task.interrupts for task in tasks.values()),
            position=(snapshot.config.get("configurable") or {}).get("checkpoint_id"),
        )

    def _open_questions(self, snapshot: StateSnapshot, saved: CheckpointTuple | None) -> tuple[InterruptQuestion, ...]:
        open_ids = {interrupt.id for interrupt in snapshot.interrupts}
        places = interrupt_places_in_writes(saved.pending_writes or () if saved else ())
        return tuple(
            interrupt_as_question(
                task.name, interrupt, self._tools, answer_spec(self.agent, task.name), places.get(interrupt.id, "")
            )._replace(task_id=task.id)
            for task in snapshot.tasks
            for interrupt in task.interrupts
            if interrupt.id in open_ids
        )

    async def advance(self, answers: Mapping[str, Sequence[Request]], out: Output) -> None:
        """Run to the next pause or the end."""
        run, graphs = self._run, RunningGraphs()
        reads = self._reads = AnswerReads({}, {}, run.host.refused_calls, graphs=graphs)
        if not self._has_begun:
            if self._has_earlier and not self.agent.history:
                # Left by a run that failed or was cancelled, or by an earlier setting.
                await run.prune_checkpoints()
                self._saver.forget()
            with agent_code_outages():
                input: Any = self.agent.input(run.input)
        else:
            asked = {question.interrupt_id: question for question in self._questions}
            # Keyed by interrupt: a value without a key could answer a later question.
            values = {id: interrupt_resume_value(asked[id], requests) for id, requests in answers.items()}
            waiting = {id: each.waiting_calls(answers.get(id, ()), self._tools) for id, each in asked.items()}
            reads = self._reads = AnswerReads(values, waiting, run.host.refused_calls, run.id, self._tools, graphs)
            input = Command(resume=reads.values) if values else None
        try:
            with set_context_variable(METER, self._meter), reads.watching(self._saver):
                await self.run(input, out, graphs, self.runtime_context(run.input, run.by))
        except ValidationError as error:
            if not is_invalid_resume(error) or not (answers or self._has_begun):
                raise
            if not answers:
                raise RingiError(
                    "a step asked its questions in another order after an answer: ask them in one order, or call each "
                    f"in its own node or task; the tools of one ToolNode share its step: {error}"
                ) from error
            refused = next((id for id in answers if asked[id].may_refuse_answers), next(iter(answers)))
            raise AnswerRefusedError(refused, str(error)) from error

    def output(self, values: Any) -> dict[str, Any]:
        """Return the visible part of the agent's state, or raise `UnfitValuesError`."""
        with agent_code_outages():
            if self.agent.output is None:
                converted: Any = graph_final_values(graph_output(values, self._graph.output_channels))
            else:
                converted = self.agent.output(values or {})
        try:
            output = jsonable(converted)
            canonical(output)
        except (InvalidError, ValueError) as error:
            raise UnfitValuesError(self.agent.name, str(error).removeprefix("body: ")) from error
        if not isinstance(output, dict):
            raise UnfitValuesError(self.agent.name, f"show a dict, not {type(converted).__name__}")
        return output

    def runtime_context(self, input: dict[str, Any], by: str | None) -> Any:
        """Return `runtime.context` for a run with this input."""
        with agent_code_outages():
            context = self.agent.context(input, by)
        schema = getattr(self._graph, "context_schema", None)
        if context is None and schema is not None:
            # If the schema requires values, there is no context, and nodes receive None as without Ringi.
            with suppress(TypeError, ValueError):
                return schema()
        return context

    async def run(self, input: Any, emitter: Output, graphs: RunningGraphs, context: Any = None) -> None:
        """Run until the graph ends or asks, and pass its output to the emitter."""
        emitter.begin()
        translator = StreamTranslator(emitter)
        self._saver.before_write = translator.flush_step
        how = {"stream_mode": STREAM_MODES, "durability": "sync", "context": context, "subgraphs": self.agent.subgraphs}
        settings = {**self._config["configurable"], GATED_STEPS: OneConsentGuard(), CALL_PLACES: graphs}
        config = {**self._config, "configurable": settings, "callbacks": [graphs]}
        with agent_code_outages():
            async for *inner, mode, part in self._graph.astream(input, config, **how):
                translator.translate(mode, part, is_inner=any(inner))
        translator.end()

    async def rewind(self, checkpoint_id: str) -> None:
        """Return the graph to its position at a checkpoint, with all steps of that position pending."""
        place = {**self._config["configurable"], "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
        await self._graph.aupdate_state({**self._config, "configurable": place}, None, as_node="__copy__")

    @property
    def failed(self) -> frozenset[str]:
        """The ids of the questions whose steps failed when they were answered."""
        steps, questions = self._saver.failed, self._questions if self._saver.failed else ()
        asked = frozenset(each.interrupt_id for each in questions if each.task_id in steps)
        # A task of a workflow is a step of its own, nested in the step that asks.
        return asked or frozenset(each.interrupt_id for each in questions)

    @property
    def read(self) -> frozenset[str]:
        """The ids of the questions whose answers code of the agent has read."""
        return frozenset(self._reads.values.keys() - self._reads.unread)


def agent_store_of_run(agent: Agent, host: RunContext) -> BaseStore | None:
    """Return the store behind `runtime.store`.

    It holds the person's memories if the agent uses them, else it is the agent's store across threads, if there is one.
    """
    if agent.memories:
        return PersonMemories(host.inbox, host.by)
    stores = host.runner.backend.agent_stores
    return stores(host.key.tenant, agent.name) if stores else None


def interrupts_of_lost_steps(saved: CheckpointTuple | None, tasks: Collection[str]) -> frozenset[str]:
    """Return the interrupts of a checkpoint whose steps are not among these tasks."""
    writes = (saved.pending_writes or []) if saved else []
    values = [value for task, channel, value in writes if channel == INTERRUPTS and task not in tasks]
    return frozenset(interrupt.id for interrupts in values for interrupt in interrupts)


@contextmanager
def agent_code_outages() -> Iterator[None]:
    """Raise outages in the agent's own code as `AgentServiceError`.

    An outage mistaken for one of the run's store would be retried forever.
    """
    try:
        yield
    except OutageError:
        raise
    except UnavailableError as error:
        raise AgentServiceError(error) from error


def interrupt_as_question(
    node: str,
    interrupt: Interrupt,
    tools: Mapping[str, BaseTool] = MappingProxyType({}),
    answer_spec: AnswerSpec = ANY_ANSWER,
    place: str = "",
) -> InterruptQuestion:
    """Return an interrupt as a question for people."""
    schema = without_interrupt_place(interrupt.response_schema)
    format, asks = read_interrupt(interrupt.value, schema, answer_spec)
    digests = tuple(map(question_content_digest if place else request_content_digest, asks))
    call = call_held_by_interrupt(interrupt.value, asks) if schema is not None else None
    question = InterruptQuestion(interrupt.id, node, asks, format, schema, digests, call=call, place=place)
    return question_with_tool_schemas(question, interrupt.value, tools) if format in REFUSABLE else question


def call_held_by_interrupt(value: Any, asks: Sequence[Ask]) -> tuple[str, str] | None:
    """Return the id and the tool of the call that an interrupt holds before it starts; None for another interrupt."""
    ask = asks[0]
    id = ask.context.get(TOOL_CALL_ID) or (value.get(TOOL_CALL_ID) if isinstance(value, dict) else None)
    return (id, ask.action.name) if isinstance(id, str) and ask.action else None


def question_with_tool_schemas(
    question: InterruptQuestion, value: Any, tools: Mapping[str, BaseTool]
) -> InterruptQuestion:
    """Return a question about calls with their tools' schemas, without the calls that the tools refuse."""
    asks, refused_calls = list(question.asks), dict[int, str]()
    for position, ask in enumerate(question.asks):
        action = ask.action
        tool = tools.get(action.name) if action else None
        if action is None or tool is None:
            continue
        why = invalid_tool_call_reason(tool, action.args)
        if why and "reject" in ask.resolved_allowed:
            refused_calls[position] = why
        elif "edit" in ask.resolved_allowed and action.args_schema is None:
            typed = action.model_copy(update={"args_schema": checkable_arguments_schema(tool_call_schema(tool))})
            asks[position] = ask.model_copy(update={"action": typed})
    return question._replace(asks=tuple(asks), refused_calls=refused_calls)


def answered_call_reviews(
    question: InterruptQuestion, requests: Sequence[Request], tools: Mapping[str, BaseTool]
) -> tuple[tuple[str, str], ...]:
    """Return the reviews of the calls of LangChain's own gate, once they are answered; see `WaitingCalls`."""
    if question.format not in REFUSABLE or not requests:
        return ()
    ended, reviews = iter(requests), list[tuple[str, str]]()
    for position, ask in enumerate(question.asks):
        granted = None if position in question.refused_calls else next(ended).granted
        if ask.action and (reviewed := langchain_call_digest(ask.action.name, ask.action.args)):
            may = langchain_call_digest(granted.name, granted.args, tools.get(ask.action.name)) if granted else None
            if may or not granted:
                reviews.append((reviewed, may or REFUSED + ask.action.name))
    return tuple(reviews)


def interrupt_resume_value(question: InterruptQuestion, requests: Sequence[Request]) -> Any:
    """Return the result of the graph's `interrupt` call once all its requests have ended."""
    refused = {position: {"type": "reject", "message": why} for position, why in question.refused_calls.items()}
    if not refused:
        return question.format.answer(requests, question.schema)
    if question.schema is not None:
        return refused[0]
    decided = iter(question.format.answer(requests, None)["decisions"])
    return {"decisions": [refused.get(n) or next(decided) for n in range(len(question.asks))]}


def graph_output(state: Any, channels: str | Iterable[str]) -> Any:
    """Return the part of a state that is the graph's output."""
    if isinstance(channels, str) or not isinstance(state, Mapping):
        return state
    return {name: state[name] for name in channels if name in state}


def graph_final_values(output: Any) -> dict[str, Any]:
    """Return the messages since the last user message, else the whole output."""
    messages = output.get("messages") if isinstance(output, Mapping) else None
    if isinstance(messages, list) and any(hasattr(message, "type") for message in messages):
        values: Any = {"messages": graph_final_messages(messages)}
    else:
        values = storable_value_as_text(clean_json(json.loads(storable_json_text(output))))
    if len(json.dumps(values)) > MAX_OUTPUT:
        return {"omitted": f"more than {MAX_OUTPUT} characters: select a part with output="}
    return values if isinstance(values, dict) else {} if values is None else {"output": values}


def graph_final_messages(messages: list[Any]) -> list[dict[str, str]]:
    """Return the text of the messages since the last user message."""
    contents: list[dict[str, str]] = []
    for message in reversed(messages):
        kind = getattr(message, "type", "")
        if kind == "human":
            break
        text = clean_json(str(getattr(message, "text", "") or ""))
        if text and kind in ROLES:
            cut = text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}… ({len(text) - MAX_TEXT} more characters)"
            contents.append({"role": ROLES[kind], "content": cut})
    return contents[::-1]


REPEATS = "ask once per node, and let GraphBubbleUp through where exceptions are caught"


class LangGraphRuntime:
    """Runs graphs on checkpoints that only the worker that holds the thread can write."""

    def describe(self, agent: Any) -> Description | None:
        """Return the description of a compiled graph; None for an object of another framework.

        Not seen before the call is the inside of a step: without its question, a later deploy does the work first, and
        the run stops before anything of the step is stored. In an agent that a step or a tool calls, a jump past a
        review stops the run.

        Raises:
            SettingError: The graph is not compiled, has static breakpoints, or may run calls past their review.
            UnsupportedError: LangGraph is too old.
        """
        graph = agent.target
        if isinstance(graph, StateGraph):
            raise SettingError("agents", agent.name, f"{type(graph).__name__} is not a compiled graph: {COMPILE}")
        if not isinstance(graph, Pregel):
            return None
        place = f"agents.{agent.name}"
        if agent.policy is not None:
            raise SettingError(f"{place}.policy", "…", "give it to `Approval`: it gates the tools of graphs")
        if agent.options:
            raise SettingError(f"{place}.options", sorted(agent.options), "set them with the graph's `with_config`")
        if stops := graph_breakpoints(graph):
            raise SettingError(
                "agents", agent.name, f"it stops at {', '.join(stops)} without a question: {ASK_INSTEAD}"
            )
        if jumps := middleware_that_skips_review(graph):
            what = f"{', '.join(jumps)} may jump to the tools, which would run calls that people rejected"
            raise SettingError("agents", agent.name, f"{what}: {REVIEW_EACH}")
        answer_schemas(agent.answer_schema, graph_node_names(graph))
        check_langgraph_versions()
        return Description(
            "langgraph",
            metadata.version("langgraph"),
            has_checkpoints=True,
            steps=graph_node_names(graph),
            repeats=REPEATS,
        )

    def open(self, run: WorkerRun) -> OpenRun:
        """Return a run of a graph."""
        return GraphRun(run)
