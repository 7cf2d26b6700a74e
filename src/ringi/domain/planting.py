"""How a check is made from a real request. Pure: randomness and time are passed in."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from ringi.base.canonical_json import digest, jsonable
from ringi.base.plain_conditions import MISSING, argument_at_path
from ringi.domain.ask import Action, Ask
from ringi.domain.checks import Check, CheckRecipe, CheckView, new_id_of_same_shape, replace_value_everywhere
from ringi.domain.conditions import Condition
from ringi.domain.journal import Journal
from ringi.domain.record import Event
from ringi.domain.request import Request

JOURNAL = "ringi:checks"
"""The id of the journal of each tenant."""
CHECKS = "checks"
"""The key in the state of the journal."""
MAX_CHECKS = 1_000
"""The number of checks that are listed; older ones are forgotten."""
COPIED = ("title", "description", "context", "display", "wording", "actions")
"""The parts of a request that people read besides its call."""


def is_check_template(request: Request, recipe: CheckRecipe) -> bool:
    """Return whether a check can be copied from a request: people were asked about a call of the tool.

    Args:
        request: A recent request.
        recipe: How the check is made.
    """
    action = request.action
    if request.is_check or request.erased or action is None or action.name != recipe.tool or request.kind != "approval":
        return False
    is_of_agent = recipe.agent in (None, request.agent)
    return is_of_agent and not request.is_by_rule and recipe.wrong_args(action.args) is not None


def check_from_template(template: Request, recipe: CheckRecipe, *, digits: str, now: datetime) -> tuple[Request, Event]:
    """Return a check that looks like a real request, and its event.

    Args:
        template: The real request.
        recipe: How the check is made.
        digits: Random hexadecimal digits, at least 64.
        now: The current time.

    Raises:
        InvalidError: The call does not fit the schema of the tool, or the text of the recipe is invalid.
    """
    ask = _ask_from(template, recipe, now).checked(max_fields=len(template.form.fields) if template.form else 0)
    check = Check(expected=recipe.expect, because=recipe.because, argument=recipe.argument)
    return Request.planted(ask, id=new_id_of_same_shape(template.id, digits), now=now, template=template, check=check)


def _ask_from(template: Request, recipe: CheckRecipe, now: datetime) -> Ask:
    assert template.action
    real = template.action
    args = recipe.wrong_args(real.args)
    assert args is not None
    parts = jsonable({name: getattr(template, name) for name in COPIED})
    for path in [recipe.argument] if recipe.argument else list(real.args):
        before, after = argument_at_path(real.args, path), argument_at_path(args, path)
        if before != after and MISSING not in (before, after):
            parts = replace_value_everywhere(parts, before, after)
    _correct_card(parts["context"])
    own = {"title": recipe.title, "description": recipe.description}
    parts |= {name: text for name, text in own.items() if text is not None}
    more = ("answer_schema", "allowed", "thread_id", "run_id", "assignee", "groups", "priority")
    people = ("tier", "hold", "quorum", "exclude", "escalation", "policy", "form", "data_schema", "fallback", "kind")
    fields: dict[str, Any] = {name: getattr(template, name) for name in (*more, *people)}
    age = now - template.created_at
    times = {name: at + age for name in ("due_at", "expires_at") if (at := getattr(template, name))}
    action = Action(real.name, args).model_copy(update={"args_schema": real.args_schema})
    return Ask.parse_stored(parts).model_copy(update={**fields, **times, "action": action})


def _correct_card(context: dict[str, Any]) -> None:
    """Make the card of the tool say whether the amount of the check is above its limit."""
    card = context.get("card")
    if not isinstance(card, dict) or not isinstance(card.get("limit"), int | float):
        return
    card.pop("above_limit", None)
    if Condition(at_most=card["limit"]).holds(card.get("amount")) is not True:
        card["above_limit"] = True


def checks_in_journal(journal: Journal | None) -> dict[str, str]:
    """Return the digests of the checks in a journal by the id of the request, oldest first."""
    return dict(journal.state.get(CHECKS, {})) if journal else {}


def with_checks(journal: Journal, planted: Sequence[Request], by: str, now: datetime) -> tuple[Journal, Event]:
    """Return the journal with planted checks, each with the digest of what is wrong with it.

    Args:
        journal: The journal of the tenant.
        planted: The checks, before they are stored.
        by: The administrator.
        now: The current time.
    """
    new = {each.id: digest(jsonable(each.check)) for each in planted}
    checks = dict([*checks_in_journal(journal).items(), *new.items()][-MAX_CHECKS:])
    return journal.written({"do": "plant", "requests": list(new)}, {CHECKS: checks}, by=by, now=now)


def check_view(request: Request) -> CheckView | None:
    """Return a stored check for administrators and auditors; None if the request is none."""
    check, response = request.check, request.response
    if check is None or request.action is None:
        return None
    # A server from before checks may have stored the answer without the result.
    result = request.check_result or (check.result(request.action.args, response) if request.is_final else None)
    people = (response.responder, *(each for each in response.voters if each != response.responder)) if response else ()
    return CheckView(
        **{"id": request.id, "tool": request.action.name, "created_at": request.created_at, "status": request.status},
        **{"expected": check.expected, "because": check.because, "people": people},
        caught=result.caught if result else None,
        decided_at=response.at if response else None,
    )
