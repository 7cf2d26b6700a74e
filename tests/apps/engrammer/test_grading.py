"""An answer is right only where it says the expected words: whoever approves takes it for the truth."""

from __future__ import annotations

import pytest
from tests.apps.engrammer.lab import Models, lab

from ringi.errors import InvalidError
from ringi_apps.engrammer.settings import is_same_answer


@pytest.mark.parametrize(
    ("expected", "response"),
    [
        ("no", "No, it is not."),
        ("white oak", "Use  White\nOak."),
        ("(a)", "It is (a)."),
        ("yes", "答えはyesです"),
        ("檜", "檜材を使います"),
        ("ひのき", "材はひのきです"),
        ("3 mm", "It is 3 mm."),
        ("thirty", "**thirty** minutes"),
        ("b", "options 1,b"),
        ("31", "It is 31.0"),
        ("1,000", "1000"),
    ],
)
def test_an_answer_that_says_the_expected_words_is_right(expected: str, response: str) -> None:
    assert is_same_answer(expected, response)


@pytest.mark.parametrize(
    ("expected", "response"),
    [
        ("no", "Yes, I know."),
        ("or", "before"),
        ("A", "B: because"),
        ("3 mm", "It is 13 mm."),
        ("3 mm", "It is 1.3 mm."),
        ("size 3", "It is size 3.5"),
        ("can", "You can't."),
        ("oak", "oaks"),
        ("", "anything"),
        (" ", "anything at all"),
        ("31", "It is 30"),
        ("31", "I do not know"),
    ],
)
def test_a_part_of_another_word_or_number_is_not_the_expected_answer(expected: str, response: str) -> None:
    assert not is_same_answer(expected, response)


@pytest.mark.parametrize("expected", ["", " \n"])
async def test_an_expected_answer_without_words_is_refused(expected: str) -> None:
    async with lab(Models(), "memory://") as it:
        with pytest.raises(InvalidError, match="expected"):
            await it.ask("How long?", expected=expected)
