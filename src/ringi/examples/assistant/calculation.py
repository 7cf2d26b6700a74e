"""Arithmetic that somebody wrote down: exact, and nothing but arithmetic."""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, DecimalException, localcontext

from ringi.errors import InvalidError

LONGEST = 200
"""Characters; a parser goes deeper with each bracket, and nobody types more."""
LARGEST = 60
"""Digits of a result."""
SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "ー": "-", "^": "**"})
TWO: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
ONE: dict[type[ast.unaryop], Callable[[Decimal], Decimal]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


class CalculationError(InvalidError):
    """What was given is no arithmetic, or has no result."""

    def __init__(self, expression: str, why: str) -> None:
        remedy = "write numbers, brackets and + - * / **, such as (3 + 4) * 1.1"
        super().__init__(InvalidError.of("expression", f"{expression!r} {why}: {remedy}").errors)


def calculated(expression: str) -> Decimal:
    """Return the value of an expression, to 28 digits; anything but arithmetic is a `CalculationError`."""
    text = plain(expression)
    if not text or len(text) > LONGEST:
        raise CalculationError(expression[:LONGEST], "is empty" if not text else f"is longer than {LONGEST} characters")
    try:
        tree = ast.parse(text, mode="eval")
        with localcontext(prec=28, Emax=LARGEST):
            return value(tree.body, text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError(expression, "is no arithmetic") from error
    except DecimalException as error:
        raise CalculationError(expression, "has no result that is a number of reasonable size") from error


def value(node: ast.expr, text: str) -> Decimal:
    """Return the value of a part of the expression; raise ValueError for a part that is no arithmetic."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Decimal(ast.get_source_segment(text, node) or "")
    if isinstance(node, ast.BinOp) and (two := TWO.get(type(node.op))):
        return two(value(node.left, text), value(node.right, text))
    if isinstance(node, ast.UnaryOp) and (one := ONE.get(type(node.op))):
        return one(value(node.operand, text))
    raise ValueError(ast.dump(node))


def plain(expression: str) -> str:
    """Return an expression as a keyboard without Japanese or typographic signs has it."""
    text = unicodedata.normalize("NFKC", expression).translate(SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(r"(\d[\d.]*)\s*%\s*(?:of|の)\s*(?=\d)", r"\1/100*", text)
    return re.sub(r"(\d[\d.]*)\s*の\s*(\d[\d.]*)\s*%", r"\1*\2/100", text).strip(" =?")


def found_in(words: str) -> str | None:
    """Return the longest piece of arithmetic in a sentence; None if it has none."""
    text = plain(words)
    pieces = re.findall(r"[-+(]*\d[\d.\s()+*/-]*[\d)]", text)
    able = [piece.strip() for piece in pieces if re.search(r"[\d)]\s*[-+*/]+\s*[-(\d]", piece)]
    return max(able, key=len, default=None)


def shown(number: Decimal) -> str:
    """Return a number with all its digits, and none that it does not have."""
    text = format(number, ",f")
    return text.rstrip("0").rstrip(".") if "." in text else text
