"""The refund agent in each other framework that is installed, unchanged as its own documentation writes it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from ringi.runs import Agent

MODULES = {"agents": "openai_agents", "pydantic_ai": "pydantic_ai"}
"""The module with the agent of each framework, by the package that the framework installs."""
EXTRAS = {"agents": "openai-agents", "pydantic_ai": "pydantic-ai"}
"""The extra that installs each framework."""


def agents() -> list[Agent]:
    """Return an agent of each installed framework, on a scripted model."""
    installed = [module for package, module in MODULES.items() if is_installed(package)]
    return [import_module(f"ringi.demo.frameworks.{module}").agent() for module in installed]


def missing_extras() -> list[str]:
    """Return the extras of the frameworks that are not installed."""
    return [extra for package, extra in EXTRAS.items() if not is_installed(package)]


def is_installed(package: str) -> bool:
    """Return whether a framework is installed; a module of the user's own with the same name is none."""
    mark = {"agents": "agents.run_state", "pydantic_ai": "pydantic_ai.tools"}[package]
    try:
        return find_spec(mark) is not None
    except (ImportError, AttributeError):
        return False
