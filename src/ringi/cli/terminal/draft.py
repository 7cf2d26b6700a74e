"""The unsent answer of a person to a request."""

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
    """The content of the fields of one request; it stays when the person opens another request."""

    mode: Mode = "deciding"
    typed: dict[str, Any] = field(default_factory=dict)
    """The content of each field, by its path."""


def form_of(request: Request) -> Form | None:
    """Return the form of a request, made from its JSON schema if it is flat; None if there is none."""
    if request.form or request.data_schema is None:
        return request.form
    try:
        return Form.from_json_schema(request.data_schema)
    except InvalidError:
        return None


def editable(request: Request) -> dict[str, Any]:
    """Return the editable values besides the form: arguments of an action, or the task of a finish gate."""
    if request.action:
        return request.action.args
    return {"task": str(request.context.get("task") or "")} if request.kind == "finish" else {}


def edit_path(request: Request, name: str) -> str:
    """Return the path of an edited value in validation errors."""
    return f"args.{name}" if request.action else f"data.{name}"


def answer(
    request: Request,
    decision: Decision,
    *,
    data: dict[str, Any] | None,
    edited: dict[str, Any],
    message: str,
) -> dict[str, Any]:
    """Return the body of an answer, with the digest of the displayed request."""
    body: dict[str, Any] = {"decision": decision, "digest": request.digest}
    if decision in ("reject", "respond") and message.strip():
        body["message"] = message
    if data is not None:
        body["data"] = data
    if decision == "edit" and edited:
        body |= {"args": edited} if request.action else {"data": {**(data or {}), **edited}}
    return body


class ConfirmationTarget(NamedTuple):
    """The name that a person types to confirm a costly approval."""

    label: str | None
    """The argument that contains the name; None for the name of the action or the kind."""
    name: str

    def is_named(self, typed: str) -> bool:
        """Return whether a text is the name; full-width digits count as normal ones."""
        return _plain(typed) == _plain(self.name)


def target_of(request: Request, args: dict[str, Any]) -> ConfirmationTarget | None:
    """Return the name to type before a costly request is approved; None for other requests.

    The name is the first argument that is a number or a short text, else the name of the action, else the kind.
    """
    if request.priority not in ("high", "urgent") or not (request.action or request.kind in GATED):
        return None
    if not request.action:
        return ConfirmationTarget(None, request.kind)
    for label, value in args.items():
        if _is_name(value):
            return ConfirmationTarget(visible(label), visible(str(value)).strip())
    return ConfirmationTarget(None, visible(request.action.name))


def _is_name(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip()) and len(value) <= LONGEST_NAME and "\n" not in value
    return isinstance(value, int | float) and not isinstance(value, bool)


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).strip()
