"""Calls of tools as questions to people, and the decisions on them, for all frameworks."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple, get_args

from ringi.base.canonical_json import canonical, jsonable
from ringi.domain.ask import Ask, Decision, parse_body
from ringi.domain.request import Request
from ringi.errors import InvalidError, RingiError
from ringi.forms import json_schema
from ringi.forms.arguments import Schema
from ringi.runs.model_form import clean_text

DECISIONS: tuple[Decision, ...] = get_args(Decision)
REFUSING_DECISIONS: tuple[Decision, ...] = ("reject", "respond")
UNAPPROVABLE = "**This call can only be refused:** {why}. What is shown as text here may be no text in the call.\n\n"


class UndecidedError(RingiError):
    """A question ended without an answer, and its agent cannot continue without one."""

    def __init__(self, id: str, status: str) -> None:
        super().__init__(
            f"request {id!r} is {status}, and its agent cannot continue without an answer: retry the run to ask again"
        )


class CallDecision(NamedTuple):
    """The decision on a call."""

    decision: Decision
    name: str
    args: dict[str, Any]
    """The arguments with which an allowed call runs."""
    message: str | None


def decision_on(request: Request) -> CallDecision:
    """Return the decision on a call; silence is a rejection.

    Raises `NotAuthorizedError` unless the call that may run is the authorized call. Raises `UndecidedError` if there
    is no decision and the graph accepts no rejection.
    """
    action, response = request.action, request.response
    assert action
    if response and not request.erased:
        granted = request.granted
        if granted:
            request.authorize(action.name, granted.args)
        return CallDecision(response.decision, action.name, granted.args if granted else {}, response.message)
    if "reject" not in request.allowed:
        raise UndecidedError(request.id, request.status)
    return CallDecision("reject", action.name, {}, f"nobody decided: the request was {request.status}")


def approval_ask(
    name: str,
    title: str,
    args: dict[str, Any],
    allowed: Collection[str],
    description: str | None,
    args_schema: Schema | None = None,
) -> Ask:
    """Return the question that asks for approval of a call."""
    storable, why = storable_args(jsonable(args))
    # Consent covers exactly the arguments shown: a call without a digest can only be rejected.
    offered = REFUSING_DECISIONS if why else DECISIONS
    decisions = tuple(decision for decision in offered if decision in allowed)
    if not decisions:
        problem = f"it cannot be approved ({why})" if why else "nothing can be decided about it"
        raise InvalidError.of("allowed", f"{name!r}: {problem}: allow one of {', '.join(offered)}")
    action = {"name": name, "args": storable, "schema": None if why else checkable_schema(args_schema)}
    text = clean_text((UNAPPROVABLE.format(why=why) if why else "") + (description or ""))[:20_000] or None
    return parse_body(Ask, {"title": title[:500], "description": text, "action": action, "allowed": decisions})


def storable_args(args: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return storable arguments, and the reason if some were converted to text; None if all are unchanged."""
    try:
        canonical(args)
    except InvalidError as error:
        return {clean_text(name): storable_value_as_text(each) for name, each in args.items()}, error.errors[0].message
    return args, None


def storable_value_as_text(value: Any) -> Any:
    """Return a value, with parts that have no digest converted to text."""
    if isinstance(value, dict):
        return {clean_text(str(name)): storable_value_as_text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [storable_value_as_text(each) for each in value]
    try:
        canonical(value)
    except InvalidError:
        return clean_text(str(value))
    return value


def checkable_schema(schema: Schema | None) -> Schema | None:
    """Return a schema that can check arguments here; the graph's own check follows."""
    try:
        json_schema.check_schema(schema, field="schema")
    except InvalidError:
        return None
    return schema or None
