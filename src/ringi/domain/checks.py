"""Checks: requests that can never run, planted to measure whether people notice bad calls. Pure, without I/O."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from ringi.base.model import StrictModel
from ringi.base.plain_conditions import MISSING, argument_at_path
from ringi.base.validation import NOT_BLANK, FieldValidationError
from ringi.domain.conditions import Path

if TYPE_CHECKING:
    from ringi.domain.ask import Response

Expected = Literal["reject", "edit"]
NameText = Annotated[str, StringConstraints(min_length=1, max_length=200)]
NEWEST = 20
"""The number of the newest answered checks that an alarm looks at."""
FEWEST = 5
"""The number of answered checks below which there is no alarm: one answer says nothing."""
LEAST_SHARE = 0.8
UUID_DIGITS, RANDOM = 32, 4
"""The number of digits of a UUID, and the version of random ones."""
EXAMPLE = uuid.UUID(int=0, version=RANDOM).hex
HEX = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16,}")


class Check(StrictModel):
    """What is wrong with a request that was planted; nobody may see it before the request has ended."""

    expected: Expected
    """`reject`: only a rejection notices it. `edit`: an edit of the wrong argument does, too."""
    because: str
    """What is wrong, for the person who has answered."""
    argument: str | None = None
    """The path of the wrong argument; None if the whole call is wrong."""

    def result(self, args: Mapping[str, Any], response: Response | None) -> CheckResult:
        """Return what the ended request shows to everybody.

        Args:
            args: The arguments of the call.
            response: The response; None if nobody answered.
        """
        caught = None if response is None else self._is_caught(args, response)
        return CheckResult(expected=self.expected, because=self.because, caught=caught)

    def _is_caught(self, args: Mapping[str, Any], response: Response) -> bool:
        if response.decision != "edit":
            return response.decision != "approve"
        if self.expected != "edit":
            return False
        if self.argument is None:
            return True
        edited = args if response.args is None else response.args
        return bool(argument_at_path(edited, self.argument) != argument_at_path(args, self.argument))


class CheckResult(StrictModel):
    """A request that was a check, and whether it was noticed: only an ended request has it."""

    expected: Expected
    because: str
    caught: bool | None
    """None if the request ended without a decision."""


class CheckRecipe(StrictModel):
    """How a check is made from a recent real request of a tool: one argument is made wrong, or the call is replaced."""

    tool: NameText
    expect: Expected = "reject"
    because: Annotated[str, StringConstraints(min_length=1, max_length=1_000, pattern=NOT_BLANK)]
    """What is wrong; the person reads it after the answer."""
    set: Annotated[dict[Path, Any], Field(min_length=1, max_length=1)] | None = None
    """The wrong argument and its value."""
    times: Annotated[dict[Path, float], Field(min_length=1, max_length=1)] | None = None
    """The wrong argument, a number, and the factor by which it is multiplied."""
    args: dict[str, Any] | None = None
    """The whole call, in place of one wrong argument."""
    agent: NameText | None = None
    """Only requests of this agent are copied."""
    title: Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=NOT_BLANK)] | None = None
    """The title; by default that of the real request, with the wrong value in place of the real one."""
    description: Annotated[str, StringConstraints(max_length=20_000)] | None = None

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if sum(each is not None for each in (self.set, self.times, self.args)) != 1:
            raise FieldValidationError("", "give one of set, times and args")
        return self

    @property
    def argument(self) -> str | None:
        """The path of the wrong argument; None if the whole call is given."""
        return next(iter(self.set or self.times or ()), None)

    def wrong_args(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments of the check; None if the real call has no argument that could be made wrong.

        Args:
            args: The arguments of the real call.
        """
        if self.args is not None:
            return self.args
        path = str(self.argument)
        real = argument_at_path(args, path)
        if real is MISSING or isinstance(real, dict | list):
            return None
        wrong = self.set[path] if self.set else _times(real, (self.times or {})[path])
        return None if wrong is None or wrong == real else _with_argument(args, path.split("."), wrong)


def _times(real: object, factor: float) -> object:
    if isinstance(real, bool) or not isinstance(real, int | float):
        return None
    wrong = real * factor
    return int(wrong) if isinstance(real, int) and wrong == int(wrong) else wrong


def _with_argument(args: Mapping[str, Any], path: Sequence[str], value: object) -> dict[str, Any]:
    name, *rest = path
    return {**args, name: _with_argument(args[name], rest, value) if rest else value}


class NewChecks(StrictModel):
    """Checks to plant."""

    checks: Annotated[tuple[CheckRecipe, ...], Field(min_length=1, max_length=100)]
    share: Annotated[float, Field(gt=0, le=0.2)] | None = None
    """Plant one check of a tool only while fewer than this share of its requests are checks; None plants all."""


class PlantedChecks(StrictModel):
    """The requests that were planted."""

    ids: list[str]


class CheckView(StrictModel):
    """A check and its answer, for administrators and auditors."""

    id: str
    tool: str
    created_at: datetime
    status: str
    expected: Expected
    because: str
    people: tuple[str, ...] = ()
    """Who decided."""
    caught: bool | None = None
    """None while nobody has decided."""
    decided_at: datetime | None = None


class CheckShare(StrictModel):
    """How many checks of a tool or a person were noticed."""

    name: str
    newest: int
    """The number of the newest answered checks, at most 20."""
    newest_caught: int
    total: int
    caught: int
    alarm: bool
    """True if fewer than 80 % of the newest 20 were noticed; never below 5 answers."""


class CheckReport(StrictModel):
    """The planted checks, newest first, and the shares that people noticed."""

    items: list[CheckView]
    tools: list[CheckShare]
    people: list[CheckShare]
    next: None = None

    @property
    def has_alarm(self) -> bool:
        """Whether too few of the newest checks of a tool or a person were noticed."""
        return any(each.alarm for each in (*self.tools, *self.people))


def check_report(views: Iterable[CheckView]) -> CheckReport:
    """Return the report of checks.

    Args:
        views: The checks, in any order.
    """
    newest = sorted(views, key=lambda view: (view.created_at, view.id), reverse=True)
    return CheckReport(
        items=newest, tools=_shares(newest, lambda view: (view.tool,)), people=_shares(newest, lambda view: view.people)
    )


def _shares(views: Sequence[CheckView], names_of: Callable[[CheckView], Sequence[str]]) -> list[CheckShare]:
    answered: dict[str, list[tuple[datetime, bool]]] = {}
    for view in views:
        if view.caught is not None and view.decided_at:
            for name in names_of(view):
                answered.setdefault(name, []).append((view.decided_at, view.caught))
    return [_share(name, [caught for _, caught in sorted(found)]) for name, found in sorted(answered.items())]


def _share(name: str, answers: Sequence[bool]) -> CheckShare:
    newest = answers[-NEWEST:]
    alarm = len(newest) >= FEWEST and sum(newest) < LEAST_SHARE * len(newest)
    counts = {"newest": len(newest), "newest_caught": sum(newest), "total": len(answers), "caught": sum(answers)}
    return CheckShare(name=name, **counts, alarm=alarm)


def new_id_of_same_shape(id: str, digits: str) -> str:
    """Return a new id of the shape of a real one: UUIDs and runs of hexadecimal digits are replaced, else it is a UUID.

    Args:
        id: The id of a real request.
        digits: Random hexadecimal digits, at least 64.
    """
    if not HEX.search(id):
        return _digits_like(EXAMPLE, digits)
    return HEX.sub(lambda found: _digits_like(found.group(), digits), id)


def _digits_like(real: str, digits: str) -> str:
    """Return other digits; a random UUID, which almost all ids are, stays one: its version would betray the check."""
    plain = real.replace("-", "")
    if len(plain) == UUID_DIGITS and (uuid.UUID(plain).version == RANDOM or plain != real):
        made = uuid.UUID(digits[:UUID_DIGITS], version=RANDOM)
        return made.hex if plain == real else str(made)
    return (digits * (len(real) // len(digits) + 1))[: len(real)]


def replace_value_everywhere(content: Any, real: object, wrong: object) -> Any:
    """Return content in which a value is replaced wherever it occurs, also within texts.

    Otherwise the title would name another amount than the call.

    Args:
        content: JSON data.
        real: The value of the real call.
        wrong: The value of the check.
    """
    forms = dict(zip(_forms(real), _forms(wrong), strict=False))
    return _replaced(content, real, wrong, forms)


def _replaced(content: Any, real: object, wrong: object, forms: Mapping[str, str]) -> Any:
    if isinstance(content, dict):
        return {key: _replaced(value, real, wrong, forms) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_replaced(value, real, wrong, forms) for value in content]
    if isinstance(content, str):
        return _in_text(content, forms)
    is_same = type(content) is type(real) and content == real
    return wrong if is_same and not isinstance(content, bool | None) else content


def _forms(value: object) -> list[str]:
    """Return the ways in which people write a value; a short one would occur by accident."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        plain = f"{value:g}" if isinstance(value, float) else str(value)
        return [f"{value:,.2f}", f"{value:.2f}", f"{value:,}", plain]
    return [str(value)]


def _in_text(text: str, forms: Mapping[str, str]) -> str:
    longest_first = "|".join(re.escape(form) for form in sorted(forms, key=len, reverse=True) if form)
    if not longest_first:
        return text
    return re.sub(
        rf"(?<![\w.,])(?:{longest_first})(?!\w|[.,]\d)", lambda found: forms[found.group()], text, flags=re.ASCII
    )
