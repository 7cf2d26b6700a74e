"""The context of one event, and the result of handling it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from ringi.base import StrictModel
from ringi.domain import THREAD
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.availability import Availability, Fix, availability_of
from ringi_apps.assistant.declarations import ActionDefinition, LocalizedText, in_language
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.explanations import (
    MAX_NAMES,
    next_step_after,
    next_step_text,
    reasons_text,
    rejected_operation_text,
)
from ringi_apps.assistant.freshness import Freshness
from ringi_apps.assistant.memory import ContextMemory, Provenance
from ringi_apps.assistant.memory_ops import RejectedOp
from ringi_apps.assistant.plans import Plan
from ringi_apps.assistant.rendering import value_text
from ringi_apps.assistant.sentences import ANY_TEXT, LANGUAGES, SpokenSentence, sentence

BACKGROUND_PREFIX = THREAD
"""The prefix of the name under which background threads send events; no user name has a colon."""
PENDING_STATUSES = ("planning", "planned", "executing")
"""The statuses of plans that have a background thread."""
BackgroundKind = Literal["plan", "ask", "approve", "execute"]


class BackgroundStart(StrictModel):
    """A background thread to start."""

    kind: BackgroundKind
    thread: str
    job: dict[str, Any]


class ImmediateCall(StrictModel):
    """An immediate action to run within the turn."""

    action: str
    args: dict[str, Any] = {}


@dataclass(frozen=True)
class TurnResult:
    """The result of an event: the new memory, the sentences to say, and the work to do."""

    memory: ContextMemory
    sentences: tuple[SpokenSentence, ...] = ()
    begin: tuple[BackgroundStart, ...] = ()
    stop: tuple[str, ...] = ()
    """Background threads that are no longer needed."""
    fetch: tuple[str, ...] = ()
    """Infos whose handlers to run now."""
    calls: tuple[ImmediateCall, ...] = ()

    def then(self, step: Callable[[ContextMemory], TurnResult]) -> TurnResult:
        """Return this result combined with that of a further step on its memory."""
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
    """The definitions, time and sender of one event of one conversation."""

    definitions: Definitions
    thread: str
    """The id of the conversation's thread."""
    now: datetime
    by: str
    """The sender of the event: a person or a background thread."""
    run: str = ""
    """The current run. Its id is part of the ids of new threads, so that nobody can start them in advance."""
    confirms_in_words: bool = False
    language: str = "en"
    """The language of the conversation, for the plans that code writes."""

    @property
    def sender_thread(self) -> str:
        """The background thread that sent the event; empty for a person's event."""
        return self.by.removeprefix(BACKGROUND_PREFIX) if self.by.startswith(BACKGROUND_PREFIX) else ""

    def new_thread_id(self, memory: ContextMemory, kind: BackgroundKind) -> str:
        """Return a new thread id that no other thread of this conversation has."""
        return f"{self.thread}~{kind}-{memory.version}{self.run[:12]}"

    def availability(self, memory: ContextMemory, action: ActionDefinition) -> Availability:
        """Return whether an action is possible now, with the reasons if not."""
        return availability_of(self.definitions, memory, self.now, action)

    def unavailable(self, memory: ContextMemory, action: ActionDefinition) -> SpokenSentence:
        """Return the sentence that an action is not possible, with the reasons and the next steps."""
        found = self.availability(memory, action).reasons
        why = {language: reasons_text(found, self.definitions, language) for language in LANGUAGES}
        return sentence(
            "disabled", action=action.label, why=why, todo=self.next_steps(memory, *(each.fix for each in found))
        )

    def next_steps(self, memory: ContextMemory, *fixes: Fix) -> LocalizedText:
        """Return the next steps for a person, in each language."""
        ways = list(dict.fromkeys(self._first_possible_fix(memory, fix) for fix in fixes))[:MAX_NAMES]
        return {
            language: " ".join(next_step_text(fix.kind, [fix.ref], self.definitions, language) for fix in ways)
            for language in LANGUAGES
        }

    def _first_possible_fix(self, memory: ContextMemory, fix: Fix) -> Fix:
        """Return the fix that is possible now: for an unavailable action, that of its first reason."""
        seen = set[Fix]()
        while fix.kind == "run_action" and fix not in seen:
            seen.add(fix)
            reasons = self.availability(memory, self.definitions.action(fix.ref)).reasons
            fix = reasons[0].fix if reasons else fix
        return fix

    def rejection(self, rejected: RejectedOp) -> SpokenSentence:
        """Return the sentence that an operation was rejected, with the reason and the next step."""
        why = {language: rejected_operation_text(rejected, self.definitions, language) for language in LANGUAGES}
        todo = {language: next_step_after(rejected, self.definitions, language) for language in LANGUAGES}
        return sentence("refused", what=self.title(rejected.op.key), why=why, todo=todo)

    def unknown_name(self, name: object) -> SpokenSentence:
        """Return the sentence that a name is not defined."""
        return sentence("unknown", what=name, todo=self._possible_actions())

    def not_recorded(self, memory: ContextMemory, key: str) -> SpokenSentence:
        """Return the sentence that a value is not recorded because the person did not say it."""
        return sentence("not_recorded", what=self.title(key), todo=self.next_steps(memory, Fix("ask", key)))

    def not_understood(self) -> SpokenSentence:
        """Return the sentence that a message was not understood."""
        return sentence("puzzled", todo=self._possible_actions())

    def no_plan(self) -> SpokenSentence:
        """Return the sentence that there is no plan for this remark."""
        makers = [each.label for each in self.definitions.actions if each.kind == "plan"]
        return sentence("no_plan", actions=makers) if makers else self.not_understood()

    def _possible_actions(self) -> LocalizedText:
        ids = [each.id for each in self.definitions.actions]
        return {language: next_step_text("do", ids, self.definitions, language) for language in LANGUAGES}

    def title(self, key: str) -> LocalizedText:
        """Return the title of an info, or its key."""
        info = self.definitions.infos_by_key.get(key)
        return (info.title if info else "") or key

    def apply_of(self, plan: Plan) -> ActionDefinition | None:
        """Return the action that applies a plan, or None if the plan is only to be read."""
        return self.definitions.apply_of(self.definitions.action(plan.action_id))

    def inputs(self, memory: ContextMemory, action: ActionDefinition) -> dict[str, str]:
        """Return the hashes of the infos that a plan is made from or applied with."""
        return Freshness(self.definitions, memory, self.now).inputs(action)

    def plan_inputs(self, memory: ContextMemory, plan: Plan) -> dict[str, str]:
        """Return the current hashes of the infos that a plan was made from or is applied with."""
        return self.inputs(memory, self.definitions.action(plan.action_id))

    def default_texts(self, memory: ContextMemory, action: ActionDefinition) -> list[LocalizedText]:
        """Return the defaults that a plan is made from or applied with, each with the title of its info."""
        items = {key: memory.items[key] for key in self.inputs(memory, action) if key in memory.items}
        return [self.value_text(key, item.value) for key, item in items.items() if item.is_default]

    def value_text(self, key: str, value: object) -> LocalizedText:
        """Return a value with the title of its info."""
        text = ANY_TEXT if self.definitions.info(key).is_any(value) else value_text(value)
        return {
            language: f"{in_language(self.title(key), language)}: {in_language(text, language)}"
            for language in LANGUAGES
        }

    def value_in_words(self, key: str, value: object) -> object:
        """Return a value as a person reads it: itself, or that any is fine, in the language of the conversation."""
        return in_language(ANY_TEXT, self.language) if self.definitions.info(key).is_any(value) else value

    def hashes(self, memory: ContextMemory, keys: Sequence[str]) -> dict[str, str]:
        """Return the hashes of those infos that have a value."""
        return {key: item.hash for key in keys if (item := memory.items.get(key)) and item.status == "collected"}

    def input_values(self, memory: ContextMemory, action: ActionDefinition) -> dict[str, Any]:
        """Return the values of the infos that a plan is made from or applied with."""
        return {key: memory.items[key].value for key in self.inputs(memory, action)}

    def with_workflow_status(
        self, memory: ContextMemory, action: ActionDefinition, status: str, error: str | None = None
    ) -> ContextMemory:
        """Return the memory with a new status of an action's workflow."""
        return memories.set_workflow_status(memory, str(action.workflow or action.id), status, self.now, error=error)

    def without_plan_info(self, memory: ContextMemory, action: ActionDefinition) -> ContextMemory:
        """Return the memory without the info that holds an action's plan, so that nothing else uses it."""
        return memories.remove_values(
            memory, action.produces, Provenance(kind="derived", actor=action.workflow), self.now
        )
