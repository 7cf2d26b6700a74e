"""Rules that the decisions of people suggest: conditions under which people have approved every call. Pure.

A rule is never wider than what people approved: every argument has a condition. A number stays within the range of the
approved ones, an argument with few values has one of the approved values, and of an identifier only short numbers in it
may be any: `order-1182`, where all approved ones begin with `order-`.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from ringi.base.canonical_json import canonical, digest
from ringi.base.model import StrictModel, Time
from ringi.domain.conditions import Args, Condition, Where
from ringi.domain.grants import MAX_DAYS, MAX_USES, Grant, GrantableCall
from ringi.domain.request import Request
from ringi.errors import InvalidError

REPLAYED = 500
"""The number of a tool's newest requests on which a rule is tried."""
FEWEST = 200
"""The number of decisions below which nothing is suggested."""
LEAST_SHARE = 0.98
LEAST_COVERED = 0.2
"""The share of approvals that a rule must cover: otherwise it saves little."""
MAX_VALUES, MAX_NUMBERS = 50, 10
"""The number of different texts, and of different numbers, up to which an argument has few values."""
MAX_WRONG = 50
"""The number of calls that people did not approve, within the range of the approved ones, above which nothing is
suggested."""
FOLDS = 10
"""The number of parts of the decisions, each of which a rule made from the others must not let pass wrongly."""
LARGEST = 2.0**53
NEVER = datetime(9999, 1, 1, tzinfo=UTC)
IDENTIFIERS = re.compile(r"[A-Za-z0-9._:#-]{1,64}", re.ASCII)
"""Texts that name something: no paths, no addresses and no prose."""
DIGITS = re.compile(r"[0-9]+")
MAX_DIGITS = 9
"""The number of digits of an identifier: more may be the number of an account or a card."""


class DecidedCall(NamedTuple):
    """A call about which people have decided, or did not answer."""

    request: str
    call: GrantableCall
    is_approved: bool
    """False also for an edit, an expiry and a withdrawal: no rule may let such a call through."""
    is_decision: bool


class Suggestion(StrictModel):
    """A rule that a person may switch on, with the figures that speak for it."""

    id: str
    """Identifies exactly this rule: another one has another id."""
    tool: str
    agent: str | None
    asked_by: str | None
    where: Where
    """The conditions on the arguments."""
    decisions: int
    """The number of decisions of people on calls like these, among the tool's newest 500 requests."""
    approved: int
    replayed: int
    """The number of the tool's newest requests on which the rule was tried."""
    covered: int
    """How many of these it would have approved: people have approved each of them."""
    newer: int
    """The number of approvals in the newer half of the decisions."""
    newer_covered: int
    """How many of these a rule made from the older half alone would have approved."""
    template: str
    """The id of the newest request that the rule covers."""


class SuggestionPage(StrictModel):
    """The rules that the decisions of people suggest."""

    items: list[Suggestion]
    next: None = None


class NewRule(StrictModel):
    """How long a suggested rule applies, how often, and how many of its calls people still see."""

    until: Time | None = None
    """The end, at most 30 days from now; by default in 30 days."""
    max_uses: Annotated[int, Field(strict=True, ge=1, le=MAX_USES)] = 1_000
    """The number of calls that it approves."""
    one_in: Annotated[int, Field(strict=True, ge=2, le=100)] = 20
    """One in so many of its calls still asks people, at random."""


class CoveredSuggestion(NamedTuple):
    """A suggestion, and the newest call that it covers."""

    suggestion: Suggestion
    call: GrantableCall

    def grant(self, new: NewRule, now: datetime) -> Grant:
        """Return the grant of the rule.

        Args:
            new: What the person chose.
            now: The current time.

        Raises:
            InvalidError: The end is not within 30 days.
        """
        latest = now + timedelta(days=MAX_DAYS)
        if new.until is not None and not now < new.until <= latest:
            raise InvalidError.of("until", f"give a time within {MAX_DAYS} days", "grant_until", days=MAX_DAYS)
        limits = {"max_uses": new.max_uses, "until": new.until or latest, "one_in": new.one_in}
        return grant_for_similar_calls(self.suggestion.where, self.call, **limits)


class CallArgumentsRow(NamedTuple):
    """The arguments of a call, each with its canonical JSON."""

    args: Args
    keys: dict[str, bytes]


class ConditionBox(NamedTuple):
    """Conditions on all arguments of a call."""

    ranges: Mapping[str, tuple[float, float]]
    values: Mapping[str, Mapping[bytes, Any]]
    identifiers: Mapping[str, str]
    """The pattern of each identifier."""

    def holds(self, row: CallArgumentsRow) -> bool:
        """Return whether a call with these arguments is within the conditions."""
        names = {*self.ranges, *self.values, *self.identifiers}
        return row.args.keys() == names and all(self.admits(name, row) for name in names)

    def admits(self, name: str, row: CallArgumentsRow) -> bool:
        """Return whether one argument is within its condition."""
        value = row.args[name]
        if name in self.values:
            return row.keys[name] in self.values[name]
        if name in self.ranges:
            return is_comparable_number(value) and self.ranges[name][0] <= value <= self.ranges[name][1]
        return isinstance(value, str) and re.fullmatch(self.identifiers[name], value) is not None

    @property
    def where(self) -> Where:
        """The conditions as in a policy."""
        ranges = {name: Condition(at_least=low, at_most=high) for name, (low, high) in self.ranges.items()}
        values = {name: Condition(one_of=tuple(known.values())) for name, known in self.values.items()}
        identifiers = {name: Condition(matches=pattern) for name, pattern in self.identifiers.items()}
        return dict(sorted((ranges | values | identifiers).items()))


def grant_for_similar_calls(where: Where, call: GrantableCall, **limits: Any) -> Grant:
    """Return a grant for calls like one.

    Args:
        where: The conditions.
        call: An approved call.
        limits: `until`, `max_uses` and `one_in`.
    """
    own = {"tool": call.tool, "asked_by": call.asked_by, "agent": call.agent, "people": call.people}
    everywhere = {"stakes": call.stakes, "thread_id": None, "folder": None}
    return Grant(**own, **everywhere, **limits, where=where, names=tuple(sorted(call.args)))


def human_decisions_on_calls(requests: Iterable[Request]) -> Iterator[DecidedCall]:
    """Yield what people decided on calls, or left unanswered; not what rules and grants decided, nor checks.

    Args:
        requests: Requests about one tool.
    """
    for request in requests:
        call, response = request.grantable_call, request.response
        if call is None or not request.is_final or request.is_check or request.erased or request.is_by_rule:
            continue
        is_approved = response is not None and response.decision == "approve" and not response.override
        yield DecidedCall(request.id, call, is_approved, response is not None)


def suggest_rules_for_tool(requests: Sequence[Request]) -> list[CoveredSuggestion]:
    """Return the rules that the newest requests about one tool suggest.

    Args:
        requests: The newest requests about the tool, newest first.
    """
    known = list(human_decisions_on_calls(requests))
    # Otherwise many harmless calls would push out of the replay what people refused before.
    refused = [each for each in known[REPLAYED:] if not each.is_approved]
    found = suggest_rules_from_calls(known[:REPLAYED])
    return [each for each in found if not _covered(each.suggestion.where, each.call, refused)]


def suggest_rules_from_calls(replay: Sequence[DecidedCall]) -> list[CoveredSuggestion]:
    """Return the rules that decisions on calls of one tool suggest.

    Args:
        replay: The decisions, newest first.
    """
    groups: dict[tuple[Any, ...], list[DecidedCall]] = {}
    for each in replay:
        call = each.call
        groups.setdefault((call.asked_by, call.agent, call.people, call.stakes), []).append(each)
    return [found for group in groups.values() if (found := _of_group(group, replay))]


def _of_group(group: Sequence[DecidedCall], replay: Sequence[DecidedCall]) -> CoveredSuggestion | None:
    """Return the rule that the decisions on the calls of one asker suggest, if it lets nothing wrong through."""
    decisions = [each for each in group if each.is_decision]
    approved = [each for each in decisions if each.is_approved]
    if len(decisions) < FEWEST or len(approved) < LEAST_SHARE * len(decisions):
        return None
    keys = {each.request: {name: canonical(value) for name, value in each.call.args.items()} for each in group}
    rows = {each.request: CallArgumentsRow(each.call.args, keys[each.request]) for each in group}
    newer, older = group[: len(group) // 2], group[len(group) // 2 :]
    before, box = _box_of(older, rows), _box_of(group, rows)
    if before is None or box is None or not _holds_elsewhere(group, rows):
        return None
    in_newer = [each for each in newer if before.holds(rows[each.request])]
    rule = box.where
    covered = _covered(rule, next(each for each in group if box.holds(rows[each.request])).call, replay)
    if any(not each.is_approved for each in (*in_newer, *covered)):
        return None
    expected = sum(each.is_approved for each in newer)
    if len(in_newer) < LEAST_COVERED * expected or len(covered) < LEAST_COVERED * len(approved):
        return None
    call = covered[0].call
    conditions = {name: each.model_dump(mode="json") for name, each in rule.items()}
    scope = [call.tool, call.asked_by, call.agent, call.people, call.stakes, conditions]
    return CoveredSuggestion(
        Suggestion(
            id=digest(scope).removeprefix("sha256:")[:32],
            **{"tool": call.tool, "agent": call.agent, "asked_by": call.asked_by, "where": rule},
            **{"decisions": len(decisions), "approved": len(approved), "replayed": len(replay)},
            **{"covered": len(covered), "newer": expected, "newer_covered": len(in_newer)},
            template=covered[0].request,
        ),
        call,
    )


def _holds_elsewhere(group: Sequence[DecidedCall], rows: Mapping[str, CallArgumentsRow]) -> bool:
    """Return whether rules made from a part of the decisions let nothing wrong through in the others."""
    for fold in range(FOLDS):
        box = _box_of([each for number, each in enumerate(group) if number % FOLDS != fold], rows)
        if box is None or any(box.holds(rows[each.request]) for each in group[fold::FOLDS] if not each.is_approved):
            return False
    return True


def _covered(where: Where, example: GrantableCall, replay: Sequence[DecidedCall]) -> list[DecidedCall]:
    """Return the calls of a replay that a grant with these conditions would let through."""
    grant = grant_for_similar_calls(where, example, until=NEVER, max_uses=MAX_USES)
    return [each for each in replay if grant.covers(each.call)]


def _box_of(group: Sequence[DecidedCall], rows: Mapping[str, CallArgumentsRow]) -> ConditionBox | None:
    """Return the widest simple conditions within which people approved everything; None if there are none."""
    approved = [rows[each.request] for each in group if each.is_approved]
    if not approved:
        return None
    # Calls with other arguments than the most are always asked.
    ((names, _),) = Counter(frozenset(row.args) for row in approved).most_common(1)
    approved = [row for row in approved if row.args.keys() == names]
    box = _around(sorted(names), approved)
    inside = [rows[each.request] for each in group if not each.is_approved]
    while box and (inside := [row for row in inside if box.holds(row)]):
        approved = [row for row in approved if box.holds(row)]
        box = _best_cut(box, approved, inside) if len(inside) <= MAX_WRONG else None
    return box


def _around(names: Sequence[str], approved: Sequence[CallArgumentsRow]) -> ConditionBox | None:
    """Return the conditions that all these calls meet; None if an argument has no simple one."""
    ranges, values, identifiers = dict[str, tuple[float, float]](), dict[str, dict[bytes, Any]](), dict[str, str]()
    for name in names:
        known = {row.keys[name]: row.args[name] for row in approved}
        found = list(known.values())
        are_numbers = all(map(is_comparable_number, found))
        if "." in name:
            return None  # A condition would read it as the path of a nested value.
        if len(known) <= (MAX_NUMBERS if are_numbers else MAX_VALUES):
            values[name] = {key: known[key] for key in sorted(known)}
        elif are_numbers:
            ranges[name] = min(found), max(found)
        elif pattern := identifier_pattern(found):
            identifiers[name] = pattern
        else:
            return None
    return ConditionBox(ranges, values, identifiers) if ranges or values else None


def _best_cut(
    box: ConditionBox, approved: Sequence[CallArgumentsRow], wrong: Sequence[CallArgumentsRow]
) -> ConditionBox | None:
    """Return the narrower conditions that remove most wrong calls for each approved one that is lost."""

    def gain(cut: tuple[str, ConditionBox]) -> float:
        name, narrower = cut
        removed = sum(not narrower.admits(name, row) for row in wrong)
        return removed / (1 + sum(not narrower.admits(name, row) for row in approved))

    best = max(_cuts(box, approved, wrong), key=gain, default=None)
    return best[1] if best else None


def _cuts(
    box: ConditionBox, approved: Sequence[CallArgumentsRow], wrong: Sequence[CallArgumentsRow]
) -> Iterator[tuple[str, ConditionBox]]:
    """Yield narrower conditions on one argument: below or above a wrong number, or without a wrong call's value."""
    for name, (low, high) in box.ranges.items():
        numbers = sorted(row.args[name] for row in approved)
        for limit in sorted({row.args[name] for row in wrong}):
            first, last = bisect_left(numbers, limit), bisect_right(numbers, limit)
            if first > 0:
                yield name, box._replace(ranges={**box.ranges, name: (low, numbers[first - 1])})
            if last < len(numbers):
                yield name, box._replace(ranges={**box.ranges, name: (numbers[last], high)})
    for name, known in box.values.items():
        for wrong_key in sorted({row.keys[name] for row in wrong}):
            if rest := {key: value for key, value in known.items() if key != wrong_key}:
                yield name, box._replace(values={**box.values, name: rest})


def is_comparable_number(value: object) -> bool:
    """Return whether a value is a number that a condition compares exactly."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < LARGEST


def identifier_pattern(found: Sequence[object]) -> str | None:
    """Return the pattern of identifiers that differ only in their numbers; None if there is none.

    Args:
        found: The approved values.
    """
    texts = [value for value in found if isinstance(value, str) and IDENTIFIERS.fullmatch(value)]
    (shape, *others) = {DIGITS.sub("0", text) for text in texts} or {""}
    runs = [DIGITS.findall(text) for text in texts]
    if others or len(texts) < len(found) or "0" not in shape or max(len("".join(each)) for each in runs) > MAX_DIGITS:
        return None
    lengths = [(min(map(len, run)), max(map(len, run))) for run in zip(*runs, strict=True)]
    literals = [part.replace(".", "[.]") for part in shape.split("0")]
    # Numbers grow: one digit more is no other name.
    numbers = [f"[0-9]{{{least},{min(most + 1, MAX_DIGITS)}}}" for least, most in lengths]
    return "".join(part for pair in zip(literals, [*numbers, ""], strict=True) for part in pair)
