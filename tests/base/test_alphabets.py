"""Words that mix alphabets, in Python; the page's `alphabets.test.tsx` reads the same cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ringi.base.alphabets import mixed_words

CASES = json.loads(Path(__file__).with_name("mixed_words.json").read_text("utf-8"))


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_words_and_addresses_that_mix_alphabets_are_found(case: dict[str, object]) -> None:
    assert [[word.at, word.text, word.letters] for word in mixed_words(str(case["text"]))] == case["words"]


def test_long_texts_are_read_in_one_pass() -> None:
    text = "\u0430." * 20_000 + "@" * 20_000
    assert len(mixed_words(f"{text}x")) == 1
