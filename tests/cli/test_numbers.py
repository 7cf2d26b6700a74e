"""Numbers in the terminal and in the demo's chat: `1234.56` only, and no digit is lost."""

from __future__ import annotations

import pytest
from langchain_core.messages import HumanMessage

from ringi.cli.terminal.fields import form_field_box, parse_typed_json, parse_typed_number
from ringi.demo.chat import next_chat_message
from ringi.forms.fields import Number


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("1234.56", 1234.56), ("１２３", 123), ("１．５", 1.5), ("१२", 12), ("-3", -3), ("", None), ("1.10", 1.1)),
        ("9007199254740991", 9007199254740991),
    ],
)
def test_a_number_is_read_as_typed(text: str, number: float | None) -> None:
    assert parse_typed_number(text) == number


@pytest.mark.parametrize("text", ["19,99", "1,234.56", "1.234,56", "1 234", "10²", "½", "①", "１９，９９", "1_000"])
def test_another_notation_is_refused_and_the_message_names_the_one_that_is_read(text: str) -> None:
    with pytest.raises(ValueError, match=r"write it like 1234\.56"):
        parse_typed_number(text)


@pytest.mark.parametrize("text", ["9007199254740993", "0.12345678901234567891", "1e999", "9" * 500, "1e-999"])
def test_digits_that_would_be_lost_are_refused(text: str) -> None:
    for read in (parse_typed_number, parse_typed_json):
        with pytest.raises(ValueError, match="cannot be stored exactly"):
            read(text)


def test_the_field_shows_the_notation() -> None:
    assert form_field_box(Number("amount")).control.placeholder == "1234.56"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("words", "args"),
    [
        ("Refund 19.99 for order 1182", {"order": 1182, "amount": 19.99}),
        *(("Refund 19,99 for order 1182", None), ("Refund 1,234.56 for order 1182", None)),
    ],
)
def test_the_chat_of_the_demo_takes_one_notation_and_says_so(words: str, args: dict[str, float] | None) -> None:
    answer = next_chat_message([HumanMessage(words)])
    assert [call["args"] for call in answer.tool_calls] == ([args] if args else [])
    assert args or "1234.56" in answer.text
