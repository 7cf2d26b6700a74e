"""Extension point for applications above the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route

from ringi.server.auth.authenticator import Authenticator
from ringi.server.components import ServerComponents
from ringi.server.limits import AskLimits
from ringi.server.sse.sse import Streams


class Group(Protocol):
    """A group of related routes of an application."""

    def add_to(self, api: FastAPI) -> None:
        """Add the routes.

        Args:
            api: The application that serves the routes.
        """


@runtime_checkable
class StreamingGroup(Group, Protocol):
    """A group of routes of which some stream."""

    def streams(self) -> list[Route]:
        """Return the streaming routes."""


@dataclass(frozen=True)
class Extension:
    """Routes that an application adds to the server, and the models that describe them in OpenAPI."""

    routes: Callable[[ServerComponents, Authenticator, AskLimits, Streams], Group]
    """Creates the routes when the server starts; they register their streams and long polls with the last argument."""
    inputs: tuple[type[BaseModel], ...] = ()
    """The models of request bodies."""
    outputs: tuple[type[BaseModel], ...] = ()
    """The models of replies."""
