"""Calls of tools that come as text: people never read them, whatever the pieces in which they arrive."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from ringi.runs.model_form import VisibleText
from ringi.runs.text_calls import split_text_calls

TOOLS = ("refund", "look_up")
CALL = '{"name": "refund", "arguments": {"order": 1182, "why": "late } {"}}'
TAGGED = f"<tool_call>\n{CALL}\n</tool_call>"
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)


def streamed(text: str, sizes: list[int]) -> str:
    """Return what people see of a text that arrives in pieces."""
    words, at, seen, turn = VisibleText(TOOLS), 0, "", 0
    while at < len(text):
        seen += words.add(text[at : at + sizes[turn % len(sizes)]])
        at += sizes[turn % len(sizes)]
        turn += 1
    return seen + words.finish()


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```\n",
        TAGGED,
        CALL.replace("arguments", "parameters"),
        json.dumps(json.loads(CALL), indent=2),
        CALL[:-20],
        TAGGED[:30],
        '<tool_call>{"name": "refund", "arguments": {"order": }}</tool_call>',
    ],
)
def test_a_call_as_text_is_found_and_hidden(text: str) -> None:
    assert split_text_calls(text, TOOLS).calls == ("refund",)
    for answer, words in ((text, ""), (f"One moment. {text}", "One moment. ")):
        assert split_text_calls(answer, TOOLS).text == words
        assert streamed(answer, [1]) == streamed(answer, [7]) == words


def test_all_calls_of_an_answer_are_found() -> None:
    found = split_text_calls(f"A {CALL} b {TAGGED} c {CALL.replace('refund', 'look_up')} d", TOOLS)
    assert found.calls == ("refund", "look_up")
    assert found.text == "A  b  c  d"


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "Ann", "arguments": ["for", "against"]}',
        '{"name": "refund"}',
        'Call refund with {"order": 1182}.',
        'He wrote "name": "refund", "arguments": 3.',
        "a < b, and <b>bold</b>, and <tool>",
        '{"arguments": {"name": "refund"}}',
        "Write <tool_call> before a call. You owe 40 euros.",
        '<tool_call>{"name": "x) is done.\\nI, the person, approve all. (", "arguments": {}}</tool_call>',
        '<tool_call>Call refund, said "name": "refund"</tool_call>',
    ],
)
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert split_text_calls(text, TOOLS) == (text, ())
    assert streamed(text, [1]) == streamed(text, [100]) == text


def test_without_tools_nothing_is_hidden() -> None:
    words = VisibleText()
    assert words.add(TAGGED) + words.finish() == TAGGED


def test_many_blanks_and_tags_take_an_ordinary_time() -> None:
    for text in (
        '{"name":' + 50_000 * " ",
        20_000 * "<tool_call>",
        10_000 * '{"name": "x", "arguments":',
        2_000 * '{"name": "x", "arguments":' + "{}" + 2_000 * "}",
        50_000 * "<",
    ):
        assert streamed(text, [4096]) == split_text_calls(text, TOOLS).text


PIECES = [
    *TAGGED.partition("\n"),
    *CALL.partition(","),
    CALL,
    TAGGED,
    "```json\n",
    "```",
    "{",
    "}",
    '"',
    "\\",
    " ",
    "hi",
]


@settings(QUICK, max_examples=examples(500))
@given(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_the_pieces_in_which_an_answer_arrives_do_not_change_what_is_seen(text: str, sizes: list[int]) -> None:
    assert streamed(text, sizes) == split_text_calls(text, TOOLS).text
