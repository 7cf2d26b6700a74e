"""The effect of a call as its tool's author declares it, in one line."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from ringi.cli.format.output import escape_hidden_characters, json_value_for_people, value_for_people, visible_line
from ringi.cli.texts import cli_text
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
        return cli_text("effect.none")
    reversible = card.get("reversible")
    parts = [visible_line(card["effect"])] if "effect" in card else []
    if "amount" in card:
        parts.append(quantity_with_unit(card, "amount", value_for_people(card["amount"])))
    if "target" in card:
        name = escape_hidden_characters((card.get("arguments") or {}).get("target", ""))
        target = cli_text("effect.target", name=name, value=value_for_people(card["target"]))
        parts.append(" ".join(target.split()))
    if isinstance(reversible, str):
        parts.append(cli_text("effect.undo_how", how=escape_hidden_characters(reversible)))
    elif reversible is not None:
        parts.append(cli_text("effect.undo" if reversible else "effect.no_undo"))
    if card.get("above_limit"):
        parts.append(cli_text("effect.above", limit=quantity_with_unit(card, "limit")))
    return " · ".join(parts)


def quantity_with_unit(card: dict[str, Any], name: str, text: str | None = None) -> str:
    """Return a value of a card with its unit; a number of a currency has at least the digits of the currency.

    Args:
        card: The card.
        name: The name of the value, such as `amount`.
        text: The text of a value that is no number; None for its JSON.
    """
    value, unit = card[name], card.get("unit") or ""
    written = json_value_for_people(value) if text is None else text
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = Decimal(str(value))
        whole, _, fraction = f"{number:f}".partition(".")
        fraction = fraction.rstrip("0")
        digits = next((digits for digits, codes in CURRENCY_DIGITS.items() if unit in codes), 2)
        digits = digits if CURRENCY.fullmatch(unit) else 0
        written = f"{whole}.{fraction:0<{digits}}" if fraction else whole
    return f"{written} {escape_hidden_characters(unit)}".strip()
