"""Extension point for the protocols and applications above the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from typing import Any, Protocol

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.types import Scope

from ringi.runs.agent import Agent
from ringi.server.auth.authenticator import Authenticator, Principal
from ringi.server.components import ServerComponents
from ringi.server.limits import AskLimits
from ringi.server.sse.sse import LongPoll, Streams


@dataclass(frozen=True)
class RouteContext:
    """What the routes of an extension use of the server that serves them."""

    components: ServerComponents
    """The store, the inbox, the runner, and the settings."""
    auth: Authenticator
    """Authenticates calls."""
    limits: AskLimits
    """Counts the requests and runs of each caller."""
    streams: Streams
    """The open streams and long polls."""

    def caller(self, scope: Scope) -> Principal:
        """Return the caller.

        Args:
            scope: The ASGI scope of the call.

        Raises:
            UnauthenticatedError: There is no valid token.
            ForbiddenError: The caller may not write, or the page's cookie came from another site.
        """
        return self.auth.caller(scope)

    async def count_run(self, caller: Principal) -> None:
        """Count one more run of a caller.

        Args:
            caller: The caller.

        Raises:
            UnavailableError: The caller begins runs too fast, or has too many open requests.
        """
        await self.limits.check(self.components.inbox.for_tenant(caller.tenant), caller)

    def long_poll(self, scope: Scope) -> LongPoll:
        """Return the long poll of a caller; it ends with the server, and with the caller's token.

        Args:
            scope: The ASGI scope of the call.
        """
        return LongPoll(self.auth, self.streams, scope)


class RouteGroup(Protocol):
    """A group of related routes."""

    def add_to(self, api: FastAPI) -> None:
        """Add the routes; those that stream are `StrictPlainRoute`s.

        Args:
            api: The application that serves the routes.
        """


GROUP = "ringi.extensions"
"""The group of the entry points of applications; each names an `Extension`."""
PROTOCOLS = tuple(EntryPoint(name, f"ringi.protocols.{name}:EXTENSION", GROUP) for name in ("agui", "hitl"))
"""The protocols that every server offers; a copy of Ringi without the metadata of its package offers them too."""
LANGGRAPH_API = EntryPoint("langgraph", "ringi.protocols.langgraph_api.routes:EXTENSION", GROUP)
MCP = EntryPoint("mcp", "ringi.gateways.mcp.routes:EXTENSION", GROUP)


@dataclass(frozen=True)
class Extension:
    """What a protocol or an application adds to the server: routes, their OpenAPI description, and example agents."""

    routes: Callable[[RouteContext], RouteGroup]
    """Creates the routes when the server starts."""
    inputs: tuple[type[BaseModel], ...] = ()
    """The models of request bodies."""
    outputs: tuple[type[BaseModel], ...] = ()
    """The models of replies."""
    operations: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """The OpenAPI descriptions of routes that stream, by path: those of the others come from `add_to`."""
    agents: Callable[[Any], list[Agent]] = lambda model: []
    """Creates the example agents of `ringi demo` with a chat model of LangChain, or with a scripted one for None."""


def built_in_protocols() -> list[Extension]:
    """Return the protocols that every server offers."""
    return [point.load() for point in PROTOCOLS]


def installed_extensions() -> list[Extension]:
    """Return the extensions of all installed packages, in the order of their names."""
    return [point.load() for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)]


def served_extensions(*, has_agents: bool) -> list[Extension]:
    """Return what `ringi serve` serves: the applications only with agents and LangGraph.

    Args:
        has_agents: Whether the server runs agents.
    """
    served = [*built_in_protocols(), LANGGRAPH_API.load()]
    if find_spec("mcp_types"):
        served.append(MCP.load())
    return [*installed_extensions(), *served] if has_agents and find_spec("langgraph") else served
