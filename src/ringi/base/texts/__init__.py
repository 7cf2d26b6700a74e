"""The texts of errors and questions in each language: one catalogue for the page, mails, the terminal and front ends.

`en.json`, `ja.json` and `zh.json` map codes to texts with `{placeholders}`; the page is built with the same files. A
placeholder whose name ends with `bytes` is a size, and `types` is a list of the types of JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from ringi import errors
from ringi.base.model import StrictModel
from ringi.errors import FieldError

Language = Literal["en", "ja", "zh"]
LANGUAGES: tuple[Language, ...] = get_args(Language)
Patterns: TypeAlias = Sequence[tuple[re.Pattern[str], Mapping[str, str]]]
"""Texts: a pattern that recognizes the English one and finds its values, and the text in each language."""
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Sentence(StrictModel):
    """One of Ringi's own sentences: its code and the values in it."""

    code: str
    params: dict[str, str | int] = {}


@cache
def text_catalogue(language: Language) -> dict[str, Any]:
    """Return the texts of a language by section and code."""
    texts: dict[str, Any] = json.loads(Path(__file__).with_name(f"{language}.json").read_text("utf-8"))
    return texts


def error_code(error: Exception) -> str:
    """Return the code of an error; `internal` for an unexpected one."""
    own = getattr(error, "code", None)
    return own if isinstance(own, str) else "internal"


def problem_text(code: str, language: Language, params: Mapping[str, object] = {}, *, is_deciding: bool = False) -> str:
    """Return the text for the code of an error or of a problem document.

    Args:
        code: The code; one without a text counts as `failed`.
        language: The language of the reader.
        params: The values for the placeholders.
        is_deciding: True if a person was answering a request; the text then says what became of the answer.
    """
    texts = text_catalogue(language)
    sections = (texts["decision"], texts["problems"]) if is_deciding else (texts["problems"],)
    found = next(each[name] for name in (code, "failed") for each in sections if name in each)
    return fill_placeholders(found, params, language)


def error_text(error: Exception, language: Language, *, is_deciding: bool = False) -> str:
    """Return the text for an error; in another language its details are those that the catalogue has a text for."""
    if isinstance(error, errors.ConflictError) and error.claimed_by:
        return problem_text("claimed_by", language, {"name": error.claimed_by})
    if isinstance(error, errors.ConflictError) and error.responder:
        return problem_text("held_by", language, {"name": error.responder})
    own = detail_text(str(error), language)
    return own if own != str(error) else problem_text(error_code(error), language, is_deciding=is_deciding)


def field_error_text(error: FieldError, language: Language) -> str:
    """Return the text for an error of one field; English has the message of one without a specific text."""
    texts = text_catalogue(language)["fields"]
    if error.code not in texts or error.code == "invalid":
        own = detail_text(error.message, language)
        if language == "en" or own != error.message:
            return own
    return fill_placeholders(texts.get(error.code, texts["invalid"]), error.params, language)


def fields_text(found: Sequence[FieldError], language: str) -> str:
    """Return the texts for errors of fields as one line; English names each value and its correction."""
    reader = _reader(language)
    lines = [
        f"{field_display_name(e.field, reader)}: {e.message if reader == 'en' else field_error_text(e, reader)}"
        for e in found
    ]
    return "; ".join(line.removeprefix(": ") for line in lines)


def field_display_name(path: str, language: Language) -> str:
    """Return the name of a field for people; a path without one in the catalogue is returned without `data`."""
    return str(text_catalogue(language)["names"].get(path, path.removeprefix("data.")))


def sentence_text(sentence: Sentence, language: Language) -> str:
    """Return one of Ringi's own sentences; empty for an unknown code."""
    return fill_placeholders(text_catalogue(language)["sentences"].get(sentence.code, ""), sentence.params, language)


def sentences_text(sentences: Sequence[Sentence], language: Language = "en") -> str:
    """Return several sentences as paragraphs."""
    return "\n\n".join(sentence_text(each, language) for each in sentences)


def reason_of(code: str, **params: object) -> str:
    """Return one of Ringi's own reasons as it is stored, in English; `reason_text` translates it."""
    return fill_placeholders(text_catalogue("en")["reasons"][code], params, "en")


def reason_text(text: str, language: str) -> str:
    """Return a stored reason in the language of a reader if Ringi wrote it; any other text is returned unchanged.

    Reasons are stored as English text, not as codes; they authorize nothing.
    """
    return translate_known_text(text, translation_patterns("reasons"), _reader(language))


def detail_text(text: str, language: Language) -> str:
    """Return the English detail of an error in the reader's language; one that has no text is returned unchanged."""
    return translate_known_text(text, translation_patterns("details"), language)


def translate_known_text(text: str, known: Patterns, reader: Language) -> str:
    """Return a known text in the reader's language, recognized by its English; any other text unchanged."""
    for pattern, others in () if reader == "en" else known:
        if found := pattern.fullmatch(text):
            params = {name: translate_known_text(value, known, reader) for name, value in found.groupdict().items()}
            return fill_placeholders(others[reader], params, reader)
    return text


def _reader(language: str) -> Language:
    return next((each for each in LANGUAGES if each == language), "en")


@cache
def translation_patterns(section: str) -> Patterns:
    """Return the texts of a section of the catalogue as `recognized` takes them."""
    texts = {language: text_catalogue(language)[section] for language in LANGUAGES}
    return [
        (placeholder_pattern(text), {each: texts[each][code] for each in texts}) for code, text in texts["en"].items()
    ]


def placeholder_pattern(text: str) -> re.Pattern[str]:
    """Return a pattern that recognizes a text with placeholders, and finds the values in it."""
    parts = enumerate(_PLACEHOLDER.split(text))
    return re.compile("".join(f"(?P<{each}>.*?)" if at % 2 else re.escape(each) for at, each in parts), re.S)


def translate_sentences(text: str, sentences: Sequence[Sentence], language: Language) -> str:
    """Return a stored text in the language of a reader if the sentences say exactly the same in English.

    An agent may send any sentences, but the digest covers the text: any other text is returned unchanged.
    """
    return sentences_text(sentences, language) if sentences and sentences_text(sentences) == text else text


def fill_placeholders(text: str, params: Mapping[str, object], language: Language) -> str:
    """Return a text with the values of its placeholders."""
    return _PLACEHOLDER.sub(lambda found: _value(found[1], params.get(found[1], "…"), language), text)


def _value(name: str, value: object, language: Language) -> str:
    if name.endswith("bytes") and isinstance(value, int):
        return size_text(value)
    if name == "types" and isinstance(value, list | tuple):
        texts = text_catalogue(language)
        return str(texts["or"]).join(texts["types"].get(str(each), str(each)) for each in value)
    return str(value)


def size_text(bytes: int) -> str:
    """Return a size in bytes for display."""
    for unit, size in (("MB", 1024 * 1024), ("kB", 1024)):
        if bytes >= size:
            return f"{round(bytes / size, 1):g} {unit}"
    return f"{bytes} B"
