"""From a command to the store and back."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from ringi.cli.picture import line, public
from ringi.cli.printing import say
from ringi.connect import open
from ringi.inbox import Inbox
from ringi.request import Request

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what the work returns."""
    try:
        import uvloop
    except ImportError:  # Windows has no uvloop.
        return asyncio.run(work)
    return uvloop.run(work)


async def with_inbox(url: str | None, tenant: str, work: Callable[[Inbox], Awaitable[T]]) -> T:
    """Return what the work returns on an open inbox."""
    async with open(url, tenant=tenant) as inbox:
        return await work(inbox)


def change(url: str | None, tenant: str, as_json: bool, work: Callable[[Inbox], Awaitable[Request]]) -> Request:
    """Do the work on an open inbox, print the request that it leaves, and return it."""
    request = run(with_inbox(url, tenant, work))
    say(public(request), line(request), as_json)
    return request


def person_name() -> str:
    """Return the name of whoever sits at this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # A container without an account for its user id.
        return "person"
