"""What a person has typed about a request and not sent yet, and the answer that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ringi.ask import Decision
from ringi.errors import InvalidError
from ringi.form import Form
from ringi.request import Request

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


def target_of(request: Request) -> str | None:
    """Return what has to be typed before this may happen: the name of what it happens to, where it costs most."""
    if request.priority not in ("high", "urgent") or not request.action:
        return None
    target = request.action.args.get("target")
    return target if isinstance(target, str) and target.strip() else request.action.name
