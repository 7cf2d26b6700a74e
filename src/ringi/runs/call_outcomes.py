"""What became of the approved calls of a run, for the acknowledgements of their requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ringi.domain.record import POLICY
from ringi.domain.request import Request
from ringi.domain.response import Outcome, Receipt

APPROVAL: ContextVar[Request | None] = ContextVar("ringi_approval", default=None)
"""The request that approves the call that runs."""


def idempotency_key() -> str | None:
    """Return the idempotency key of the call that runs; None if neither a person nor a rule had to approve it.

    It is the id of the request that approves the call: a repeated call has the same one, after a crash of the worker
    and after a restore of the store. Pass it to the service that you call in a gated tool or function, and add a name
    to it if the call has several effects.
    """
    request = APPROVAL.get()
    return request.id if request else None


@contextmanager
def approved_by(request: Request | None) -> Iterator[None]:
    """Run a call in the body of the `with` statement under the key of a request; None for a call without approval."""
    token = APPROVAL.set(request)
    try:
        yield
    finally:
        APPROVAL.reset(token)


class CallOutcomes:
    """The outcomes of approved calls, until the worker saves them with its other changes."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self.receipts: dict[str, Receipt] = {}
        """The outcomes by the ids of the requests that approve the calls."""

    def record(self, request: Request | None, outcome: Outcome) -> None:
        """Record what became of an approved call; the newest known outcome of a call counts.

        Args:
            request: The request that approves the call; None for a call that nobody was asked about.
            outcome: What became of it.
        """
        if request and (outcome != "unknown" or request.id not in self.receipts):
            self._requests[request.id], self.receipts[request.id] = request, Receipt(outcome=outcome)

    def take_up(self, answered: Iterable[Request]) -> None:
        """Record that a run has taken up answers: of calls that rules approved it may never report the outcome.

        Args:
            answered: The requests.
        """
        for request in answered:
            if request.granted and request.response and request.response.responder.startswith(POLICY):
                self.record(request, "unknown")

    @contextmanager
    def executing(self, request: Request | None, suspensions: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Record what becomes of an approved call, which runs in the body of the `with` statement.

        Args:
            request: The request that approves the call; None for a call that nobody was asked about.
            suspensions: The errors by which the framework pauses the call: then its outcome is open.
        """
        try:
            with approved_by(request):
                yield
        except suspensions:
            raise
        except Exception:
            self.record(request, "failed")
            raise
        self.record(request, "committed")

    def take(self, id: str) -> Receipt | None:
        """Return the outcome of a call and forget it; None if it is unknown.

        Args:
            id: The id of the request that approves the call.
        """
        self._requests.pop(id, None)
        return self.receipts.pop(id, None)

    def approved_by_rules(self) -> list[Request]:
        """Return the requests that a rule approved, and that nobody has acknowledged: no question waits for them."""
        requests = list(self._requests.values())
        return [
            each
            for each in requests
            if each.response and each.response.responder.startswith(POLICY) and not each.acknowledged_at
        ]
