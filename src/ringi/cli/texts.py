"""The texts of the commands that people read, in the language of the environment.

They are in `texts.json`: `texts` by their keys, `help` and `errors` by the English text in the code. Placeholders are
in braces; of two errors that match, the first one counts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ringi.base.texts import (
    LANGUAGES,
    Language,
    Patterns,
    placeholder_pattern,
    translate_known_text,
    translation_patterns,
)
from ringi.cli.keys import terminal_key_labels

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The environment variables that name the language; the first one that is set counts."""


def environment_language() -> Language:
    """Return the language of the environment; English if Ringi has no texts in it."""
    locale = next((value for name in VARIABLES if (value := os.environ.get(name))), "")
    return next((name for name in LANGUAGES if locale.startswith(name)), "en")


@cache
def _sections() -> dict[str, dict[str, dict[str, str]]]:
    text = (files("ringi.cli") / "texts.json").read_text("utf-8")
    sections: dict[str, dict[str, dict[str, str]]] = json.loads(text)
    return sections


@cache
def cli_text_catalogue(language: str) -> Mapping[str, str]:
    """Return the texts of a language by their keys."""
    return {key: text[language] for key, text in _sections()["texts"].items()} | terminal_key_labels(language)


def cli_translations(section: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts of `help` or `errors` in the other languages, by the English text."""
    return _sections()[section]


@cache
def _errors() -> Patterns:
    own = [(placeholder_pattern(text), others) for text, others in cli_translations("errors").items()]
    return [*own, *translation_patterns("details")]


def translate_cli_error(text: str) -> str:
    """Return an English error in the language of the environment; one without a translation is returned unchanged."""
    return translate_known_text(text, _errors(), environment_language())


def cli_text(key: str, /, **values: object) -> str:
    """Return a text in the language of the environment."""
    return cli_text_catalogue(environment_language())[key].format(**values)


def cli_count_text(key: str, number: int, **values: object) -> str:
    """Return the text for a number of things."""
    return cli_text(f"{key}.one" if number == 1 else key, count=f"{number:,}", **values)


def cli_text_or(key: str, default: str) -> str:
    """Return a text in the language of the environment, or the default if no text has this key."""
    return cli_text_catalogue(environment_language()).get(key, default)
