"""What an application above the server brings to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from fastapi import FastAPI
from pydantic import BaseModel

from ringi.server.auth import Door
from ringi.server.limits import AskLimits
from ringi.server.platform import Platform


class Group(Protocol):
    """Some routes that belong together."""

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""


@dataclass(frozen=True)
class Extension:
    """Routes of an application, and the shapes by which they are described."""

    routes: Callable[[Platform, Door, AskLimits], Group]
    inputs: tuple[type[BaseModel], ...] = ()
    outputs: tuple[type[BaseModel], ...] = ()
