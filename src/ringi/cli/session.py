"""Shared steps of the commands: open the store, do the work, print the result or the error."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel

from ringi.cli.format.output import print_json_or_text
from ringi.cli.format.requests import request_as_public_json, request_line
from ringi.cli.options import AsJson, By, OwnGroups, StoreUrl, Tenant, split_names
from ringi.connect import Backend, is_server_url, open, open_backend, open_inbox_on_backend, resolve_inbox_url
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.request import Request
from ringi.domain.voting import Caller, Person, as_decider
from ringi.errors import NotFoundError
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox

T = TypeVar("T")


def run_on_event_loop(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on an event loop and return its result."""
    try:
        import uvloop
    except ImportError:  # Windows has no uvloop.
        return asyncio.run(work)
    return uvloop.run(work)


def existing_store_url(url: str | None) -> str:
    """Return the URL of an existing store; raise `NotFoundError` for a missing file, which opening would create."""
    url = resolve_inbox_url(url)
    parts = urlsplit(url)
    path = Path(unquote(parts.path.removeprefix("/"))).expanduser()
    if parts.scheme == "sqlite" and path.name and not path.exists():
        raise NotFoundError("store", str(path))
    return url


@dataclass(frozen=True)
class CommandSession:
    """The store that a command opens, and how it prints; its fields are options of the command."""

    tenant: Tenant = DEFAULT_TENANT
    url: StoreUrl = None
    json: AsJson = False

    def work(self, work: Callable[[Inbox], Awaitable[T]], *, creates: bool = False) -> T:
        """Do work on an open inbox, of a store or behind a server; with `creates`, create a missing store."""

        async def opened() -> T:
            async with open(self.url if creates else existing_store_url(self.url), tenant=self.tenant) as inbox:
                return await work(inbox)

        return run_on_event_loop(opened())

    def work_on_backend(self, work: Callable[[Backend, StoreInbox], Awaitable[T]], *, creates: bool = False) -> T:
        """Do work that needs the store itself, not a server; with `creates`, create a missing store."""

        async def opened() -> T:
            url = self.url if creates else existing_store_url(self.url)
            async with open_backend(url) as backend, open_inbox_on_backend(backend, tenant=self.tenant) as inbox:
                return await work(backend, inbox)

        return run_on_event_loop(opened())

    def change(self, work: Callable[[Inbox], Awaitable[Request]]) -> None:
        """Change a request, and print its new state."""
        request = self.work(work)
        self.say(request_as_public_json(request), request_line(request))

    def say(self, data: object, text: str) -> None:
        """Print data as one line of JSON, or text."""
        print_json_or_text(data, text, self.json)

    def say_list(self, items: Sequence[BaseModel], text: str, next: str | None = None) -> None:
        """Print a list as one line of JSON, as the API writes it, or text."""
        self.say({"items": [each.model_dump(mode="json") for each in items], "next": next}, text)


@dataclass(frozen=True)
class NamedSession(CommandSession):
    """A session of somebody who has a name in the audit trail."""

    name: By = None

    @property
    def by(self) -> str | None:
        """The given name, else the user name of this process, or None for a server, where the token says who acts."""
        is_remote = is_server_url(resolve_inbox_url(self.url))
        return self.name if is_remote else self.name or process_user_name()


@dataclass(frozen=True)
class MemberSession(NamedSession):
    """A session of a person with groups."""

    groups: OwnGroups = ""

    @property
    def person(self) -> Person | None:
        """The person with the groups; None for a server."""
        return person_with_groups(self.by, self.groups)

    async def decider(self, inbox: Inbox, *, is_admin: bool = False) -> Caller:
        """Return the person, with those for whom the person stands now; None for a server."""
        if not isinstance(inbox, StoreInbox):
            return self.person
        return await inbox.people.decider(as_decider(self.person)._replace(is_admin=is_admin))


def person_with_groups(name: str | None, groups: str) -> Person | None:
    """Return a person with groups, separated by commas; None if nothing is given."""
    return Person(name or "", split_names(groups)) if name or groups else None


def with_session_options(function: Callable[..., None]) -> Callable[..., None]:
    """Return a function as a command, which has the options of a session in place of the parameter `session`."""
    own = signature(function, eval_str=True).parameters
    if "session" not in own:
        return function
    kind = own["session"].annotation
    every = signature(kind, eval_str=True).parameters
    shared = [every[name] for each in kind.__mro__ for name in vars(each).get("__annotations__", ())]

    @wraps(function)
    def command(**values: Any) -> None:
        function(session=kind(**{option.name: values.pop(option.name) for option in shared}), **values)

    options = [option for option in own.values() if option.name != "session"]
    vars(command)["__signature__"] = Signature([*options, *shared])
    command.__annotations__ = {option.name: option.annotation for option in (*options, *shared)}
    return command


def process_user_name() -> str:
    """Return the user name of this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # A container without an account for its user id.
        return "person"
