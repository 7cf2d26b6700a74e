"""From a command to the store and back."""

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
    """Return what the work returns."""
    try:
        import uvloop
    except ImportError:  # Windows has no uvloop.
        return asyncio.run(work)
    return uvloop.run(work)


def existing(url: str | None) -> str:
    """Return the URL of a store that is there, or raise `NotFoundError`: to open a file that is not would make it."""
    url = resolved_url(url)
    parts = urlsplit(url)
    path = Path(unquote(parts.path.removeprefix("/")))
    if parts.scheme == "sqlite" and path.name and not path.is_file():
        raise NotFoundError("store", str(path))
    return url


async def with_inbox(
    url: str | None, tenant: str, work: Callable[[Inbox], Awaitable[T]], *, creates: bool = False
) -> T:
    """Return what the work returns on an open inbox; only what `creates` makes a store that is not there."""
    async with open(url if creates else existing(url), tenant=tenant) as inbox:
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
