"""The texts of the commands that people read, in the language of the environment.

A text has the same key in each language file; its placeholders are in braces. `help.json` and `errors.json` have the
translations of the help and of errors, by the English text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ringi.base.texts import LANGUAGES, Language, Patterns, pattern_of, patterns, recognized
from ringi.cli.keys import key_labels

VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")
"""The environment variables that name the language; the first one that is set counts."""


def language() -> Language:
    """Return the language of the environment; English if Ringi has no texts in it."""
    locale = next((value for name in VARIABLES if (value := os.environ.get(name))), "")
    return next((name for name in LANGUAGES if locale.startswith(name)), "en")


@cache
def catalogue(language: str) -> Mapping[str, str]:
    """Return the texts of a language by their keys."""
    texts: dict[str, str] = json.loads(files(__package__).joinpath(f"{language}.json").read_text("utf-8"))
    return texts | key_labels(language)


@cache
def translations(name: str) -> Mapping[str, Mapping[str, str]]:
    """Return the texts of `help` or `errors` in the other languages, by the English text."""
    texts: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath(f"{name}.json").read_text("utf-8"))
    return texts


@cache
def _errors() -> Patterns:
    own = [(pattern_of(text), others) for text, others in translations("errors").items()]
    return [*own, *patterns("details")]


def translated(text: str) -> str:
    """Return an English error in the language of the environment; one without a translation is returned unchanged."""
    return recognized(text, _errors(), language())


def text_of(key: str, /, **values: object) -> str:
    """Return a text in the language of the environment."""
    return catalogue(language())[key].format(**values)


def counted(key: str, number: int, **values: object) -> str:
    """Return the text for a number of things."""
    return text_of(f"{key}.one" if number == 1 else key, count=f"{number:,}", **values)


def text_or(key: str, default: str) -> str:
    """Return a text in the language of the environment, or the default if no text has this key."""
    return catalogue(language()).get(key, default)
