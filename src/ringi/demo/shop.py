"""The shop of the refund agents."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal

from ringi.demo.data import object_schema

ARGS = object_schema(order={"type": "integer"}, amount={"type": "number", "minimum": 0})
CUSTOMERS = ("Aiko Mori", "Ben Carter", "Chen Wei", "Dana Novak")


def order_facts(order: int, amount: float) -> dict[str, str]:
    """Return the shop's record of an order, which this demo makes from its number."""
    ordered = date(2026, 1, 1) + timedelta(days=order % 300)
    return {
        "customer": CUSTOMERS[order % len(CUSTOMERS)],
        "status": "delivered nine days late; the customer wrote twice",
        "paid": exact(amount),
        "ordered": ordered.isoformat(),
        "delivered": (ordered + timedelta(days=14)).isoformat(),
    }


def exact(amount: float) -> str:
    """Return an amount with all its digits and no trailing zeros."""
    text = format(Decimal(str(amount)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
