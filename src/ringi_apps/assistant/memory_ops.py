"""Operations: the changes that people and models request, and the rules that reject them."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator

from ringi.base import StrictModel
from ringi.errors import FieldError, InvalidError
from ringi_apps.assistant.declarations import ANY, Info
from ringi_apps.assistant.definitions import Definitions

RejectionCode: TypeAlias = Literal["UNKNOWN", "NOT_ASKED", "INVALID", "NEWER", "REQUIRED", "NOT_OFFERED", "NOT_ANY"]
MAX_QUOTE, MAX_FEEDBACK = 500, 5_000
"""The maximum number of characters of a model's quote, and of a remark about a plan."""


class MemoryOp(StrictModel):
    """A change that a person or a model requests."""

    op: Literal["set", "correct", "clear", "not_needed", "feedback"]
    key: str = ""
    value: Any = None
    text: Annotated[str, AfterValidator(lambda text: text[:MAX_FEEDBACK])] = ""
    quote: Annotated[str | None, AfterValidator(lambda quote: quote and quote[:MAX_QUOTE])] = None
    expected_version: int | None = None
    """The version of the memory that the sender has seen. A value that changed later is not overwritten."""


class RejectedOp(NamedTuple):
    """An operation that was not applied, with the reason."""

    op: MemoryOp
    code: RejectionCode
    reason: str
    offered: tuple[str, ...] = ()
    """The labels of the choices, if the value is not one of them."""
    errors: tuple[FieldError, ...] = ()
    """What is wrong with the value, if its code is `INVALID`."""


def find_rejection(op: MemoryOp, definitions: Definitions, version: int | None) -> RejectedOp | None:
    """Return why an operation may not change its info, or None. `version` is that of the current value."""
    info = definitions.infos_by_key.get(op.key)
    if info is None:
        return RejectedOp(op, "UNKNOWN", f"{op.key!r} is not an info: use one of {', '.join(definitions.infos_by_key)}")
    if maker := _required_source(definitions, info):
        return RejectedOp(op, "NOT_ASKED", f"{op.key!r} comes from {maker} and cannot be set")
    if version and op.expected_version is not None and version > op.expected_version:
        return RejectedOp(op, "NEWER", f"{op.key!r} has changed in the meantime: read its current value")
    if op.op == "not_needed" and (users := definitions.required_by(op.key)):
        return RejectedOp(op, "REQUIRED", f"{op.key!r} is required by {users[0].id!r}: it cannot be left out")
    if op.op in ("set", "correct"):
        if op.value == ANY and not may_have_any(info):
            return RejectedOp(op, "NOT_ANY", f"{op.key!r} may not be any: give a value")
        try:
            check_value(info, op.value)
        except InvalidError as error:
            return RejectedOp(op, "INVALID", str(error), errors=error.errors)
    return None


def check_value(info: Info, value: object) -> None:
    """Raise InvalidError unless a value is valid for an info: JSON of limited size that fits its schema and form."""
    if value is None:
        raise InvalidError.of(info.key, "must not be null: give a value, or clear it", "required")
    if info.is_any(value):
        return
    info.check(value, field=info.key)
    if info.form is not None and info.choices is None:
        info.form.check(value)


def may_have_any(info: Info) -> bool:
    """Tell whether the text `ANY` can be a value of an info: it may be any, or lists this text among its own values."""
    return info.may_be_any or info.choices is not None or ANY in info.schema.get("enum", ())


def _required_source(definitions: Definitions, info: Info) -> str | None:
    if info.key in definitions.plan_actions:
        return f"the plan of {definitions.plan_actions[info.key].id!r}"
    if info.key in definitions.sole_producers:
        return f"action {definitions.sole_producers[info.key].id!r}"
    makers = {"handler": f"handler {info.handler!r}", "derived": "other infos", "static": "the definitions"}
    return makers.get(info.kind)
