"""Policies as data: which calls ask a person, which person they ask, and which calls run without asking."""

from ringi.domain.conditions import Condition
from ringi.policy.cards import ToolCard
from ringi.policy.files import read_policy
from ringi.policy.rules import AutoApproval, Policy, Rule

__all__ = ["AutoApproval", "Condition", "Policy", "Rule", "ToolCard", "read_policy"]
