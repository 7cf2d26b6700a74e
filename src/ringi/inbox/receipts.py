"""The operations that record that an answer was taken up or cannot be, and what became of the call that it approves."""

from __future__ import annotations

from ringi.domain.ask import Outcome, Receipt, parse_body
from ringi.domain.grants import OVER
from ringi.domain.record import SYSTEM, Event
from ringi.domain.request import Request
from ringi.domain.voting import Caller, as_decider
from ringi.errors import ConflictError
from ringi.inbox.api import id_of
from ringi.inbox.core import InboxCore


class ReceiptOperations(InboxCore):
    """The acknowledgements of requests."""

    async def report_outcome(
        self,
        request: Request | str,
        outcome: Outcome,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
        by: Caller = None,
    ) -> Request:
        id, actor = id_of(request), SYSTEM if by is None else as_decider(by).name
        receipt = parse_body(Receipt, {"outcome": outcome, "result_digest": result_digest, "attempt": attempt})
        if receipt.is_begun_by(attempt) and await self.granted.is_over(await self.get(id)):
            raise ConflictError(f"request {id!r}: {OVER}")
        return await self.change(id, lambda request: request.reported(receipt, actor, self.clock()))

    async def acknowledge(
        self, id: str, by: str, read: Request | None = None, receipt: Receipt | None = None
    ) -> Request:
        """Record that the run has taken up the outcome; idempotent.

        Args:
            id: The id of an ended request.
            by: The name of the worker, for the audit trail.
            read: The ended request as the caller has read it; None reads it.
            receipt: What became of the approved call, if it is known.

        Raises:
            NotFoundError: There is no such request.
        """

        def take_up(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.acknowledged_at else request.acknowledged(by, self.clock(), receipt)

        return await self.change(id, take_up, read)

    async def mark_attention(self, id: str, why: str) -> Request:
        """Mark a request for an operator; idempotent.

        Args:
            id: The id of the request.
            why: The problem, for the operator.

        Raises:
            NotFoundError: There is no such request.
        """

        def mark(request: Request) -> tuple[Request, Event | None]:
            return (request, None) if request.attention == why else request.needing_attention(why, self.clock())

        return await self.change(id, mark)

    async def retry(self, id: str, by: str) -> Request:
        """Remove a request's mark, so that its run tries again; an unmarked request is unchanged.

        Args:
            id: The id of the request.
            by: The operator.

        Raises:
            NotFoundError: There is no such request.
        """
        return await self.change(id, lambda each: each.retried(by, self.clock()) if each.attention else (each, None))
