"""Shared steps of the commands: open the store, do the work, print the result."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from ringi.cli.format.output import say
from ringi.cli.format.requests import line, public
from ringi.connect import open, resolved_url
from ringi.domain.request import Request
from ringi.errors import NotFoundError
from ringi.inbox.inbox import Inbox

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop and return its result."""
    try:
        import uvloop
    except ImportError:  # Windows has no uvloop.
        return asyncio.run(work)
    return uvloop.run(work)


def existing_store(url: str | None) -> str:
    """Return the URL of an existing store; raise `NotFoundError` for a missing file, which opening would create."""
    url = resolved_url(url)
    parts = urlsplit(url)
    path = Path(unquote(parts.path.removeprefix("/"))).expanduser()
    if parts.scheme == "sqlite" and path.name and not path.exists():
        raise NotFoundError("store", str(path))
    return url


async def with_inbox(
    url: str | None, tenant: str, work: Callable[[Inbox], Awaitable[T]], *, creates: bool = False
) -> T:
    """Do work on an open inbox and return its result; with `creates`, create a missing store."""
    async with open(url if creates else existing_store(url), tenant=tenant) as inbox:
        return await work(inbox)


def change_request(url: str | None, tenant: str, as_json: bool, work: Callable[[Inbox], Awaitable[Request]]) -> Request:
    """Change a request, print its new state, and return it."""
    request = run(with_inbox(url, tenant, work))
    say(public(request), line(request), as_json)
    return request


def person_name() -> str:
    """Return the user name of this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # A container without an account for its user id.
        return "person"
