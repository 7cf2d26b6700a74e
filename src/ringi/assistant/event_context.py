"""What one event finds: the definitions, the moment, who sent it; and what it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from ringi.assistant import memory as memories
from ringi.assistant.availability import Availability, Fix, availability_of
from ringi.assistant.catalog import Action, Text
from ringi.assistant.definitions import Definitions
from ringi.assistant.explanations import MAX_NAMES, next_step_after, next_step_text, reasons_text, rejection_text
from ringi.assistant.freshness import Freshness
from ringi.assistant.memory import ContextMemory, Provenance
from ringi.assistant.memory_ops import RejectedOp
from ringi.assistant.plans import Plan
from ringi.assistant.sentences import LANGUAGES, Sentence, sentence
from ringi.base import StrictModel
from ringi.domain import THREAD

BACKGROUND_PREFIX = THREAD
"""What the names begin with under which side threads send events: nobody can sign in with a colon."""
PENDING_STATUSES = ("planning", "planned", "executing")
"""The plans that a side thread works on, or asks about."""
Kind = Literal["plan", "ask", "approve", "execute"]


class BackgroundStart(StrictModel):
    """A side thread to begin."""

    kind: Kind
    thread: str
    job: dict[str, Any]


class ImmediateCall(StrictModel):
    """An immediate action to do within the turn."""

    action: str
    args: dict[str, Any] = {}


@dataclass(frozen=True)
class TurnResult:
    """What an event leads to."""

    memory: ContextMemory
    sentences: tuple[Sentence, ...] = ()
    begin: tuple[BackgroundStart, ...] = ()
    stop: tuple[str, ...] = ()
    """Side threads that nobody needs any more."""
    fetch: tuple[str, ...] = ()
    """Infos whose handlers to run now."""
    calls: tuple[ImmediateCall, ...] = ()

    def then(self, step: Callable[[ContextMemory], TurnResult]) -> TurnResult:
        """Return this and what a step makes of the memory it leaves."""
        more = step(self.memory)
        return TurnResult(
            more.memory,
            (*self.sentences, *more.sentences),
            (*self.begin, *more.begin),
            (*self.stop, *more.stop),
            tuple(dict.fromkeys((*self.fetch, *more.fetch))),
            (*self.calls, *more.calls),
        )


@dataclass(frozen=True)
class EventContext:
    """One event of one conversation."""

    definitions: Definitions
    thread: str
    """The conversation's."""
    now: datetime
    by: str
    """Who sent the event: a person, or a side thread."""
    run: str = ""
    """The run in which the event is taken. What it begins is called by it, so nobody can begin that before."""
    confirms_in_words: bool = False

    @property
    def sender_thread(self) -> str:
        """The side thread that sent the event; of a person's event, nothing."""
        return self.by.removeprefix(BACKGROUND_PREFIX) if self.by.startswith(BACKGROUND_PREFIX) else ""

    def new_thread_id(self, memory: ContextMemory, kind: Kind) -> str:
        """Return the id of a side thread to begin: no other's of this conversation."""
        return f"{self.thread}~{kind}-{memory.version}{self.run[:12]}"

    def availability(self, memory: ContextMemory, action: Action) -> Availability:
        """Return whether an action is possible now, and why not."""
        return availability_of(self.definitions, memory, self.now, action)

    def unavailable(self, memory: ContextMemory, action: Action) -> Sentence:
        """Return what is said of an action that is not possible: why, and what the person does next."""
        found = self.availability(memory, action).reasons
        why = {language: reasons_text(found, self.definitions, language) for language in LANGUAGES}
        return sentence(
            "disabled", action=action.label, why=why, todo=self.next_steps(memory, *(each.fix for each in found))
        )

    def next_steps(self, memory: ContextMemory, *fixes: Fix) -> Text:
        """Return what a person does next, in each language."""
        ways = list(dict.fromkeys(self._first_possible_fix(memory, fix) for fix in fixes))[:MAX_NAMES]
        return {
            language: " ".join(next_step_text(fix.kind, [fix.ref], self.definitions, language) for fix in ways)
            for language in LANGUAGES
        }

    def _first_possible_fix(self, memory: ContextMemory, fix: Fix) -> Fix:
        """Return what can be done now: an action that is not possible itself is reached by its own way on."""
        seen = set[Fix]()
        while fix.kind == "run_action" and fix not in seen:
            seen.add(fix)
            reasons = self.availability(memory, self.definitions.action(fix.ref)).reasons
            fix = reasons[0].fix if reasons else fix
        return fix

    def rejection(self, rejected: RejectedOp) -> Sentence:
        """Return what is said of what somebody told that cannot be: why, and what the person does next."""
        why = {language: rejection_text(rejected, self.definitions, language) for language in LANGUAGES}
        todo = {language: next_step_after(rejected, self.definitions, language) for language in LANGUAGES}
        return sentence("refused", what=self.title(rejected.op.key), why=why, todo=todo)

    def unknown_name(self, name: Any) -> Sentence:
        """Return what is said of a name that nothing has."""
        return sentence("unknown", what=name, todo=self._possible_actions())

    def not_understood(self) -> Sentence:
        """Return what is said to words of which a model made nothing."""
        return sentence("puzzled", todo=self._possible_actions())

    def no_plan(self) -> Sentence:
        """Return what is said to what is about a plan, where there is none."""
        makers = [each.label for each in self.definitions.actions if each.kind == "plan"]
        return sentence("no_plan", actions=makers) if makers else self.not_understood()

    def _possible_actions(self) -> Text:
        ids = [each.id for each in self.definitions.actions]
        return {language: next_step_text("do", ids, self.definitions, language) for language in LANGUAGES}

    def title(self, key: str) -> Text:
        """Return the name of an info."""
        info = self.definitions.infos_by_key.get(key)
        return (info.title if info else "") or key

    def apply_of(self, plan: Plan) -> Action | None:
        """Return the action that carries out a plan; some plans are only to be read."""
        return self.definitions.apply_of(self.definitions.action(plan.action_id))

    def inputs(self, memory: ContextMemory, action: Action) -> dict[str, str]:
        """Return the hashes of what a plan stands on: what making it needs, and what carrying it out needs."""
        return Freshness(self.definitions, memory, self.now).inputs(action)

    def plan_inputs(self, memory: ContextMemory, plan: Plan) -> dict[str, str]:
        """Return the hashes of now of what a plan stands on."""
        return self.inputs(memory, self.definitions.action(plan.action_id))

    def hashes(self, memory: ContextMemory, keys: Sequence[str]) -> dict[str, str]:
        """Return the hashes of those infos that are known."""
        return {key: item.hash for key in keys if (item := memory.items.get(key)) and item.status == "collected"}

    def input_values(self, memory: ContextMemory, action: Action) -> dict[str, Any]:
        """Return the values of what a plan stands on."""
        return {key: memory.items[key].value for key in self.inputs(memory, action)}

    def with_workflow_status(
        self, memory: ContextMemory, action: Action, status: str, error: str | None = None
    ) -> ContextMemory:
        """Return the memory with the status of an action's workflow."""
        return memories.set_workflow_status(memory, str(action.workflow or action.id), status, self.now, error=error)

    def without_plan_info(self, memory: ContextMemory, action: Action) -> ContextMemory:
        """Return the memory without the plan that an action made known: nobody may build on it any more."""
        return memories.remove_values(
            memory, action.produces, Provenance(kind="derived", actor=action.workflow), self.now
        )


def to_json_list(values: Iterable[BaseModel]) -> list[dict[str, Any]]:
    """Return values as JSON, as a checkpoint or a job keeps them."""
    return [value.model_dump(mode="json") for value in values]
