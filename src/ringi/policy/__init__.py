"""Policies as data: which calls ask a person, which person they ask, and which calls run without asking."""

from ringi.policy.rules import AutoApproval, Condition, Policy, Rule

__all__ = ["AutoApproval", "Condition", "Policy", "Rule"]
