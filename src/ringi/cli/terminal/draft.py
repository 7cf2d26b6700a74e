"""What a person has typed about a request and not sent yet, and the answer that it makes."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ringi.cli.format.visible import visible
from ringi.domain.ask import GATED, Decision
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms.form import Form

LONGEST_NAME = 60
Mode = Literal["deciding", "editing", "rejecting", "answering", "confirming"]


@dataclass
class Draft:
    """Kept per request, so that nothing typed is lost by looking at another."""

    mode: Mode = "deciding"
    typed: dict[str, Any] = field(default_factory=dict)
    """What each field holds, by the field's path."""


def form_of(request: Request) -> Form | None:
    """Return the form to fill in, also where only a flat schema says what is asked."""
    if request.form or request.data_schema is None:
        return request.form
    try:
        return Form.from_json_schema(request.data_schema)
    except InvalidError:
        return None


def editable(request: Request) -> dict[str, Any]:
    """Return what an edit changes besides the form: the arguments of a call, or the task of a finish."""
    if request.action:
        return request.action.args
    return {"task": str(request.context.get("task") or "")} if request.kind == "finish" else {}


def edit_path(request: Request, name: str) -> str:
    """Return the path that an error about an edited value has."""
    return f"args.{name}" if request.action else f"data.{name}"


def answer(
    request: Request,
    decision: Decision,
    *,
    data: dict[str, Any] | None,
    edited: dict[str, Any],
    message: str,
) -> dict[str, Any]:
    """Return the body of an answer to exactly the request that was shown."""
    body: dict[str, Any] = {"decision": decision, "digest": request.digest}
    if decision in ("reject", "respond") and message.strip():
        body["message"] = message
    if data is not None:
        body["data"] = data
    if decision == "edit" and edited:
        body |= {"args": edited} if request.action else {"data": {**(data or {}), **edited}}
    return body


class Target(NamedTuple):
    """What a costly approval is about: the person types its name."""

    label: str | None
    """The argument that names it; None where the call itself or the kind is typed."""
    name: str

    def is_named(self, typed: str) -> bool:
        """Whether this is the name; figures in full width mean the same."""
        return _plain(typed) == _plain(self.name)


def target_of(request: Request, args: dict[str, Any]) -> Target | None:
    """Return what has to be typed before a costly request may be approved; None for the routine.

    The first argument that is a number or a short text names it, else the call does, else the kind.
    """
    if request.priority not in ("high", "urgent") or not (request.action or request.kind in GATED):
        return None
    if not request.action:
        return Target(None, request.kind)
    for label, value in args.items():
        if _is_name(value):
            return Target(visible(label), visible(str(value)).strip())
    return Target(None, visible(request.action.name))


def _is_name(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= LONGEST_NAME and "\n" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()
