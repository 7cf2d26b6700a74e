"""The conversation graph of an Engrammer: answer, judge, reflect, then ask a person about each insight."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ringi.base import OutageError, failpoint, jsonable, report_outages
from ringi.domain import Key, Thread, is_name_of_person
from ringi.errors import ForbiddenError, InvalidError
from ringi.runs import RunContext, run_context
from ringi_apps.engrammer.entries import Entry, Tag
from ringi_apps.engrammer.errors import NO_AGENT_FEEDBACK, BusyPlaybookError
from ringi_apps.engrammer.generator import AnswerGenerator, NoteReader, cited_bullets, make_references, note_text
from ringi_apps.engrammer.insights import AnswerFeedback
from ringi_apps.engrammer.learning import build_learning_graph
from ringi_apps.engrammer.notes import NOTE_ERRORS, PLAYBOOK
from ringi_apps.engrammer.persistence import append_in_run, read_in_run, turns_in_newest_checkpoint
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.reflector import build_turn_update, describe_failure, request_reflection
from ringi_apps.engrammer.roles import MAX_TEXT_LENGTH, generator_messages, reflector_messages, sum_usage
from ringi_apps.engrammer.settings import EngrammerSettings
from ringi_apps.engrammer.thread_ids import conversation_of, thread_ids_of, visible_siblings
from ringi_apps.engrammer.turns import Turn, Turns, merge_turns, new_turn

log = logging.getLogger(__name__)
MAX_EARLIER_TURNS = 6
"""Number of earlier turns in the generator's prompt."""
MAX_REFUSED_TEXTS = 20
"""Number of rejected texts in the reflector's prompt."""
VERDICTS = {True: "right", False: "wrong", None: "unknown"}


class EngrammerThreadState(TypedDict, total=False):
    """The state of a thread of a conversation."""

    input: dict[str, Any]
    turns: Annotated[Turns, merge_turns]
    notes: dict[str, str]
    """The notes read for this run's answer, by `source/id`."""


def build_conversation_graph(engrammer: EngrammerSettings) -> Any:
    """Build the graph of the conversation agent."""
    steps = EngrammerNodes(engrammer)
    graph = StateGraph(EngrammerThreadState)
    for step in (steps.receive, steps.answer, steps.judge, steps.reflect, steps.tag):
        graph.add_node(step.__name__, step)
    graph.add_edge(START, "receive")
    graph.add_conditional_edges("receive", choose_start, ["answer", "reflect"])
    graph.add_edge("answer", "judge")
    graph.add_edge("judge", "reflect")
    graph.add_edge("reflect", "tag")
    return compile_with_learning(graph, "tag", engrammer)


def compile_with_learning(graph: StateGraph[EngrammerThreadState], last_node: str, engrammer: EngrammerSettings) -> Any:
    """Return the compiled graph; after its last node it asks a person about each insight of the turn."""
    graph.add_node("learn", build_learning_graph(engrammer))
    graph.add_node("finish", finish)
    graph.add_conditional_edges(last_node, start_learning_per_insight, ["learn", "finish"])
    graph.add_edge("learn", "finish")
    graph.add_edge("finish", END)
    return graph.compile()


def choose_start(state: EngrammerThreadState) -> str:
    """Return the first node: `answer` for a question, `reflect` for feedback."""
    return "reflect" if "feedback" in state["input"] else "answer"


def start_learning_per_insight(state: EngrammerThreadState) -> list[Send] | str:
    """Start the learning graph for each insight, or finish."""
    return [Send("learn", {"insight": each}) for each in state["turns"][-1]["insights"]] or "finish"


async def finish(state: EngrammerThreadState) -> EngrammerThreadState:
    """End the turn."""
    return {"turns": [{"run_id": state["turns"][-1]["run_id"], "phase": "done"}], "notes": {}}


class EngrammerNodes:
    """The nodes of the conversation graph."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer, self._reader = engrammer, NoteReader(engrammer.model, engrammer.notes)

    async def receive(self, state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        """Start the turn of a question or of a person's feedback."""
        host, input = run_context(config), state["input"]
        at = host.inbox.clock().isoformat()
        if "feedback" not in input:
            return {"turns": [new_turn(host.run_id, host.key.id, input["query"].strip(), at)], "notes": {}}
        if not is_name_of_person(host.by):
            raise ForbiddenError(NO_AGENT_FEEDBACK)
        answer, verdict = await self._answered_turn(state, host, input.get("turn")), input["feedback"]
        feedback = AnswerFeedback(
            source="user", verdict=verdict["verdict"], text=verdict.get("text", "").strip(), by=host.by
        )
        copied = {name: answer[name] for name in ("response", "references", "bullets")}
        turn = {**new_turn(host.run_id, host.key.id, answer["query"], at), **copied, "phase": "reflecting"}
        turn |= {"feedback": jsonable(feedback), "parent": answer["parent"] or answer["run_id"]}
        return {"turns": [turn], "notes": await self._read_notes(answer["references"])}

    async def answer(self, state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        """Generate the answer with the playbook and the notes."""
        host, turn = run_context(config), state["turns"][-1]
        playbook = await read_in_run(host, self._engrammer.playbook_name)
        earlier = [each for each in await self._earlier_turns(state, host) if each["response"] and not each["parent"]]
        messages = generator_messages(self._engrammer.prompt, playbook, earlier[-MAX_EARLIER_TURNS:], turn["query"])
        generator = AnswerGenerator(self._reader)
        response = await generator.generate(messages, config)
        if not response:
            raise generator.no_answer()
        bullets = cited_bullets(response, playbook)
        content = {
            "response": response,
            "references": make_references(generator.notes_read, bullets),
            "bullets": bullets,
        }
        usage = {**turn["usage"], "answer": sum_usage(*generator.responses)}
        update = {"run_id": turn["run_id"], **content, "usage": usage, "phase": "reflecting"}
        return {"turns": [update], "notes": generator.notes_read}

    async def judge(self, state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        """Judge the answer by the expected answer, by `check`, or leave it to the agent."""
        turn = state["turns"][-1]
        feedback = await self._judge_answer(turn, state["input"].get("expected"), run_context(config).by)
        return {"turns": [{"run_id": turn["run_id"], "feedback": jsonable(feedback)}]}

    async def reflect(self, state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        """Run the reflector; if it fails, nothing is proposed but the answer remains."""
        host, turn, notes = run_context(config), state["turns"][-1], state.get("notes", {})
        playbook = await read_in_run(host, self._engrammer.playbook_name)
        feedback = AnswerFeedback.model_validate(turn["feedback"])
        # Of a bullet that people would not retire or merge, the text is what they want.
        refused_texts = [each.text for each in playbook.rejected if each.op in ("add", "edit")][-MAX_REFUSED_TEXTS:]
        messages, responses = reflector_messages(playbook, turn, feedback, notes, refused_texts), list[AIMessage]()
        try:
            reflection = await request_reflection(self._engrammer.reflector_model, messages, config, responses)
        except (GraphBubbleUp, OutageError):
            raise
        except Exception as error:
            failed = describe_failure(error)
            log.warning("run %s: its answer is not looked back at: %s", turn["run_id"], failed)
            update: Turn = {"reflected": {"verdict": feedback.verdict, "failed": failed}}
        else:
            if feedback.source == "self":
                feedback = feedback.model_copy(update={"verdict": reflection.verdict})
            feedback_update = {"feedback": jsonable(feedback)}
            update = feedback_update | build_turn_update(
                reflection, playbook, {**turn, **feedback_update}, notes, host.inbox.clock()
            )
        usage = {**turn["usage"], "reflect": sum_usage(*responses)}
        return {"turns": [{"run_id": turn["run_id"], **update, "usage": usage}]}

    async def tag(self, state: EngrammerThreadState, config: RunnableConfig) -> EngrammerThreadState:
        """Count the effects of the bullets; counts need no approval because they are not text."""
        host, turn = run_context(config), state["turns"][-1]
        tags = [Tag.model_validate(each) for each in turn.get("tags", ())]

        def count(playbook: Playbook) -> Entry | None:
            known_tags = tuple(tag for tag in tags if tag.bullet in playbook.bullets)
            if not known_tags or turn["run_id"] in playbook.counted:
                return None
            return Entry(op="tag", tags=known_tags, thread_id=host.key.id, run_id=turn["run_id"])

        if tags:
            with report_outages():
                try:
                    await append_in_run(host, self._engrammer.playbook_name, count)
                except BusyPlaybookError as error:
                    log.warning("what the bullets did in run %s is not counted: %s", host.run_id, error)
            failpoint("tag.entered")
        return {"turns": []}

    async def _judge_answer(self, turn: Turn, expected: str | None, by: str | None) -> AnswerFeedback:
        if expected is not None:
            verdict = VERDICTS[self._engrammer.grade(expected, turn["response"])]
            # Also an agent's token may say so: whoever approves must see whose truth it is.
            return AnswerFeedback(
                source="ground_truth", verdict=verdict, text=f"The right answer is: {expected}", by=by
            )
        signal = await self._engrammer.check(turn["query"], turn["response"]) if self._engrammer.check else None
        if signal is None:
            return AnswerFeedback(source="self", verdict="unknown")
        return AnswerFeedback(source="environment", verdict=VERDICTS[signal.is_right], text=signal.text)

    async def _answered_turn(self, state: EngrammerThreadState, host: RunContext, run_id: str | None) -> Turn:
        """Return the turn that feedback is about: the named run or the newest answer."""
        turns = [turn for turn in await self._earlier_turns(state, host) if turn["response"]]
        matches = [turn for turn in turns if run_id in (None, turn["run_id"])]
        if not matches:
            why = f"this conversation has no answer {run_id!r}" if run_id else "this conversation has no answer yet"
            raise InvalidError.of("turn", f"{why}: name the run of an answer of this conversation")
        return matches[-1]

    async def _earlier_turns(self, state: EngrammerThreadState, host: RunContext) -> Turns:
        """Return the earlier turns of the conversation, oldest first."""
        backend, tenant = host.runner.backend, host.key.tenant
        with report_outages():
            ids = [Key(tenant, id) for id in thread_ids_of(conversation_of(host.key.id))]
            threads = await backend.store.get_many(Thread, ids)
            siblings = [
                turn
                for each in visible_siblings(threads, host.key.id, host.by)
                for turn in await turns_in_newest_checkpoint(backend, each)
            ]
        own = [turn for turn in state["turns"] if turn["run_id"] != host.run_id]
        return sorted([*siblings, *own], key=lambda turn: str(turn["at"]))

    async def _read_notes(self, references: Iterable[dict[str, str]]) -> dict[str, str]:
        """Return the notes that an answer used; missing notes are skipped."""
        notes = {}
        for source, id in ((each["source"], each["noteId"]) for each in references if each["source"] != PLAYBOOK):
            try:
                notes[f"{source}/{id}"] = note_text(await self._engrammer.notes.get(source, id))[:MAX_TEXT_LENGTH]
            except NOTE_ERRORS:
                continue
        return notes
