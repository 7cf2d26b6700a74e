"""Errors as sentences in the language of the environment. It needs no extra: it also names a missing one."""

from __future__ import annotations

import sys

from ringi.base import texts
from ringi.base.extras import MissingExtraError
from ringi.base.settings import SettingError, without_password
from ringi.cli.format.output import escape_hidden_characters
from ringi.cli.texts import cli_text, cli_text_or, environment_language, translate_cli_error
from ringi.errors import FieldError, InvalidError, RingiError


def cli_error_text(error: RingiError, *, is_deciding: bool = False) -> str:
    """Return an error as a sentence; English has its details.

    Args:
        error: The error.
        is_deciding: True if a person was answering a request; the text then says what became of the answer.
    """
    reader = environment_language()
    if reader == "en":
        return escape_hidden_characters(str(error))
    if isinstance(error, InvalidError):
        fields = ((texts.field_display_name(each.field, reader), cli_field_error_text(each)) for each in error.errors)
        return escape_hidden_characters("; ".join(": ".join(filter(None, each)) for each in fields))
    if isinstance(error, MissingExtraError):
        return cli_text("missing_extra", extra=error.extra)
    if isinstance(error, SettingError):
        value = repr(without_password(error.value))
        remedy = translate_cli_error(error.remedy)
        return escape_hidden_characters(cli_text("setting", name=error.name, value=value, remedy=remedy))
    own = translate_cli_error(str(error))
    if own != str(error) and not is_deciding:
        return escape_hidden_characters(own)
    # Errors without a text for people are for the operator of this machine.
    if texts.error_code(error) == "internal":
        return cli_text("unexpected", type=type(error).__name__)
    return escape_hidden_characters(texts.error_text(error, reader, is_deciding=is_deciding))


def cli_field_error_text(error: FieldError) -> str:
    """Return what is wrong with one field; English names the value and the remedy."""
    reader = environment_language()
    own = translate_cli_error(error.message) if error.code == "invalid" else error.message
    has_own = reader == "en" or own != error.message
    return escape_hidden_characters(own if has_own else texts.field_error_text(error, reader))


def cli_usage_error_text(error: Exception) -> str | None:
    """Return what is wrong with the arguments of a command; None if the error says something else.

    In English Typer prints its own text, and the process ends.
    """
    if not hasattr(error, "format_message"):
        return None
    if environment_language() == "en" or type(error).__name__ == "NoArgsIsHelpError":
        error.show()  # type: ignore[attr-defined]
        sys.exit(error.exit_code)  # type: ignore[attr-defined]
    param, context = getattr(error, "param", None), getattr(error, "ctx", None)
    name = getattr(error, "option_name", None) or (param.opts[0] if param else "")
    choices = "、".join(getattr(param and param.type, "choices", ()))
    kinds = [f"usage.{each.__name__}" for each in type(error).__mro__]
    kind = next((each for each in kinds if cli_text_or(each, "")), "usage.UsageError")
    text = cli_text(f"{kind}_choices" if choices and kind == "usage.BadParameter" else kind, name=name, choices=choices)
    return cli_text("usage_help", text=text, command=context.command_path if context else "ringi")
