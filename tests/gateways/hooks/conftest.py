"""The fixtures of the hooks."""

from tests.gateways.hooks.process import hooks

__all__ = ["hooks"]
