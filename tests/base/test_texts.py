"""Every code of a problem, a field and a sentence has a text in each language, with the same placeholders."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, get_args

import pytest
from tests.cli.sentences import assigned, texts_of
from tests.sources import SOURCES, UI, files, nodes_of, source_of, tree_of

from ringi.base import validation
from ringi.base.texts import (
    LANGUAGES,
    Language,
    Sentence,
    detail_text,
    error_code,
    error_text,
    field_display_name,
    field_error_text,
    fields_text,
    problem_text,
    reason_of,
    reason_text,
    sentences_text,
    size_text,
    text_catalogue,
    translate_sentences,
)
from ringi.errors import ConflictError, FieldError, InvalidError, RingiError, UnavailableError
from ringi.forms import json_schema
from ringi.integrations.langchain.finish_gate import NotFinishedError
from ringi.runs.context import UndecidedError
from ringi.runs.run import run_failure_of_error
from ringi.server.problems import INTERNAL, STATUSES

FIELD_CALLS = {"FieldError": 2, "of": 2, "FieldValidationError": 2}
"""The calls that name the code of a field's error, and the position of the code."""
CODE_CALLS = {"RefusalError": 1, "PlaybookError": 0, "ForbiddenError": 1, "ConflictError": 1, "UnavailableError": 2}
"""The calls that name the code of a problem, and its position."""
LATIN = re.compile(
    r"`[^`]*`|NUL|GraphBubbleUp|JSON|SQL|PNG|JPEG|GIF|WebP|Ringi|ringi link|2026-11-24T09:30:00|yes|update"
    r"|\b[yu]\b|\bID\b"
)
"""Names, formats and answers that are the same in every language."""
FRAMEWORK = (404, 405)
"""The errors of the web framework itself."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")


def calls() -> Iterator[tuple[str, ast.Call]]:
    for path in files():
        for node in nodes_of(path):
            if isinstance(node, ast.Call):
                yield f"{path.relative_to(SOURCES)}:{node.lineno}", node


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def texts_in(node: ast.AST | None) -> Iterator[str]:
    """Yield the texts that an expression can be."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.IfExp():
            yield from texts_in(node.body)
            yield from texts_in(node.orelse)


def argument(call: ast.Call, position: int, keyword: str) -> ast.AST | None:
    found = next((each.value for each in call.keywords if each.arg == keyword), None)
    return found or (call.args[position] if len(call.args) > position else None)


def problem_codes() -> set[str]:
    """Return all codes: those of classes, and those with which a refusal is raised."""
    found = {INTERNAL[1], *STATUSES, *map(code_of_status, FRAMEWORK)}
    for path in files():
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                found |= set(codes_of_class(node))
            if isinstance(node, ast.Call) and name_of(node) in CODE_CALLS:
                found |= set(texts_in(argument(node, CODE_CALLS[name_of(node)], "code")))
            match node:
                case ast.Call(ast.Attribute(attr="__init__"), [ast.Constant(int()), ast.Constant(str(code)), *_]):
                    found.add(code)
                case ast.Call(ast.Name("HTTPException"), [ast.Constant(int(status)), *_]):
                    found.add(code_of_status(status))
    return found


def code_of_status(status: int) -> str:
    """Return the code of an error that the web framework raises."""
    return HTTPStatus(status).name.lower()


def codes_of_class(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        match each:
            case ast.Assign([ast.Name("code")], value) | ast.AnnAssign(ast.Name("code"), _, ast.expr() as value):
                yield from texts_in(value)
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)):
                for name, value in zip(names, values, strict=True):
                    if isinstance(name, ast.Name) and name.id == "code":
                        yield from texts_in(value)


def field_codes() -> dict[str, list[tuple[str, set[str] | None]]]:
    """Return the codes of fields, and for each place the names of its parameters; None if they are not literal."""
    found: dict[str, list[tuple[str, set[str] | None]]] = {}
    for place, call in calls():
        position = FIELD_CALLS.get(name_of(call))
        if position is None or any(isinstance(each, ast.Starred) for each in call.args):
            continue
        takes_params = name_of(call) in ("of", "FieldValidationError")
        names = {each.arg for each in call.keywords if each.arg} if takes_params else None
        for code in texts_in(argument(call, position, "code")):
            found.setdefault(code, []).append((place, names))
    tables = [*validation._RULES.values(), *(code for code, _ in json_schema._LIMITS.values())]
    for code in (*tables, *json_schema._PLAIN.values(), "invalid", "not_accepted", "wrong_type", "only_value"):
        found.setdefault(code, [])
    return found


def sentence_codes() -> set[str]:
    return {code for _, call in calls() if name_of(call) == "Sentence" for code in texts_in(argument(call, 0, "code"))}


def placeholders(text: str) -> set[str]:
    return set(PLACEHOLDER.findall(text))


def section(name: str, language: Language = "en") -> Mapping[str, str]:
    texts: Mapping[str, str] = text_catalogue(language)[name]
    return texts


@pytest.mark.tier("check")
def test_every_code_of_a_problem_has_a_text() -> None:
    codes = problem_codes()

    assert {"final", "malformed", "signed_in", "not_served", "stale", "uncleared", "duplicate"} <= codes
    assert codes <= section("problems").keys()
    assert section("problems").keys() - codes == {"failed", "claimed_by", "held_by"}
    assert section("decision").keys() <= section("problems").keys()


@pytest.mark.tier("check")
def test_every_code_of_a_field_has_a_text_and_its_parameters() -> None:
    codes = field_codes()

    assert {"required", "too_short", "file_size", "message_required", "too_many_images", "memory_empty"} <= codes.keys()
    assert codes.keys() <= section("fields").keys()
    missing = [
        f"{place}: {code} needs {sorted(placeholders(section('fields')[code]) - names)}"
        for code, places in codes.items()
        for place, names in places
        if names is not None and not placeholders(section("fields")[code]) <= names
    ]
    assert missing == []


@pytest.mark.tier("check")
def test_every_sentence_has_a_text() -> None:
    assert sentence_codes() == section("sentences").keys()


STORED = [UndecidedError("r1", status) for status in ("expired", "cancelled")] + [
    NotFinishedError("a haiku", f"rejected after 3 rounds: {reason_of('no_reason')}"),
    RingiError(reason_of("model_silent", calls=3)),
    ValueError(),
]
"""The errors whose messages a run stores as its reason."""


@pytest.mark.tier("check")
def test_every_reason_that_is_stored_has_a_text() -> None:
    used = {code for _, call in calls() if name_of(call) == "reason_of" for code in texts_in(argument(call, 0, "code"))}

    assert (
        used | {"undecided_expired", "undecided_cancelled", "not_finished", "plain_error"} == section("reasons").keys()
    )


@pytest.mark.parametrize("language", ["ja", "zh"])
@pytest.mark.parametrize("stored", [run_failure_of_error(each).message for each in STORED])
def test_the_reason_of_a_failed_run_is_translated(stored: str, language: Language) -> None:
    read = reason_text(reason_of("answer_failed", why=stored), language)

    assert not re.search("[A-Za-z]{2}", re.sub("r1|a haiku|ValueError", "", read))
    assert reason_text(stored, "en") == stored


@pytest.mark.parametrize("code", section("reasons"))
def test_a_stored_reason_is_recognized_with_its_values(code: str) -> None:
    values = {name: f"<{name} 1>" for name in placeholders(section("reasons")[code])}
    expected = re.sub(r"\{(\w+)\}", r"<\1 1>", section("reasons", "ja")[code])

    assert reason_text(reason_of(code, **values), "ja") == expected
    assert reason_text(reason_of(code, **values), "en") == reason_of(code, **values)


@pytest.mark.parametrize("language", [each for each in LANGUAGES if each != "en"])
@pytest.mark.parametrize(
    "name",
    ["problems", "decision", "fields", "types", "sentences", "reasons", "names", "details", "answers", "sign_in"],
)
def test_the_languages_have_the_same_texts_with_the_same_placeholders(name: str, language: Language) -> None:
    english, other = section(name), section(name, language)

    assert english.keys() == other.keys()
    for code, text in english.items():
        left_out = LEFT_OUT.get(name, set())
        assert placeholders(text) - left_out <= placeholders(other[code]) <= placeholders(text), code
    assert [text for text in other.values() if re.search("[A-Za-z]", LATIN.sub("", PLACEHOLDER.sub("", text)))] == []


FOR_PROGRAMMERS = (
    "an agent's token",
    "the token's claim",
    "the Authorization header",
    "the token has no issue time",
    "the provider's token",
    "[[7]]: configure it to send",
    "the name",
)
"""The refusals that only a program of the HTTP API meets, and those of the sign-in page, which has texts of its own."""


def refusals() -> Iterator[str]:
    """Yield the sentences that refuse a caller."""
    for path in files(SOURCES / "ringi/server"):
        tree = tree_of(path)
        for call in nodes_of(path):
            if isinstance(call, ast.Call) and name_of(call) in ("ForbiddenError", "UnauthenticatedError") and call.args:
                after = ": remedy" if name_of(call) == "UnauthenticatedError" else ""
                yield from (f"{text}{after}" for text in texts_of(call.args[0], assigned(tree.body)))


@pytest.mark.tier("check")
@pytest.mark.parametrize("language", ["ja", "zh"])
def test_a_refusal_that_a_person_meets_names_its_remedy(language: Language) -> None:
    found = set(refusals())

    assert len(found) > 12
    general = {text for text in found if detail_text(text, language) == text}
    assert {text for text in general if not text.startswith(FOR_PROGRAMMERS)} == set()


@pytest.mark.tier("check")
def test_each_detail_is_in_the_code() -> None:
    code = "\n".join(map(source_of, files()))

    for text in section("details").values():
        parts = [part.strip(" :;'") for part in re.split(r"\{\w+\}|[:;(] ", text)]
        assert [part for part in parts if len(part) > 3 and part not in code] == []


def test_the_name_of_a_field_is_translated_and_the_name_of_an_answer_is_not() -> None:
    error = InvalidError.of("messages", "is empty", "message_empty")

    assert fields_text(error.errors, "ja") == "メッセージ: メッセージを入力してください。"
    assert [field_display_name(path, "zh") for path in ("data.who", "form.fields[0]")] == ["who", "form.fields[0]"]


LEFT_OUT = {"reasons": {"details"}, "details": {"why", "remedy", "kind", "id", "url", "agent"}}
"""The values of a section that another language need not repeat: some are in English."""
ERRORS = [
    ConflictError.claimed("r1", "bob"),
    InvalidError.of("a", "is odd", "no_such_code"),
    UnavailableError("'bot' asked 60 times within a minute: retry later", code="limit"),
]


@pytest.mark.parametrize("language", ["ja", "zh"])
@pytest.mark.parametrize("error", ERRORS, ids=error_code)
def test_an_error_has_no_english_words_in_another_language(error: RingiError, language: Language) -> None:
    for is_deciding in (False, True):
        assert not re.search("[A-Za-z]", error_text(error, language, is_deciding=is_deciding).replace("bob", ""))


def test_an_unknown_code_has_the_text_of_a_failure_or_of_an_invalid_value() -> None:
    fault = FieldError("a", "is odd: use 2", "no_such_code", {"min": 2})

    assert problem_text("no_such_code", "ja") == section("problems", "ja")["failed"]
    assert field_error_text(fault, "ja") == section("fields", "ja")["invalid"]
    assert field_error_text(fault, "en") == "is odd: use 2"
    assert error_code(ValueError()) == "internal"


def test_parameters_are_filled_in_but_never_formats() -> None:
    def text(code: str, **params: Any) -> str:
        return field_error_text(FieldError("a", "", code, params), "ja")

    assert text("below_minimum", min=0.5) == "0.5 以上の値を入力してください。"
    assert text("wrong_type", types=["integer", "null"]) == "整数または空の値を入力してください。"
    assert text("file_size", max_bytes=10 * 1024 * 1024) == "空でなく、10 MB 以下のファイルを添付してください。"
    assert text("pattern_mismatch", pattern="{min} {0.__class__}") == "次の形式に合わせてください：{min} {0.__class__}"
    assert text("below_minimum") == "… 以上の値を入力してください。"
    assert [size_text(size) for size in (12, 2048, 1536 * 1024)] == ["12 B", "2 kB", "1.5 MB"]


def test_a_text_is_translated_only_if_its_wording_says_the_same() -> None:
    wording = [Sentence(code="finished", params={"task": "俳句"}), Sentence(code="step_limit")]
    text = sentences_text(wording, "en")

    assert (
        translate_sentences(text, wording, "ja")
        == f"完了してよいですか：俳句\n\n{section('sentences', 'ja')['step_limit']}"
    )
    assert translate_sentences(text, wording, "en") == text
    assert translate_sentences("Delete everything?", wording, "ja") == "Delete everything?"
    assert translate_sentences(text, [], "ja") == text
    assert translate_sentences("", [Sentence(code="no_such_code")], "ja") == ""


@pytest.mark.tier("check")
def test_the_languages_are_those_of_the_page() -> None:
    page = UI / "strings/language.tsx"
    written = re.search(r"export type Language = (.*);", source_of(page))
    assert written
    assert re.findall(r'"(\w+)"', written[1]) == list(get_args(Language))
