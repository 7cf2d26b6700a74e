"""Defines what an erasure leaves of a record, in full or for one person: no clock and no I/O."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pydantic import ValidationError

from ringi.base.canonical_json import sha256_of_text
from ringi.domain.ask import SHA256, Response
from ringi.domain.journal import NAMED
from ringi.domain.record import AGENT, ERASED_PERSON, POLICY, SYSTEM, Event
from ringi.domain.request import Request
from ringi.domain.request_data import SUBJECTS
from ringi.domain.thread import Thread
from ringi.domain.voting import Vote
from ringi.errors import ConflictError

TITLE = "erased"
"""Replaces a title: lists must not show an empty one."""
_STEPS = ("acquired", "interrupted", "done", "error", "given_back", "spared", "went_back")
WORKED = frozenset(f"thread.{what}" for what in _STEPS)
"""Events whose actor is a worker process, not a person."""
NAMES = ("assignee", "claimed_by", "asked_by", "started_by", "starter")


def name_unless_person(name: str | None) -> str | None:
    """Return the remaining part of a name: the whole name if it is not a person's."""
    is_persons = name is not None and name != SYSTEM and not name.startswith((AGENT, POLICY))
    return ERASED_PERSON if is_persons else name


def redacted_event_payload(event: Event, person: str | None = None) -> dict[str, Any]:
    """Return the remaining payload of an event: the actor, unless it is this person's name, or any person's."""
    if event.type in WORKED or person not in (None, event.actor):
        return {"actor": event.actor}
    return {"actor": name_unless_person(event.actor)}


def redacted_payloads(history: Sequence[Event], person: str | None) -> dict[int, dict[str, Any]]:
    """Return the remaining payloads of the events that name a person, or of all, by their versions."""
    named = [event for event in history if person is None or event_names_person(event, person)]
    return {event.version: redacted_event_payload(event, person) for event in named}


def event_names_person(event: Event, person: str) -> bool:
    """Return whether an event names a person outside of free text."""
    return event.actor == person or person in _named(event.changed)


def _named(changed: dict[str, Any]) -> Iterator[Any]:
    yield from (changed.get(name) for name in NAMES)
    parts = (("response", "responder"), ("response", "for"), ("run", "by"), ("erased", "by"))
    for part, name in (*parts, ("held", "responder"), ("held", "for")):
        yield (changed.get(part) or {}).get(name)
    yield from (changed.get("response") or {}).get("voters") or ()
    for vote in changed.get("votes") or ():
        yield from (vote.get("responder"), vote.get("for"))
    yield from changed.get("seen_by") or ()
    yield from ((changed.get("entry") or {}).get(name) for name in NAMED)
    for step in changed.get("escalation") or ():
        yield from step.get("to") or ()


def unknown_field_paths(request: Request) -> list[str]:
    """Return the dotted paths of fields that only a newer version knows, without empty ones."""
    try:
        Request.model_validate_json(request.model_dump_json(), extra="forbid")
    except ValidationError as error:
        return [".".join(map(str, each["loc"])) for each in error.errors() if each["input"] is not None]
    return []


def newer_fields_error(id: str, unknown: Sequence[str]) -> ConflictError:
    """Return the error for an erasure that cannot know to whom the fields of a newer version belong."""
    what = f"request {id!r} has fields of a newer Ringi that may name this person ({', '.join(unknown)})"
    return ConflictError(f"{what}: erase with that version, or erase the whole request by its id")


def request_without_content(request: Request) -> dict[str, Any]:
    """Return the changes that erase a request's content; its end, outcome and digest stay."""
    content = ("description", "action", "form", "data_schema", "answer_schema", "fallback", "display", "wording")
    nothing = dict.fromkeys((*content, "memory", "reason", "attention", "continuation", "seed"))
    people: dict[str, Any] = {
        name: name_unless_person(getattr(request, name)) for name in ("assignee", "asked_by", "starter")
    }
    people |= dict.fromkeys(SUBJECTS, "")
    # The name of a client is text of the agent; the name of an agent of a run is not.
    people["agent"] = request.continuation.target if request.continuation else None
    people |= {"votes": tuple(map(vote_without_words, request.votes)), "held": None, "escalation": ()}
    # Not removed: an event that stays may list them, and the event of the erasure omits empty fields.
    people["seen_by"] = tuple(map(name_unless_person, request.seen_by))
    free = {"claimed_by": None, "claimed_until": None}
    answer: dict[str, Any] = {"response": redacted_response(request.response)}
    for name in ("check", "check_result"):
        if about := getattr(request, name):
            answer[name] = about.model_copy(update={"because": ""})
    return {"title": TITLE, "actions": {}, "context": {}, **nothing, **people, **free, **answer}


def request_without_person(request: Request, person: str, history: Sequence[Event]) -> dict[str, Any]:
    """Return the changes that erase a person's part in a request: names, answer, words; all content if they asked."""
    if request.asked_by == person:
        return request_without_content(request)

    def without(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(ERASED_PERSON if name == person else name for name in names)

    changes: dict[str, Any] = {
        "seen_by": tuple(name for name in request.seen_by if name != person),
        "votes": tuple(vote_without_words(vote) if vote.is_of(person) else vote for vote in request.votes),
        "escalation": tuple(step.model_copy(update={"to": without(step.to)}) for step in request.escalation),
    }
    if request.assignee == person:
        # Without an assignee or group it would be open to everyone.
        changes["assignee"] = ERASED_PERSON
    if request.claimed_by == person:
        changes |= {"claimed_by": None, "claimed_until": None}
    if request.starter == person:
        changes |= {"starter": ERASED_PERSON, "starter_subject": ""}
    if has_words_of_person(request, person, history):
        changes |= {"reason": None, "attention": None, "continuation": None}
    response = request.response
    if response and response.responder == person:
        changes |= {"response": redacted_response(response), "memory": None}
        changes |= {"responder_subject": "", "absent_subject": ""}
    elif response and person in (response.stands_for, *response.voters):
        names: dict[str, Any] = {"voters": without(response.voters)}
        if response.stands_for == person:
            names["stands_for"], changes["absent_subject"] = ERASED_PERSON, ""
        changes["response"] = response.model_copy(update=names)
    return changes


def has_words_of_person(request: Request, person: str, history: Sequence[Event]) -> bool:
    """Return whether text or values in a request, and so perhaps in its thread, are this person's."""
    ended = [event.actor for event in history if event.type in ("request.completed", "request.cancelled")]
    return person in (request.asked_by, *ended)


def redacted_response(response: Response | None) -> Response | None:
    """Return a response without free text: decision, time, channel, authorization digest, digest of the override."""
    if response is None:
        return None
    override = response.override
    if override and not re.fullmatch(SHA256, override):
        # That there was an override, and for which reason, can still be proven: see `is_overridden`.
        override = sha256_of_text(override.encode())
    names = ("decision", "channel", "at", "authorised_digest", "released_at")
    remaining = {name: getattr(response, name) for name in names}
    responder, *voters = (str(name_unless_person(name)) for name in (response.responder, *response.voters))
    stands_for = name_unless_person(response.stands_for)
    return Response(responder=responder, stands_for=stands_for, voters=tuple(voters), override=override, **remaining)


def vote_without_words(vote: Vote) -> Vote:
    """Return a vote without names and free text: its decision, time, stage and authorization digest."""
    nothing = dict.fromkeys(("data", "args", "message", "override", "for_subject"))
    names = {"responder": str(name_unless_person(vote.responder)), "subject": ERASED_PERSON}
    return vote.model_copy(update={**nothing, **names, "stands_for": name_unless_person(vote.stands_for)})


def thread_without_content(thread: Thread) -> dict[str, Any]:
    """Return the changes that erase a thread's content; the fence stops a worker that still runs it."""
    run = thread.run
    if run:
        run = run.model_copy(update={"input": {}, "by": name_unless_person(run.by), "subject": ""})
    nothing = dict.fromkeys(("title", "error", "attention", "missed", "reason", "images"))
    status = "idle" if thread.status == "error" else thread.status
    started_by = name_unless_person(thread.started_by)
    return {**nothing, "run": run, "values": {}, "status": status, "started_by": started_by, "fence": thread.fence + 1}


def erasure_changes_to_request(request: Request, person: str | None, history: Sequence[Event]) -> dict[str, Any]:
    """Return an erasure's changes to a request."""
    changes = request_without_person(request, person, history) if person else request_without_content(request)
    return {name: value for name, value in changes.items() if getattr(request, name) != value}


def is_content_erased(request: Request, person: str | None) -> bool:
    """Return whether the content is erased; names of those who erased it may remain."""
    return person is None and request.erased is not None and request.erased.rule != "person"
