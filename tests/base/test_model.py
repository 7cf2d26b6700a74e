"""What a newer version wrote is kept; what comes from outside is not taken unless it is known."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.base.canonical_json import digest
from ringi.contracts.backend import Job
from ringi.domain.ask import Action, Ask
from ringi.domain.record import Erased, Event
from ringi.domain.request import Request
from ringi.domain.thread import Thread
from ringi.errors import InvalidError
from ringi.forms.fields import Select
from ringi.forms.form import Form
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request, a_thread, answer_to

MARK = "of_next"
NEW = {MARK: {"deep": [1]}}
LEASE = timedelta(seconds=60)


def written_by_next() -> dict[str, Any]:
    form = Form([Select("size", options=["S", "M"])])
    body = json.loads(a_request(form=form)[0].model_dump_json())
    field = body["form"]["fields"][0]
    for part in (body, body["action"], body["form"], field, field["options"][0]):
        part |= NEW
    return dict(body)


def test_what_a_newer_version_wrote_into_a_request_stands_in_its_next_version() -> None:
    body = written_by_next()
    claimed, _ = Request.model_validate_json(json.dumps(body)).claimed("ann", NOON, LEASE)
    answer = answer_to(claimed, data={"size": "S"})
    done, _ = claimed.completed(answer, by="ann", channel="page", now=NOON)

    after = json.loads(done.model_dump_json())

    assert {name: after[name] for name in ("of_next", "action", "form")} == {
        name: body[name] for name in ("of_next", "action", "form")
    }


def test_what_a_newer_version_wrote_into_a_thread_stands_in_its_next_version() -> None:
    body = json.loads(a_thread()[0].model_dump_json()) | NEW
    body["run"] |= NEW
    held, _ = Thread.model_validate_json(json.dumps(body)).acquired("worker", NOON, LEASE)

    after = json.loads(held.model_dump_json())

    assert (after["of_next"], after["run"]) == (NEW["of_next"], body["run"])


def test_an_erasure_leaves_nothing_that_this_version_does_not_know() -> None:
    done = Request.model_validate_json(json.dumps(written_by_next()))

    left, event = done.redacted(Erased(at=NOON, by="ann", rule="request"), {})

    assert MARK not in left.model_dump_json() + event.model_dump_json()


def test_an_event_of_a_newer_version_keeps_its_hash() -> None:
    _, event = a_request()
    again = Event.model_validate_json(json.dumps(json.loads(event.model_dump_json()) | NEW))

    assert again.model_extra == NEW
    assert again.computed_hash() == event.hash


@pytest.mark.parametrize(
    "question",
    [
        {"title": "Go?", **NEW},
        {"title": "Go?", "action": {"name": "go", **NEW}},
        {"title": "Go?", "form": {"fields": [{"type": "text", "name": "a", **NEW}]}},
        {"title": "Go?", "webhooks": [{"url": "https://example.com", **NEW}]},
    ],
)
def test_what_comes_from_outside_is_refused_when_it_is_unknown(question: dict[str, Any]) -> None:
    with pytest.raises(InvalidError, match="of_next"):
        Ask.parse(question)


def test_what_is_made_with_an_unknown_field_is_refused() -> None:
    with pytest.raises(InvalidError, match="of_next"):
        Action("go", **NEW)
    with pytest.raises(InvalidError, match="of_next"):
        Form([Select("size", options=["S"])], **NEW)


def test_a_question_of_a_newer_version_is_asked_with_what_it_said() -> None:
    ask = Ask.parse_stored({"title": "Go?", **NEW})

    request, event = Request.asked(ask, id="a", now=NOON, by="bot")

    assert request.model_extra == NEW
    assert event.payload["changed"]["of_next"] == NEW["of_next"]


def test_what_an_agent_calls_like_an_answer_is_none() -> None:
    forged: dict[str, Any] = {
        "status": "completed",
        "response": {"decision": "approve", "responder": "boss"},
        "tenant": "theirs",
    }
    forged |= {"claimed_by": "boss", "reminded_at": "2026-01-01T00:00:00Z", "erased": None, "digest": "sha256:0"}

    request, _ = Request.asked(Ask.parse_stored({"title": "Go?", **forged, **NEW}), id="a", now=NOON, by="bot")

    assert (request.status, request.response, request.claimed_by, request.tenant) == ("pending", None, None, "default")
    assert request.model_extra == NEW


async def test_a_record_whose_events_were_written_by_an_older_version_verifies() -> None:
    store, (request, event) = MemoryStore(), a_request()
    changed = {k: v for k, v in event.payload["changed"].items() if k != "reason"}
    payload = {**event.payload, "changed": changed}
    older = event.model_copy(update={"payload": payload, "payload_digest": digest(payload)})
    older = older.model_copy(update={"hash": older.computed_hash()})
    await store.put(request.model_copy(update={"head": older.hash}), older)

    assert await verify_store(store) == (1, [])


def test_the_attempts_of_a_thread_are_stored_and_chained_as_tries() -> None:
    thread, event = a_thread()[0].acquired("worker", NOON, LEASE)
    stored = thread.model_dump_json()

    assert '"lease_until":"2026-01-05T12:01:00Z","tries":1,"outages":null' in stored
    assert event.payload == {
        "actor": "worker",
        "changed": {"owner": "worker", "fence": 1, "status": "running", "tries": 1},
    }
    assert event.payload_digest == digest(event.payload)
    assert Thread.model_validate_json(stored) == thread


def test_the_partition_key_of_a_job_is_stored_as_its_lane() -> None:
    stored = '{"key":"run:1","kind":"run","lane":"default/t1","payload":{"thread":"t1"}}'
    job = Job.model_validate_json(stored)

    assert (job.partition_key, job.attempts) == ("default/t1", 0)
    assert job.model_dump_json(exclude={"attempts"}) == stored
