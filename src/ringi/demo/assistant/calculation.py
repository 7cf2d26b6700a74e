"""Arithmetic that somebody wrote down: exact, and nothing but arithmetic."""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, DecimalException, Inexact, localcontext

from ringi.errors import InvalidError

LONGEST = 200
"""Characters; a parser goes deeper with each bracket, and nobody types more."""
LARGEST = 60
"""Digits of a result."""
INEXACT = 15
"""Digits of a result that has no end, or was made from one that has none: 1/3*3 is 1."""
NUMBER = r"(\d[\d.]*)"
PIECE = re.compile(r"(?<![-+(])[-+(]*+\d[\d.\s()+*/-]*[\d)]")
SUM = re.compile(r"[\d)]\s*[-+*/]+\s*[-(\d]")
DATE = re.compile(r"(?<!\d)\d{4}([-/.])\d{1,2}\1\d{1,2}(?!\d)")
COUNTED = (
    r"(?:per ?cent|hundreds?|thousand|[mb]illions?|trillions?|dozens?|squared|cubed|plus|minus|times|divided|multiplied"
    r"|over|mod|half|twice|double|root|to the|negative)"
)
LEFT_OVER = re.compile(r"[\d%+*^]")
CUT_BEFORE = re.compile(rf"(?:[a-z_.!√π]|[-/]\s*|[〇一二三四五六七八九十百千万億兆点]\s*|\b{COUNTED}\s+)$", re.I)
GOES_ON = r"[をはがで、。」』]|って|と|の(?:答|計算|結果|合計)|いくら|何|等于|是|得"
CUT_AFTER = re.compile(rf"[a-z_!(]|\.\w|\s*[-/]|\s+{COUNTED}\b|\s*(?!{GOES_ON})[^\x00-\x7f]", re.I)
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
    """What was given is no arithmetic, has no result, or has more in it than can be worked out."""

    def __init__(self, expression: str, why: str, code: str = "no_sum") -> None:
        self.code = code
        remedy = "write numbers, brackets and + - * / **, such as (3 + 4) * 1.1"
        super().__init__(InvalidError.of("expression", f"{expression!r} {why}: {remedy}").errors)


def calculated(expression: str) -> Decimal:
    """Return the value of an expression, to 28 digits; anything but arithmetic is a `CalculationError`."""
    text = plain(expression)
    if not text or len(text) > LONGEST:
        raise CalculationError(expression[:LONGEST], "is empty" if not text else f"is longer than {LONGEST} characters")
    try:
        tree = ast.parse(text, mode="eval")
        with localcontext(prec=28, Emax=LARGEST) as context:
            result = value(tree.body, text)
            context.prec = INEXACT if context.flags[Inexact] else context.prec
            return +result
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError(expression, "is no arithmetic") from error
    except DecimalException as error:
        why = "has no result that is a number of reasonable size"
        raise CalculationError(expression, why, "no_result") from error


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
    # As digits of the usual form, 4² would be 42.
    if any(unicodedata.category(letter) == "No" for letter in expression):
        raise CalculationError(expression, "has numbers of a form that is not read", "unclear")
    text = unicodedata.normalize("NFKC", expression).translate(SIGNS)
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    text = re.sub(rf"(?<![\d./*])(?<![/*]\s){NUMBER}\s*%\s*(?:of|の)\s*(?=\d)", r"\1/100*", text)
    more, less = r"(?:増し?|アップ|上乗せ)", r"(?:引き|割引|減|オフ|ダウン)"
    text = alone(rf"{NUMBER}\s*(?:の|から|に)\s*{NUMBER}\s*%\s*{more}", r"\1*(1+\2/100)", text)
    text = alone(rf"{NUMBER}\s*(?:の|から|に)\s*{NUMBER}\s*%\s*{less}", r"\1*(1-\2/100)", text)
    text = alone(rf"{NUMBER}\s*の\s*{NUMBER}\s*%", r"\1*\2/100", text)
    return alone(rf"{NUMBER}\s*([-+])\s*{NUMBER}\s*%", r"\1*(1\2\3/100)", text).strip(" =?")


def alone(form: str, meaning: str, text: str) -> str:
    """Return a text with the meaning of a form with a percentage, unless it is a part of a longer sum."""
    # What 100 + 200 + 10% is, nobody knows: its sign stays, and what has one left is refused.
    return re.sub(rf"(?<![-+*/(.%\d])(?<![-+*/(]\s){form}(?!\s*[-+*/%(\d])", meaning, text)


def found_in(words: str) -> str | None:
    """Return the arithmetic in a sentence, None if it has none; what it would leave over is a `CalculationError`."""
    text = plain(words)
    pieces = [piece for piece in PIECE.finditer(text) if SUM.search(piece[0])]
    if not pieces:
        return None
    before, after = text[: pieces[0].start()], text[pieces[0].end() :]
    is_cut = LEFT_OVER.search(before + after) or CUT_BEFORE.search(before) or CUT_AFTER.match(after)
    if is_cut or DATE.search(text):
        raise CalculationError(words, "has more in it than this reads as arithmetic", "unclear")
    return pieces[0][0].strip()


def shown(number: Decimal) -> str:
    """Return a number with all its digits, and none that it does not have."""
    text = format(number, ",f")
    return text.rstrip("0").rstrip(".") if "." in text else text
