"""Errors for people, in the language of the environment."""

from __future__ import annotations

from ringi.cli.format.visible import visible
from ringi.errors import FieldError, RingiError


def error_text(error: RingiError) -> str:
    """Return an error as a sentence without hidden characters."""
    return visible(str(error))


def field_text(error: FieldError) -> str:
    """Return what is wrong with one field, without hidden characters."""
    return visible(error.message)
