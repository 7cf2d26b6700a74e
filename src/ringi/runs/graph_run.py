"""One run of a LangGraph graph: its position, its questions and its resumption."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.types import Command, Interrupt, StateSnapshot

from ringi.base.canonical_json import canonical, jsonable
from ringi.base.settings import hitl_enabled
from ringi.domain.ask import Ask, digest_of
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import checkpoint_thread
from ringi.errors import AgentServiceError, InvalidError, OutageError, UnavailableError
from ringi.runs.agent import Agent, UnfitValuesError
from ringi.runs.answer_schema import ANY_ANSWER, AnswerSpec
from ringi.runs.context import RUN_CONTEXT, RunContext
from ringi.runs.interrupt_formats import OWN, REFUSABLE, InterruptFormat, checkable, read_interrupt
from ringi.runs.json_values import clean_json, json_text
from ringi.runs.model_form import VisibleText, clean_text
from ringi.runs.outcome import final_values, output_of
from ringi.runs.repeats import StreamedMessage, unsent_part
from ringi.runs.stream_writer import SAY, Emitter
from ringi.runs.tool_arguments import call_schema, refusal_reason, tools_of

RUN = "ringi_run"
ASKS = "ringi_asks"
"""The key that records whether a run asks people, as set when the run began."""
MAX_FIELDS = "ringi_max_fields"
"""The key of the maximum number of fields in a form, as set by the server."""
MODEL_FORMS = "ringi_model_forms"
"""The tag of a model that may put a form into its answer."""
TOOL_NAMES = "ringi_tools"
"""The key in the metadata of a model with the names of its tools, whose calls may come as text."""
QUIET_CALLS = "ringi_quiet_calls"
"""The tag of a model whose tool calls run no tool and are not shown: they carry structured output."""
MODEL = "ls_model_type"
"""The metadata key present on model messages and absent on step results."""
STREAM_MODES = ["messages", "custom", "debug"]
LOOP_TURNS = 50
"""The number of event-loop turns for which a step's results wait for its last messages; LangGraph needs a few."""
INTERRUPTS = "__interrupt__"
"""The channel in which a checkpoint stores the interrupts of its tasks."""


class Question(NamedTuple):
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

    @property
    def positions(self) -> list[int]:
        """The positions of the questions that people are asked."""
        return [position for position in range(len(self.asks)) if position not in self.refused_calls]

    @property
    def may_refuse_answers(self) -> bool:
        """True if the graph may refuse an answer that matches the schema."""
        return self.schema is not None and self.format is not OWN


@dataclass(frozen=True)
class GraphPosition:
    """The position of a graph between two stretches."""

    values: Any
    questions: tuple[Question, ...] = ()
    asking: frozenset[str] = frozenset()
    """The ids of the steps that ask the questions."""
    lost: frozenset[str] = frozenset()
    """Interrupts of steps that the current graph would not run next."""
    has_begun: bool = False
    has_more: bool = False
    has_unfinished: bool = False
    """Whether a step has neither ended nor asked: its worker has died."""
    checkpoint_id: str | None = None
    has_earlier: bool = False
    """Whether the newest checkpoint follows another one."""


class GraphRun:
    """A graph with the checkpointer of one lease."""

    def __init__(self, agent: Agent, saver: Any, key: Key, run_id: str, *, host: RunContext, max_fields: int) -> None:
        self.agent = agent
        # A graph that was compiled with a store uses its own store.
        store = agent.graph.store or host.store_of(agent)
        self._graph, self._saver = agent.graph.copy({"checkpointer": saver, "store": store}), saver
        # LangGraph's own tools can read a history only as LangGraph writes it.
        saver.serializer.is_plain = agent.history
        self._run_id, self._tools = run_id, tools_of(agent.graph)
        settings = {"thread_id": checkpoint_thread(key), MAX_FIELDS: max_fields, RUN_CONTEXT: host}
        self._config: Any = {"configurable": settings, "metadata": {RUN: run_id}}

    async def position(self) -> GraphPosition:
        """Return the position of the graph, from its newest checkpoint."""
        snapshot: StateSnapshot = await self._graph.aget_state(self._config)
        saved: CheckpointTuple | None = self._saver.last_read
        # The run begins from it. With pending writes, the state above has changed it.
        self._saver.next_read = saved if saved and not saved.pending_writes else None
        open_ids = {interrupt.id for interrupt in snapshot.interrupts}
        questions = tuple(
            question_of(task.name, interrupt, self._tools, self.agent.answer_spec(task.name))._replace(task_id=task.id)
            for task in snapshot.tasks
            for interrupt in task.interrupts
            if interrupt.id in open_ids
        )
        metadata: Any = snapshot.metadata or {}
        has_begun = metadata.get(RUN) == self._run_id
        self._set_asks(metadata.get(ASKS, True) if has_begun else hitl_enabled())
        lost = lost_interrupts(saved, {task.id for task in snapshot.tasks})
        # `next` omits steps with saved results: after a crash these results still have to be committed.
        asking = frozenset(task.id for task in snapshot.tasks if task.interrupts)
        checkpoint_id = (snapshot.config.get("configurable") or {}).get("checkpoint_id")
        return GraphPosition(
            snapshot.values,
            questions,
            asking,
            lost,
            has_begun=has_begun,
            has_more=bool(snapshot.tasks),
            has_unfinished=any(task.result is None and not task.interrupts for task in snapshot.tasks),
            checkpoint_id=checkpoint_id,
            has_earlier=snapshot.parent_config is not None,
        )

    def has_node(self, name: str) -> bool:
        """Return whether the deployed graph still has this node."""
        return name in self._graph.nodes

    def graph_input(self, input: dict[str, Any]) -> Any:
        """Return the graph's own input."""
        with agent_code():
            return self.agent.input(input)

    def output(self, position: GraphPosition) -> dict[str, Any]:
        """Return the visible part of the agent's state, or raise `UnfitValuesError`."""
        with agent_code():
            converted = self._convert_output(position.values)
        try:
            output = jsonable(converted)
            canonical(output)
        except (InvalidError, ValueError) as error:
            raise UnfitValuesError(self.agent.name, str(error).removeprefix("body: ")) from error
        if not isinstance(output, dict):
            raise UnfitValuesError(self.agent.name, f"show a dict, not {type(converted).__name__}")
        return output

    def _convert_output(self, state: Any) -> Any:
        if self.agent.output is None:
            return final_values(output_of(state, self._graph.output_channels))
        return self.agent.output(state or {})

    def runtime_context(self, input: dict[str, Any], by: str | None) -> Any:
        """Return `runtime.context` for a run with this input."""
        with agent_code():
            context = self.agent.context(input, by)
        schema = getattr(self._graph, "context_schema", None)
        if context is None and schema is not None:
            # If the schema requires values, there is no context, and nodes receive None as without Ringi.
            with suppress(TypeError, ValueError):
                return schema()
        return context

    async def run(self, input: Any, emitter: Emitter, context: Any = None) -> None:
        """Run until the graph ends or asks, and pass its output to the emitter."""
        emitter.begin()
        translator = StreamTranslator(emitter)
        self._saver.before_write = translator.flush_step
        how = {"stream_mode": STREAM_MODES, "durability": "sync", "context": context, "subgraphs": self.agent.subgraphs}
        with agent_code():
            async for *graphs, mode, part in self._graph.astream(input, self._config, **how):
                translator.translate(mode, part, is_inner=any(graphs))
        translator.end()

    def forget_checkpoint(self) -> None:
        """Read the newest checkpoint again before the run begins, because another saver has pruned its ancestors."""
        self._saver.forget()

    async def rewind(self, checkpoint_id: str) -> None:
        """Return the graph to its position at a checkpoint, with all steps of that position pending."""
        place = {**self._config["configurable"], "checkpoint_ns": "", "checkpoint_id": checkpoint_id}
        await self._graph.aupdate_state({**self._config, "configurable": place}, None, as_node="__copy__")

    @property
    def failed_steps(self) -> frozenset[str]:
        """The ids of the steps that failed on an answer."""
        return frozenset(self._saver.failed)

    def _set_asks(self, asks: bool) -> None:
        # Otherwise a rejected call would run if questions are disabled before its run resumes.
        for part in ("configurable", "metadata"):
            self._config[part][ASKS] = asks


def lost_interrupts(saved: CheckpointTuple | None, tasks: set[str]) -> frozenset[str]:
    """Return the interrupts of a checkpoint whose steps are not among these tasks."""
    writes = (saved.pending_writes or []) if saved else []
    values = [value for task, channel, value in writes if channel == INTERRUPTS and task not in tasks]
    return frozenset(interrupt.id for interrupts in values for interrupt in interrupts)


@contextmanager
def agent_code() -> Iterator[None]:
    """Raise outages in the agent's own code as `AgentServiceError`.

    An outage mistaken for one of the run's store would be retried forever.
    """
    try:
        yield
    except OutageError:
        raise
    except UnavailableError as error:
        raise AgentServiceError(error) from error


def question_of(
    node: str,
    interrupt: Interrupt,
    tools: Mapping[str, BaseTool] = MappingProxyType({}),
    answer_spec: AnswerSpec = ANY_ANSWER,
) -> Question:
    """Return an interrupt as a question for people."""
    schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else None
    format, asks = read_interrupt(interrupt.value, schema, answer_spec)
    question = Question(interrupt.id, node, asks, format, schema, tuple(map(digest_of, asks)))
    return with_tools(question, interrupt.value, tools) if format in REFUSABLE else question


def with_tools(question: Question, value: Any, tools: Mapping[str, BaseTool]) -> Question:
    """Return a question about calls with their tools' schemas, without the calls that the tools refuse."""
    asks, refused_calls = list(question.asks), dict[int, str]()
    for position, ask in enumerate(question.asks):
        action = ask.action
        tool = tools.get(action.name) if action else None
        if action is None or tool is None:
            continue
        why = refusal_reason(tool, action.args)
        if why and "reject" in ask.resolved_allowed:
            refused_calls[position] = why
        elif "edit" in ask.resolved_allowed and action.args_schema is None:
            typed = action.model_copy(update={"args_schema": checkable(call_schema(tool))})
            asks[position] = ask.model_copy(update={"action": typed})
    return question._replace(asks=tuple(asks), refused_calls=refused_calls)


def resume_value(question: Question, requests: Sequence[Request]) -> Any:
    """Return the result of the graph's `interrupt` call once all its requests have ended."""
    refused = {position: {"type": "reject", "message": why} for position, why in question.refused_calls.items()}
    if not refused:
        return question.format.answer(requests, question.schema)
    if question.schema is not None:
        return refused[0]
    decided = iter(question.format.answer(requests, None)["decisions"])
    return {"decisions": [refused.get(n) or next(decided) for n in range(len(question.asks))]}


def resume_with(answers: dict[str, Any]) -> Command[Any]:
    """Return a resume command keyed by interrupt: a value without a key could answer a later question."""
    return Command(resume=answers)


@dataclass
class StreamTranslator:
    """Translates LangGraph's stream to emitter calls, with ids that are stable across attempts."""

    emitter: Emitter
    step: int = 0
    messages: dict[str, StreamedMessage] = field(default_factory=dict)
    ordinals: Counter[str] = field(default_factory=Counter)
    running: set[str] = field(default_factory=set)

    def translate(self, mode: str, part: Any, *, is_inner: bool = False) -> None:
        """Pass one part to the emitter; `is_inner` means that a nested graph produced it."""
        if mode == "debug":
            self._debug(part, is_inner)
        elif mode == "custom":
            self._custom(part)
        else:
            self._message(*part)

    async def flush_step(self, task_id: str | None) -> None:
        """Return once all output of a step is stored in the stream.

        Its results are saved next, and the step never runs again to repeat missing output.
        """
        for _ in range(LOOP_TURNS):
            if task_id not in self.running:
                break
            await asyncio.sleep(0)
        await self.emitter.flush()

    def end(self) -> None:
        """Close all open messages."""
        for message in list(self.messages.values()):
            self._close(message)

    def _debug(self, part: dict[str, Any], is_inner: bool) -> None:
        if not is_inner:
            self.step = part["step"]
        if part["type"] == "task":
            self.running.add(part["payload"]["id"])
        if part["type"] == "task_result":
            self.running.discard(part["payload"]["id"])
            for message in [m for m in self.messages.values() if m.task == part["payload"]["id"]]:
                self._close(message)

    def _custom(self, value: Any) -> None:
        text = json_text(value)
        plain = clean_json(json.loads(text))
        name = plain.get("name", "custom") if isinstance(plain, dict) else "custom"
        place = f"{self.step}:{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        self.ordinals[place] += 1
        place = f"{place}:{self.ordinals[place]}"
        if isinstance(plain, dict) and plain.keys() == {SAY}:
            return self.emitter.whole_text(place, str(plain[SAY]))
        self.emitter.custom(place, str(name), plain)

    def _message(self, message: BaseMessage, metadata: dict[str, Any]) -> None:
        if isinstance(message, ToolMessage):
            return self.emitter.tool_result(clean_text(message.tool_call_id), clean_text(str(message.content)))
        if not isinstance(message, AIMessage):
            return None
        place = str(metadata.get("langgraph_checkpoint_ns", ""))
        chunk = message if isinstance(message, AIMessageChunk) else None
        text, is_models = clean_text(message.text), chunk is not None or MODEL in metadata
        if not is_models and message.id not in self.messages:
            text = self._unsent_part(message, text, place)
        known = self._streamed_message(message, place, is_models)
        known.has_ended |= chunk is None or chunk.chunk_position == "last"
        if MODEL_FORMS in metadata.get("tags", ()):
            known.visible_text = known.visible_text or VisibleText(metadata.get(TOOL_NAMES, ()))
        known.text += text
        self.emitter.text(known.id, known.visible_text.add(text) if known.visible_text else text)
        if QUIET_CALLS in metadata.get("tags", ()):
            return None
        if chunk is None:
            self._tool_calls(message)
        elif chunk.tool_call_chunks:
            known.whole = chunk if known.whole is None else known.whole + chunk

    def _unsent_part(self, message: AIMessage, text: str, place: str) -> str:
        """Return the part of a step's result that is not yet in the stream."""
        unsent, known, repeated = unsent_part(text, place, self.messages.values())
        if known and message.id:
            self.messages[message.id] = known
        for each in repeated:
            self.emitter.supersede(each.id)
            each.text = ""
        return unsent

    def _streamed_message(self, message: AIMessage, place: str, is_models: bool) -> StreamedMessage:
        key = message.id or place
        if key not in self.messages:
            self.ordinals[place] += 1
            id = hashlib.sha256(f"{place}:{self.ordinals[place]}".encode()).hexdigest()[:24]
            self.messages[key] = StreamedMessage(f"msg-{id}", place.rpartition(":")[2], place, is_models)
        return self.messages[key]

    def _close(self, message: StreamedMessage) -> None:
        if message.visible_text is not None:
            self.emitter.text(message.id, message.visible_text.finish())
            message.visible_text = None
        self.emitter.end_text(message.id)
        if message.whole is not None:
            self._tool_calls(message.whole)
            message.whole = None
        message.task = ""

    def _tool_calls(self, message: AIMessage) -> None:
        for call in message.tool_calls:
            self.emitter.tool_call(clean_text(str(call["id"])), clean_text(call["name"]), json_text(call["args"]))
