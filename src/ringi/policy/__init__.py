"""Policies as data: which calls ask a person, which person they ask, and which calls run without asking."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi.domain.conditions import Condition
    from ringi.policy.rules import AutoApproval, ToolCard

__all__ = ["AutoApproval", "Condition", "ToolCard"]

__getattr__ = lazy_exports(__name__, {"rules": "AutoApproval Condition ToolCard"})
