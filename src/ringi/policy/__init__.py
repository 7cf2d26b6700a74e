"""Which calls ask, whom, and which run without asking: rules as data."""

from ringi.policy.rules import AutoApproval, Condition, Policy, Rule

__all__ = ["AutoApproval", "Condition", "Policy", "Rule"]
