"""Functions with a gate of their own, for the tools of agents."""

from __future__ import annotations

from typing import Any

import ringi

LARGE = {"tools": ["pay"], "effect": "deny", "name": "too much", "where": {"amount": {"above": 500}}, "reason": "No."}
PAY = {
    "tools": ["pay"],
    "title": "Pay this?",
    "allowed": ["approve", "edit", "reject"],
    "groups": ["finance"],
    "expires_in": 60,
    "auto_approve": [{"name": "small", "where": {"amount": {"at_most": 20}}}],
}
GATE: dict[str, Any] = {"rules": [LARGE, PAY]}


def payment(effects: list[int], *, is_async: bool, policy: Any = None) -> Any:
    """Return a gated function that pays."""

    def pay(amount: int, order: int = 7) -> str:
        """Pay."""
        effects.append(amount)
        return f"paid {amount}"

    async def pay_async(amount: int, order: int = 7) -> str:
        """Pay."""
        return pay(amount, order)

    pay_async.__name__ = "pay"
    return ringi.gate(policy or GATE)(pay_async if is_async else pay)
