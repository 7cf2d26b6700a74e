"""Facts about a call: values that functions of the program look up for the conditions of a policy."""

from __future__ import annotations

import asyncio
import copy
import inspect
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ringi.base.canonical_json import canonical, jsonable

log = logging.getLogger(__name__)
FactFunction = Callable[[dict[str, Any]], Any]
"""Looks up a fact about a call from its arguments: returns JSON or an awaitable of it."""
UNKNOWN = object()
"""Stands for a fact whose function failed."""


def find_facts(
    functions: Mapping[str, FactFunction], names: Iterable[str], tool: str, args: dict[str, Any]
) -> dict[str, Any]:
    """Return the facts about a call that can be looked up without waiting.

    Args:
        functions: The functions by the name of their fact.
        names: The names of the facts.
        tool: The name of the tool.
        args: The arguments of the call by name.
    """
    return known_facts({name: look_up(name, functions.get(name), tool, args) for name in names})


async def afind_facts(
    functions: Mapping[str, FactFunction], names: Iterable[str], tool: str, args: dict[str, Any]
) -> dict[str, Any]:
    """Do the same, and wait for awaitable facts."""
    return known_facts({name: await alook_up(name, functions.get(name), tool, args) for name in names})


def look_up(name: str, function: FactFunction | None, tool: str, args: dict[str, Any]) -> Any:
    """Return a fact about a call as JSON, an awaitable of it, or `UNKNOWN` if its function fails."""
    if function is None:
        return UNKNOWN
    try:
        found = function(copy.deepcopy(args))
        return found if inspect.isawaitable(found) else portable(found)
    except Exception:
        log.exception("the fact %r about a call of %s is unknown", name, tool)
        return UNKNOWN


async def alook_up(name: str, function: FactFunction | None, tool: str, args: dict[str, Any]) -> Any:
    """Do the same, and wait for an awaitable fact."""
    if inspect.iscoroutinefunction(function):
        found = look_up(name, function, tool, args)
    else:
        # A function that waits would stop all runs of the worker.
        found = await asyncio.to_thread(look_up, name, function, tool, args)
    if not inspect.isawaitable(found):
        return found
    try:
        return portable(await found)
    except Exception:
        log.exception("the fact %r about a call of %s is unknown", name, tool)
        return UNKNOWN


def portable(value: object) -> Any:
    """Return a value as JSON; raise `InvalidError` if other systems would read another value."""
    result = jsonable(value)
    canonical(result)
    return result


def known_facts(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the facts that were looked up; a coroutine that nobody waits for is closed."""
    for fact in found.values():
        if inspect.iscoroutine(fact):
            fact.close()
    return {name: fact for name, fact in found.items() if fact is not UNKNOWN and not inspect.isawaitable(fact)}
