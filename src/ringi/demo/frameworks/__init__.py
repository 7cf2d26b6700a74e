"""The refund agent in each other framework that is installed, unchanged as its own documentation writes it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from ringi import Agent

MODULES = {"agents.run_state": "openai_agents", "pydantic_ai.tools": "pydantic_ai"}
"""The module with the agent of each framework, by a module that only this framework has.

Its extra has the same name, with hyphens. A user may have an own module `agents`.
"""


def agents() -> list[Agent]:
    """Return an agent of each installed framework, on a scripted model."""
    installed = [name for module, name in MODULES.items() if is_installed(module)]
    return [import_module(f"ringi.demo.frameworks.{name}").agent() for name in installed]


def missing_extras() -> list[str]:
    """Return the extras of the frameworks that are not installed."""
    return [name.replace("_", "-") for module, name in MODULES.items() if not is_installed(module)]


def is_installed(module: str) -> bool:
    """Return whether a module of a framework can be imported."""
    try:
        return find_spec(module) is not None
    except (ImportError, AttributeError):
        return False
