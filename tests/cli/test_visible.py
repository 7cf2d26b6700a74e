"""What a terminal gets of a stranger's text: every character shows, and as wide as everybody thinks."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from rich.cells import cell_len
from wcwidth import wcwidth

from ringi.cli.format.output import (
    ascii_json_line,
    escape_hidden_characters,
    escape_hidden_in_lines,
    is_hidden_character,
    json_value_for_people,
    mark_mixed_alphabets,
)
from ringi.cli.terminal.app import without_control_characters

EVERY = [chr(point) for point in (*range(0x20000), *range(0xE0000, 0xE1000), 0x2FFFF, 0xF0000, sys.maxunicode)]
"""All that has names, tags and selectors, and one each of the ideographs, the private and the unassigned."""


def test_no_character_controls_hides_or_reorders() -> None:
    characters = {character for character in EVERY if escape_hidden_characters(character) == character}
    assert not [c for c in characters if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")]
    assert not characters & set("\u034f\u115f\u1160\u17b4\u180b\u2800\u3164\ufe0f\uffa0\U000e0100")


def test_what_people_write_is_left_alone() -> None:
    text = "返金 ¥4,000　請確認 – “naïve” ½ e\u0301 か\u3099 한국 עברית عربي 🎉 ①"
    assert escape_hidden_characters(text) == text


def test_every_character_that_is_shown_is_as_wide_as_a_terminal_draws_it() -> None:
    characters = [c for c in EVERY if not is_hidden_character(c)]
    wider = [c for c in characters if wcwidth(c) > cell_len(c)]
    assert wider == []


@pytest.mark.parametrize("joined", ["👍🏽", "👨\u200d👩\u200d👧", "🇯🇵", "1\ufe0f\u20e3", "a\ufe0f"])
def test_characters_that_some_terminals_join_are_taken_apart(joined: str) -> None:
    text = escape_hidden_characters(joined)
    assert cell_len(text) == sum(cell_len(character) for character in text)
    assert "\\u{" in text


def test_a_symbol_loses_no_more_than_its_colour() -> None:
    assert escape_hidden_characters("⚠\ufe0f now") == "⚠ now"


def test_lines_stay_lines_and_windows_ends_them_like_everybody() -> None:
    assert escape_hidden_in_lines("a\r\nb\tc\rd\x1b") == "a\nb   c\\u{d}d\\u{1b}"
    assert escape_hidden_characters("a\nb") == "a\\u{a}b"


@pytest.mark.parametrize("text", ["a\x1b\x7f\x9b\u202e\U000e0041b", "\ud800", '"\\\u2028', "返金"])
def test_json_without_hidden_characters_says_the_same(text: str) -> None:
    line = ascii_json_line({text: [text]})
    assert json.loads(line) == {text: [text]}
    assert not [character for character in line if is_hidden_character(character)]
    assert line.isascii()


def test_quotes_keep_text_apart_from_numbers() -> None:
    assert (json_value_for_people("5"), json_value_for_people(5)) == ('"5"', "5")
    assert json_value_for_people({"a": ["\u202e"]}) == '{\n  "a": [\n    "\\u{202e}"\n  ]\n}'


def test_the_last_gate_keeps_the_width_and_drops_what_hides() -> None:
    for character in EVERY:
        drawn = without_control_characters(f"a{character}b")
        assert cell_len(drawn) == cell_len(f"a{character}b")
        assert not [c for c in drawn if is_hidden_character(c)]


@pytest.mark.parametrize(
    ("language", "note"), [("en", "look-alike letters"), ("ja", "よく似た文字"), ("zh", "形似字母")]
)
def test_a_line_that_mixes_alphabets_names_the_letters(
    language: str, note: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", language)
    first, mixed, last = json_value_for_people({"to": "ann@ex\u0430mple.com"}).split("\n")
    assert (first, last) == ("{", "}")
    assert note in mixed
    assert "\u0430 (U+0430)" in mixed
    assert mark_mixed_alphabets("返金 5 kΩ для Анны") == "返金 5 kΩ для Анны"
