"""What an assistant can know and do: infos, the handlers that fetch them, and actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import TopologicalSorter
from typing import Any, Literal, TypeAlias

from ringi.base import digest, jsonable
from ringi.forms import Form, InstanceCheck, check_call

Text: TypeAlias = str | Mapping[str, str]
"""Words, or words by language: `{"en": "Projects", "ja": "プロジェクト"}`."""
InfoKind: TypeAlias = Literal["ask", "handler", "derived", "static"]
ActionKind: TypeAlias = Literal["plan", "apply", "selector", "immediate", "cancel"]


def in_language(text: Text, language: str) -> str:
    """Return the words in a language (`ja-JP` is `ja` too), else in English, else in any that there are."""
    if isinstance(text, str):
        return text
    for tag in (language, language.partition("-")[0], "en"):
        if tag in text:
            return text[tag]
    return next(iter(text.values()), "")


@dataclass(frozen=True)
class Choices:
    """The options of a question, from live data: a handler, its parameters, and which of what it returns are shown."""

    handler: str
    params: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    max_items: int = 20
    value: str = "id"
    label: str = "name"


@dataclass(frozen=True)
class Info:
    """One thing that the assistant can know, and how it comes to know it."""

    key: str
    title: Text = ""
    description: Text = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of its value."""
    handler: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    """What the handler is called with: literals, or `{"info": key}` for the value of another info."""
    derive: Callable[..., Any] | None = None
    """Makes the value from those of `inputs`, each given by its key; pure and quick."""
    inputs: tuple[str, ...] = ()
    value: Any = None
    """The value of an info that never changes."""
    form: Form | None = None
    choices: Choices | None = None
    ttl: float | None = None
    """Seconds for which an observed value counts as fresh."""
    scope: Literal["thread", "user"] = "thread"

    @property
    def kind(self) -> InfoKind:
        """How its value is obtained."""
        if self.handler is not None:
            return "handler"
        if self.derive is not None:
            return "derived"
        return "ask" if self.value is None else "static"

    @cached_property
    def check(self) -> InstanceCheck:
        """What tells whether a value fits the schema."""
        return InstanceCheck(dict(self.schema))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The infos that its value is made from."""
        return tuple(dict.fromkeys((*self.inputs, *referenced_infos(self.params))))

    @cached_property
    def builds_on(self) -> tuple[str, ...]:
        """Its sources, and the infos that its options are looked up with."""
        options = referenced_infos(self.choices.params) if self.choices else ()
        return tuple(dict.fromkeys((*self.sources, *options)))

    def name_in(self, language: str) -> str:
        """Return its title in a language, or its key."""
        return in_language(self.title, language) or self.key


@dataclass(frozen=True)
class Needs:
    """That an action needs an info, at most `max_age` seconds old where that is said."""

    info: str
    description: Text = ""
    optional: bool = False
    max_age: float | None = None


@dataclass(frozen=True)
class WorkflowNeeds:
    """That an action needs another workflow to have come to a status."""

    workflow: str
    status: str = "completed"
    description: Text = ""


@dataclass(frozen=True)
class Action:
    """One thing that the assistant can do once its conditions hold."""

    id: str
    kind: ActionKind
    label: Text
    description: Text = ""
    workflow: str | None = None
    handler: str | None = None
    requires: tuple[Needs | str, ...] = ()
    transactional: bool = False
    """That it changes the world: never done without a person's approval. Always so for an `apply`."""
    depends_on: tuple[str, ...] = ()
    """The ids of actions that must have been completed before; an `apply` names its plan here, or requires it."""
    requires_workflow: tuple[WorkflowNeeds, ...] = ()
    produces: tuple[str, ...] = ()
    """The infos that it makes known; that of a `plan` is the plan itself."""
    info: str | None = None
    """What a `selector` sets."""
    schema: Mapping[str, Any] = field(default_factory=dict)
    """What the `args` of an `immediate` may be: JSON Schema of an object. Without one it takes none.

    What a model adds to an action of another kind is dropped.
    """

    def __post_init__(self) -> None:
        if self.kind == "apply":
            object.__setattr__(self, "transactional", True)

    @cached_property
    def needs(self) -> tuple[Needs, ...]:
        """What it requires, in the long form."""
        return tuple(Needs(each) if isinstance(each, str) else each for each in self.requires)

    def check_args(self, args: Mapping[str, Any]) -> None:
        """Raise InvalidError unless it may be called with these arguments."""
        check_call({"type": "object", **self.schema}, dict(args))

    def name_in(self, language: str) -> str:
        """Return its label in a language, or its id."""
        return in_language(self.label, language) or self.id


@dataclass(frozen=True)
class InfoHandler:
    """A function that fetches an info, and how it is called: what it must be given, how long its result is kept."""

    name: str
    handler: Callable[[dict[str, Any]], Awaitable[Any]]
    title: Text = ""
    description: Text = ""
    required_params: tuple[str, ...] = ()
    cache_duration: float | None = None
    timeout: float = 10.0
    max_attempts: int = 3


@dataclass(frozen=True)
class Catalog:
    """The infos, actions and handlers of one assistant, and what follows from them."""

    infos: tuple[Info, ...] = ()
    actions: tuple[Action, ...] = ()
    handlers: tuple[InfoHandler, ...] = ()

    def info(self, key: str) -> Info:
        """Return an info, or raise KeyError."""
        return self.infos_by_key[key]

    def action(self, id: str) -> Action:
        """Return an action, or raise KeyError."""
        return self.actions_by_id[id]

    def handler(self, name: str) -> InfoHandler:
        """Return a handler, or raise KeyError."""
        return self.handlers_by_name[name]

    def needs(self, action: Action) -> tuple[Needs, ...]:
        """Return what an action requires, in the long form."""
        return action.needs

    def consumers(self, key: str) -> tuple[Action, ...]:
        """Return the actions that need an info, be it for what is made from it."""
        return self._consumers.get(key, ())

    def required_by(self, key: str) -> tuple[Action, ...]:
        """Return those of the consumers that cannot do without an info."""
        return self._required_by.get(key, ())

    def inputs_of(self, action: Action) -> tuple[str, ...]:
        """Return the infos that the plan of a plan action stands on: for making it and for applying it."""
        return self._inputs[action.id]

    def plan_of(self, action: Action) -> Action | None:
        """Return the plan action whose plan this one makes or applies."""
        return self._plan_of[action.id]

    def plans_of(self, action: Action) -> tuple[Action, ...]:
        """Return the plan actions that an apply depends on, or whose plans it requires."""
        if action.kind != "apply":
            return ()
        named = [self.actions_by_id[id] for id in action.depends_on if id in self.actions_by_id]
        needed = [self.plan_actions[need.info] for need in action.needs if need.info in self.plan_actions]
        return tuple({each.id: each for each in (*named, *needed) if each.kind == "plan"}.values())

    def apply_of(self, action: Action) -> Action | None:
        """Return the first action that applies what this plan action, or the one behind this apply, has planned."""
        plan = self.plan_of(action)
        return next((each for each in self.actions if each.kind == "apply" and self.plan_of(each) is plan), None)

    def workflow_actions(self, workflow: str) -> tuple[Action, ...]:
        """Return the actions that belong together with a workflow: its plan and what applies that, or it alone."""
        members = [each for each in self.actions if each.workflow == workflow]
        plans = {plan.id for each in members if (plan := self.plan_of(each))}
        return tuple(each for each in self.actions if each in members or self._is_of(each, plans))

    def _is_of(self, action: Action, plans: set[str]) -> bool:
        plan = self.plan_of(action)
        return plan is not None and plan.id in plans

    @cached_property
    def infos_by_key(self) -> dict[str, Info]:
        """The infos by their keys."""
        return {each.key: each for each in self.infos}

    @cached_property
    def actions_by_id(self) -> dict[str, Action]:
        """The actions by their ids."""
        return {each.id: each for each in self.actions}

    @cached_property
    def handlers_by_name(self) -> dict[str, InfoHandler]:
        """The handlers by their names."""
        return {each.name: each for each in self.handlers}

    @cached_property
    def plan_actions(self) -> dict[str, Action]:
        """The plan actions by the infos that are their plans."""
        return {key: each for each in self.actions if each.kind == "plan" for key in each.produces}

    @cached_property
    def max_ages(self) -> dict[str, float]:
        """The age in seconds up to which each info serves all that need it; of no other info does the age matter."""
        ages = [(info.key, info.ttl) for info in self.infos]
        ages += [(need.info, need.max_age) for action in self.actions for need in action.needs]
        found: dict[str, float] = {}
        for key, age in ages:
            if age is not None:
                found[key] = min(age, found.get(key, age))
        for info in reversed(self.ordered_infos):
            if info.derive is not None and info.key in found:
                # It is as old as the oldest of these: looked up at any other time, they would not help it.
                found |= {source: min(found[info.key], found.get(source, found[info.key])) for source in info.inputs}
        return found

    @cached_property
    def producers(self) -> dict[str, Action]:
        """The first action that produces an info, by that info."""
        return {key: each for each in reversed(self.actions) for key in each.produces}

    @cached_property
    def sole_producers(self) -> dict[str, Action]:
        """The actions that alone establish an info, by that info: nobody tells it or is asked for it."""
        chosen = {each.info for each in self.actions if each.kind == "selector"}
        return {key: maker for key, maker in self.producers.items() if key not in chosen}

    @cached_property
    def ordered_infos(self) -> tuple[Info, ...]:
        """The infos, each after those that its value is made from."""
        return tuple(self.infos_by_key[key] for key in sorted_by_source(self.infos))

    @cached_property
    def workflows(self) -> dict[str, Action]:
        """The actions by their workflows."""
        return {each.workflow: each for each in self.actions if each.workflow is not None}

    @cached_property
    def required_needs(self) -> dict[str, tuple[Needs, ...]]:
        """What each action, by its id, cannot do without."""
        return {each.id: tuple(need for need in each.needs if not need.optional) for each in self.actions}

    @cached_property
    def static_hashes(self) -> dict[str, str]:
        """The hashes of the infos that never change."""
        return {each.key: digest(jsonable(each.value)) for each in self.infos if each.kind == "static"}

    @cached_property
    def changing_sources(self) -> dict[str, tuple[str, ...]]:
        """What each info is made from, but for what never changes."""
        static = self.static_hashes
        return {each.key: tuple(source for source in each.sources if source not in static) for each in self.infos}

    @cached_property
    def _plan_of(self) -> dict[str, Action | None]:
        found = {each.id: next(iter(self.plans_of(each)), None) for each in self.actions}
        return found | {each.id: each for each in self.actions if each.kind == "plan"}

    @cached_property
    def _inputs(self) -> dict[str, tuple[str, ...]]:
        found = {}
        for plan in self.actions:
            apply = self.apply_of(plan) if plan.kind == "plan" else None
            keys = dict.fromkeys(need.info for need in (*plan.needs, *(apply.needs if apply else ())))
            found[plan.id] = tuple(key for key in keys if key not in plan.produces)
        return found

    @cached_property
    def _consumers(self) -> dict[str, tuple[Action, ...]]:
        return self._users({each.id: each.needs for each in self.actions})

    @cached_property
    def _required_by(self) -> dict[str, tuple[Action, ...]]:
        return self._users(self.required_needs)

    def _users(self, needs: Mapping[str, tuple[Needs, ...]]) -> dict[str, tuple[Action, ...]]:
        found: dict[str, dict[str, Action]] = {each.key: {} for each in self.infos}
        for action in self.actions:
            for need in needs[action.id]:
                found[need.info][action.id] = action
        for info in reversed(self.ordered_infos):
            for source in info.builds_on:
                found[source] |= found[info.key]
        return {key: tuple(actions.values()) for key, actions in found.items()}


def referenced_infos(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the infos that parameters take their values from."""
    for value in params.values():
        if is_reference(value):
            yield value["info"]


def is_reference(param: object) -> bool:
    """Whether a handler's parameter is the value of an info."""
    return isinstance(param, Mapping) and param.keys() == {"info"}


def sorted_by_source(infos: Sequence[Info]) -> tuple[str, ...]:
    """Return the keys of infos, each after those that it builds on; raise CycleError where there is no such order."""
    return tuple(TopologicalSorter({each.key: each.builds_on for each in infos}).static_order())
