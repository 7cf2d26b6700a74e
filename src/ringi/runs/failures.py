"""Errors of runs as messages to people and operators."""

from __future__ import annotations

import traceback
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import TypeAlias

from ringi.base.texts import reason_of
from ringi.contracts.runtime import Description, Question, UnreadAnswersError
from ringi.domain.request import Request
from ringi.domain.thread import Failure
from ringi.runs.model_form import clean_text

AskedQuestion: TypeAlias = tuple[Question, Sequence[Request]]
MAX_TRACEBACK = 16_000
"""The number of characters stored of a traceback: its beginning and its end."""


def failure_of(error: Exception) -> Failure:
    """Return the message of an error for people, and its origin for operators."""
    name = type(error).__name__
    text = "".join(traceback.format_exception(error))
    if len(text) > MAX_TRACEBACK:
        text = f"{text[: MAX_TRACEBACK // 4]}\n…\n{text[-MAX_TRACEBACK * 3 // 4 :]}"
    message = f"{name}: {error}" if str(error) else reason_of("no_message", error=name)
    return Failure(message=message[:2000], code=name, traceback=clean_text(text))


def swallowed_message(titles: Sequence[str]) -> str:
    """Return the message to an operator about questions that were swallowed."""
    return reason_of("swallowed", titles=", ".join(f"“{title}”" for title in titles))


def missing_message(agent: str, about: Description, missing: Mapping[str, Sequence[Request]]) -> str:
    """Return the message to an operator about steps that have asked, and that the deployed agent does not have."""
    return reason_of(
        "steps_missing",
        agent=repr(agent),
        here=f"{about.framework} {about.version}",
        steps=", ".join(map(repr, missing)),
        requests=_named(request for requests in missing.values() for request in requests),
    )


def unread_message(agent: str, about: Description, unread: Sequence[AskedQuestion], error: UnreadAnswersError) -> str:
    """Return the message to an operator about answers that the code of an agent has not heeded."""
    steps = sorted({question.step for question, _ in unread if question.step})
    values = {
        "agent": repr(agent),
        "here": f"{about.framework} {about.version}",
        "requests": _named(request for _, requests in unread for request in requests) or "–",
        "started": ", ".join([*(f"step {step!r}" for step in steps), *error.started]) or "–",
    }
    if error.cause == "ungated":
        return reason_of("gate_missing", tool=repr(error.place), **values)
    if error.cause == "changed":
        return reason_of("call_changed", tool=repr(error.place), **values)
    if error.cause == "skipped":
        return reason_of("review_skipped", step=repr(error.place), **values)
    return reason_of("answer_unread", **values)


def read_answers(
    answers: Sequence[AskedQuestion], questions: Container[str] | None = None, receipts: Container[str] = ()
) -> dict[str, Request]:
    """Return the requests by id whose answers the code of an agent has read.

    Args:
        answers: The answers that the run received.
        questions: The questions whose answers were read; None for all.
        receipts: The requests whose approved calls have begun.
    """
    return {
        request.id: request
        for question, requests in answers
        for request in requests
        if questions is None or question.id in questions or request.id in receipts
    }


def unread_answers(requests: Iterable[Request], read: Container[str]) -> list[Request]:
    """Return the requests that people have answered, and whose answers the code of an agent has not read."""
    return [each for each in requests if each.response and not each.acknowledged_at and each.id not in read]


def _named(requests: Iterable[Request]) -> str:
    return ", ".join(f"“{request.title}” ({request.id})" for request in requests)
