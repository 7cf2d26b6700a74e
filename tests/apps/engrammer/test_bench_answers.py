"""The bench of learning works answers out by code, judges them, and may put only the fitting bullets in a prompt."""

from __future__ import annotations

import json

import pytest
from benchmarks.apps.answers import PROMPT, ExpressionError, as_answerer, evaluate, is_right, select_bullets
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from ringi.testing import ScriptedModel, tool_call
from ringi.testing.clock import NOON
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.roles import generator_messages


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("(45000 / 300000) * 100", 15.0),
        ("$1,200,000 × 2 ÷ 4", 600_000.0),
        ("1000 * (1 + 0.05) ** 2", 1102.5),
        ("2 ^ 3 − 1", 7.0),
        ("-4", -4.0),
        ("1e3", 1000.0),
    ],
)
def test_code_works_an_expression_out(expression: str, value: float) -> None:
    assert evaluate(expression) == pytest.approx(value)


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "revenue / 2",
        "__import__('os').getcwd()",
        "(1).__class__",
        "[1, 2]",
        "lambda: 1",
        "True + 1",
        "'a' * 3",
        "1 if 1 else 2",
        "7 // 2",
        "2 ** 0.5j",
        "1 / 0",
        "9 ** 9 ** 9 ** 9",
        "(-8) ** 0.5",
        "1e999",
        "1\0",
        "(" * 150 + "1" + ")" * 150,
        "-" * 299 + "x",
        "1" * 301,
    ],
)
def test_what_is_no_plain_arithmetic_is_refused_and_not_run(expression: str) -> None:
    with pytest.raises(ExpressionError):
        evaluate(expression)


def test_a_name_has_the_value_that_the_caller_passes_and_no_other() -> None:
    assert evaluate("a / b", {"a": 6.0, "b": 3.0}) == 2.0
    with pytest.raises(ExpressionError, match="'b' is no arithmetic"):
        evaluate("a / b", {"a": 6.0})


@pytest.mark.parametrize(
    ("expected", "expression", "is_it"),
    [
        ("0.05", "0.9 / 18", True),
        ("0.05", "0.9 / 18 * 100", False),
        ("13.33", "200000 / 1500000 * 100", True),
        ("13.33", "13.34", False),
        ("0.13", "0.125", True),
        ("1500000000.0", "1.5e9", True),
        ("1500000000.0", "1500000000.01", False),
        ("18.45", "P = 25 - 200 + 195 / 1.008 ** 1", True),
        ("5.0", "85000 / 17000 = 4.71", True),
        ("4.71", "85000 / 17000 = 4.71", False),
        ("18.45", "25 - 195 / e", False),
    ],
)
def test_an_answer_is_right_to_two_decimal_places_in_the_convention_of_the_question(
    expected: str, expression: str, *, is_it: bool
) -> None:
    assert is_right(expected, json.dumps({"formula": "x", "expression": expression})) is is_it


@pytest.mark.parametrize(
    "response", ["5.0", "", "null", "[5.0]", '{"formula": "x"}', '{"expression": null}', "[" * 9999]
)
def test_an_answer_of_another_form_is_wrong(response: str) -> None:
    assert not is_right("5.0", response)


async def test_an_answerer_returns_the_structured_answer_as_json_with_its_usage() -> None:
    usage = {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    answer = tool_call("Answer", formula="é = 1", expression="1").model_copy(update={"usage_metadata": usage})

    reply = await as_answerer(ScriptedModel(script=lambda _: answer)).ainvoke([HumanMessage("What is é?")])

    assert json.loads(reply.text) == {"formula": "é = 1", "expression": "1"}
    assert reply.usage_metadata == usage


async def test_an_answer_that_cannot_be_read_stays_as_it_is() -> None:
    reply = await as_answerer(ScriptedModel(script=lambda _: AIMessage("I cannot tell."))).ainvoke([HumanMessage("?")])

    assert reply.text == "I cannot tell."


def test_only_the_bullets_that_fit_the_question_are_in_the_prompt_in_their_order() -> None:
    playbook = Playbook()
    for text in ("Boat speed: way by hours.", "Cart load: sacks by weight.", "Speed of a cart: way by hours."):
        playbook = playbook.apply(playbook.add_entry("formulas", text), NOON)
    messages = generator_messages(PROMPT, playbook, [], "What is the speed of this boat?")

    chosen = select_bullets(messages, 2)

    assert isinstance(chosen[0], SystemMessage)
    assert [line[:9] for line in chosen[0].text.splitlines() if line.startswith("[b-")] == ["[b-00001]", "[b-00003]"]
    assert chosen[0].text.startswith(messages[0].text.partition("[b-")[0])
    assert chosen[1:] == messages[1:]
    assert select_bullets(messages, 3)[0].text == messages[0].text
