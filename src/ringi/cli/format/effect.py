"""The effect of a call as its tool's author declares it, in one line."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from ringi.cli.format.output import marked, visible, visible_value
from ringi.cli.texts import text_of
from ringi.domain.request import Request

CURRENCY = re.compile("[A-Z]{3}")
CURRENCY_DIGITS = {
    0: "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF",
    3: "BHD IQD JOD KWD LYD OMR TND",
}
"""The currencies of ISO 4217 that have not two digits after the point."""


def effect_line(request: Request) -> str:
    """Return the declared effect, amount, target and whether it can be undone; a sentence if nothing is declared."""
    card = request.card
    if not card:
        return text_of("effect.none")
    reversible = card.get("reversible")
    parts = [marked(visible(card["effect"]))] if "effect" in card else []
    if "amount" in card:
        parts.append(quantity(card, "amount", _value(card["amount"])))
    if "target" in card:
        name = visible((card.get("arguments") or {}).get("target", ""))
        target = text_of("effect.target", name=name, value=_value(card["target"]))
        parts.append(" ".join(target.split()))
    if isinstance(reversible, str):
        parts.append(text_of("effect.undo_how", how=visible(reversible)))
    elif reversible is not None:
        parts.append(text_of("effect.undo" if reversible else "effect.no_undo"))
    if card.get("above_limit"):
        parts.append(text_of("effect.above", limit=quantity(card, "limit")))
    return " · ".join(parts)


def quantity(card: dict[str, Any], name: str, text: str | None = None) -> str:
    """Return a value of a card with its unit; a number of a currency has at least the digits of the currency.

    Args:
        card: The card.
        name: The name of the value, such as `amount`.
        text: The text of a value that is no number; None for its JSON.
    """
    value, unit = card[name], card.get("unit") or ""
    written = visible_value(value) if text is None else text
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(str(value))
        whole, _, fraction = f"{number:f}".partition(".")
        fraction = fraction.rstrip("0")
        digits = next((digits for digits, codes in CURRENCY_DIGITS.items() if unit in codes), 2)
        digits = digits if CURRENCY.fullmatch(unit) else 0
        written = f"{whole}.{fraction:0<{digits}}" if fraction else whole
    return f"{written} {visible(unit)}".strip()


def _value(value: object) -> str:
    return marked(visible(value)) if isinstance(value, str) else visible_value(value)
