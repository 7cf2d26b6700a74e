"""The command `policy test`: the effect of a policy on recorded calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from ringi.base.model import StrictModel
from ringi.base.plain_conditions import MISSING, argument_at_path
from ringi.base.validation import Name
from ringi.cli.format.output import listing_text, print_json_or_text
from ringi.cli.options import AsJson, read_option_file
from ringi.cli.texts import cli_text
from ringi.domain.ask import parse_body
from ringi.errors import InvalidError
from ringi.policy.decision import Effect, is_tool_named_by_rule
from ringi.policy.rules import OTHERWISE, AutoApproval, Policy, Rule

HOLDS = {True: "✓", False: "✗", None: "?"}
COLUMNS = ("line", "tool", "effect", "rule", "why")


class RecordedCall(StrictModel):
    """One line of a file of calls."""

    tool: Name
    args: dict[str, Any] = {}
    facts: dict[str, Any] = {}
    expect: Effect | None = None


class TestedCall(NamedTuple):
    """A call of one line, and the effect that the policy has on it."""

    line: int
    tool: str
    effect: Effect
    rule: str | None
    """The name of the rule, or its position."""
    reason: str | None
    """The reason of a denial, else the conditions of the rule with the values that they met."""
    expect: Effect | None

    @property
    def is_expected(self) -> bool:
        """True unless the line expects another effect."""
        return self.expect in (None, self.effect)

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of a table."""
        wrong = "" if self.is_expected else cli_text("policy.expected", effect=cli_text(f"policy.{self.expect}"))
        rule = cli_text("policy.otherwise") if self.rule == OTHERWISE else self.rule or ""
        why = " · ".join(part for part in (wrong, self.reason) if part)
        return (str(self.line), self.tool, cli_text(f"policy.{self.effect}"), rule, why)


def policy_test(
    file: Annotated[Path, typer.Argument(help="The policy: JSON, or TOML if its name ends in `.toml`.")],
    calls: Annotated[
        Path, typer.Option("--calls", help="The calls, one JSON object a line: `tool`, `args`, `facts`, `expect`.")
    ],
    json_: AsJson = False,
) -> None:
    """Print what a policy does with recorded calls: allow, ask or deny.

    Exits with 1 if a line expects another effect, and with 2 if the policy or a line is invalid. Facts that a line does
    not give are unknown.
    """
    policy = Policy.read(file)
    tested = [_test(policy, number, call) for number, call in _read(calls)]
    rows = [{**each._asdict(), "expected": each.is_expected} for each in tested]
    text = listing_text(COLUMNS, [each.cells for each in tested], "policy.no_calls")
    print_json_or_text({"items": rows, "next": None}, text, json_)
    if not all(each.is_expected for each in tested):
        raise typer.Exit(1)


def _test(policy: Policy, number: int, call: RecordedCall) -> TestedCall:
    effect, rule, approver = policy.decide(call.tool, call.args, call.facts)
    denial = policy.denial(call.tool, call.args, call.facts)
    name = approver or policy.source_of(rule).rule
    reason = denial.reason if denial else _conditions(rule, call) if rule else None
    return TestedCall(number, call.tool, "allow" if approver else effect, name, reason, call.expect)


def _conditions(rule: Rule, call: RecordedCall) -> str:
    """Return the conditions of a rule and of its automatic approvals, each with its value and whether it holds."""
    found = [", ".join(name for name in rule.tools if is_tool_named_by_rule(call.tool, name))]
    found += _results(rule, call)
    found += [f"{auto.name}: {', '.join(_results(auto, call)) or HOLDS[True]}" for auto in rule.auto_approve]
    return " · ".join(found)


def _results(rule: Rule | AutoApproval, call: RecordedCall) -> list[str]:
    return [
        f"{path}="
        f"{json.dumps(None if (value := argument_at_path(values, path)) is MISSING else value, ensure_ascii=False)} "
        f"{json.dumps(condition.model_dump(mode='json'), ensure_ascii=False)} {HOLDS[condition.holds(value)]}"
        for where, values in ((rule.where, call.args), (rule.facts, call.facts))
        for path, condition in where.items()
    ]


def _read(path: Path) -> Iterator[tuple[int, RecordedCall]]:
    for number, line in enumerate(read_option_file("--calls", path).splitlines(), 1):
        if not line.strip():
            continue
        try:
            yield number, parse_body(RecordedCall, json.loads(line))
        except (ValueError, RecursionError) as error:
            what = f"line {number} is not JSON ({error}): write each call as one JSON object in UTF-8"
            raise InvalidError.of("--calls", what) from error
        except InvalidError as error:
            what = f"line {number} is not a call ({error}): give tool, args, and optionally facts and expect"
            raise InvalidError.of("--calls", what) from error
