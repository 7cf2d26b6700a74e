"""What a tool returns about a request, as structured output for a model."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from ringi.domain.ask import Decision
from ringi.domain.request import Request
from ringi.domain.request_data import Status

WAITING = "Still waiting for a person. Call get_request with this id again; until then nothing is approved."
REJECTED = "A person rejected this: do not do it."
ANSWERED = "A person answered."
APPROVED = "Approved: make exactly this call, with exactly these args, once."
UNANSWERED = "Nobody decided this, and nobody will: do not take an answer for granted."


def field(description: str | None = None) -> Any:
    """Return a field that is left out while it is None: models read the text of each."""
    return Field(default=None, description=description, exclude_if=lambda value: value is None)


class RequestState(BaseModel):
    """A request as its asker sees it."""

    id: str
    status: Status
    decision: Decision | None = field()
    approved: bool = Field(default=False, description="True only if the action may run, with `args`.")
    args: dict[str, Any] | None = field("The approved arguments; a person may have edited them.")
    data: dict[str, Any] | None = field("The answers by field name.")
    message: str | None = field("The words of the person.")
    responder: str | None = field()
    address: str | None = field("The page on which people answer.")
    next: str = Field(default=WAITING, description="What to do now.")


def state_of(request: Request, address: str | None, note: str = "") -> RequestState:
    """Return the state of a request.

    Args:
        request: The request.
        address: The address of its page; None if it is not known.
        note: A remark in front of `next`.
    """
    response, granted = request.response, request.granted
    return RequestState(
        id=request.id,
        status=request.status,
        decision=response.decision if response else None,
        approved=granted is not None,
        args=granted.args if granted else None,
        data=response.data if response else None,
        message=response.message if response else request.reason,
        responder=response.responder if response else None,
        address=address,
        next=f"{note} {_next(request)}".strip(),
    )


def _next(request: Request) -> str:
    if not request.is_final:
        return WAITING
    if request.response is None:
        return UNANSWERED
    if request.response.decision == "reject":
        return REJECTED
    if request.action is None:
        return ANSWERED
    return APPROVED if request.granted else REJECTED
