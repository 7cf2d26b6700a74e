"""What the assistant itself says, and in which language."""

from __future__ import annotations

import pytest

from ringi_apps.assistant.sentences import detect_language


@pytest.mark.parametrize(
    ("text", "before", "language"),
    [
        ("OK", "ja", "ja"),
        ("Q1", "zh", "zh"),
        ("yes, please", "ja", "ja"),
        ("Please show me the status", "ja", "en"),
        ("OK", "en", "en"),
        ("目標は Q1 です", "en", "ja"),
        ("了解", "ja", "ja"),
        ("项目状况", "en", "zh"),
        ("42", "zh", "zh"),
    ],
)
def test_a_word_or_two_of_english_is_no_change_of_language(text: str, before: str, language: str) -> None:
    assert detect_language(text, before) == language
