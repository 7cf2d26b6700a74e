"""The graph of an Engrammer: answer, judge, reflect, then each insight on its way, and none without a person."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage
from langchain_core.runnables import RunnableConfig
from langgraph.errors import GraphBubbleUp
from langgraph.graph import END, START, StateGraph
from langgraph.types import Send

from ringi.backends import report_outages
from ringi.base import failpoint, jsonable
from ringi.domain import Key, Thread, is_person
from ringi.engrammer.answering import Answering, NoAnswerError, cited_in, references_of, text_of
from ringi.engrammer.errors import BusyPlaybookError
from ringi.engrammer.insights import Feedback
from ringi.engrammer.learning import learning
from ringi.engrammer.notes import NOTE_ERRORS, PLAYBOOK
from ringi.engrammer.persistence import enter_in, read_in, turns_of
from ringi.engrammer.playbook import Entry, Playbook, Tag
from ringi.engrammer.reflecting import failure_of, lessons, reflection_of
from ringi.engrammer.refusals import NotForAgentsError
from ringi.engrammer.roles import MOST_TOLD, told_generator, told_reflector, usage_of
from ringi.engrammer.settings import EngrammerSettings
from ringi.engrammer.thread_ids import base_of, family, visible_siblings
from ringi.engrammer.turns import Turn, Turns, begun, merged
from ringi.errors import InvalidError, OutageError
from ringi.runs import RunContext, run_context

log = logging.getLogger(__name__)
EARLIER = 6
"""How many earlier turns the generator is shown."""
REFUSED = 20
"""How many refused texts the reflector is shown."""
VERDICTS = {True: "right", False: "wrong", None: "unknown"}


class Conversation(TypedDict, total=False):
    """The state of a thread of a conversation."""

    input: dict[str, Any]
    turns: Annotated[Turns, merged]
    notes: dict[str, str]
    """What the answer of this run stands on, by `source/id`."""


def conversing(engrammer: EngrammerSettings) -> Any:
    """Return the graph of the agent that people talk with."""
    steps = Steps(engrammer)
    graph = StateGraph(Conversation)
    for step in (steps.receive, steps.answer, steps.judge, steps.reflect, steps.tag, finish):
        graph.add_node(step.__name__, step)
    graph.add_node("learn", learning(engrammer))
    graph.add_edge(START, "receive")
    graph.add_conditional_edges("receive", first, ["answer", "reflect"])
    graph.add_edge("answer", "judge")
    graph.add_edge("judge", "reflect")
    graph.add_edge("reflect", "tag")
    graph.add_conditional_edges("tag", ways, ["learn", "finish"])
    graph.add_edge("learn", "finish")
    graph.add_edge("finish", END)
    return graph.compile()


def first(state: Conversation) -> str:
    """Return where a run begins: with an answer, or with what a person says of one."""
    return "reflect" if "feedback" in state["input"] else "answer"


def ways(state: Conversation) -> list[Send] | str:
    """Send each insight on its own way."""
    return [Send("learn", {"insight": each}) for each in state["turns"][-1]["insights"]] or "finish"


async def finish(state: Conversation) -> Conversation:
    """End the turn."""
    return {"turns": [{"run_id": state["turns"][-1]["run_id"], "phase": "done"}], "notes": {}}


class Steps:
    """The nodes of one Engrammer's conversations."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer = engrammer

    async def receive(self, state: Conversation, config: RunnableConfig) -> Conversation:
        """Begin the turn of a question, or of what a person says of an answer."""
        host, given = run_context(config), state["input"]
        at = host.inbox.clock().isoformat()
        if "feedback" not in given:
            return {"turns": [begun(host.run_id, host.key.id, given["query"].strip(), at)], "notes": {}}
        if not is_person(host.by):
            raise NotForAgentsError.to_say()
        about, said = await self._about(state, host, given.get("turn")), given["feedback"]
        feedback = Feedback(source="user", verdict=said["verdict"], text=said.get("text", "").strip(), by=host.by)
        same = {name: about[name] for name in ("response", "references", "bullets")}
        turn = {**begun(host.run_id, host.key.id, about["query"], at), **same, "phase": "reflecting"}
        turn |= {"feedback": jsonable(feedback), "parent": about["parent"] or about["run_id"]}
        return {"turns": [turn], "notes": await self._notes(about["references"])}

    async def answer(self, state: Conversation, config: RunnableConfig) -> Conversation:
        """Let the generator answer, with the playbook and what it looks up."""
        host, turn = run_context(config), state["turns"][-1]
        playbook = await self._playbook(host)
        earlier = [each for each in await self._before(state, host) if each["response"] and not each["parent"]]
        told = told_generator(self._engrammer.prompt, playbook, earlier[-EARLIER:], turn["query"])
        answering = Answering(self._engrammer.model, self._engrammer.notes)
        response = await answering.talk(told, config)
        if not response:
            raise NoAnswerError(answering.said)
        bullets = cited_in(response, playbook)
        answered = {"response": response, "references": references_of(answering.read, bullets), "bullets": bullets}
        usage = {**turn["usage"], "answer": usage_of(*answering.said)}
        about = {"run_id": turn["run_id"], **answered, "usage": usage, "phase": "reflecting"}
        return {"turns": [about], "notes": answering.read}

    async def judge(self, state: Conversation, config: RunnableConfig) -> Conversation:
        """Say what there is to judge the answer by: the truth, the world, or nobody but the agent."""
        turn = state["turns"][-1]
        feedback = await self._judged(turn, state["input"].get("expected"), run_context(config).by)
        return {"turns": [{"run_id": turn["run_id"], "feedback": jsonable(feedback)}]}

    async def reflect(self, state: Conversation, config: RunnableConfig) -> Conversation:
        """Let the reflector look back; what it gets wrong costs what it proposes, not the answer."""
        host, turn, notes = run_context(config), state["turns"][-1], state.get("notes", {})
        playbook, feedback = await self._playbook(host), Feedback.model_validate(turn["feedback"])
        # Of a bullet that people would not retire or merge, the text is what they want.
        refused = [each.text for each in playbook.rejected if each.op in ("add", "edit")][-REFUSED:]
        told, said = told_reflector(playbook, turn, feedback, notes, refused), list[AIMessage]()
        try:
            reflection = await reflection_of(self._engrammer.reflects, told, config, said)
        except (GraphBubbleUp, OutageError):
            raise
        except Exception as error:
            failed = failure_of(error)
            log.warning("run %s: its answer is not looked back at: %s", turn["run_id"], failed)
            found: Turn = {"reflected": {"verdict": feedback.verdict, "failed": failed}}
        else:
            if feedback.source == "self":
                feedback = feedback.model_copy(update={"verdict": reflection.verdict})
            judged = {"feedback": jsonable(feedback)}
            found = judged | lessons(reflection, playbook, {**turn, **judged}, notes, host.inbox.clock())
        usage = {**turn["usage"], "reflect": usage_of(*said)}
        return {"turns": [{"run_id": turn["run_id"], **found, "usage": usage}]}

    async def tag(self, state: Conversation, config: RunnableConfig) -> Conversation:
        """Count what the bullets did; counts are no text, and nobody has to approve them."""
        host, turn = run_context(config), state["turns"][-1]
        tags = [Tag.model_validate(each) for each in turn.get("tags", ())]

        def counted(playbook: Playbook) -> Entry | None:
            left = tuple(tag for tag in tags if tag.bullet in playbook.bullets)
            if not left or turn["run_id"] in playbook.counted:
                return None
            return Entry(op="tag", tags=left, thread_id=host.key.id, run_id=turn["run_id"])

        if tags:
            with report_outages():
                try:
                    await enter_in(host, self._engrammer.playbook_name, counted)
                except BusyPlaybookError as error:
                    log.warning("what the bullets did in run %s is not counted: %s", host.run_id, error)
            failpoint("tag.entered")
        return {"turns": []}

    async def _judged(self, turn: Turn, expected: str | None, by: str | None) -> Feedback:
        if expected is not None:
            verdict = VERDICTS[self._engrammer.grade(expected, turn["response"])]
            # Also an agent's token may say so: whoever approves must see whose truth it is.
            return Feedback(source="ground_truth", verdict=verdict, text=f"The right answer is: {expected}", by=by)
        signal = await self._engrammer.check(turn["query"], turn["response"]) if self._engrammer.check else None
        if signal is None:
            return Feedback(source="self", verdict="unknown")
        return Feedback(source="environment", verdict=VERDICTS[signal.is_right], text=signal.text)

    async def _about(self, state: Conversation, host: RunContext, run_id: str | None) -> Turn:
        """Return the answer that a person speaks of: the newest, unless they name one."""
        turns = [turn for turn in await self._before(state, host) if turn["response"]]
        found = [turn for turn in turns if run_id in (None, turn["run_id"])]
        if not found:
            why = f"there is no answer {run_id!r} here" if run_id else "nothing is answered here yet"
            raise InvalidError.of("turn", f"{why}: name the run of an answer of this conversation")
        return found[-1]

    async def _before(self, state: Conversation, host: RunContext) -> Turns:
        """Return the earlier turns of the conversation, oldest first."""
        backend, tenant = host.runner.backend, host.key.tenant
        with report_outages():
            ids = [Key(tenant, id) for id in family(base_of(host.key.id))]
            threads = await backend.store.get_many(Thread, ids)
            elsewhere = [
                turn
                for each in visible_siblings(threads, host.key.id, host.by)
                for turn in await turns_of(backend, each)
            ]
        here = [turn for turn in state["turns"] if turn["run_id"] != host.run_id]
        return sorted([*elsewhere, *here], key=lambda turn: str(turn["at"]))

    async def _notes(self, references: Iterable[dict[str, str]]) -> dict[str, str]:
        """Return the notes that an answer stands on; one that is gone is no evidence any more."""
        found = {}
        for source, id in ((each["source"], each["noteId"]) for each in references if each["source"] != PLAYBOOK):
            try:
                found[f"{source}/{id}"] = text_of(await self._engrammer.notes.get(source, id))[:MOST_TOLD]
            except NOTE_ERRORS:
                continue
        return found

    async def _playbook(self, host: RunContext) -> Playbook:
        return await read_in(host, self._engrammer.playbook_name)
