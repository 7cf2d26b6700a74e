"""The question to people about one call, as a rule of a policy asks it, with the facts of the call."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ringi.base.canonical_json import canonical, jsonable
from ringi.domain.ask import Action, Ask, parse_body
from ringi.domain.request import Request
from ringi.domain.request_data import CARD
from ringi.errors import InvalidError
from ringi.policy.rules import PEOPLE, Policy, PolicyDenial, Rule

FACTS = "facts"
"""The key of the facts in a request's context."""
EDITED_AWAY = "as edited, other people decide about this call: make it again with these arguments to ask them"
log = logging.getLogger(__name__)
FactFunction = Callable[[dict[str, Any]], Any]
"""Looks up a fact about a call from its arguments: returns JSON or an awaitable of it."""
UNKNOWN = object()
"""Stands for a fact whose function failed."""


def question_about_call(
    policy: Policy,
    rule: Rule | None,
    tool: str,
    args: dict[str, Any],
    *,
    facts: Mapping[str, Any],
    context: Mapping[str, Any] | None = None,
    description: str | None = None,
) -> Ask:
    """Return the question about a call.

    Args:
        policy: The policy, for the card of the tool.
        rule: The rule that asks; None for the record of a denial.
        tool: The name of the tool.
        args: The arguments of the call by name.
        facts: The facts that people see.
        context: More context of the request.
        description: More text for people.

    Raises:
        InvalidError: The call breaks a rule for questions, such as the length of a name.
    """
    card = policy.card_of(tool, args)
    # A card in the caller's context is not the policy's.
    others = {name: value for name, value in (context or {}).items() if name != CARD}
    own = {**others, **({FACTS: dict(facts)} if facts else {}), **({CARD: card} if card else {})}
    of_rule = {"allowed", "assignee", "groups", "priority", "expires_in"}
    people = {**rule.model_dump(include=of_rule), **rule_decider_fields(policy, rule, tool)} if rule else {}
    title = (rule.title if rule else None) or f"Run {tool}?"
    action = Action(tool, copy.deepcopy(args))
    fields = {"title": title, "description": description, "context": own, **people, "action": action}
    source = policy.source_of(rule).model_copy(update={"card": bool(card)})
    return parse_body(Ask, {**fields, "policy": source})


def rule_decider_fields(policy: Policy, rule: Rule, tool: str) -> dict[str, Any]:
    """Return what a rule says about who decides, and how, as fields of a question; without what it leaves out."""
    card = policy.cards.get(tool)
    values = {name: getattr(rule, name) for name in PEOPLE} | {"tier": rule.tier or (card and card.tier)}
    return {name: value for name, value in values.items() if value}


def policy_edit_denial(policy: Policy, request: Request) -> PolicyDenial | None:
    """Return why an edit takes a call to a rule that other people decide; None if it does not.

    Args:
        policy: The policy.
        request: The ended request. Conditions on facts count as unknown, so their rules apply.
    """
    granted, action = request.granted, request.action
    if granted is None or action is None or not request.response or request.response.decision != "edit":
        return None
    edited, asked = policy.decide(granted.name, granted.args), policy.decide(action.name, action.args)
    rule = edited.rule
    if edited.effect != "ask" or rule is None or rule is asked.rule:
        return None
    wanted = {name: getattr(rule, name) for name in ("quorum", "exclude", "assignee", "groups")}
    is_stricter = any(value and value != getattr(request, name) for name, value in wanted.items())
    if not is_stricter and "edit" in rule.allowed:
        return None
    return PolicyDenial(rule.name or "edit", EDITED_AWAY)


def question_with_schema(question: Ask, schema: dict[str, Any] | None) -> Ask:
    """Return the question with the schema of its arguments, checked; without the schema if that is unusable.

    Args:
        question: The question about a call.
        schema: The JSON Schema of the arguments; None if it is unknown.

    Raises:
        InvalidError: The question breaks a rule.
    """
    try:
        typed = question.action and question.action.model_copy(update={"args_schema": schema})
        return question.model_copy(update={"action": typed}).checked(max_fields=0, may_be_derived=True)
    except InvalidError:
        return question.checked(max_fields=0, may_be_derived=True)


async def find_call_facts(
    functions: Mapping[str, FactFunction],
    names: Iterable[str],
    tool: str,
    args: dict[str, Any],
    *,
    is_blocking: bool = False,
) -> dict[str, Any]:
    """Return the facts about a call.

    Args:
        functions: The functions by the name of their fact.
        names: The names of the facts.
        tool: The name of the tool.
        args: The arguments of the call by name.
        is_blocking: Whether the caller cannot wait: then a fact that has to be awaited is unknown.
    """
    if is_blocking:
        found = {name: look_up_fact(name, functions.get(name), tool, args) for name in names}
    else:
        found = {name: await look_up_awaitable_fact(name, functions.get(name), tool, args) for name in names}
    for fact in found.values():
        if inspect.iscoroutine(fact):
            fact.close()  # Nobody waits for it.
    return {name: fact for name, fact in found.items() if fact is not UNKNOWN and not inspect.isawaitable(fact)}


def look_up_fact(name: str, function: FactFunction | None, tool: str, args: dict[str, Any]) -> Any:
    """Return a fact about a call as JSON, an awaitable of it, or `UNKNOWN` if its function fails."""
    if function is None:
        return UNKNOWN
    try:
        found = function(copy.deepcopy(args))
        return found if inspect.isawaitable(found) else portable_json_value(found)
    except Exception:
        log.exception("the fact %r about a call of %s is unknown", name, tool)
        return UNKNOWN


async def look_up_awaitable_fact(name: str, function: FactFunction | None, tool: str, args: dict[str, Any]) -> Any:
    """Do the same, and wait for an awaitable fact."""
    if inspect.iscoroutinefunction(function):
        found = look_up_fact(name, function, tool, args)
    else:
        # A function that waits would stop all runs of the worker.
        found = await asyncio.to_thread(look_up_fact, name, function, tool, args)
    if not inspect.isawaitable(found):
        return found
    try:
        return portable_json_value(await found)
    except Exception:
        log.exception("the fact %r about a call of %s is unknown", name, tool)
        return UNKNOWN


def portable_json_value(value: object) -> Any:
    """Return a value as JSON; raise `InvalidError` if other systems would read another value."""
    result = jsonable(value)
    canonical(result)
    return result
