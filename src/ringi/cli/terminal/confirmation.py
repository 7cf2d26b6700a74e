"""The question of fact that a person answers before a call that cannot be undone; the page asks the same one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise, permutations
from typing import Any, NamedTuple, get_args

from ringi.base.plain_conditions import argument_at_path
from ringi.cli.format.output import escape_hidden_characters
from ringi.domain.ask import GATED, Kind
from ringi.domain.request import Request
from ringi.domain.voting import CONFIRMED

LONGEST_VALUE = 60
TOOLS = ("list_items", "read_file", "send_message", "update_record", "create_user")
"""Tools among which the right one is to be found if a call has no argument to ask about."""
ORDERS = tuple(permutations(range(4)))
NEXT_ORDER = 7
"""The number of orders to the next one: no order comes again before all others."""


class ConfirmationFact(NamedTuple):
    """A fact about a call, and three other values that look like it."""

    subject: str
    """`amount`, `target`, `argument`, `tool` or `kind`: what the question is about."""
    name: str
    """The name of the argument; empty for a tool or a kind."""
    right: str
    others: tuple[str, ...]

    def choices(self, seed: int) -> tuple[str, ...]:
        """Return the four values in the order of a seed; the next seed has another order."""
        values = (self.right, *self.others)
        return tuple(values[place] for place in ORDERS[seed * NEXT_ORDER % len(ORDERS)])


def needs_confirmation_step(request: Request) -> bool:
    """Return whether an approval takes one more step: by the tier alone, never by the priority."""
    return request.tier in CONFIRMED and bool(request.action or request.kind in GATED)


def request_digest_number(request: Request) -> int:
    """Return a number from the digest of a request."""
    return int(request.digest[-8:], 16)


def confirmation_fact(request: Request, args: Mapping[str, Any]) -> ConfirmationFact | None:
    """Return the fact to ask about before a call that cannot be undone; None for other requests.

    It comes from the call and the card of the tool's author, never from the agent's words: the amount or the target
    that the card names, else an argument, else the tool.

    Args:
        request: The request.
        args: The arguments with which the call would run.
    """
    if request.tier != "irreversible" or not needs_confirmation_step(request):
        return None
    if not request.action:
        return _fact("kind", "", request.kind, get_args(Kind))
    facts = _facts(request, args)
    if not facts:
        return _fact("tool", "", escape_hidden_characters(request.action.name), TOOLS)
    subject, name, value = facts[request_digest_number(request) % len(facts)]
    before, limit = argument_at_path(request.action.args, name), request.card.get("limit")
    pool = [before, *([limit] if subject == "amount" else []), *args.values()]
    alike = [_text(each) for each in pool if _is_fact(each) and isinstance(each, str) == isinstance(value, str)]
    return _fact(subject, escape_hidden_characters(name), _text(value), [*alike, *_variants(_text(value))])


def _facts(request: Request, args: Mapping[str, Any]) -> list[tuple[str, str, Any]]:
    named: Mapping[str, str] = request.card.get("arguments") or {}
    declared = [(subject, path, argument_at_path(args, path)) for subject, path in named.items()]
    others = [("argument", name, value) for name, value in args.items() if _is_fact(value)]
    return [fact for fact in declared if _is_fact(fact[2])] or others


def _fact(subject: str, name: str, right: str, pool: Any) -> ConfirmationFact:
    others = islice((each for each in dict.fromkeys(pool) if each != right), 3)
    return ConfirmationFact(subject, name, right, tuple(others))


def _is_fact(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= LONGEST_VALUE and "\n" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    # As JSON writes it, and the page.
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return escape_hidden_characters(str(whole)).strip()


def _variants(text: str) -> Iterator[str]:
    """Return values that look like a text: ten times as much, a tenth, two letters swapped, another last digit."""
    if re.fullmatch("-?[1-9][0-9]*", text):
        yield f"{text}0"
        yield from [text[:-1]] * (len(text) > 2)
    for place, (one, other) in reversed(list(enumerate(pairwise(text)))):
        is_first = place == 0 and other == "0"
        if one != other and one.isalnum() and other.isalnum() and not is_first:
            yield f"{text[:place]}{other}{one}{text[place + 2 :]}"
            break
    for place in [found.start() for found in re.finditer("[0-9]", text, re.ASCII)][-1:]:
        for more in (1, 3, 5):
            yield f"{text[:place]}{(int(text[place]) + more) % 10}{text[place + 1 :]}"
    yield from (f"{text}{number}" for number in (2, 3, 4))
