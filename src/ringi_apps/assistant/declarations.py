"""The infos, actions and handlers that an assistant declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeAlias

from ringi import Form
from ringi.forms import CallCheck, InstanceCheck

LocalizedText: TypeAlias = str | Mapping[str, str]
"""A text, or texts by language: `{"en": "Projects", "ja": "プロジェクト"}`."""
InfoKind: TypeAlias = Literal["ask", "handler", "derived", "static"]
ActionKind: TypeAlias = Literal["plan", "apply", "selector", "immediate", "cancel"]

ANY = "any"
"""The value of an info of which a person does not mind the value. Only an info that `may_be_any` can have it."""


def in_language(text: LocalizedText, language: str) -> str:
    """Return a text in a language.

    Args:
      text: A text, or texts by language.
      language: A language tag. `ja-JP` falls back to `ja`, then to English, then to any available language.
    """
    if isinstance(text, str):
        return text
    for tag in (language, language.partition("-")[0], "en"):
        if tag in text:
            return text[tag]
    return next(iter(text.values()), "")


@dataclass(frozen=True)
class Choices:
    """The options of a question, fetched by a handler.

    Args:
      handler: The name of the handler. It must return a list.
      params: The handler's arguments: literals, or `{"info": key}` for the value of an info.
      filters: Only items whose fields have these values are offered. A list allows each of its values.
      max_items: The maximum number of options.
      value: The field of an item that becomes the info's value.
      label: The field of an item that people see. It may hold texts by language.
    """

    handler: str
    params: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Any] = field(default_factory=dict)
    max_items: int = 20
    value: str = "id"
    label: str = "name"


@dataclass(frozen=True)
class Info:
    """One value that the assistant can know, and how it obtains it.

    With `handler` it is fetched, with `derive` computed, with `value` constant, and otherwise asked of people.

    Args:
      key: The unique name.
      title: The name that people see. Without it they see the key.
      description: An explanation for people and for the model.
      schema: The JSON Schema of the value. Without it any JSON except null is valid.
      handler: The name of the handler that fetches the value.
      params: The handler's arguments: literals, or `{"info": key}` for the value of an info.
      derive: A pure and fast function that computes the value. Its arguments are the values of `inputs`, in order.
      inputs: The keys of the infos that `derive` takes.
      value: The constant value.
      form: The form to ask with, instead of one made from `schema`.
      choices: The options to ask with.
      ttl: Seconds until a value is stale. None for never.
      scope: `user` to remember the value for the person's other conversations.
      default: The value to use while nobody has told one. Only for an info that people are asked for.
      may_be_any: True if a person may say that they do not mind. Its value is then `ANY`, whatever the schema says.
      migrate: A pure function that turns a stored value that no longer fits the schema, form or `may_be_any` into one
        that does. Without it, or if it fails, the value is pending with the reason, and people are asked again.
    """

    key: str
    title: LocalizedText = ""
    description: LocalizedText = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    handler: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    derive: Callable[..., Any] | None = None
    inputs: tuple[str, ...] = ()
    value: Any = None
    form: Form | None = None
    choices: Choices | None = None
    ttl: float | None = None
    scope: Literal["thread", "user"] = "thread"
    default: Any = None
    may_be_any: bool = False
    migrate: Callable[[Any], Any] | None = None

    @property
    def kind(self) -> InfoKind:
        """How the value is obtained: asked of people, fetched, derived, or static."""
        if self.handler is not None:
            return "handler"
        if self.derive is not None:
            return "derived"
        return "ask" if self.value is None else "static"

    @cached_property
    def check(self) -> InstanceCheck:
        """The compiled check of a value against the schema."""
        return InstanceCheck(dict(self.schema))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The infos that the value is made from."""
        return tuple(dict.fromkeys((*self.inputs, *referenced_infos(self.params))))

    @cached_property
    def builds_on(self) -> tuple[str, ...]:
        """The sources, and the infos that are arguments of the options' handler."""
        options = referenced_infos(self.choices.params) if self.choices else ()
        return tuple(dict.fromkeys((*self.sources, *options)))

    def is_any(self, value: object) -> bool:
        """Tell whether a value says that the person does not mind.

        Args:
          value: A value of this info.
        """
        return self.may_be_any and value == ANY

    def name_in(self, language: str) -> str:
        """Return the title in a language, or the key if there is no title.

        Args:
          language: A language tag, such as `en`, `ja` or `zh`.
        """
        return in_language(self.title, language) or self.key


@dataclass(frozen=True)
class Needs:
    """A requirement of an action: an info with options.

    Args:
      info: The key of the info.
      description: The purpose of the info for this action.
      optional: True if the action is possible without it.
      max_age: The maximum age of the value in seconds. None for no limit beyond the info's `ttl`.
    """

    info: str
    description: LocalizedText = ""
    optional: bool = False
    max_age: float | None = None


@dataclass(frozen=True)
class WorkflowNeeds:
    """A requirement of an action: another workflow has reached a status.

    Args:
      workflow: The name of the other workflow.
      status: The status that it must have.
      description: The reason, for people.
    """

    workflow: str
    status: str = "completed"
    description: LocalizedText = ""


@dataclass(frozen=True)
class ActionDefinition:
    """One thing that the assistant can do when its requirements are met.

    Args:
      id: The unique name.
      kind: `plan`, `apply`, `selector`, `immediate` or `cancel`.
      label: The text of the button.
      description: An explanation for people.
      workflow: The name of the workflow that does the work. Required for `plan` and `apply`.
      handler: The name of the handler that does the work of an `immediate` action without a workflow.
      requires: Infos that must be available, by key or as `Needs`.
      transactional: True if the action has effects and therefore needs approval. Always true for an `apply`.
      depends_on: Ids of actions that must be completed first. An `apply` names its plan here or requires its info.
      requires_workflow: Statuses that other workflows must have reached.
      produces: Keys of the infos that the result becomes the value of. For a `plan`, the plan itself.
      info: The key of the info that a `selector` sets.
      schema: The JSON Schema of the object of arguments of an `immediate` action. Without it there are no arguments.
      confirmed: True for an `apply` that needs no plan action: as soon as all that it requires is known, a person is
        asked to approve it with exactly these values.
      keep: Keys of infos that an `apply` does not clear when it is completed. It clears the others that only it uses.
    """

    id: str
    kind: ActionKind
    label: LocalizedText
    description: LocalizedText = ""
    workflow: str | None = None
    handler: str | None = None
    requires: tuple[Needs | str, ...] = ()
    transactional: bool = False
    depends_on: tuple[str, ...] = ()
    requires_workflow: tuple[WorkflowNeeds, ...] = ()
    produces: tuple[str, ...] = ()
    info: str | None = None
    schema: Mapping[str, Any] = field(default_factory=dict)
    keep: tuple[str, ...] = ()
    confirmed: bool = False

    def __post_init__(self) -> None:
        if self.kind == "apply":
            object.__setattr__(self, "transactional", True)

    @cached_property
    def needs(self) -> tuple[Needs, ...]:
        """The required infos, each as `Needs`."""
        return tuple(Needs(each) if isinstance(each, str) else each for each in self.requires)

    def check_args(self, args: Mapping[str, object]) -> None:
        """Check the arguments of a call.

        Args:
          args: The arguments, by name.

        Raises:
          InvalidError: They do not fit the action's `schema`.
        """
        self._check_call(dict(args))

    @cached_property
    def _check_call(self) -> CallCheck:
        return CallCheck({"type": "object", **self.schema})

    def name_in(self, language: str) -> str:
        """Return the label in a language, or the id if there is no label.

        Args:
          language: A language tag, such as `en`, `ja` or `zh`.
        """
        return in_language(self.label, language) or self.id


@dataclass(frozen=True)
class InfoHandler:
    """An async function that fetches the value of an info, with its calling options.

    Args:
      name: The name that infos, actions and choices refer to.
      handler: The function. It takes a dict of arguments and returns JSON.
      title: The name that people see.
      description: An explanation for people.
      required_params: The names of arguments that each caller must provide.
      cache_duration: Seconds for which results are cached in this process. None for no cache.
      timeout: Seconds until one attempt is cancelled.
      max_attempts: The number of attempts before the call fails.
    """

    name: str
    handler: Callable[[dict[str, Any]], Awaitable[Any]]
    title: LocalizedText = ""
    description: LocalizedText = ""
    required_params: tuple[str, ...] = ()
    cache_duration: float | None = None
    timeout: float = 10.0
    max_attempts: int = 3


def referenced_infos(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the infos that parameters refer to."""
    for value in params.values():
        if is_reference(value):
            yield value["info"]


def is_reference(param: object) -> bool:
    """Tell whether a handler's parameter refers to an info."""
    return isinstance(param, Mapping) and param.keys() == {"info"}
