"""Turns a command from the page or the API into a conversation event, or refuses it with a reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ringi.base import JsonObject
from ringi.errors import InvalidError, NotFoundError
from ringi.server import RefusalError
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.models import ActionReason, AssistantAction

FIELDS = {"ask": "info", "any": "info", "refresh": "info", "again": "action", "unchanged": "action"}
"""The verbs of commands, each with the field of its event that has the name."""


def not_possible(what: str, why: str, reasons: Sequence[ActionReason] = ()) -> RefusalError:
    """Return the error of an action that is not possible now."""
    details = [reason.model_dump(mode="json") for reason in reasons]
    return RefusalError(409, "not_possible", f"{what} is not possible now: {why}", reasons=details)


class ActionCommands:
    """The commands that are possible in a conversation in its current state."""

    def __init__(self, definitions: Definitions, memory: ContextMemory, actions: Sequence[AssistantAction]) -> None:
        self._definitions, self._memory = definitions, memory
        self._actions = {action.id: action for action in actions}

    def find_action(self, id: str) -> ActionDefinition:
        """Return an action, or raise `NotFoundError`."""
        if id not in self._definitions.actions_by_id:
            raise NotFoundError("action", id)
        return self._definitions.action(id)

    def require_possible(self, id: str) -> ActionDefinition:
        """Return an action that is possible now, or raise `RefusalError` with the reasons."""
        action = self.find_action(id)
        if not self._actions[id].enabled:
            reasons = self._actions[id].reasons
            raise not_possible(f"action {id!r}", "; ".join(reason.text for reason in reasons), reasons)
        return action

    def require_startable(self, id: str) -> ActionDefinition:
        """Return an action that is possible, or will be once the turn has fetched missing values.

        Raises the errors of `require_possible`.
        """
        action = self.find_action(id)
        reasons = self._actions[id].reasons
        return action if reasons and all(map(is_fetchable, reasons)) else self.require_possible(id)

    def build_event(self, command: str, args: Mapping[str, object]) -> JsonObject:
        """Return the event of a command: an action id, or a verb and a name.

        The verbs are `ask:`, `any:`, `refresh:`, `again:` and `unchanged:`.

        Raises `NotFoundError` for an unknown name, `RefusalError` for a command that is not possible now, and
        `InvalidError` for arguments that the action does not take.
        """
        verb, colon, name = command.partition(":")
        if not colon:
            self.find_action(command).check_args(args)
            return {"type": "action", "action": self.require_startable(command).id, "args": dict(args)}
        if verb not in FIELDS:
            raise NotFoundError("action", command)
        if args:
            raise InvalidError.of("args", f"{verb}: takes no arguments: remove them")
        if verb == "refresh":
            self._check_info(name, "handler", "has no handler to fetch it")
        elif FIELDS[verb] == "info":
            self._check_info(name, "ask", "is not asked of people")
        else:
            self._check_plan(name)
        if verb == "any" and not self._definitions.info(name).may_be_any:
            raise InvalidError.of("action_id", f"info {name!r} may not be any: give it a value")
        if verb == "again":
            self.require_startable(name)
        elif verb == "unchanged":
            self._check_unchanged(name)
        return {"type": verb, FIELDS[verb]: name}

    def _check_unchanged(self, id: str) -> None:
        plan = self._memory.plans.get(self.find_action(id).workflow or "")
        is_asked = plan is not None and plan.status == "planned" and plan.thread_id is not None
        if plan is None or not plan.is_applicable or is_asked:
            what = "it has no plan, or its plan already has an approval request"
            remedy = f"answer its approval request, or make a plan with {id!r}"
            raise not_possible(f"'unchanged:{id}'", f"{what}: {remedy}")

    def _check_info(self, key: str, how: str, why: str) -> None:
        info = self._definitions.infos_by_key.get(key)
        if info is None:
            raise NotFoundError("info", key)
        if info.kind != how:
            raise InvalidError.of("action_id", f"info {key!r} {why}: its value is obtained by {info.kind!r}")

    def _check_plan(self, id: str) -> None:
        action = self.find_action(id)
        if self._definitions.plan_of(action) is not action:
            raise InvalidError.of(
                "action_id", f"action {id!r} is of kind {action.kind!r}: use an action of kind 'plan'"
            )


def is_fetchable(reason: ActionReason) -> bool:
    """Tell whether the turn itself removes this reason by running a handler that has not failed."""
    return reason.code in ("MISSING_INFO", "STALE_INFO") and reason.fix.kind == "run_handler"
