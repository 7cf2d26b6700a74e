"""Errors as sentences in the language of the environment. It needs no extra: it also names a missing one."""

from __future__ import annotations

import sys

from ringi.base import texts
from ringi.base.extras import MissingExtraError
from ringi.base.settings import SettingError, without_password
from ringi.cli.format.output import visible
from ringi.cli.texts import language, text_of, text_or, translated
from ringi.errors import FieldError, InvalidError, RingiError


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
        found = (f"{texts.field_name(each.field, reader)}: {field_text(each)}" for each in error.errors)
        return visible("; ".join(each.removeprefix(": ") for each in found))
    if isinstance(error, MissingExtraError):
        return text_of("missing_extra", extra=error.extra)
    if isinstance(error, SettingError):
        value = repr(without_password(error.value))
        return visible(text_of("setting", name=error.name, value=value, remedy=translated(error.remedy)))
    own = translated(str(error))
    if own != str(error) and not is_deciding:
        return visible(own)
    if not is_explained(error):
        return text_of("unexpected", type=type(error).__name__)
    return visible(texts.error_text(error, reader, is_deciding=is_deciding))


def field_text(error: FieldError) -> str:
    """Return what is wrong with one field; English names the value and the remedy."""
    reader = language()
    own = translated(error.message) if error.code == "invalid" else error.message
    return visible(own if reader == "en" or own != error.message else texts.field_text(error, reader))


def usage_text(error: Exception) -> str | None:
    """Return what is wrong with the arguments of a command; None if the error says something else.

    In English Typer prints its own text, and the process ends.
    """
    if not hasattr(error, "format_message"):
        return None
    if language() == "en" or type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        sys.exit(error.exit_code)  # type: ignore[attr-defined]
    param, context = getattr(error, "param", None), getattr(error, "ctx", None)
    name = getattr(error, "option_name", None) or (param.opts[0] if param else "")
    choices = "、".join(getattr(param and param.type, "choices", ()))
    kinds = [f"usage.{each.__name__}" for each in type(error).__mro__]
    kind = next((each for each in kinds if text_or(each, "")), "usage.UsageError")
    text = text_of(f"{kind}_choices" if choices and kind == "usage.BadParameter" else kind, name=name, choices=choices)
    return text_of("usage_help", text=text, command=context.command_path if context else "ringi")


def is_explained(error: RingiError) -> bool:
    """Return whether the catalogue has a text for people; the other errors are for the operator of this machine."""
    return texts.code_of(error) != "internal"
