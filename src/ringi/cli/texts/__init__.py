"""The texts of the commands that people read, in the language of the environment.

A text has the same key in each language file; its placeholders are in braces.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from ringi.base.texts import LANGUAGES, Language

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
    return texts


@cache
def help_texts() -> Mapping[str, Mapping[str, str]]:
    """Return the help of the commands in the other languages, by the English text."""
    texts: dict[str, dict[str, str]] = json.loads(files(__package__).joinpath("help.json").read_text("utf-8"))
    return texts


def text_of(key: str, /, **values: object) -> str:
    """Return a text in the language of the environment."""
    return catalogue(language())[key].format(**values)


def text_or(key: str, default: str) -> str:
    """Return a text in the language of the environment, or the default if no text has this key."""
    return catalogue(language()).get(key, default)
