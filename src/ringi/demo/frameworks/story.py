"""What the scripted model of each framework says: it asks to refund, and tells how it ended."""

from __future__ import annotations

import re
from typing import Any

from ringi.demo.shop import exact, order_facts

CASE = "Refund {amount} for order {order}."
INSTRUCTIONS = "You refund orders. Explain in two sentences why, and call the tool `refund`."


def message_of(input: dict[str, Any]) -> dict[str, Any]:
    """Return the input of a run as the message of a person."""
    text = CASE.format(order=input["order"], amount=exact(input["amount"]))
    return {"messages": [{"role": "user", "content": text}]}


def case_in(text: str) -> dict[str, Any]:
    """Return the order and the amount that the last such message names."""
    amount, order = re.findall(r"Refund ([\d.]+) for order (\d+)\.", text)[-1]
    return {"order": int(order), "amount": float(amount)}


def explanation(order: int, amount: float) -> str:
    """Return the reason for a refund, for the person who decides."""
    facts = order_facts(order, amount)
    return f"{facts['customer']} paid {facts['paid']} for order {order}. It was {facts['status']}."


def farewell(result: str) -> str:
    """Return the last words, after the result of the tool or the refusal."""
    # Before the result, the model reads that a person changed the arguments.
    return f"I told the customer: {result.splitlines()[-1]}"


def refunded(order: int, amount: float) -> str:
    """Return the result of the tool."""
    return f"refunded {exact(amount)} for order {order}"
