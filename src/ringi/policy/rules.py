"""Policies as data, made in Python or read from JSON or TOML: which calls run, wait for a person, or are denied."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, Self

from pydantic import Field, StrictBool, StringConstraints, model_validator

from ringi.base.canonical_json import digest
from ringi.base.plain_conditions import MISSING, argument_at_path
from ringi.base.validation import FieldValidationError, Name, field_path, safe_repr
from ringi.domain.ask import AGREEING, MAX_HOLD, Decision, Priority
from ringi.domain.conditions import (
    Args,
    Condition,
    PolicyData,
    Where,
    all_conditions_hold,
    find_contradiction,
    plain_where,
)
from ringi.domain.voting import Escalations, Excluded, PersonName, PolicySource, Quorum, Tier
from ringi.errors import InvalidError
from ringi.policy.checked import mark_checked_policy, policy_data
from ringi.policy.decision import ORDER, Effect, PlainRule, deciding_rule, is_tool_named_by_rule

ShortText = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"\S")]
log = logging.getLogger(__name__)
NO_FACTS: Args = MappingProxyType({})
RuleName = Annotated[Name, StringConstraints(max_length=100, pattern=r"^\S(.*\S)?$")]
OTHERWISE = "otherwise"
"""The name in the audit trail of a denial by the policy's `otherwise`."""
UNNAMED = "no rule of the policy allows this call"
DENIED = "the policy denies this call"
PEOPLE = ("quorum", "exclude", "hold", "escalation", "tier")
"""The fields of a rule that say who decides, and how."""
OF_ASK = ("allowed", "title", "assignee", "groups", "priority", "expires_in", "auto_approve", *PEOPLE)
"""The fields that only rules with the effect `ask` have."""
ToolArguments = Mapping[str, frozenset[str] | None]
"""The names of each tool's arguments, by tool; None for unknown arguments."""


class ToolCard(PolicyData):
    """The meaning of a tool's calls; people see it with each request, and the digest covers it."""

    effect: ShortText | None = None
    """The effect of the call, such as `pays money back`."""
    target: Name | None = None
    """The argument that names the affected object; `customer.id` is a nested value."""
    amount: Name | None = None
    """The argument with the amount."""
    unit: ShortText | None = None
    """The unit of the amount, such as `EUR`."""
    limit: float | None = Field(default=None, strict=True, allow_inf_nan=False)
    """The usual maximum of the amount: people see that a call is above it. To stop such calls, write a rule."""
    tier: Tier | None = None
    """The risk of the call."""
    reversible: StrictBool | ShortText | None = None
    """Whether the effect can be undone, or how, such as `within 14 days`; None declares nothing."""

    @model_validator(mode="after")
    def _has_amount(self) -> Self:
        for name in ("unit", "limit"):
            if getattr(self, name) is not None and self.amount is None:
                raise FieldValidationError(name, "needs amount: name the argument with the amount")
        return self

    @property
    def arguments(self) -> dict[str, str]:
        """The arguments that the card names, by what they are."""
        named = {"target": self.target, "amount": self.amount}
        return {name: path for name, path in named.items() if path is not None}

    def describe(self, args: Args) -> dict[str, Any]:
        """Return the card of one call as JSON data; an argument that is missing is left out.

        Args:
            args: The arguments of the call by name.
        """
        values = {name: argument_at_path(args, path) for name, path in self.arguments.items()}
        own = self.model_dump(include={"effect", "unit", "limit", "tier", "reversible"})
        # With the names of the arguments, a person's edit changes the target and the amount on the page too.
        text = {**own, **values, "arguments": self.arguments or None}
        found = {name: value for name, value in text.items() if value is not None and value is not MISSING}
        # An amount that is no number may be above the limit.
        if self.limit is not None and Condition(at_most=self.limit).holds(values["amount"]) is not True:
            found["above_limit"] = True
        return found


class AutoApproval(PolicyData):
    """Calls that run without a person; the audit trail names the rule."""

    name: RuleName
    """The name of the rule in the audit trail; unique in its policy."""
    where: Where = {}
    """Conditions by argument; all must certainly hold. Without conditions, every call is approved."""
    facts: Where = {}
    """Conditions by fact; all must certainly hold."""


class Rule(PolicyData):
    """A rule for the calls of some tools: they wait for a person, run at once, or are denied.

    A rule that asks or denies applies unless a condition is false: an unknown condition counts as true. A rule that
    allows applies only if all conditions certainly hold.
    """

    tools: Annotated[tuple[Name, ...], Field(min_length=1)]
    """The names of the tools; `*` stands for any characters, as in `mcp__db__*`."""
    effect: Effect = "ask"
    """`ask` a person, `allow` the call without a person and without a record, or `deny` it."""
    name: RuleName | None = None
    """The name of the rule, unique in its policy; a rule that denies needs one for the audit trail."""
    reason: str | None = Field(default=None, min_length=1, max_length=1_000, pattern=r"\S")
    """Why the rule denies a call; the model reads it."""
    where: Where = {}
    """Conditions by argument."""
    facts: Where = {}
    """Conditions by fact, a value that your code looks up."""
    allowed: Annotated[tuple[Decision, ...], Field(min_length=1)] = ("approve", "edit", "reject")
    """The decisions that people can choose."""
    title: str | None = Field(default=None, min_length=1, max_length=500, pattern=r"\S")
    """The title of the requests; by default made from the call."""
    assignee: PersonName | None = None
    """The person who decides; without it and `groups`, any person of the tenant may."""
    groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    """The groups whose members may decide, at most 100."""
    priority: Priority | None = None
    """The priority of the requests."""
    expires_in: float | None = Field(default=None, strict=True, gt=0, le=10 * 366 * 86_400)
    """Seconds until a request expires, at most ten years; None for never."""
    quorum: Quorum = ()
    """The stages of people who must agree, in order: `[{"groups": ["finance"], "count": 2}]`."""
    exclude: tuple[Excluded, ...] = ()
    """Who may not decide: `starter` of the run, `asker`."""
    hold: float | None = Field(default=None, strict=True, ge=0, le=MAX_HOLD)
    """Seconds for which a person may undo the decision, at most 30."""
    escalation: Escalations = ()
    """Who may decide in addition, and after how many seconds: `[{"after": 3600, "to": ["group:board"]}]`."""
    tier: Tier | None = None
    """What is at stake; by default the tier of the tool's card."""
    auto_approve: tuple[AutoApproval, ...] = ()
    """The calls of this rule that run without a person; the first match approves."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.auto_approve and "approve" not in self.allowed:
            why = "needs the decision approve: add it to allowed, or remove auto_approve"
            raise FieldValidationError("auto_approve", why)
        if self.quorum and set(AGREEING).isdisjoint(self.allowed):
            raise FieldValidationError("quorum", "needs the decision approve or edit: people vote on nothing else")
        if len(set(self.allowed)) < len(self.allowed):
            raise FieldValidationError("allowed", "has a duplicate decision: list each once")
        if self.effect != "ask" and (unfit := [name for name in OF_ASK if name in self.model_fields_set]):
            raise FieldValidationError(unfit[0], f"is for rules that ask: remove it, or the effect {self.effect}")
        if self.effect != "deny" and self.reason is not None:
            raise FieldValidationError("reason", "is for rules that deny: remove it, or set the effect deny")
        if self.effect == "deny" and self.name is None:
            raise FieldValidationError("name", "is missing: the audit trail names the rule that denies a call")
        if self.name == OTHERWISE:
            raise FieldValidationError("name", f"{OTHERWISE!r} is reserved: choose another name")
        return self

    def names(self, tool: str) -> bool:
        """Return whether the rule is for a tool.

        Args:
            tool: The name of the tool.
        """
        return any(is_tool_named_by_rule(tool, name) for name in self.tools)

    def covers(self, tool: str, args: Args, facts: Args = NO_FACTS) -> bool:
        """Return whether the rule applies to a call.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        return self.plain.covers(tool, args, facts)

    @cached_property
    def plain(self) -> PlainRule:
        """What decides whether the rule covers a call, as plain data."""
        return PlainRule(self.tools, self.effect, plain_where(self.where), plain_where(self.facts))

    def approver(self, args: Args, facts: Args = NO_FACTS) -> str | None:
        """Return the name of the `AutoApproval` that approves a call without a person; None if a person must decide.

        An unknown condition counts as false.

        Args:
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        for rule in self.auto_approve:
            if all_conditions_hold(rule.where, args) and all_conditions_hold(rule.facts, facts):
                return rule.name
        return None


class PolicyVerdict(NamedTuple):
    """The decision of a policy about a call."""

    effect: Effect
    rule: Rule | None = None
    """The rule that decides; None if no rule names the call."""
    approver: str | None = None
    """The name of the `AutoApproval` that approves in place of a person."""


class PolicyDenial(NamedTuple):
    """A policy's refusal of a call."""

    rule: str
    """The name of the rule in the audit trail."""
    reason: str
    """The reason, for the model and the audit trail."""


class Policy(PolicyData):
    """Rules for tool calls, in the order deny, ask, allow; the first matching rule that asks says how.

    A call that no rule names runs at once if the policy only has rules that ask. Otherwise it asks a person; set
    `otherwise` to choose.
    """

    rules: Annotated[tuple[Rule, ...], Field(min_length=1)]
    """The rules in order, at least one."""
    otherwise: Effect | None = None
    """The effect for a call that no rule names; by default `ask` if a rule allows or denies or a tool has a card, else
    `allow`."""
    cards: dict[Name, ToolCard] = {}
    """The cards of tools, by the name of the tool."""

    @classmethod
    def read(cls, path: str | Path) -> Policy:
        """Return the policy in a file: JSON, or TOML if the name ends in `.toml`.

        Args:
            path: The path of the file, in UTF-8.

        Raises:
            InvalidError: The file cannot be read, or its policy is invalid.
        """
        return cls.parse(read_policy_file(Path(path), "policy"))

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        seen: set[str] = set()
        for place, name in self._rule_names():
            if name in seen:
                why = f"{safe_repr(name)} is the name of two rules: give each rule its own name"
                raise FieldValidationError(field_path("", [*place, "name"]), why)
            seen.add(name)
        return self

    @model_validator(mode="after")
    def _warn(self) -> Self:
        for place, why in self.findings():
            log.warning("policy: %s: %s", place, why)
        return self

    def findings(self) -> Iterable[tuple[str, str]]:
        """Return what can never have an effect: the path of each rule or condition, and why.

        Such a policy is valid, so that a rule which denies everything can be added in an emergency.
        """
        for number, rule in enumerate(self.rules):
            for tool in rule.tools:
                if before := self._rule_before(number, tool):
                    yield f"rules[{number}].tools", f"{before} decides about every call of {safe_repr(tool)} before it"
            for position, auto in enumerate(rule.auto_approve):
                for name, of_rule, own in (("where", rule.where, auto.where), ("facts", rule.facts, auto.facts)):
                    for path in sorted(own.keys() & of_rule.keys()):
                        if reason := find_contradiction(of_rule[path], own[path]):
                            place = f"rules[{number}].auto_approve[{position}].{name}.{path}"
                            yield place, f"can never hold where the rule applies: {reason}"

    def _rule_before(self, number: int, tool: str) -> str | None:
        """Return the rule that leaves another one no call of a tool; None if there is none."""
        place = ORDER.index(self.rules[number].effect), number
        for position, other in enumerate(self.rules):
            is_before = (ORDER.index(other.effect), position) < place
            if is_before and not (other.where or other.facts) and other.names(tool):
                return f"{other.name or f'rules[{position}]'} ({other.effect})"
        return None

    def _rule_names(self) -> Iterable[tuple[tuple[str | int, ...], str]]:
        for position, rule in enumerate(self.rules):
            if rule.name is not None:
                yield ("rules", position), rule.name
            for number, auto in enumerate(rule.auto_approve):
                yield ("rules", position, "auto_approve", number), auto.name

    @cached_property
    def digest(self) -> str:
        """The digest of the policy: `sha256:` and 64 hex digits; equal for equal rules, cards and defaults."""
        return digest(self.model_dump(mode="json", exclude_defaults=True))

    def source_of(self, rule: Rule | None) -> PolicySource:
        """Return the name of a rule and the digest of the policy, for the audit trail.

        Args:
            rule: The rule that asks; None if the policy's `otherwise` does.
        """
        position = next((n for n, each in enumerate(self.rules) if each is rule), None)
        name = rule.name if rule else None
        return PolicySource(rule=name or (OTHERWISE if position is None else f"rules[{position}]"), digest=self.digest)

    @property
    def default_effect(self) -> Effect:
        """The effect for a call that no rule names."""
        if self.otherwise is not None:
            return self.otherwise
        return "ask" if self.cards or any(rule.effect != "ask" for rule in self.rules) else "allow"

    @property
    def denies(self) -> bool:
        """True if the policy can deny a call."""
        return self.default_effect == "deny" or any(rule.effect == "deny" for rule in self.rules)

    def decide(self, tool: str, args: Args, facts: Args = NO_FACTS) -> PolicyVerdict:
        """Return what happens with a call.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        number = deciding_rule((rule.plain for rule in self.rules), tool, args, facts)
        if number is None:
            return PolicyVerdict(self.default_effect)
        rule = self.rules[number]
        return PolicyVerdict(rule.effect, rule, rule.approver(args, facts))

    def denial(self, tool: str, args: Args, facts: Args = NO_FACTS) -> PolicyDenial | None:
        """Return why the policy denies a call; None if it does not.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        effect, rule, _ = self.decide(tool, args, facts)
        if effect != "deny":
            return None
        return PolicyDenial(str(rule.name), rule.reason or DENIED) if rule else PolicyDenial(OTHERWISE, UNNAMED)

    def card_of(self, tool: str, args: Args) -> dict[str, Any]:
        """Return the card of a call as JSON data; empty if its tool has none.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
        """
        return self.cards[tool].describe(args) if tool in self.cards else {}

    def rule_of(self, tool: str, args: Args, facts: Args = NO_FACTS) -> Rule | None:
        """Return the rule by which a person is asked about a call; None if nobody is asked.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            facts: The facts about the call by name; a missing one is unknown.
        """
        effect, rule, _ = self.decide(tool, args, facts)
        return None if effect != "ask" else rule or Rule(tools=(tool,))

    def facts_of(self, tool: str, args: Args, effects: Collection[Effect] = ("ask", "allow", "deny")) -> frozenset[str]:
        """Return the names of the facts that decide about a call.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
            effects: The effects of the rules that need the facts.
        """
        needing = [rule for rule in self.rules if rule.facts or any(auto.facts for auto in rule.auto_approve)]
        named = [rule for rule in needing if rule.effect in effects and rule.names(tool)]
        rules = [rule for rule in named if all_conditions_hold(rule.where, args) is not False]
        of_facts = [*(rule.facts for rule in rules), *(auto.facts for rule in rules for auto in rule.auto_approve)]
        return frozenset(path.partition(".")[0] for facts in of_facts for path in facts)

    @property
    def fact_names(self) -> frozenset[str]:
        """The names of all facts that rules need."""
        return frozenset(path.partition(".")[0] for _, _, _, facts in self._named() for path in facts)

    def facts_of_denial(self, tool: str, args: Args) -> frozenset[str]:
        """Return the names of the facts that decide whether a call is denied.

        Args:
            tool: The name of the tool.
            args: The arguments of the call by name.
        """
        # If the default denies, each rule that does not apply may lead to a denial.
        effects: tuple[Effect, ...] = ("deny",) if self.default_effect != "deny" else ("ask", "allow", "deny")
        return self.facts_of(tool, args, effects)

    def check_tools(
        self,
        arguments: Mapping[str, frozenset[str] | None],
        facts: Collection[str] = (),
        only: Collection[str] | None = None,
    ) -> None:
        """Check that the rules and cards name only these tools, their arguments, and these facts.

        Args:
            arguments: The names of each tool's arguments, by tool; None for unknown arguments.
            facts: The names of the facts that can be looked up.
            only: Check nothing about other tools than these; None checks everything.

        Raises:
            InvalidError: A rule or a card names another tool or fact, or an argument that its tool does not have.
        """
        for place, tool, where, of_facts in self._named():
            if only is not None and not any(is_tool_named_by_rule(each, tool) for each in only):
                continue
            for fact in [name for name in of_facts if name.partition(".")[0] not in facts]:
                raise InvalidError.of(f"{place}.facts", f"{safe_repr(fact)} is not a fact: use {_names(facts)}")
            _check_arguments(arguments, tool, where, f"{place}.tools", f"{place}.where")
        for tool, card in self.cards.items():
            if only is not None and tool not in only:
                continue
            place = field_path("", ["cards", tool])
            _check_arguments(arguments, tool, card.arguments.values(), place, place)

    def _named(self) -> Iterable[tuple[str, str, Where, Where]]:
        for number, rule in enumerate(self.rules):
            for tool in rule.tools:
                yield f"rules[{number}]", tool, rule.where, rule.facts
                for position, auto in enumerate(rule.auto_approve):
                    yield f"rules[{number}].auto_approve[{position}]", tool, auto.where, auto.facts


def _check_arguments(
    arguments: ToolArguments, tool: str, used: Iterable[str], place: str, place_of_argument: str
) -> None:
    named = [each for each in arguments if is_tool_named_by_rule(each, tool)]
    if not named:
        raise InvalidError.of(place, f"{safe_repr(tool)} is not a tool of this agent: use {_names(arguments)}")
    for each in named:
        has = arguments[each]
        for argument in [name for name in used if has is not None and name.partition(".")[0] not in has]:
            wrong = f"{safe_repr(argument)} is not an argument of {each}: use {_names(has or ())}"
            raise InvalidError.of(place_of_argument, wrong)


def _names(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def read_policy_file(path: Path, name: str) -> Any:
    """Return the data in a file: JSON, or TOML if the name ends in `.toml`.

    Args:
        path: The path of the file, in UTF-8.
        name: What the data is, as the path of the error.

    Raises:
        InvalidError: The file cannot be read.
    """
    return _parsed(path, _text_of(path, name), name)


def _text_of(path: Path, name: str = "policy") -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error, name) from error


def _parsed(path: Path, text: bytes, name: str = "policy") -> Any:
    try:
        return policy_data(path, text)
    except UnicodeDecodeError as error:
        raise InvalidError.of(name, f"{path} is not UTF-8: save it as UTF-8", "invalid_unicode") from error
    except (ValueError, RecursionError) as error:
        is_toml = path.suffix == ".toml"
        why = f"{path} is not {'TOML' if is_toml else 'JSON'} ({error}): correct it"
        raise InvalidError.of(name, why, "invalid" if is_toml else "not_json") from error


class PolicyFile:
    """The policy in a file, read again after each change of the file.

    Args:
        path: The path of the file: JSON, or TOML if the name ends in `.toml`.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._read: tuple[tuple[int, int, int], bytes, Policy] | None = None

    def policy(self) -> Policy:
        """Return the current policy.

        Raises:
            InvalidError: The file cannot be read, or its policy is invalid.
        """
        try:
            stat = self._path.stat()
        except OSError as error:
            raise _unreadable(self._path, error) from error
        version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if self._read is None or self._read[0] != version:
            self._read = None
            text = _text_of(self._path)
            self._read = version, text, Policy.parse(_parsed(self._path, text))
        return self._read[2]

    def mark_checked(self, home: Path) -> None:
        """Mark the file as one whose policy is valid; see `ringi.policy.checked`.

        Args:
            home: The folder of the local files.
        """
        if self._read:
            _, text, policy = self._read
            with suppress(OSError, InvalidError):
                mark_checked_policy(self._path, home, text, [rule.plain for rule in policy.rules], policy.otherwise)


def _unreadable(path: Path, error: OSError, name: str = "policy") -> InvalidError:
    return InvalidError.of(name, f"cannot read {path}: {error.strerror}", "unreadable_file")
