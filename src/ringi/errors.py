"""All errors that Ringi raises on purpose.

RingiError
├── InvalidError            invalid input; `errors` names each field and its correction
├── NotFoundError           absent, or another tenant's: indistinguishable
├── ForbiddenError          the caller has no permission for this
├── ConflictError           the record is not in the state that the caller assumed: read it again
├── UnavailableError        a service cannot answer now: try again later
├── LostReplyError          a change was sent, but it is unknown whether it was made
├── WaitTimeoutError        nobody answered in time; the request stays open
└── NotAuthorizedError      the call differs from the one that a person authorized

A class says how a caller can react, and its `code` says more. An error that no caller catches is a plain `RingiError`
or a class of the room that raises it. `ringi.server.problems` maps the codes to HTTP.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

CHANGED = "the record was changed at the same time: read it again and retry"


class FieldError(NamedTuple):
    """An error of one field of the input."""

    field: str
    """The dotted path of the field; '' for the whole value."""
    message: str
    """The rule that the value breaks, and the correction."""
    code: str = "invalid"
    """The rule as a code; `ringi.base.texts` has its text in each language."""
    params: Mapping[str, Any] = {}
    """The values in that text, as plain JSON."""


class RingiError(Exception):
    """Base of all errors that Ringi raises on purpose."""

    code: str | None = None
    """The code of its problem document; None if it has none."""

    def __reduce__(self) -> tuple[Any, ...]:
        # By default Python calls the constructor with the message alone, and most need more.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]


class InvalidError(RingiError):
    """The input breaks a rule; `errors` is a tuple with one `FieldError` for each wrong field."""

    code = "invalid"

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{e.field or 'body'}: {e.message}" for e in self.errors))

    @classmethod
    def of(cls, field: str, message: str, code: str = "invalid", **params: object) -> InvalidError:
        """Return the error for one field."""
        return cls([FieldError(field, message, code, params)])


class NotFoundError(RingiError):
    """The object does not exist, or the caller may not know of it; `kind` and `id` say what was looked up."""

    code = "not_found"

    def __init__(self, kind: str, id: str, why: str | None = None) -> None:
        self.kind, self.id = kind, id
        super().__init__(why or f"no {kind} {id!r}")


class ForbiddenError(RingiError):
    """The caller is authenticated but has no permission for this.

    `code` says more:

    - `fresh_sign_in`: the person signed in too long ago, or without a known time, for what is at stake.
    - `forbidden`: the caller is authenticated but has no permission for this.
    """

    code: str = "forbidden"

    def __init__(self, what: str, code: str = "forbidden") -> None:
        self.code = code
        super().__init__(what)


class ConflictError(RingiError):
    """The stored record is not in the state that the caller assumed; read it again.

    `id` is that of the request or the thread. `code` says why:

    - `final`: the request has ended with `status`; `winner` is its decision, responder and time, or None without one.
    - `claimed`: another person, `claimed_by`, holds the claim of the request.
    - `held`: an answer by `responder` takes effect at `until`, unless that person undoes it before.
    - `digest_mismatch`: the `digest` in the answer differs from that of the stored request.
    - `different`: the id belongs to a request with other content.
    - `busy`: the thread is running or waits for a person, as `status` says; new input would drop the question.
    - `pending`: the request is still open; it cannot be erased while people may answer.
    - `under_review`: the content of the request is erased when `review`, the review of an override, ends.
    - `legal_hold`: the request is on legal hold: neither it nor its thread can be erased.
    - `conflict`: the record was changed at the same time.
    """

    code: str = "conflict"
    id = status = digest = claimed_by = responder = review = ""
    winner: dict[str, Any] | None = None
    until: datetime | None = None

    def __init__(self, what: str = CHANGED, code: str = "conflict", **details: Any) -> None:
        vars(self).update(details, code=code)
        super().__init__(what)

    @classmethod
    def too_often(cls, kind: str, id: str) -> ConflictError:
        """Return the error for a change that met a concurrent update at every attempt."""
        return cls(f"{kind} {id!r} is being changed too often: try again")

    @classmethod
    def cursor_moved(cls, cursor: str, old: str) -> ConflictError:
        """Return the error for a follower whose cursor another follower has moved."""
        return cls(f"the cursor {cursor!r} is no longer at {old!r}: read it again")

    @classmethod
    def ended(cls, id: str, status: str, winner: dict[str, Any] | None = None) -> ConflictError:
        """Return the error `final`."""
        who = f" by {winner['responder']} at {winner['at']}" if winner else ""
        return cls(f"request {id!r} is already {status}{who}", "final", id=id, status=status, winner=winner)

    @classmethod
    def claimed(cls, id: str, by: str) -> ConflictError:
        """Return the error `claimed`."""
        what = f"request {id!r} is claimed by {by!r}: wait until the claim ends"
        return cls(what, "claimed", id=id, claimed_by=by)

    @classmethod
    def held(cls, id: str, responder: str, until: datetime) -> ConflictError:
        """Return the error `held`."""
        what = f"an answer by {responder!r} to request {id!r} takes effect at {until:%H:%M:%S %Z}"
        remedy = "wait, or ask that person to undo it"
        return cls(f"{what}: {remedy}", "held", id=id, responder=responder, until=until)

    @classmethod
    def digest_mismatch(cls, id: str, digest: str) -> ConflictError:
        """Return the error `digest_mismatch`."""
        what = f"digest {digest!r} does not match request {id!r}: read the request again"
        return cls(what, "digest_mismatch", id=id, digest=digest)

    @classmethod
    def different(cls, id: str) -> ConflictError:
        """Return the error `different`."""
        return cls(f"request {id!r} exists with other content: choose another id", "different", id=id)

    @classmethod
    def busy(cls, id: str, status: str) -> ConflictError:
        """Return the error `busy`."""
        what = f"thread {id!r} is {status}: answer its requests or cancel it first"
        return cls(what, "busy", id=id, status=status)

    @classmethod
    def pending(cls, id: str) -> ConflictError:
        """Return the error `pending`."""
        what = f"request {id!r} is pending: cancel it, or wait for its end, and then erase it"
        return cls(what, "pending", id=id)

    @classmethod
    def under_review(cls, id: str, review: str) -> ConflictError:
        """Return the error `under_review`."""
        what = f"request {id!r} is erased when the review {review!r} ends: another administrator decides it"
        return cls(what, "under_review", id=id, review=review)

    @classmethod
    def legal_hold(cls, id: str) -> ConflictError:
        """Return the error `legal_hold`."""
        what = f"request {id!r} is on legal hold: lift the hold before you erase it or its thread"
        return cls(what, "legal_hold", id=id)


class UnavailableError(RingiError):
    """The store, or another named service, cannot answer now. Nothing was acknowledged.

    Unless `is_unwritten` is true, a change may have been saved. Read the request, or repeat the call after
    `retry_after` seconds: an `ask` with an id, and an answer, count once. `code` says more:

    - `limit`: a limit is reached; try again after `retry_after` seconds.
    - `paused`: an administrator has paused the agent, or all agents of the tenant: the call did not run. In a run of
      Ringi, let it pass: the run stops there, and goes on after the pause. Elsewhere, repeat the call later.
    - `unreachable`: the server does not answer now; all safe retries were made.
    - `unavailable`: the store, or another named service, cannot answer now. Nothing was acknowledged.
    """

    code: str = "unavailable"
    is_unwritten = False
    """True if nothing was written, and nothing will be."""

    def __init__(self, why: str, retry_after: float = 1.0, part: str = "the store", code: str = "unavailable") -> None:
        self.retry_after, self.code = retry_after, code
        what = f"{part} is unavailable ({why}): retry in {retry_after:g} s"
        super().__init__(what if code == "unavailable" else why)


class LostReplyError(RingiError):
    """A change was sent, but its reply was lost: it is unknown whether the change was made."""

    def __init__(self, call: str, why: object) -> None:
        super().__init__(
            f"{call}: the reply was lost ({why}): read the request again to check whether the change was made"
        )


class WaitTimeoutError(RingiError):
    """Nobody answered the request `id` within the caller's `timeout` in seconds; it stays open."""

    def __init__(self, id: str, timeout: float) -> None:
        self.id, self.timeout = id, timeout
        super().__init__(f"no answer to request {id!r} in {timeout:g} s; it stays open")


class NotAuthorizedError(RingiError):
    """The call differs from the one that a person authorized; it must not run."""

    code = "not_authorised"

    def __init__(self, id: str, why: str) -> None:
        self.id = id
        super().__init__(f"request {id!r} does not authorize this: {why}")
