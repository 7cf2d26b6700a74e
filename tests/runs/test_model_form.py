"""What a model writes for a form: found, checked, shown; whatever it is, nothing breaks."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.runs.mangled import SOUND, mangled, ten_mangled
from tests.tiers import examples

from ringi.domain.ask import Ask
from ringi.errors import InvalidError
from ringi.runs.model_form import ExtractedForm, VisibleText, extract_form, question_from_model_ask

HOWS = ("value", "insert", "cut", "drop", "twice")
QUICK = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None, derandomize=True)


def streamed(text: str, sizes: list[int]) -> str:
    """Return what people see of a text that arrives in pieces."""
    words, at, seen = VisibleText(), 0, ""
    while at < len(text):
        size = sizes[len(seen) % len(sizes)]
        seen += words.add(text[at : at + size])
        at += size
    return seen + words.finish()


def asked(found: ExtractedForm | None) -> Ask | None:
    if found is None or found.why:
        return None
    with contextlib.suppress(InvalidError):
        return question_from_model_ask(found.request, max_fields=5, expires_in=300).ask
    return None


def check(text: str) -> None:
    found = extract_form(text)
    ask = asked(found)
    if ask is not None:
        assert (ask.id, ask.expires_in, ask.kind) == (None, 300, "form")
        assert ask.form
        assert len(ask.form.fields) <= 5
    assert streamed(text, [len(text) or 1]) == (found.visible_text if found else text)


LOOPING = ("```", "```json", "```js", "{", "```json\n{")


@pytest.mark.parametrize("blank", [" ", "\n", "\t"])
@pytest.mark.parametrize("beginning", LOOPING)
def test_a_model_that_goes_on_with_blanks_alone_is_held_back_no_longer(beginning: str, blank: str) -> None:
    words, text = VisibleText(), beginning + 500 * blank
    assert "".join(words.add(each) for each in text) == text
    assert words.finish() == ""


@pytest.mark.parametrize("beginning", LOOPING)
def test_many_blanks_are_words_in_an_ordinary_time(beginning: str) -> None:
    text = beginning + 20_000 * " "
    assert streamed(text, [8]) == text
    for answer in (text + '"hitl_request":', SOUND[0] + 20_000 * " ", text + SOUND[0]):
        found = extract_form(answer)
        assert found
        assert streamed(answer, [len(answer)]) == streamed(answer, [8]) == found.visible_text


def test_a_form_before_many_blanks_is_found_in_an_ordinary_time() -> None:
    text = '```json\n{"response": "hi", "hitl_request": {}}' + 90_000 * " "
    for found in (extract_form(text) for _ in range(10)):
        assert found
        assert found.visible_text == "hi" + 90_000 * " "


@pytest.mark.timeout(240)
@settings(QUICK, max_examples=examples(500))
@given(ten_mangled("value"))
def test_five_thousand_answers_with_strange_values_are_forms_or_words(texts: list[str]) -> None:
    for text in texts:
        check(text)


@pytest.mark.timeout(240)
@settings(QUICK, max_examples=examples(500))
@given(ten_mangled(*HOWS))
def test_five_thousand_damaged_answers_are_forms_or_words(texts: list[str]) -> None:
    for text in texts:
        check(text)


@settings(QUICK, max_examples=examples(300))
@given(st.sampled_from(SOUND), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_a_sound_form_is_never_seen_as_json_however_it_arrives(text: str, sizes: list[int]) -> None:
    found = extract_form(text)
    assert found
    assert asked(found), found
    assert streamed(text, sizes) == found.visible_text
    assert "hitl_request" not in found.visible_text
    assert "让我了解一下" in found.visible_text


@settings(QUICK, max_examples=examples(300))
@given(mangled(*HOWS), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_the_pieces_in_which_an_answer_arrives_do_not_change_what_is_seen(text: str, sizes: list[int]) -> None:
    found = extract_form(text)
    assert streamed(text, sizes) == (found.visible_text if found else text)
