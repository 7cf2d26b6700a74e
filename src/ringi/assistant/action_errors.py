"""Errors of the assistant's routes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ringi.assistant.models import ActionReason, AssistantAction
from ringi.server import RefusalError


class ActionUnavailableError(RefusalError):
    """The requested action is not possible now."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "not_possible"

    def __init__(self, what: str, why: str, reasons: Sequence[ActionReason] = ()) -> None:
        self.more = {"reasons": [reason.model_dump(mode="json") for reason in reasons]}
        super().__init__(f"{what} is not possible now: {why}")

    @classmethod
    def for_action(cls, action: AssistantAction) -> ActionUnavailableError:
        """Return the error of a disabled action, with its reasons."""
        return cls(f"action {action.id!r}", "; ".join(reason.text for reason in action.reasons), action.reasons)

    @classmethod
    def without_request(cls, action_id: str) -> ActionUnavailableError:
        """Return the error of an approval for which there is no open request."""
        remedy = "reload the memory, or request approval with `unchanged:<plan action>`"
        return cls(f"action {action_id!r}", f"there is no approval request for its plan: {remedy}")

    @classmethod
    def plan_up_to_date(cls, action_id: str) -> ActionUnavailableError:
        """Return the error of `unchanged:` for a plan that is up to date or already has an open request."""
        remedy = f"answer its approval request, or make a plan with {action_id!r}"
        return cls(f"'unchanged:{action_id}'", f"it has no plan, or its plan already has an approval request: {remedy}")


class ContextNotClearedError(RefusalError):
    """The request to clear a conversation's context has not been carried out."""

    status: ClassVar[int] = 409
    code: ClassVar[str] = "uncleared"

    def __init__(self, id: str, why: str) -> None:
        super().__init__(f"the context of conversation {id!r} is not cleared: {why}")

    @classmethod
    def not_yet(cls, id: str) -> ContextNotClearedError:
        """Return the error of a conversation that no worker has handled in time."""
        return cls(id, "no worker has handled the request yet; read the memory again later")

    @classmethod
    def failed(cls, id: str, error: str) -> ContextNotClearedError:
        """Return the error of a run that failed."""
        return cls(id, f"the run failed ({error}); see the operations")
