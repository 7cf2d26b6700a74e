"""The fixtures of the hooks."""

from tests.integrations.hooks.process import hooks

__all__ = ["hooks"]
