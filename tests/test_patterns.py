"""Ringi's own patterns take linear time on the longest text of a request."""

from __future__ import annotations

import re

import pytest
from langchain_core.messages import HumanMessage

from ringi.demo import chat
from ringi_apps.assistant.demo import calculation
from ringi_apps.engrammer import similarity
from ringi_apps.engrammer.demo import movement

LENGTH = 256 * 1024


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (similarity.NUMBER, "一" * LENGTH),
        (calculation.PIECE, "-" * LENGTH),
        (calculation.PIECE, "-(" * (LENGTH // 2)),
        (movement.WIDTH, "1" * LENGTH),
        (movement.MOISTURE, "1" * LENGTH),
    ],
)
def test_a_long_row_of_one_character_takes_no_square_of_its_length(pattern: re.Pattern[str], text: str) -> None:
    """What takes the square of the length runs into the limit of a test."""
    assert pattern.findall(text) == []


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        (similarity.NUMBER, "三十二回、5.5と十小时", ["三十二", "5.5", "十"]),
        (calculation.PIECE, "what is -(3 + 4) * 2, and 1-2?", ["-(3 + 4) * 2", "1-2"]),
        (movement.WIDTH, "1.2.35 mm, 40mm", ["2.35", "40"]),
        (movement.MOISTURE, "from 6% to 百分之12", [("6", ""), ("", "12")]),
    ],
)
def test_what_they_find_is_what_is_meant(pattern: re.Pattern[str], text: str, found: list[object]) -> None:
    assert pattern.findall(text) == found


@pytest.mark.parametrize("text", ["refund" + "." * LENGTH, "refund" * (LENGTH // 6), "focus on " * (LENGTH // 9)])
def test_the_scripted_models_read_the_beginning_of_a_long_message(text: str) -> None:
    assert chat.next_chat_message([HumanMessage(text)]).text
