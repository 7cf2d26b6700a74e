"""Errors and Ringi's own sentences for people, in the language of the environment."""

from __future__ import annotations

from ringi.base import texts
from ringi.cli.format.visible import visible
from ringi.cli.texts import language, text_of
from ringi.errors import FieldError, InvalidError, MissingExtraError, RingiError


def error_text(error: RingiError, *, is_deciding: bool = False) -> str:
    """Return an error as a sentence; English has its details.

    Args:
        error: The error.
        is_deciding: True if a person was answering a request; the text then says what became of the answer.
    """
    reader = language()
    if reader == "en":
        return visible(str(error))
    if isinstance(error, InvalidError):
        return "; ".join(f"{visible(each.field)}: {field_text(each)}".removeprefix(": ") for each in error.errors)
    if isinstance(error, MissingExtraError):
        return text_of("missing_extra", extra=error.extra)
    return visible(texts.error_text(error, reader, is_deciding=is_deciding))


def field_text(error: FieldError) -> str:
    """Return what is wrong with one field; English names the value and the remedy."""
    reader = language()
    return visible(error.message if reader == "en" else texts.field_text(error, reader))


def is_explained(error: RingiError) -> bool:
    """Return whether the catalogue has a text for people; the other errors are for the operator of this machine."""
    return texts.code_of(error) != "internal"
