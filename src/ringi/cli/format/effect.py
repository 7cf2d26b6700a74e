"""The effect of a call as its tool's author declares it, in one line."""

from __future__ import annotations

from ringi.cli.format.visible import marked, visible, visible_value
from ringi.cli.texts import text_of
from ringi.domain.request import Request


def effect_line(request: Request) -> str:
    """Return the declared effect, amount, target and whether it can be undone; a sentence if nothing is declared."""
    card = request.card
    if not card:
        return text_of("effect.none")
    unit, reversible = visible(card.get("unit") or ""), card.get("reversible")
    parts = [marked(visible(card["effect"]))] if "effect" in card else []
    if "amount" in card:
        parts.append(f"{_value(card['amount'])} {unit}".strip())
    if "target" in card:
        name = visible((card.get("arguments") or {}).get("target", ""))
        target = text_of("effect.target", name=name, value=_value(card["target"]))
        parts.append(" ".join(target.split()))
    if isinstance(reversible, str):
        parts.append(text_of("effect.undo_how", how=visible(reversible)))
    elif reversible is not None:
        parts.append(text_of("effect.undo" if reversible else "effect.no_undo"))
    if card.get("above_limit"):
        parts.append(text_of("effect.above", limit=f"{visible_value(card['limit'])} {unit}".strip()))
    return " · ".join(parts)


def _value(value: object) -> str:
    return marked(visible(value)) if isinstance(value, str) else visible_value(value)
