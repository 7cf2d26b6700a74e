"""Answers as `{formula, expression}`: the model states a formula and puts in the numbers, and code works it out."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from heapq import nlargest
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda

from ringi_apps.engrammer.roles import PLAYBOOK_HEADING
from ringi_apps.engrammer.similarity import similarity_score

# Without an example of a number, which a small model would copy to its answers.
PROMPT = (
    "You work out figures of finance. Answer in JSON: `formula` names the formula and states it; `expression` is its\n"
    "right side with the numbers of the question in place of the names, in plain arithmetic: digits, + - * / ** and\n"
    "parentheses, without names, units and results. A program works it out and rounds it to two decimal places. Write\n"
    "each number with all its digits, and a percentage as a decimal fraction."
)
ANSWER_SCHEMA = {
    "title": "Answer",
    "description": "A formula, and its right side with the numbers of the question",
    "type": "object",
    "properties": {"formula": {"type": "string"}, "expression": {"type": "string"}},
    "required": ["formula", "expression"],
    "additionalProperties": False,
}
MAX_LENGTH = 300
"""The maximum characters of an expression; it also limits the depth of its parentheses."""
HALF_CENT = 0.005 + 1e-9
THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "–": "-", "$": None, "^": "**"})
OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: math.pow,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


class ExpressionError(Exception):
    """A text is no arithmetic, or has no finite value."""


def evaluate(expression: str, values: Mapping[str, float] | None = None) -> float:
    """Work out an expression of numbers, + - * / ** and parentheses, or raise `ExpressionError`.

    Args:
        expression: A text that may be hostile: it is parsed, never executed.
        values: The values of names that it may contain; by default it may contain none.
    """
    if len(expression) > MAX_LENGTH:
        raise ExpressionError(f"an expression has at most {MAX_LENGTH} characters")
    text = THOUSANDS.sub("", expression.translate(SIGNS)).strip()
    try:
        value = _value(ast.parse(text, mode="eval").body, values or {})
    except (SyntaxError, ArithmeticError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError(f"{expression!r} cannot be worked out: {error}") from error
    if not math.isfinite(value):
        raise ExpressionError(f"{expression!r} has no finite value")
    return value


def _value(node: ast.expr, values: Mapping[str, float]) -> float:
    match node:
        # Floats only: a power of whole numbers could take hours and all memory.
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return float(number)
        case ast.Name(id=name) if name in values:
            return values[name]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(left, values), _value(right, values))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_value(operand, values))
    raise ExpressionError(f"{ast.unparse(node)!r} is no arithmetic")


def is_right(expected: str, response: str) -> bool:
    """Return whether the expression of an answer, rounded to two decimal places, is the expected number.

    Of an equation, the first side counts that can be worked out: models add a name, or a result of their own.
    """
    try:
        sides = str(json.loads(response)["expression"]).split("=")
    except (ValueError, TypeError, KeyError, RecursionError):
        return False
    for side in sides:
        with suppress(ExpressionError):
            return math.isclose(evaluate(side), float(expected), rel_tol=0, abs_tol=HALF_CENT)
    return False


def as_answerer(model: BaseChatModel, bullets: int | None = None) -> BaseChatModel:
    """Return the model as one whose answers are `{formula, expression}` as JSON.

    Args:
        model: A model with structured output.
        bullets: The number of bullets in the prompt, the most similar to the question; by default it has all.
    """
    structured = model.with_structured_output(ANSWER_SCHEMA, include_raw=True)

    async def answer(messages: Sequence[BaseMessage], config: RunnableConfig) -> AIMessage:
        prompt = messages if bullets is None else select_bullets(messages, bullets)
        result = cast("dict[str, Any]", await structured.ainvoke(list(prompt), config))
        raw: AIMessage = result["raw"]
        text = json.dumps(result["parsed"], ensure_ascii=False) if result["parsed"] else raw.text
        # A provider may send the answer as a tool call, which the generator would run.
        return raw.model_copy(update={"content": text, "tool_calls": [], "invalid_tool_calls": []})

    return cast("BaseChatModel", RunnableLambda(answer))


def select_bullets(messages: Sequence[BaseMessage], number: int) -> list[BaseMessage]:
    """Return the generator's prompt with the bullets most similar to its question: the bench's, not the product's."""
    system, *rest = messages
    head, heading, playbook = system.text.partition(f"{PLAYBOOK_HEADING}\n\n")
    best = nlargest(number, playbook.splitlines(), key=lambda line: similarity_score(messages[-1].text, line))
    return [SystemMessage("".join([head, heading, "\n".join(sorted(best))])), *rest]
