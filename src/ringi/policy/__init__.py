"""Policies as data: which calls ask a person, which person they ask, and which calls run without asking."""

from ringi.domain.conditions import Condition
from ringi.policy.rules import AutoApproval, ToolCard

__all__ = ["AutoApproval", "Condition", "ToolCard"]
