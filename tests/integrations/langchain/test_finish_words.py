"""What words at the gate mean."""

from __future__ import annotations

import re
import unicodedata
from types import SimpleNamespace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringi.base.texts import Language, translate_sentences
from ringi.domain.ask import Ask
from ringi.integrations.finish_words import COMPLETE, UPDATE, parse_finish_decision
from ringi.integrations.langchain import finish_gate

WORDS = st.sampled_from(sorted(COMPLETE))


@pytest.mark.parametrize("text", ["yes", "y", "はい", "是", " YES! ", "はい。", "ｙｅｓ", "Ｙ．", "是！", "\nyes.\n"])
def test_consent_is_a_word_that_stands_alone(text: str) -> None:
    assert parse_finish_decision(text) == ("complete", None)


@pytest.mark.parametrize("text", ["update", "u", "更新", "UPDATE.", "Ｕ", "更新。"])
def test_another_task_is_asked_for_by_a_word_that_stands_alone(text: str) -> None:
    assert parse_finish_decision(text) == ("update", None)


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ("update: two verses", "two verses"),
        ("UPDATE:yes", "yes"),
        ("更新：俳句を二つ", "俳句を二つ"),
        ("u: a\nb: c", "a\nb: c"),
        ("ｕ: Ｆｕｌｌ", "Ｆｕｌｌ"),
    ],
)
def test_another_task_may_be_named_in_the_same_breath_and_stays_as_it_was_written(text: str, task: str) -> None:
    assert parse_finish_decision(text) == ("update", task)


@pytest.mark.parametrize(
    "text",
    ["", " ", "yes?", "yes but first", "yes, update", "no", "ok", "yes yes", "はいはい", "是的", "y/n",
     "update:", "更新： ", "updated", "please update: x", "да", "not yes", "y e s",
     "いいえ", "不是", "yes\u200b", "「はい」", "はい、でも"],
)  # fmt: skip
def test_everything_else_is_unclear(text: str) -> None:
    assert parse_finish_decision(text) == ("unclear", None)


@given(st.text())
def test_no_other_text_completes(text: str) -> None:
    letters = "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())
    assume(letters not in COMPLETE)
    assert parse_finish_decision(text).decision != "complete"


@given(WORDS, st.text().filter(lambda text: any(c.isalnum() for c in unicodedata.normalize("NFKC", text))))
def test_consent_with_anything_before_or_after_it_does_not_complete(word: str, more: str) -> None:
    for text in (f"{word} {more}", f"{word}, {more}", f"{more} {word}", f"{word}{more}", f"{more}{word}"):
        assume(unicodedata.normalize("NFKC", text).casefold().strip() not in COMPLETE)
        assert parse_finish_decision(text).decision != "complete"


@given(st.sampled_from(sorted(UPDATE)), st.text())
def test_a_named_task_is_kept_to_the_letter_or_asked_for(word: str, task: str) -> None:
    assert parse_finish_decision(f"{word}:{task}") == (("update", task.strip()) if task.strip() else ("unclear", None))


@pytest.mark.parametrize("language", ["ja", "zh"])
@pytest.mark.parametrize("task", ["俳句", ""])
@pytest.mark.parametrize("reason", ["", "the limit of steps of one run was reached"])
def test_every_question_of_the_gate_can_be_read_in_other_languages(
    language: Language, task: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Ask] = []
    answers = ["可", "", "更新", "季語", "是", "是"]

    def answer(question: Ask) -> SimpleNamespace:
        asked.append(question)
        message = answers[len(asked) - 1]
        response = SimpleNamespace(decision="respond", message=message, data=None, responder="ann")
        return SimpleNamespace(response=response if message else None, status="expired")

    monkeypatch.setattr(finish_gate, "ask_question", answer)
    context = {"task": task, **({"reason": reason} if reason else {})}
    verdict = finish_gate.FinishGateQuestion(context, 1, 50, anew=True, limits=(finish_gate.STEP_LIMIT,)).verdict()

    assert (verdict.decision, len(asked)) == ("anew", 5)
    texts = []
    for question in asked:
        assert question.wording
        texts.append(translate_sentences(question.title, question.wording.title, language))
        texts.append(translate_sentences(question.description or "", question.wording.description, language))
        texts.append(translate_sentences(reason, question.wording.reason, language))
    assert [text for text in texts if re.search("[A-Za-z]{3,}", re.sub("yes|update", "", text))] == []
