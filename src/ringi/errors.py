"""All errors that Ringi raises on purpose.

RingiError
├── InvalidError            invalid input; `errors` names each field and its correction
├── NotFoundError           absent, or another tenant's: indistinguishable
├── ForbiddenError          the caller has no permission for this
├── ConflictError           the record is not in the state that the caller assumed
│   ├── RequestEndedError   already decided, cancelled or expired; contains the winner
│   ├── PendingError        the request is still open; only ended requests can be erased
│   ├── DigestMismatchError the answer was given to other content than is stored
│   ├── ClaimedError        another person holds the claim
│   ├── DifferentAskError   the id exists with other content
│   └── ThreadBusyError     the thread is running or waits for a person
├── FenceError              a newer worker holds this thread
├── LimitError              a limit is reached; try again later
├── UnavailableError        the store cannot answer now; nothing was acknowledged
│   ├── OutageError         the store of a run was unavailable while its agent worked
│   ├── UnreachableError    the client got no answer from its server
│   └── UnreadableError     this version cannot read a record; nothing was changed
├── AgentServiceError       an agent needs an unavailable service other than its run's store
├── LostReplyError          a change was sent, but it is unknown whether it was made
├── ClosedError             the inbox or the client was closed
├── WaitTimeoutError        nobody answered in time; the request stays open
├── NotAuthorizedError      the call differs from the one that a person authorized
├── NotFinishedError        no person has confirmed that an agent's task is finished
├── UndecidedError          a question ended without an answer, and its agent cannot continue
├── RepeatedInterruptError  an agent received an answer and asks the same question again
├── UnsupportedError        this store does not support the operation
├── JobNotDueError          a job is not due yet; it is called again later
├── SignatureError          a delivery has no valid signature, or is too old
├── MissingExtraError       an optional dependency is not installed
├── OutdatedDependencyError an installed dependency is older than agents need
├── SettingError            a setting or URL is invalid
└── DefinitionError         the parts of an assistant are inconsistent

The server maps them to HTTP in `ringi.server.problems`. `ringi.client.errors` adds the client's `HttpError`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
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


class InvalidError(RingiError):
    """The input breaks a rule; `errors` is a tuple with one `FieldError` for each wrong field."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{e.field or 'body'}: {e.message}" for e in self.errors))

    @classmethod
    def of(cls, field: str, message: str, code: str = "invalid", **params: Any) -> InvalidError:
        """Return the error for one field."""
        return cls([FieldError(field, message, code, params)])


class NotFoundError(RingiError):
    """The object does not exist, or the caller may not know of it; `kind` and `id` say what was looked up."""

    def __init__(self, kind: str, id: str, why: str | None = None) -> None:
        self.kind, self.id = kind, id
        super().__init__(why or f"no {kind} {id!r}")


class ForbiddenError(RingiError):
    """The caller is authenticated but has no permission for this."""

    def __init__(self, what: str) -> None:
        super().__init__(what)

    @classmethod
    def other_name(cls, name: str, own: str) -> ForbiddenError:
        """Return the error for acting under another name than the token's."""
        return cls(f"the token belongs to {own!r}, not to {name!r}: omit the name, or use the token of {name!r}")


class ConflictError(RingiError):
    """The stored record is not in the state that the caller assumed; read it again."""

    def __init__(self, what: str = "the record was changed at the same time: read it again and retry") -> None:
        super().__init__(what)

    @classmethod
    def too_often(cls, kind: str, id: str) -> ConflictError:
        """Return the error for a change that met a concurrent update at every attempt."""
        return cls(f"{kind} {id!r} is being changed too often: try again")

    @classmethod
    def memory_changed(cls, id: str) -> ConflictError:
        """Return the error for an edit of a memory that was changed since the caller read it."""
        return cls(f"memory {id!r} was changed since it was read: read it again, then edit it")

    @classmethod
    def not_verified(cls, kind: str, id: str, what: str) -> ConflictError:
        """Return the error for an erasure that would hide tampering."""
        return cls(f"{kind} {id!r} was not erased: {what}; run `ringi verify` first")

    @classmethod
    def newer_fields(cls, kind: str, id: str, unknown: Sequence[str]) -> ConflictError:
        """Return the error for an erasure that cannot know to whom the fields of a newer version belong."""
        fields = ", ".join(unknown)
        remedy = f"erase with that version, or erase the whole {kind} by its id"
        return cls(f"{kind} {id!r} has fields of a newer Ringi that may name this person ({fields}): {remedy}")

    @classmethod
    def not_answered(cls, id: str) -> ConflictError:
        """Return the error for repeating a question that nobody had answered."""
        return cls(f"thread {id!r} did not fail after an answer, so no question can be repeated: retry it instead")

    @classmethod
    def cursor_moved(cls, cursor: str, old: str) -> ConflictError:
        """Return the error for a follower whose cursor another follower has moved."""
        return cls(f"the cursor {cursor!r} is no longer at {old!r}: read it again")


class RequestEndedError(ConflictError):
    """The request `id` has ended with `status`; `winner` is its decision, responder and time, or None without one."""

    def __init__(self, id: str, status: str, winner: dict[str, Any] | None = None) -> None:
        self.id, self.status, self.winner = id, status, winner
        who = f" by {winner['responder']} at {winner['at']}" if winner else ""
        super().__init__(f"request {id!r} is already {status}{who}")


class PendingError(ConflictError):
    """The request `id` is still open; it cannot be erased while people may answer."""

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(f"request {id!r} is pending: cancel it, or wait for its end, and then erase it")


class DigestMismatchError(ConflictError):
    """The `digest` in the answer differs from that of the stored request `id`."""

    def __init__(self, id: str, digest: str) -> None:
        self.id, self.digest = id, digest
        super().__init__(f"digest {digest!r} does not match request {id!r}: read the request again")


class ClaimedError(ConflictError):
    """Another person, `claimed_by`, holds the claim of the request `id`."""

    def __init__(self, id: str, claimed_by: str) -> None:
        self.id, self.claimed_by = id, claimed_by
        super().__init__(f"request {id!r} is claimed by {claimed_by!r}: wait until the claim ends")


class DifferentAskError(ConflictError):
    """The `id` belongs to a request with other content."""

    def __init__(self, id: str) -> None:
        self.id = id
        super().__init__(f"request {id!r} exists with other content: choose another id")


class ThreadBusyError(ConflictError):
    """The thread `id` is running or waits for a person; new input would drop the question."""

    def __init__(self, id: str, status: str) -> None:
        self.id, self.status = id, status
        super().__init__(f"thread {id!r} is {status}: answer its requests or cancel it first")


class FenceError(RingiError):
    """A newer worker holds the thread; this one may neither commit nor write output."""

    def __init__(self, id: str, fence: int) -> None:
        self.id, self.fence = id, fence
        super().__init__(f"thread {id!r}: fence {fence} is outdated: a newer worker took over")


class LimitError(RingiError):
    """A limit is reached; try again after `retry_after` seconds."""

    def __init__(self, what: str, retry_after: float = 1.0) -> None:
        self.retry_after = retry_after
        super().__init__(what)


class UnavailableError(RingiError):
    """The store, or another named service, cannot answer now. Nothing was acknowledged.

    Unless `is_unwritten` is true, a change may have been saved. Read the request, or repeat the call: an `ask` with an
    id, and an answer, count once.
    """

    is_unwritten = False
    """True if nothing was written, and nothing will be."""

    def __init__(self, why: str, retry_after: float = 1.0, *, part: str = "the store", unwritten: bool = False) -> None:
        self.retry_after, self.is_unwritten = retry_after, unwritten
        super().__init__(f"{part} is unavailable ({why}): retry in {retry_after:g} s")

    @classmethod
    def replaced(cls, why: str = "the database was replaced while this process ran") -> UnavailableError:
        """Return the error for a process whose database was replaced."""
        return cls(f"{why}: restore the database and restart the process")


class OutageError(UnavailableError):
    """The store of a run was unavailable while its agent worked; the agent is not at fault."""

    def __init__(self, error: UnavailableError) -> None:
        self.retry_after = error.retry_after
        RingiError.__init__(self, str(error))


class UnreachableError(UnavailableError):
    """The server does not answer now; all safe retries were made."""

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

    @classmethod
    def of_memory(cls, version: object, why: str) -> UnreadableError:
        """Return the error for an assistant's unreadable memory, with the version of its schema."""
        return cls("context memory", f"schema_version {version}", why)


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


class RepeatedInterruptError(RingiError):
    """The agent asks an answered question again: its interrupts have no stable order, or it caught one."""

    def __init__(self, interrupts: Sequence[str]) -> None:
        remedy = "ask once per node, and let GraphBubbleUp through where exceptions are caught"
        super().__init__(f"the graph repeats the answered interrupts {', '.join(interrupts)}: {remedy}")


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

    def __init__(self, what: str, extra: str) -> None:
        self.extra = extra
        super().__init__(f"{what} needs an extra: pip install 'ringi[{extra}]'")


class OutdatedDependencyError(RingiError):
    """An installed library is older than what agents need."""

    def __init__(self, name: str, found: str, needed: str) -> None:
        super().__init__(f"{name} {found} is too old to run agents: pip install '{name}>={needed}'")


class UnsupportedError(RingiError):
    """The store in use does not support this; others do."""

    @classmethod
    def of_agents(cls, store: str) -> UnsupportedError:
        """Return the error for a store that supports requests but no runs."""
        return cls(f"agents and their threads need SQLite or PostgreSQL, not {store}: set RINGI_URL to one of them")

    @classmethod
    def of_given_memories(cls) -> UnsupportedError:
        """Return the error for a memory that no person approved."""
        return cls(
            "a run can only read memories: to add one, ask the person with a form and context={'memory_category': …}"
        )

    @classmethod
    def of_waiting_memories(cls) -> UnsupportedError:
        """Return the error for a blocking wait inside a coroutine for work of its own event loop."""
        return cls("a blocking call would stop its own event loop: use `await store.asearch(…)`, or `aget`")


class SettingError(RingiError):
    """A setting, an option or a URL is invalid: `name` and `value`."""

    def __init__(self, name: str, value: object, remedy: str) -> None:
        self.name, self.value = name, value
        super().__init__(f"{name}={without_password(value)!r}: {remedy}")


class DefinitionError(RingiError):
    """The parts of an assistant are inconsistent; `errors` has one entry for each fault."""

    def __init__(self, errors: Sequence[FieldError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(f"{error.field}: {error.message}" for error in self.errors))


def without_password(value: object) -> object:
    """Return a value for display: a URL without its password."""
    return PASSWORD.sub(r"\1:…@", value) if isinstance(value, str) else value
