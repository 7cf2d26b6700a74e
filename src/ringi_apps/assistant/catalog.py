"""The catalog of an assistant: its infos, actions and handlers by name, and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from graphlib import TopologicalSorter

from ringi.base import digest, jsonable
from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler, Needs


@dataclass(frozen=True)
class Catalog:
    """The infos, actions and handlers of one assistant, and the relations between them."""

    infos: tuple[Info, ...] = ()
    actions: tuple[ActionDefinition, ...] = ()
    handlers: tuple[InfoHandler, ...] = ()

    def info(self, key: str) -> Info:
        """Return an info.

        Args:
          key: The key of the info.

        Raises:
          KeyError: There is no such info.
        """
        return self.infos_by_key[key]

    def action(self, id: str) -> ActionDefinition:
        """Return an action.

        Args:
          id: The id of the action.

        Raises:
          KeyError: There is no such action.
        """
        return self.actions_by_id[id]

    def consumers(self, key: str) -> tuple[ActionDefinition, ...]:
        """Return the actions that require an info, directly or through derived infos.

        Args:
          key: The key of the info.
        """
        return self._consumers.get(key, ())

    def required_by(self, key: str) -> tuple[ActionDefinition, ...]:
        """Return the consumers for which an info is not optional.

        Args:
          key: The key of the info.
        """
        return self._required_by.get(key, ())

    def inputs_of(self, action: ActionDefinition) -> tuple[str, ...]:
        """Return the infos that a plan is made from or applied with.

        Args:
          action: An action of kind `plan`.

        Returns:
          The keys, without those of the plan itself.
        """
        return self._inputs[action.id]

    def plan_of(self, action: ActionDefinition) -> ActionDefinition | None:
        """Return the plan action of a plan or an apply.

        Args:
          action: An action of any kind.

        Returns:
          The action itself if it is a plan or `confirmed`, the plan that an `apply` applies, otherwise None.
        """
        return self._plan_of[action.id]

    def plans_of(self, action: ActionDefinition) -> tuple[ActionDefinition, ...]:
        """Return the plan actions that an apply depends on or whose plans it requires.

        Args:
          action: An action of any kind. Only an `apply` has plans.
        """
        if action.kind != "apply":
            return ()
        named = [self.actions_by_id[id] for id in action.depends_on if id in self.actions_by_id]
        needed = [self.plan_actions[need.info] for need in action.needs if need.info in self.plan_actions]
        return tuple({each.id: each for each in (*named, *needed) if each.kind == "plan"}.values())

    def apply_of(self, action: ActionDefinition) -> ActionDefinition | None:
        """Return the first action that applies the plan of an action.

        Args:
          action: A plan action, or an apply.

        Returns:
          The `apply`, or None if the plan is only to be read.
        """
        plan = self.plan_of(action)
        return next((each for each in self.actions if each.kind == "apply" and self.plan_of(each) is plan), None)

    def workflow_actions(self, workflow: str) -> tuple[ActionDefinition, ...]:
        """Return the actions of a workflow: the plan and its apply together, or the action alone.

        Args:
          workflow: The name of a workflow.
        """
        members = [each for each in self.actions if each.workflow == workflow]
        plans = [plan for each in members if (plan := self.plan_of(each))]
        return tuple(each for each in self.actions if each in members or self.plan_of(each) in plans)

    @cached_property
    def infos_by_key(self) -> dict[str, Info]:
        """The infos by their keys."""
        return {each.key: each for each in self.infos}

    @cached_property
    def actions_by_id(self) -> dict[str, ActionDefinition]:
        """The actions by their ids."""
        return {each.id: each for each in self.actions}

    @cached_property
    def handlers_by_name(self) -> dict[str, InfoHandler]:
        """The handlers by their names."""
        return {each.name: each for each in self.handlers}

    @cached_property
    def plan_actions(self) -> dict[str, ActionDefinition]:
        """The plan actions, by the infos that hold their plans."""
        return {key: each for each in self.actions if each.kind == "plan" for key in each.produces}

    @cached_property
    def max_ages(self) -> dict[str, float]:
        """The maximum age in seconds at which each info is fresh enough for all its uses. Others have no limit."""
        ages = [(info.key, info.ttl) for info in self.infos]
        ages += [(need.info, need.max_age) for action in self.actions for need in action.needs]
        found: dict[str, float] = {}
        for key, age in ages:
            if age is not None:
                found[key] = min(age, found.get(key, age))
        for info in reversed(self.ordered_infos):
            if info.derive is not None and info.key in found:
                # A derived info is as old as its oldest source, so its limit applies to all its sources.
                found |= {source: min(found[info.key], found.get(source, found[info.key])) for source in info.inputs}
        return found

    @cached_property
    def producers(self) -> dict[str, ActionDefinition]:
        """The first action that produces an info, by info."""
        return {key: each for each in reversed(self.actions) for key in each.produces}

    @cached_property
    def sole_producers(self) -> dict[str, ActionDefinition]:
        """The actions that produce an info which no person is asked for, by info."""
        chosen = {each.info for each in self.actions if each.kind == "selector"}
        return {key: maker for key, maker in self.producers.items() if key not in chosen}

    @cached_property
    def ordered_infos(self) -> tuple[Info, ...]:
        """The infos, each after those that its value is made from."""
        order = TopologicalSorter({each.key: each.builds_on for each in self.infos}).static_order()
        return tuple(self.infos_by_key[key] for key in order)

    @cached_property
    def workflows(self) -> dict[str, ActionDefinition]:
        """The actions, by workflow."""
        return {each.workflow: each for each in self.actions if each.workflow is not None}

    @cached_property
    def required_needs(self) -> dict[str, tuple[Needs, ...]]:
        """The requirements of each action that are not optional, by action id."""
        return {each.id: tuple(need for need in each.needs if not need.optional) for each in self.actions}

    @cached_property
    def static_hashes(self) -> dict[str, str]:
        """The hashes of the infos that never change."""
        return {each.key: digest(jsonable(each.value)) for each in self.infos if each.kind == "static"}

    @cached_property
    def default_hashes(self) -> dict[str, str]:
        """The hashes of the defaults, by info."""
        return {each.key: digest(jsonable(each.default)) for each in self.infos if each.default is not None}

    @cached_property
    def changing_sources(self) -> dict[str, tuple[str, ...]]:
        """The sources of each info, without static infos."""
        static = self.static_hashes
        return {each.key: tuple(source for source in each.sources if source not in static) for each in self.infos}

    @cached_property
    def _plan_of(self) -> dict[str, ActionDefinition | None]:
        found = {each.id: next(iter(self.plans_of(each)), None) for each in self.actions}
        return found | {each.id: each for each in self.actions if each.kind == "plan" or each.confirmed}

    @cached_property
    def _inputs(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for plan in self.actions:
            apply = self.apply_of(plan) if plan.kind == "plan" else None
            keys = dict.fromkeys(need.info for need in (*plan.needs, *(apply.needs if apply else ())))
            found[plan.id] = tuple(key for key in keys if key not in plan.produces)
        return found

    @cached_property
    def _consumers(self) -> dict[str, tuple[ActionDefinition, ...]]:
        return self._users({each.id: each.needs for each in self.actions})

    @cached_property
    def _required_by(self) -> dict[str, tuple[ActionDefinition, ...]]:
        return self._users(self.required_needs)

    def _users(self, needs: Mapping[str, tuple[Needs, ...]]) -> dict[str, tuple[ActionDefinition, ...]]:
        found: dict[str, dict[str, ActionDefinition]] = {each.key: {} for each in self.infos}
        for action in self.actions:
            for need in needs[action.id]:
                found[need.info][action.id] = action
        for info in reversed(self.ordered_infos):
            for source in info.builds_on:
                found[source] |= found[info.key]
        return {key: tuple(actions.values()) for key, actions in found.items()}
