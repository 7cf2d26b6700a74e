"""A person who answers requests by rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

from ringi.domain.ask import Decision, Kind
from ringi.domain.record import Viewer
from ringi.domain.request import Request

__tracebackhide__ = True
"""Hides the frames of this file from the traceback of a failed test."""


DECISIONS = (*get_args(Decision), "ignore")


@dataclass(frozen=True)
class Reply:
    """A person's reply to a request.

    Raises:
        TypeError: The decision is unknown, or a value has the wrong type.
    """

    decision: Decision | Literal["ignore"]
    """The decision; `ignore` leaves the request open, so time passes until it expires."""
    data: dict[str, Any] | None = None
    """The values of the form, by field name."""
    args: dict[str, Any] | None = None
    """The changed arguments of the action: all of them, not only the changed ones."""
    message: str | None = None
    """A message to the agent."""

    def __post_init__(self) -> None:
        """Check the reply."""
        if self.decision not in DECISIONS:
            raise TypeError(f"decision={self.decision!r}: must be one of {', '.join(DECISIONS)}")
        for name, kind in (("data", dict), ("args", dict), ("message", str)):
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                hint = f"pass a condition of the rule by name, such as title={value!r}"
                raise TypeError(f"{name}={value!r}: must be a {kind.__name__}; {hint}")


PersonScript = Callable[[Request], Reply | None]
"""A function of a request that returns the reply, or None to leave the request to later rules."""
IGNORE = Reply("ignore")


class ScriptedRuleConditions(TypedDict, total=False):
    """The conditions of a rule: a request must meet all of them."""

    kind: Kind
    """The kind of the request, such as `approval` or `form`."""
    title: str
    """A part of the title."""
    action: str
    """The name of the action, such as the name of a tool."""
    form: str
    """The name of a field of the form."""
    times: int
    """Maximum number of requests that the rule answers."""


@dataclass
class PersonRule:
    """A rule with its conditions, its reply, and the number of requests that it answered."""

    method: str
    """The method of `ScriptedPerson` that added the rule."""
    reply: Reply
    conditions: ScriptedRuleConditions
    used: int = 0

    def __call__(self, request: Request) -> Reply | None:
        """Return the reply to a request that the rule matches."""
        wanted = self.conditions
        if (
            self.used == wanted.get("times")
            or wanted.get("kind") not in (None, request.kind)
            or (wanted.get("title") or "") not in request.title
            or wanted.get("action") not in (None, request.action and request.action.name)
            or wanted.get("form") not in (None, *field_names(request))
        ):
            return None
        self.used += 1
        return self.reply

    def __str__(self) -> str:
        conditions = sorted(self.conditions.items())
        arguments = ", ".join(f"{name}={value!r}" for name, value in conditions if value is not None)
        return f"person.{self.method}({arguments})" + (", used up" if self.used == self.conditions.get("times") else "")


class ScriptedPerson:
    """Answers requests by rules: the first rule that matches a request decides the reply.

    Each method that adds a rule takes conditions: a `kind`, a part of the `title`, the name of the `action`, or the
    name of a field of the `form`. A rule without conditions matches every request. `times` limits how many requests a
    rule answers. The methods return the person, so rules can be chained.

    Like any person, they cannot answer a request that is assigned to others.

    Args:
        scripts: Functions of a request, as for `answers`.
        name: The name of the person.
        groups: The groups that the person belongs to.

    Raises:
        TypeError: A script is not a function.
    """

    def __init__(self, *scripts: PersonScript, name: str = "ann", groups: Sequence[str] = ()) -> None:
        self.name, self.groups = name, groups
        self.requests: list[Request] = []
        """The requests that the person received, in order."""
        self._scripts: list[PersonScript] = []
        self._ignored: set[str] = set()
        for script in scripts:
            self.answers(script)

    @property
    def viewer(self) -> Viewer:
        """The person as a viewer of requests."""
        return Viewer(name=self.name, groups=tuple(self.groups))

    def approves(self, data: dict[str, Any] | None = None, **conditions: Unpack[ScriptedRuleConditions]) -> Self:
        """Add a rule that approves matching requests.

        Args:
            data: The values of the form, by field name.
            conditions: See `ScriptedPerson`.

        Raises:
            TypeError: A condition is unknown, or a value has the wrong type.
        """
        return self._add_rule("approves", Reply("approve", data), conditions)

    def edits(
        self,
        data: dict[str, Any] | None = None,
        *,
        args: dict[str, Any] | None = None,
        **conditions: Unpack[ScriptedRuleConditions],
    ) -> Self:
        """Add a rule that approves matching requests with a change.

        Args:
            data: The values of the form, by field name.
            args: All arguments of the action, the unchanged ones too.
            conditions: See `ScriptedPerson`.

        Raises:
            TypeError: A condition is unknown, or a value has the wrong type.
        """
        return self._add_rule("edits", Reply("edit", data, args), conditions)

    def rejects(self, message: str | None = None, **conditions: Unpack[ScriptedRuleConditions]) -> Self:
        """Add a rule that rejects matching requests.

        Args:
            message: The reason, which the agent reads.
            conditions: See `ScriptedPerson`.

        Raises:
            TypeError: A condition is unknown, or a value has the wrong type.
        """
        return self._add_rule("rejects", Reply("reject", message=message), conditions)

    def responds(self, message: str, **conditions: Unpack[ScriptedRuleConditions]) -> Self:
        """Add a rule that answers matching requests with a text.

        Args:
            message: The text of the answer.
            conditions: See `ScriptedPerson`.

        Raises:
            TypeError: A condition is unknown, or a value has the wrong type.
        """
        return self._add_rule("responds", Reply("respond", message=message), conditions)

    def ignores(self, **conditions: Unpack[ScriptedRuleConditions]) -> Self:
        """Add a rule that leaves matching requests open: time passes until they expire, or until a wait times out.

        Args:
            conditions: See `ScriptedPerson`.

        Raises:
            TypeError: A condition is unknown, or a value has the wrong type.
        """
        return self._add_rule("ignores", IGNORE, conditions)

    def answers(self, script: PersonScript) -> Self:
        """Add a function that returns the reply to a request.

        Args:
            script: Takes the request and returns a `Reply`, or None to leave the request to later rules.

        Raises:
            TypeError: `script` is not a function.
        """
        if not callable(script):
            raise TypeError(f"{script!r}: pass a function of the request, or add a rule such as approves()")
        self._scripts.append(script)
        return self

    def reply_to(self, request: Request) -> Reply | None:
        """Return the reply to a request; None if no rule matches.

        Raises:
            TypeError: A function returned something other than a reply.
        """
        if request.id in self._ignored:
            return IGNORE
        if request.id not in {earlier.id for earlier in self.requests}:
            self.requests.append(request)
        reply = next((reply for script in self._scripts if (reply := script(request)) is not None), None)
        if not isinstance(reply, Reply | None):
            raise TypeError(f"a function returned {reply!r}: return a Reply, such as Reply('approve'), or None")
        if reply == IGNORE:
            self._ignored.add(request.id)
        return reply

    def check(self) -> None:
        """Check that each rule answered a request; functions are not checked.

        Raises:
            UnusedRuleError: A rule answered no request.
        """
        for script in self._scripts:
            if isinstance(script, PersonRule) and not script.used:
                raise UnusedRuleError(script, self.requests)

    def _add_rule(self, method: str, reply: Reply, conditions: ScriptedRuleConditions) -> Self:
        for name, value in conditions.items():
            if name not in ScriptedRuleConditions.__optional_keys__:
                known = ", ".join(sorted(ScriptedRuleConditions.__optional_keys__))
                raise TypeError(f"{name}={value!r}: not a condition; the conditions of a rule are {known}")
        if conditions.get("kind") not in (None, *get_args(Kind)):
            raise TypeError(f"kind={conditions['kind']!r}: must be one of {', '.join(get_args(Kind))}")
        return self.answers(PersonRule(method, reply, conditions))

    def describe_rules(self) -> str:
        """Return the rules as lines of source text."""
        lines = [
            str(script) if isinstance(script, PersonRule) else f"person.answers({script!r})" for script in self._scripts
        ]
        return "\n".join(f"  {line}" for line in lines) or "  none"


class UnansweredError(AssertionError):
    """A request is open, and no rule answers it."""

    def __init__(self, request: Request, why: str, remedy: str, person: ScriptedPerson) -> None:
        self.request = request
        super().__init__(f"{describe_request(request)}: {why}.\n{remedy}\nRules:\n{person.describe_rules()}")

    @classmethod
    def never_expires(cls, request: Request, person: ScriptedPerson) -> UnansweredError:
        """Return the error for an ignored request that never expires."""
        why = "the scripted person ignores it, and it never expires"
        return cls(request, why, "Ask with expires_in, wait with a timeout, or add a rule that answers it.", person)


class UnusedRuleError(AssertionError):
    """A rule answered no request, so the agent did not ask as the test expects."""

    def __init__(self, rule: PersonRule, requests: Sequence[Request]) -> None:
        self.rule = rule
        lines = "\n".join(f"  {describe_request(request)}" for request in requests) or "  none"
        super().__init__(f"{rule} answered no request.\nRequests to the person:\n{lines}")


def field_names(request: Request) -> list[str]:
    """Return the field names of a request."""
    if request.form:
        return [field.name for field in request.form.fields]
    return list((request.data_schema or {}).get("properties", {}))


def describe_request(request: Request) -> str:
    """Return a request in one line."""
    action = f", action {request.action.name!r} with {request.action.args}" if request.action else ""
    form = f", form with {', '.join(field_names(request))}" if field_names(request) else ""
    return f"request {request.id!r} ({request.kind} {request.title!r}{action}{form})"


def suggest_rule(request: Request) -> str:
    """Return source text that adds a rule for a request."""
    condition = f"action={request.action.name!r}" if request.action else f"title={request.title!r}"
    approves = "approves({…}, " if field_names(request) else "approves("
    methods = {"approve": approves, "edit": "edits(", "respond": "responds('…', ", "reject": "rejects("}
    return f"person.{methods[request.allowed[0]]}{condition})"
