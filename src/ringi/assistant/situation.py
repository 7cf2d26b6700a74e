"""What one event finds: the definitions, the moment, who sent it; and what it leads to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from ringi.assistant import memory as memories
from ringi.assistant.availability import Availability, Fix, available
from ringi.assistant.catalog import Action, Text
from ringi.assistant.definitions import Definitions
from ringi.assistant.knowledge import Knowledge
from ringi.assistant.memory import ContextMemory, Refusal, Source
from ringi.assistant.plans import Plan
from ringi.assistant.speech import LANGUAGES, Sentence, said
from ringi.assistant.wording import MOST_NAMED, next_in, next_of, reasons_in, refusal_in
from ringi.base import StrictModel
from ringi.domain import THREAD

SIDE = THREAD
"""What the names begin with under which side threads send events: nobody can sign in with a colon."""
WAITED_FOR = ("planning", "planned", "executing")
"""The plans that a side thread works on, or asks about."""
Kind = Literal["plan", "ask", "approve", "execute"]


class Begin(StrictModel):
    """A side thread to begin."""

    kind: Kind
    thread: str
    job: dict[str, Any]


class Call(StrictModel):
    """An immediate action to do within the turn."""

    action: str
    args: dict[str, Any] = {}


@dataclass(frozen=True)
class Outcome:
    """What an event leads to."""

    memory: ContextMemory
    words: tuple[Sentence, ...] = ()
    begin: tuple[Begin, ...] = ()
    stop: tuple[str, ...] = ()
    """Side threads that nobody needs any more."""
    fetch: tuple[str, ...] = ()
    """Infos whose handlers to run now."""
    calls: tuple[Call, ...] = ()

    def then(self, step: Callable[[ContextMemory], Outcome]) -> Outcome:
        """Return this and what a step makes of the memory it leaves."""
        more = step(self.memory)
        return Outcome(
            more.memory,
            (*self.words, *more.words),
            (*self.begin, *more.begin),
            (*self.stop, *more.stop),
            tuple(dict.fromkeys((*self.fetch, *more.fetch))),
            (*self.calls, *more.calls),
        )


@dataclass(frozen=True)
class Situation:
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
    def side(self) -> str:
        """The side thread that sent the event; of a person's event, nothing."""
        return self.by.removeprefix(SIDE) if self.by.startswith(SIDE) else ""

    def side_id(self, memory: ContextMemory, kind: Kind) -> str:
        """Return the id of a side thread to begin: no other's of this conversation."""
        return f"{self.thread}~{kind}-{memory.version}{self.run[:12]}"

    def available(self, memory: ContextMemory, action: Action) -> Availability:
        """Return whether an action is possible now, and why not."""
        return available(self.definitions, memory, self.now, action)

    def why_not(self, memory: ContextMemory, action: Action) -> Sentence:
        """Return what is said of an action that is not possible: why, and what the person does next."""
        found = self.available(memory, action).reasons
        why = {language: reasons_in(found, self.definitions, language) for language in LANGUAGES}
        return said("disabled", action=action.label, why=why, todo=self.todo(memory, *(each.fix for each in found)))

    def todo(self, memory: ContextMemory, *fixes: Fix) -> Text:
        """Return what a person does next, in each language."""
        ways = list(dict.fromkeys(self._way_on(memory, fix) for fix in fixes))[:MOST_NAMED]
        return {
            language: " ".join(next_in(fix.kind, [fix.ref], self.definitions, language) for fix in ways)
            for language in LANGUAGES
        }

    def _way_on(self, memory: ContextMemory, fix: Fix) -> Fix:
        """Return what can be done now: an action that is not possible itself is reached by its own way on."""
        seen = set[Fix]()
        while fix.kind == "run_action" and fix not in seen:
            seen.add(fix)
            reasons = self.available(memory, self.definitions.action(fix.ref)).reasons
            fix = reasons[0].fix if reasons else fix
        return fix

    def refused(self, refusal: Refusal) -> Sentence:
        """Return what is said of what somebody told that cannot be: why, and what the person does next."""
        why = {language: refusal_in(refusal, self.definitions, language) for language in LANGUAGES}
        todo = {language: next_of(refusal, self.definitions, language) for language in LANGUAGES}
        return said("refused", what=self.title(refusal.op.key), why=why, todo=todo)

    def unknown(self, name: Any) -> Sentence:
        """Return what is said of a name that nothing has."""
        return said("unknown", what=name, todo=self._doable())

    def puzzled(self) -> Sentence:
        """Return what is said to words of which a model made nothing."""
        return said("puzzled", todo=self._doable())

    def no_plan(self) -> Sentence:
        """Return what is said to what is about a plan, where there is none."""
        makers = [each.label for each in self.definitions.actions if each.kind == "plan"]
        return said("no_plan", actions=makers) if makers else self.puzzled()

    def _doable(self) -> Text:
        ids = [each.id for each in self.definitions.actions]
        return {language: next_in("do", ids, self.definitions, language) for language in LANGUAGES}

    def title(self, key: str) -> Text:
        """Return the name of an info."""
        info = self.definitions.infos_by_key.get(key)
        return (info.title if info else "") or key

    def apply_of(self, plan: Plan) -> Action | None:
        """Return the action that carries out a plan; some plans are only to be read."""
        return self.definitions.apply_of(self.definitions.action(plan.action_id))

    def inputs(self, memory: ContextMemory, action: Action) -> dict[str, str]:
        """Return the hashes of what a plan stands on: what making it needs, and what carrying it out needs."""
        return Knowledge(self.definitions, memory, self.now).inputs(action)

    def inputs_of(self, memory: ContextMemory, plan: Plan) -> dict[str, str]:
        """Return the hashes of now of what a plan stands on."""
        return self.inputs(memory, self.definitions.action(plan.action_id))

    def hashes(self, memory: ContextMemory, keys: Sequence[str]) -> dict[str, str]:
        """Return the hashes of those infos that are known."""
        return {key: item.hash for key in keys if (item := memory.items.get(key)) and item.status == "collected"}

    def values(self, memory: ContextMemory, action: Action) -> dict[str, Any]:
        """Return the values of what a plan stands on."""
        return {key: memory.items[key].value for key in self.inputs(memory, action)}

    def ran(self, memory: ContextMemory, action: Action, status: str, error: str | None = None) -> ContextMemory:
        """Return the memory with the status of an action's workflow."""
        return memories.run_status(memory, str(action.workflow or action.id), status, self.now, error=error)

    def without_product(self, memory: ContextMemory, action: Action) -> ContextMemory:
        """Return the memory without the plan that an action made known: nobody may build on it any more."""
        return memories.forgotten(memory, action.produces, Source(kind="derived", actor=action.workflow), self.now)


def dumped(values: Iterable[BaseModel]) -> list[dict[str, Any]]:
    """Return values as JSON, as a checkpoint or a job keeps them."""
    return [value.model_dump(mode="json") for value in values]
