"""A person who answers by rules: tests need neither the page nor real time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, TypedDict, Unpack, get_args

from ringi.domain.ask import Decision, Kind
from ringi.domain.record import Viewer
from ringi.domain.request import Request

__tracebackhide__ = True
"""Hides the frames of this file from the traceback of a failed test."""


DECISIONS = (*get_args(Decision), "ignore")


class RuleError(TypeError):
    """A rule or a reply is invalid."""

    def __init__(self, given: str, remedy: str) -> None:
        super().__init__(f"{given}: {remedy}")

    @classmethod
    def not_one_of(cls, name: str, value: object, known: Iterable[str]) -> RuleError:
        """Return the error of an unknown word."""
        return cls(f"{name}={value!r}", f"it is one of {', '.join(known)}")

    @classmethod
    def not_a(cls, kind: type, name: str, value: object) -> RuleError:
        """Return the error of a value of the wrong type, possibly a misplaced condition."""
        about = f"to say which requests a rule is about, name it, as in title={value!r}"
        return cls(f"{name}={value!r}", f"it is a {kind.__name__}; {about}")

    @classmethod
    def unknown(cls, name: str, value: object, known: Iterable[str]) -> RuleError:
        """Return the error of a rule with an unknown condition."""
        return cls(f"{name}={value!r}", f"a rule is about {', '.join(known)}")

    @classmethod
    def no_function(cls, script: object) -> RuleError:
        """Return the error of an argument that is not a function of the request."""
        return cls(repr(script), "give a function of the request, or a rule such as approves()")

    @classmethod
    def no_reply(cls, reply: object) -> RuleError:
        """Return the error of a function that returns something other than a reply."""
        return cls(f"a function answers {reply!r}", "let it return Reply('approve') or the like, or None")


@dataclass(frozen=True)
class Reply:
    """A person's reply to a request: one of its decisions, or `ignore`, which lets time pass."""

    decision: Decision | Literal["ignore"]
    data: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    message: str | None = None

    def __post_init__(self) -> None:
        """Raise `RuleError` for an impossible reply."""
        if self.decision not in DECISIONS:
            raise RuleError.not_one_of("decision", self.decision, DECISIONS)
        kinds: dict[str, type] = {"data": dict, "args": dict, "message": str}
        for name, kind in kinds.items():
            value = getattr(self, name)
            if value is not None and not isinstance(value, kind):
                raise RuleError.not_a(kind, name, value)


Script = Callable[[Request], Reply | None]
"""Returns the reply to a request; None to use later rules."""
IGNORE = Reply("ignore")


class About(TypedDict, total=False):
    """The conditions of a rule: a request must meet all of them."""

    kind: Kind
    title: str
    """A part of the title."""
    action: str
    """The name of the action."""
    form: str
    """The name of a field."""
    times: int
    """Maximum number of requests that the rule answers."""


@dataclass
class Rule:
    """A rule with its conditions, its reply, and the number of requests answered."""

    does: str
    reply: Reply
    kind: Kind | None = None
    title: str | None = None
    action: str | None = None
    form: str | None = None
    times: int | None = None
    used: int = 0

    def __call__(self, request: Request) -> Reply | None:
        """Return the reply to a request that the rule matches."""
        if self.used == self.times or not self._is_about(request):
            return None
        self.used += 1
        return self.reply

    def _is_about(self, request: Request) -> bool:
        return (
            self.kind in (None, request.kind)
            and (self.title is None or self.title in request.title)
            and self.action in (None, called(request))
            and (self.form is None or self.form in fields_of(request))
        )

    def __str__(self) -> str:
        about = {name: getattr(self, name) for name in About.__optional_keys__}
        said = ", ".join(f"{name}={value!r}" for name, value in sorted(about.items()) if value is not None)
        return f"person.{self.does}({said})" + (", used up" if self.used == self.times else "")


class ScriptedPerson:
    """Answers by rules: the first rule that matches a request decides the reply.

    The conditions (`about`) are a `kind`, a part of the `title`, the name of the `action`, or the name of a field of
    the
    `form`. `times` limits the number of requests that a rule answers. The person may not answer requests that are
    assigned to others and to none of the person's `groups`.
    """

    def __init__(self, *scripts: Script, name: str = "ann", groups: Sequence[str] = ()) -> None:
        self.name, self.groups = name, groups
        self.asked: list[Request] = []
        """What they were asked, in order."""
        self._scripts: list[Script] = []
        self._ignored: set[str] = set()
        for script in scripts:
            self.answers(script)

    @property
    def viewer(self) -> Viewer:
        """The person as a viewer of requests."""
        return Viewer(name=self.name, groups=tuple(self.groups))

    def approves(self, data: dict[str, Any] | None = None, **about: Unpack[About]) -> Self:
        """Approve matching requests; `data` fills in their form."""
        return self._has_rule("approves", Reply("approve", data), about)

    def edits(
        self, data: dict[str, Any] | None = None, *, args: dict[str, Any] | None = None, **about: Unpack[About]
    ) -> Self:
        """Approve matching requests with a change: `args` are the action's complete arguments, `data` is the form."""
        return self._has_rule("edits", Reply("edit", data, args), about)

    def rejects(self, message: str | None = None, **about: Unpack[About]) -> Self:
        """Reject matching requests."""
        return self._has_rule("rejects", Reply("reject", message=message), about)

    def responds(self, message: str, **about: Unpack[About]) -> Self:
        """Answer matching requests in words."""
        return self._has_rule("responds", Reply("respond", message=message), about)

    def ignores(self, **about: Unpack[About]) -> Self:
        """Ignore matching requests: time passes until they expire, or until no wait is left."""
        return self._has_rule("ignores", IGNORE, about)

    def answers(self, script: Script) -> Self:
        """Use the reply that a function of the request returns; None leaves the request to later rules."""
        if not callable(script):
            raise RuleError.no_function(script)
        self._scripts.append(script)
        return self

    def reply_to(self, request: Request) -> Reply | None:
        """Return the person's reply to a request; None if no rule matches."""
        if request.id in self._ignored:
            return IGNORE
        if request.id not in {known.id for known in self.asked}:
            self.asked.append(request)
        reply = next((reply for script in self._scripts if (reply := script(request)) is not None), None)
        if not isinstance(reply, Reply | None):
            raise RuleError.no_reply(reply)
        if reply == IGNORE:
            self._ignored.add(request.id)
        return reply

    def check(self) -> None:
        """Raise `UnusedRuleError` for a rule that matched no request; functions are exempt."""
        for rule in self._rules:
            if not rule.used:
                raise UnusedRuleError(rule, self.asked)

    def _has_rule(self, does: str, reply: Reply, about: About) -> Self:
        for name, value in about.items():
            if name not in About.__optional_keys__:
                raise RuleError.unknown(name, value, sorted(About.__optional_keys__))
        if about.get("kind") not in (None, *get_args(Kind)):
            raise RuleError.not_one_of("kind", about["kind"], get_args(Kind))
        return self.answers(Rule(does, reply, **about))

    @property
    def _rules(self) -> list[Rule]:
        return [script for script in self._scripts if isinstance(script, Rule)]

    def told(self) -> str:
        """Return the rules as lines of text."""
        lines = [str(script) if isinstance(script, Rule) else f"person.answers({script!r})" for script in self._scripts]
        return "\n".join(f"  {line}" for line in lines) or "  none"


class UnansweredError(AssertionError):
    """A request waits, and no rule would ever answer it."""

    def __init__(self, request: Request, why: str, remedy: str, person: ScriptedPerson) -> None:
        self.request = request
        super().__init__(f"{described(request)}: {why}.\n{remedy}\nThe rules are:\n{person.told()}")

    @classmethod
    def no_rule(cls, request: Request, person: ScriptedPerson) -> UnansweredError:
        """Return the error of a request that no rule matches."""
        why, remedy = "no rule of the scripted person is about it", f"Add one, such as {fitting(request)}"
        return cls(request, why, remedy, person)

    @classmethod
    def for_ever(cls, request: Request, person: ScriptedPerson) -> UnansweredError:
        """Return the error of an ignored request whose wait has no timeout."""
        why = "the scripted person ignores it, and it never expires"
        return cls(request, why, "Ask with expires_in, wait with a timeout, or answer it.", person)

    @classmethod
    def not_theirs(cls, request: Request, person: ScriptedPerson) -> UnansweredError:
        """Return the error of a request that is assigned to others."""
        whom = " or ".join(
            filter(None, [request.assignee or "", *(f"the group {g}" for g in request.candidate_groups)])
        )
        remedy = f"Give the desk {member_for(request)}, or answer by hand with inbox.respond."
        return cls(request, f"it is for {whom}, not for {person.name}", remedy, person)

    @classmethod
    def endless(cls, request: Request, person: ScriptedPerson, answers: int) -> UnansweredError:
        """Return the error of a request after too many others."""
        why = f"the scripted person has answered {answers} others before it, and is asked again and again"
        return cls(request, why, "Say with times=… how often a rule answers, and add one for what comes then.", person)


class UnusedRuleError(AssertionError):
    """A rule matched no request."""

    def __init__(self, rule: Rule, asked: Sequence[Request]) -> None:
        self.rule = rule
        seen = "\n".join(f"  {described(request)}" for request in asked) or "  nothing at all"
        super().__init__(f"{rule} answered nothing.\nThe person was asked:\n{seen}")


def called(request: Request) -> str | None:
    """Return the name of the action that a request gates."""
    return request.action.name if request.action else None


def fields_of(request: Request) -> list[str]:
    """Return the field names of a request."""
    if request.form:
        return [field.name for field in request.form.fields]
    return list((request.data_schema or {}).get("properties", {}))


def member_for(request: Request) -> str:
    """Return the source text of a person who may answer a request."""
    if request.assignee:
        return f"ScriptedPerson(name={request.assignee!r})"
    return f"ScriptedPerson(groups={list(request.candidate_groups[:1])!r})"


def described(request: Request) -> str:
    """Return a request in one line."""
    action = f", action {request.action.name!r} with {request.action.args}" if request.action else ""
    form = f", form with {', '.join(fields_of(request))}" if fields_of(request) else ""
    return f"request {request.id!r} ({request.kind} {request.title!r}{action}{form})"


def fitting(request: Request) -> str:
    """Return the source text of a rule that would answer a request."""
    about = f"action={called(request)!r}" if request.action else f"title={request.title!r}"
    does = {"approve": "approves(", "edit": "edits(", "respond": "responds('…', ", "reject": "rejects("}
    if fields_of(request):
        does["approve"] = "approves({…}, "
    return f"person.{does[request.allowed[0]]}{about})"
