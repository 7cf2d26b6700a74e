"""Permissions of callers; records that a caller may not see appear not to exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ringi.contracts.store import Store, find_record
from ringi.domain.decisions import refuse_deputy
from ringi.domain.record import Key, Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.domain.voting import CONFIRMED
from ringi.errors import ForbiddenError, InvalidError, NotFoundError
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.operations import Callers, Records
from ringi.server.auth.authenticator import Principal

CallerCheck = Callable[[Principal, Request], None]
READS_ALL = frozenset({"admin", "auditor"})
"""The roles that read every request of their tenant."""


def may_read(caller: Principal, request: Request) -> bool:
    """Return whether the caller may read this request.

    Args:
        caller: The caller.
        request: The request.
    """
    if request.tenant != caller.tenant:
        return False
    if caller.role in READS_ALL or request.is_from(caller.actor):
        return True
    return caller.role == "person" and is_theirs_to_answer(caller, request)


def is_theirs_to_answer(caller: Principal, request: Request) -> bool:
    """Return whether a person may answer this request, or has answered it.

    Args:
        caller: The caller.
        request: The request.
    """
    # A deputy may undo a held answer even after the absence.
    answered = request.response or request.held
    return request.is_open_to(caller.viewer) or (answered is not None and answered.responder == caller.name)


def require_readable(caller: Principal, request: Request) -> None:
    """Raise `NotFoundError` unless the caller may read this request."""
    if not may_read(caller, request):
        raise NotFoundError("request", request.id)


def require_answerable(caller: Principal, request: Request) -> None:
    """Check that the caller may answer or reassign this request.

    Args:
        caller: The caller.
        request: The request.

    Raises:
        NotFoundError: The caller may not read the request.
        ForbiddenError: The request is assigned to other people.
    """
    _require_theirs(caller, request, is_theirs_to_answer(caller, request))


def require_in_audience(caller: Principal, request: Request) -> None:
    """Check that the caller is an admin, or in the present audience of this request; a past answer is not enough.

    Args:
        caller: The caller.
        request: The request.

    Raises:
        NotFoundError: The caller may not read the request.
        ForbiddenError: The request is assigned to other people.
    """
    _require_theirs(caller, request, request.is_open_to(caller.viewer))


def require_rule_maker(caller: Principal, request: Request) -> None:
    """Check that the caller may switch on a rule for requests like this one.

    Args:
        caller: The caller.
        request: The request.

    Raises:
        NotFoundError: The caller may not read the request.
        ForbiddenError: The caller may not decide it, or only as a deputy.
    """
    require_in_audience(caller, request)
    refuse_deputy(request, caller.decider)


def _require_theirs(caller: Principal, request: Request, is_theirs: bool) -> None:
    require_readable(caller, request)
    if caller.role != "admin" and not is_theirs:
        raise ForbiddenError(f"request {request.id!r} is assigned to other people")


def require_routine_request(caller: Principal, request: Request) -> None:
    """Check that the caller may approve this request together with others.

    Args:
        caller: The caller.
        request: The request.

    Raises:
        NotFoundError: The caller may not read the request.
        ForbiddenError: The request is assigned to other people.
        InvalidError: Much is at stake: the request is approved alone.
    """
    require_answerable(caller, request)
    if request.tier in CONFIRMED and not request.is_final:
        why = f"request {request.id!r} has the tier {request.tier}: answer it by itself, not with others"
        raise InvalidError.of("decision", why, "decide_alone")


def require_cancellable(caller: Principal, request: Request) -> None:
    """Raise unless the caller may cancel this request."""
    require_readable(caller, request)
    # Not `is_from`: a person whose own request a check copies would learn from the refusal that it is one.
    if caller.role != "admin" and request.asked_by != caller.actor:
        raise not_the_creator_error("request", request.id)


def require_reportable(caller: Principal, request: Request) -> None:
    """Raise unless the caller may report what became of the call of this request."""
    require_readable(caller, request)
    if caller.role != "admin" and not request.is_from(caller.actor):
        raise ForbiddenError(f"only the creator of request {request.id!r}, or an admin, may report its outcome")


def not_the_creator_error(kind: str, id: str) -> ForbiddenError:
    """Return the error of a cancellation by a person other than the creator."""
    return ForbiddenError(f"only the creator of {kind} {id!r}, or an admin, may cancel it")


def require_person(caller: Principal) -> None:
    """Check that the caller is a person: agents may not make decisions.

    Args:
        caller: The caller.

    Raises:
        ForbiddenError: The caller is an agent or an auditor.
    """
    if caller.role == "agent":
        raise ForbiddenError("an agent's token cannot decide: only people can")
    if caller.role == "auditor":
        raise ForbiddenError("an auditor reads everything and changes nothing: use the token of a person")


def require_role(caller: Principal, callers: Callers) -> None:
    """Raise `ForbiddenError` unless the caller is one of those that the table of operations names."""
    if callers == "people":
        require_person(caller)
    elif callers == "readers":
        if caller.role == "agent":  # It reads only its own requests and threads.
            raise ForbiddenError("an agent's token cannot read this: use the token of a person")
    elif callers == "auditors":
        if caller.role not in READS_ALL:
            raise ForbiddenError("only an auditor or an admin may read this: contact an admin")
    elif callers != "anybody" and caller.role != "admin":
        raise ForbiddenError(
            "only an admin may retry or abandon runs, pause agents, end absences, redeliver, or erase: contact an admin"
        )


RECORDS: dict[Records, CallerCheck | None] = {
    "any": None,
    "readable": require_readable,
    "answerable": require_answerable,
    "in_audience": require_in_audience,
    "cancellable": require_cancellable,
    "reportable": require_reportable,
}
"""The rules for requests; None allows all."""


def visible_query(caller: Principal) -> Query:
    """Return the query that selects the requests that the caller may read.

    Args:
        caller: The caller.
    """
    if caller.role in READS_ALL:
        return Query(tenant=caller.tenant)
    if caller.role == "agent":
        return Query(tenant=caller.tenant, asked_by=caller.actor)
    return Query(tenant=caller.tenant, viewer=caller.viewer)


def may_read_thread(caller: Principal, thread: Thread) -> bool:
    """Return whether the caller may read this thread: people may read all threads of their tenant.

    Args:
        caller: The caller.
        thread: The thread.
    """
    return thread.tenant == caller.tenant and (caller.role != "agent" or thread.started_by == caller.actor)


def require_readable_thread(caller: Principal, thread: Thread) -> Thread:
    """Return the thread if the caller may read it.

    Args:
        caller: The caller.
        thread: The thread.

    Returns:
        The same thread.

    Raises:
        NotFoundError: The caller may not read the thread.
    """
    if not may_read_thread(caller, thread):
        raise NotFoundError("thread", thread.id)
    return thread


async def refuse_hidden_thread(store: Store, caller: Principal, id: str) -> None:
    """Raise `NotFoundError` if the thread exists and the caller may not read it."""
    if thread := await find_record(store, Thread, Key(caller.tenant, id)):
        require_readable_thread(caller, thread)


def inbox_for(inbox: StoreInbox, caller: Principal, check: CallerCheck = require_readable) -> StoreInbox:
    """Return the inbox of the caller's tenant.

    Args:
        inbox: The inbox on the store.
        caller: The caller.
        check: Called for each request; raises if the caller may not use it.
    """
    return inbox.for_tenant(caller.tenant, partial(check, caller))
