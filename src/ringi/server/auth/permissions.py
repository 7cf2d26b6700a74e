"""Permissions of callers; records that a caller may not see appear not to exist."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ringi.contracts.store import Store
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import NotFoundError
from ringi.inbox.inbox import Inbox
from ringi.server.auth.authenticator import Principal
from ringi.server.refusals import AgentDecidesError, NotAnOperatorError, NotPermittedError

Check = Callable[[Principal, Request], None]


def may_read(who: Principal, request: Request) -> bool:
    """Return whether the caller may read this request.

    Args:
        who: The caller.
        request: The request.
    """
    if request.tenant != who.tenant:
        return False
    if who.role == "admin" or request.asked_by == who.actor:
        return True
    return who.role == "person" and is_theirs_to_answer(who, request)


def is_theirs_to_answer(who: Principal, request: Request) -> bool:
    """Return whether a person may answer this request, or has answered it.

    Args:
        who: The caller.
        request: The request.
    """
    return request.is_open_to(who.viewer) or (request.response is not None and request.response.responder == who.name)


def require_readable(who: Principal, request: Request) -> None:
    """Raise `NotFoundError` unless the caller may read this request."""
    if not may_read(who, request):
        raise NotFoundError("request", request.id)


def require_answerable(who: Principal, request: Request) -> None:
    """Check that the caller may answer or reassign this request.

    Args:
        who: The caller.
        request: The request.

    Raises:
        NotFoundError: The caller may not read the request.
        ForbiddenError: The request is assigned to other people.
    """
    require_readable(who, request)
    if who.role != "admin" and not is_theirs_to_answer(who, request):
        raise NotPermittedError.to_answer(request.id)


def require_cancellable(who: Principal, request: Request) -> None:
    """Raise unless the caller may cancel this request."""
    require_readable(who, request)
    if who.role != "admin" and request.asked_by != who.actor:
        raise NotPermittedError.to_cancel("request", request.id)


def require_person(who: Principal) -> None:
    """Check that the caller is a person: agents may not make decisions.

    Args:
        who: The caller.

    Raises:
        AgentDecidesError: The caller is an agent.
    """
    if who.role == "agent":
        raise AgentDecidesError


def refuse_all_but_admins(who: Principal) -> None:
    """Raise `NotAnOperatorError` unless the caller is an operator."""
    if who.role != "admin":
        raise NotAnOperatorError


def visible_query(who: Principal) -> Query:
    """Return the query that selects the requests that the caller may read.

    Args:
        who: The caller.
    """
    if who.role == "admin":
        return Query(tenant=who.tenant)
    if who.role == "agent":
        return Query(tenant=who.tenant, asked_by=who.actor)
    return Query(tenant=who.tenant, viewer=who.viewer)


def may_read_thread(who: Principal, thread: Thread) -> bool:
    """Return whether the caller may read this thread: people may read all threads of their tenant.

    Args:
        who: The caller.
        thread: The thread.
    """
    return thread.tenant == who.tenant and (who.role != "agent" or thread.started_by == who.actor)


def require_readable_thread(who: Principal, thread: Thread) -> Thread:
    """Return the thread if the caller may read it.

    Args:
        who: The caller.
        thread: The thread.

    Returns:
        The same thread.

    Raises:
        NotFoundError: The caller may not read the thread.
    """
    if not may_read_thread(who, thread):
        raise NotFoundError("thread", thread.id)
    return thread


async def refuse_hidden_thread(store: Store, who: Principal, id: str) -> None:
    """Raise `NotFoundError` if the thread exists and the caller may not read it."""
    try:
        thread = await store.get(Thread, who.tenant, id)
    except NotFoundError:
        return
    require_readable_thread(who, thread)


def inbox_for(inbox: Inbox, who: Principal, check: Check = require_readable) -> Inbox:
    """Return the inbox of the caller's tenant.

    Args:
        inbox: The inbox on the store.
        who: The caller.
        check: Called for each request; raises if the caller may not use it.
    """
    return inbox.of(who.tenant, partial(check, who))
