"""The errors that an assistant reports in a chat are in the language of the conversation."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from ringi.base import reason_of
from ringi.errors import FieldError, InvalidError
from ringi_apps.assistant.availability import FixKind, ReasonCode
from ringi_apps.assistant.declarations import Choices, InfoHandler
from ringi_apps.assistant.explanations import FIXES, NEXT_STEPS, REASONS, REFUSALS
from ringi_apps.assistant.handlers import HandlerError
from ringi_apps.assistant.jobs import error_text
from ringi_apps.assistant.memory_ops import RejectionCode
from ringi_apps.assistant.plans import PLAN_TEXTS, PlanError, PlanReason
from ringi_apps.assistant.sentences import SENTENCES, sentence

OTHERS = ("ja", "zh")
PLACEHOLDER = re.compile(r"\{(\w+)\}")
DATA = re.compile(r"fetch_projects|OSError: x|proj")


async def fetch_projects(params: dict[str, object]) -> list[object]:
    """Return nothing."""
    return []


HANDLER = InfoHandler("fetch_projects", fetch_projects)
CHOICES = Choices("fetch_projects")
ERRORS = [
    HandlerError.of_failure(HANDLER, "OSError: x", 1),
    HandlerError.of_failure(HANDLER, reason_of("handler_no_answer", seconds="10"), 3),
    HandlerError.of_invalid_options(CHOICES, "an item has no field 'value'"),
    InvalidError([FieldError("proj", "is missing: add it", "required"), FieldError("", "is odd: change it")]),
    *(PlanError(reason, f"the plan was changed: {reason}") for reason in get_args(PlanReason)),
]


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_an_error_has_no_english_word(error: Exception, language: str) -> None:
    assert not re.search("[A-Za-z]", DATA.sub("", error_text(error, language)))
    assert error_text(error, "en") == str(error).replace("body: ", "")


@pytest.mark.parametrize("texts", [SENTENCES, REASONS, FIXES, REFUSALS, NEXT_STEPS])
def test_every_text_has_each_language_with_the_same_placeholders(texts: dict[str, dict[str, str]]) -> None:
    for code, text in texts.items():
        names = {language: {*PLACEHOLDER.findall(each)} for language, each in text.items()}
        assert names == dict.fromkeys(("en", *OTHERS), names["en"]), code
        assert [each for each in OTHERS if re.search("[A-Za-z]", PLACEHOLDER.sub("", text[each]))] == [], code


def test_every_code_has_a_text() -> None:
    assert REFUSALS.keys() == {*get_args(RejectionCode)}
    assert REASONS.keys() == {*get_args(ReasonCode)}
    assert FIXES.keys() == {*get_args(FixKind)} <= NEXT_STEPS.keys()
    assert PLAN_TEXTS.keys() == {*get_args(PlanReason)}


@pytest.mark.parametrize("language", OTHERS)
def test_a_sentence_translates_the_reason_in_it(language: str) -> None:
    why = str(HandlerError.of_failure(HANDLER, reason_of("handler_no_answer", seconds="10"), 3))

    text = sentence("fetch_failed", what="案件", why=why, todo="").in_language(language)

    assert not re.search("[A-Za-z]", DATA.sub("", text))
