"""Extension point for applications above the server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.routing import Route

from ringi.server.auth.authenticator import Authenticator
from ringi.server.limits import AskLimits
from ringi.server.platform import Platform
from ringi.server.sse.sse import Streams


class Group(Protocol):
    """A group of related routes."""

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""


@runtime_checkable
class StreamingGroup(Group, Protocol):
    """A group of routes of which some stream."""

    def streams(self, streams: Streams) -> list[Route]:
        """Return the streaming routes; the server ends their connections with its own."""


@dataclass(frozen=True)
class Extension:
    """Routes of an application, and the models that describe them."""

    routes: Callable[[Platform, Authenticator, AskLimits], Group]
    inputs: tuple[type[BaseModel], ...] = ()
    outputs: tuple[type[BaseModel], ...] = ()
