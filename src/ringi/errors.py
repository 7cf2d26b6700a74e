"""All errors that Ringi raises on purpose.

RingiError
├── InvalidError            invalid input; `errors` names each field and its correction
├── NotFoundError           absent, or another tenant's: indistinguishable
├── ForbiddenError          the caller has no permission for this
├── ConflictError           the record is not in the state that the caller assumed; its `code` says which
├── FenceError              a newer worker holds this thread
├── LimitError              a limit is reached; try again later
├── UnavailableError        the store cannot answer now; nothing was acknowledged
│   ├── OutageError         the store of a run was unavailable while its agent worked
│   │   └── PausedError     an administrator has paused the agent; its call did not run
│   ├── UnreachableError    the client got no answer from its server
│   └── UnreadableError     this version cannot read a record; nothing was changed
├── AgentServiceError       an agent needs an unavailable service other than its run's store
├── LostReplyError          a change was sent, but it is unknown whether it was made
├── ClosedError             the inbox or the client was closed
├── WaitTimeoutError        nobody answered in time; the request stays open
├── NotAuthorizedError      the call differs from the one that a person authorized
├── NotFinishedError        no person has confirmed that an agent's task is finished
├── UndecidedError          a question ended without an answer, and its agent cannot continue
├── UnsupportedError        the store or an installed library does not support the operation
├── JobNotDueError          a job is not due yet; it is called again later
├── SignatureError          a delivery has no valid signature, or is too old
├── MissingExtraError       an optional dependency is not installed
├── SettingError            a setting or URL is invalid
└── DefinitionError         the parts of an assistant are inconsistent

An error that no caller tells from others is a plain `RingiError`. `ringi.server.problems` maps the codes to HTTP.
`ringi.client.transport` adds the client's `HttpError`.
"""

from __future__ import annotations

import copyreg
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

PASSWORD = re.compile(r"(://[^:@/?#]*):[^@/?#]*@")


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
    """The caller is authenticated but has no permission for this."""

    code = "forbidden"

    def __init__(self, what: str) -> None:
        super().__init__(what)


class FreshSignInError(ForbiddenError):
    """The person signed in too long ago, or without a known time, for what is at stake."""

    code = "fresh_sign_in"


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

    def __init__(
        self,
        what: str = "the record was changed at the same time: read it again and retry",
        code: str = "conflict",
        **details: Any,
    ) -> None:
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


class FenceError(RingiError):
    """A newer worker holds the thread; this one may neither commit nor write output."""

    code = "conflict"

    def __init__(self, id: str, fence: int) -> None:
        self.id, self.fence = id, fence
        super().__init__(f"thread {id!r}: fence {fence} is outdated: a newer worker took over")


class LimitError(RingiError):
    """A limit is reached; try again after `retry_after` seconds."""

    code = "limit"

    def __init__(self, what: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__(what)


class UnavailableError(RingiError):
    """The store, or another named service, cannot answer now. Nothing was acknowledged.

    Unless `is_unwritten` is true, a change may have been saved. Read the request, or repeat the call: an `ask` with an
    id, and an answer, count once.
    """

    code = "unavailable"

    is_unwritten = False
    """True if nothing was written, and nothing will be."""

    def __init__(self, why: str, retry_after: float = 1.0, *, part: str = "the store", unwritten: bool = False) -> None:
        self.retry_after, self.is_unwritten = retry_after, unwritten
        super().__init__(f"{part} is unavailable ({why}): retry in {retry_after:g} s")


class OutageError(UnavailableError):
    """The store of a run was unavailable while its agent worked; the agent is not at fault."""

    def __init__(self, error: UnavailableError) -> None:
        self.retry_after = error.retry_after
        RingiError.__init__(self, str(error))


class PausedError(OutageError):
    """An administrator has paused the agent, or all agents of the tenant: the call did not run.

    In a run of Ringi, let it pass: the run stops there, and goes on after the pause. Elsewhere, repeat the call later.
    """

    def __init__(self, why: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        RingiError.__init__(self, f"{why}: the call did not run; repeat it after the pause")


class UnreachableError(UnavailableError):
    """The server does not answer now; all safe retries were made."""

    code = "unreachable"

    def __init__(self, url: str, why: object, retry_after: float = 0.0) -> None:
        self.url, self.retry_after = url, retry_after
        RingiError.__init__(self, f"{url} is not reachable ({why}): it is safe to try again later")


class UnreadableError(UnavailableError):
    """This version cannot read a record: a newer one wrote it, or it was damaged. Nothing was changed."""

    is_unwritten = True
    position: str | None = None
    """The position of an unreadable event: later events can be read after it."""

    def __init__(self, kind: str, id: str, why: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        remedy = "upgrade Ringi if a newer version wrote it, otherwise check for damage with `ringi verify`"
        RingiError.__init__(self, f"{kind} {id!r} cannot be read ({why}): {remedy}")

    @classmethod
    def of_event(cls, position: object, why: object) -> UnreadableError:
        """Return the error for one or more damaged events up to this position."""
        error = cls("event", str(position), str(why))
        error.position = str(position)
        return error


class AgentServiceError(RingiError):
    """An agent's own code found a service unavailable, other than the store of its run."""

    def __init__(self, error: UnavailableError) -> None:
        self.error = error
        super().__init__(f"{type(error).__name__}: {error}")


class LostReplyError(RingiError):
    """A change was sent, but its reply was lost: it is unknown whether the change was made."""

    def __init__(self, call: str, why: object) -> None:
        super().__init__(
            f"{call}: the reply was lost ({why}): read the request again to check whether the change was made"
        )


class ClosedError(RingiError):
    """The inbox or client was used after it was closed, or closed while a caller waited."""

    def __init__(self, what: str, pid: int | None = None) -> None:
        why = f"was opened in process {pid}, which forked this one" if pid else "is closed"
        super().__init__(f"the {what} {why}: open it again")


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


class UndecidedError(RingiError):
    """A question ended without an answer, and its agent cannot continue without one."""

    def __init__(self, id: str, status: str) -> None:
        super().__init__(
            f"request {id!r} is {status}, and its agent cannot continue without an answer: retry the run to ask again"
        )


class NotFinishedError(RingiError):
    """An agent ended although nobody confirmed its task as finished; its output is not a result."""

    def __init__(self, task: str, why: str) -> None:
        super().__init__(f"the task {task[:200]!r} is not finished: {why}")


class JobNotDueError(RingiError):
    """A job is not due yet: its handler is called again after `seconds`. This is not a failure."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        super().__init__(f"not due for another {seconds:g} s")


class SignatureError(RingiError):
    """No secret signed the delivery within the last minutes: its sender is unknown."""

    def __init__(self, why: Exception | None) -> None:
        super().__init__(f"the delivery has no valid and recent signature ({why or 'no secret'}): reject it")


class MissingExtraError(RingiError):
    """An optional part of Ringi is not installed; `extra` is its name, as in `pip install 'ringi[extra]'`."""

    code = "missing_extra"

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'ringi[{extra}]'")


class UnsupportedError(RingiError):
    """The store in use, or an installed library, does not support this; others do."""

    code = "unsupported"

    @classmethod
    def of_agents(cls, store: str) -> UnsupportedError:
        """Return the error for a store that supports requests but no runs."""
        return cls(f"agents and their threads need SQLite or PostgreSQL, not {store}: set RINGI_URL to one of them")


class SettingError(RingiError):
    """A setting, an option or a URL is invalid: its `name`, `value` and `remedy`."""

    def __init__(self, name: str, value: object, remedy: str) -> None:
        self.name, self.value, self.remedy = name, value, remedy
        super().__init__(f"{name}={without_password(value)!r}: {remedy}")


class DefinitionError(RingiError):
    """The parts of an assistant are inconsistent; `errors` has one entry for each fault."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in self.errors))


def without_password(value: object) -> object:
    """Return a value for display: a URL without its password."""
    return PASSWORD.sub(r"\1:…@", value) if isinstance(value, str) else value
