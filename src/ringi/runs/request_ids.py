"""The ids of the requests of runs."""

from __future__ import annotations

import hashlib
from typing import Any

from ringi.base.canonical_json import canonical
from ringi.contracts.runtime import Question
from ringi.domain.record import Key
from ringi.domain.thread import checkpoint_thread


def request_id(key: Key, question: Question, position: int, attempt: int, refusals: int = 0) -> str:
    """Return the id of a question's request: stable for this attempt of the run."""
    identity: list[Any] = [checkpoint_thread(key), question.id, question.digests[position]]
    identity += [attempt] if attempt else []
    identity += [{"position": position, "refusals": refusals}] if position or refusals else []
    return f"q-{hashlib.sha256(canonical(identity)).hexdigest()[:32]}"
