"""Exact arithmetic for expressions in a text; it runs no other code."""

from __future__ import annotations

import ast
import operator
import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal, DecimalException, Inexact, localcontext

from ringi.errors import InvalidError

MAX_CHARACTERS = 200
"""Maximum length, because each bracket deepens the recursion of the parser."""
MAX_DIGITS = 60
"""Maximum digits of a result."""
INEXACT_DIGITS = 15
"""Digits of an inexact result, so that 1/3*3 is 1."""
NUMBER = r"(\d[\d.]*)"
PIECE = re.compile(r"(?<![-+(])[-+(]*+\d[\d.\s()+*/-]*[\d)]")
SUM = re.compile(r"[\d)]\s*[-+*/]+\s*[-(\d]")
COMMA = re.compile(r"\d,\d")
"""A comma in a number separates thousands for some readers and decimals for others, so none is read."""
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
    """A text is not arithmetic, has no result, or has parts that are not arithmetic."""

    def __init__(self, expression: str, why: str, reason: str = "no_sum") -> None:
        self.reason = reason
        remedy = "write numbers, brackets and + - * / **, such as (3 + 4) * 1.1"
        super().__init__(InvalidError.of("expression", f"{expression!r} {why}: {remedy}").errors)


def calculate(expression: str) -> Decimal:
    """Return the value of an expression to 28 digits; raise `CalculationError` if it is not arithmetic."""
    text = plain(expression)
    refuse_comma(text, expression)
    if not text or len(text) > MAX_CHARACTERS:
        raise CalculationError(
            expression[:MAX_CHARACTERS], "is empty" if not text else f"is longer than {MAX_CHARACTERS} characters"
        )
    try:
        tree = ast.parse(text, mode="eval")
        with localcontext(prec=28, Emax=MAX_DIGITS) as context:
            result = value(tree.body, text)
            context.prec = INEXACT_DIGITS if context.flags[Inexact] else context.prec
            return +result
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError(expression, "is not arithmetic") from error
    except DecimalException as error:
        why = "has no result of reasonable size"
        raise CalculationError(expression, why, "no_result") from error


def value(node: ast.expr, text: str) -> Decimal:
    """Return the value of a syntax node; raise ValueError if it is not arithmetic."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return Decimal(ast.get_source_segment(text, node) or "")
    if isinstance(node, ast.BinOp) and (two := TWO.get(type(node.op))):
        return two(value(node.left, text), value(node.right, text))
    if isinstance(node, ast.UnaryOp) and (one := ONE.get(type(node.op))):
        return one(value(node.operand, text))
    raise ValueError(ast.dump(node))


def plain(expression: str) -> str:
    """Normalize Japanese and typographic signs and percentages."""
    # Normalized to plain digits, 4² would be 42.
    if any(unicodedata.category(letter) == "No" for letter in expression):
        raise CalculationError(expression, "has digits of an unsupported form", "unclear")
    text = unicodedata.normalize("NFKC", expression).translate(SIGNS)
    text = re.sub(rf"(?<![\d./*])(?<![/*]\s){NUMBER}\s*%\s*(?:of|の)\s*(?=\d)", r"\1/100*", text)
    more, less = r"(?:増し?|アップ|上乗せ)", r"(?:引き|割引|減|オフ|ダウン)"
    text = replace_percentage(rf"{NUMBER}\s*(?:の|から|に)\s*{NUMBER}\s*%\s*{more}", r"\1*(1+\2/100)", text)
    text = replace_percentage(rf"{NUMBER}\s*(?:の|から|に)\s*{NUMBER}\s*%\s*{less}", r"\1*(1-\2/100)", text)
    text = replace_percentage(rf"{NUMBER}\s*の\s*{NUMBER}\s*%", r"\1*\2/100", text)
    return replace_percentage(rf"{NUMBER}\s*([-+])\s*{NUMBER}\s*%", r"\1*(1\2\3/100)", text).strip(" =?")


def refuse_comma(text: str, expression: str) -> None:
    """Raise `CalculationError` if a number of a normalized text has a comma."""
    if COMMA.search(text):
        why = "has a comma in a number: write it as 1234.56"
        raise CalculationError(expression[:MAX_CHARACTERS], why, "comma")


def replace_percentage(form: str, meaning: str, text: str) -> str:
    """Replace a percentage, unless it is part of a longer expression."""
    # 100 + 200 + 10% is ambiguous: its sign stays, so the expression is refused later.
    return re.sub(rf"(?<![-+*/(.%\d])(?<![-+*/(]\s){form}(?!\s*[-+*/%(\d])", meaning, text)


def expression_in(words: str) -> str | None:
    """Return the arithmetic in a sentence, None if it has none; raise `CalculationError` if other parts remain."""
    text = plain(words)
    pieces = [piece for piece in PIECE.finditer(text) if SUM.search(piece[0])]
    if not pieces:
        return None
    refuse_comma(text, words)
    before, after = text[: pieces[0].start()], text[pieces[0].end() :]
    is_cut = LEFT_OVER.search(before + after) or CUT_BEFORE.search(before) or CUT_AFTER.match(after)
    if is_cut or DATE.search(text):
        raise CalculationError(words, "has parts that are not arithmetic", "unclear")
    return pieces[0][0].strip()


def format_number(number: Decimal) -> str:
    """Return a number with all its digits, no trailing zeros and no separators, as `calculate` reads it."""
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
