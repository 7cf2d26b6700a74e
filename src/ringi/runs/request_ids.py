"""The ids of the requests of runs."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from typing import Any

from ringi.base.canonical_json import canonical
from ringi.base.texts import reason_of
from ringi.contracts.runtime import Question
from ringi.domain.ask import Ask, digest_of
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Run, checkpoint_thread
from ringi.runs.stream_writer import TOOL_CALL_ID

ANSWER_REFUSED = reason_of("answer_refused")
ATTEMPT = "attempt"
"""The key in the continuation of a request with the attempt of the run that asked; absent for the first one."""


def request_id(key: Key, run_id: str, question: Question, position: int, refusals: int = 0) -> str:
    """Return the id of a question's request: the same in each attempt of the run, even after a restore of the store.

    Args:
        key: The tenant and the id of the thread.
        run_id: The id of the run.
        question: The question.
        position: The position in the asks of the question.
        refusals: How many answers to it do not count.
    """
    where = [run_id, question.place] if question.place else [question.id]
    identity: list[Any] = [checkpoint_thread(key), *where, question.digests[position]]
    identity += [{"position": position, "refusals": refusals}] if position or refusals else []
    return f"q-{hashlib.sha256(canonical(identity)).hexdigest()[:32]}"


def content_digest(ask: Ask) -> str:
    """Return the digest of a question without the id of its call, which a repeated model draws anew."""
    return digest_of(with_call_id(ask, None))


def with_call_id(ask: Ask, id: Any) -> Ask:
    """Return a question with another id of its call; None for a question without one."""
    context = {name: value for name, value in ask.context.items() if name != TOOL_CALL_ID}
    context |= {} if id is None else {TOOL_CALL_ID: id}
    return ask.model_copy(update={"context": context})


def is_void(request: Request, question: Question, run: Run, delivered: Collection[str]) -> bool:
    """Return whether the outcome of a request does not count for a question of a run, so that people are asked again.

    A person's decision counts in all attempts of a run; a withdrawal or an expiry only until the run is retried.

    Args:
        request: The request at the place of the question.
        question: The question.
        run: The run.
        delivered: The ids of the questions whose answers this worker has given to the run.
    """
    if request.attention == ANSWER_REFUSED or request.id in run.anew:
        return True
    args = request.continuation.args if request.continuation else {}
    asked_as = args.get("interrupt_id", question.id)
    if request.is_final and asked_as != question.id and (not request.is_unacknowledged or asked_as in delivered):
        # A run has read the answer elsewhere: if two questions ever had one place, it would decide both.
        return True
    return request.is_final and request.response is None and args.get(ATTEMPT, 0) < run.attempt
