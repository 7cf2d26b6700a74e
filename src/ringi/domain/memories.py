"""Memories: a person's approved answers, for use in their later threads; read from the request itself.

There is no second copy. The answer and the memory are one record, saved in one step. An edit or the deletion of a
memory creates a next version of that record and leaves the original answer unchanged.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any

from pydantic import Field

from ringi.base.model import StrictModel, Time
from ringi.domain.ask import AGREEING, Answer, MemoryChanges, unstorable_numbers
from ringi.domain.record import SYSTEM, Event, cursor_after_record
from ringi.domain.request import Request
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.forms import json_schema
from ringi.forms.form import Form

CATEGORY = "memory_category"
"""The key in a request's context that gives the category of the memory."""
LONGEST_CATEGORY = 100


class MemoryEdit(StrictModel):
    """The complete new content of a memory."""

    data: dict[str, Any]
    told_at: Time | None = None
    """The `edited_at` that the caller read, else `answered_at`; a later change refuses the edit."""


class Memory(StrictModel):
    """One remembered answer, under the id of its request."""

    id: str
    person: str
    category: str
    question: str
    answer: dict[str, Any]
    """The data in the person's latest version."""
    form: Form | None = None
    data_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    answered_at: datetime
    edited_at: datetime | None = None
    thread_id: str | None = None
    place: str
    """The cursor of the page after this memory."""

    @property
    def updated_at(self) -> datetime:
        """The time of the answer or of its latest edit."""
        return self.edited_at or self.answered_at

    @property
    def labelled(self) -> dict[str, Any]:
        """The answer with the labels of fields and options instead of their names."""
        fields = self.form.fields if self.form else ()
        # Two fields may share a label, or a label may equal another field's name: neither may overwrite the other.
        taken = Counter(name for field in fields for name in {field.name, field.label})
        names = {field.name: field.label for field in fields if taken[field.label] == 1}
        options = {field.name: {each.value: each.label for each in getattr(field, "options", ())} for field in fields}
        return {names.get(name, name): _named(value, options.get(name, {})) for name, value in self.answer.items()}


def _named(value: object, labels: dict[Any, str]) -> Any:
    if isinstance(value, list):
        return [_named(each, labels) for each in value]
    return labels.get(value, value) if labels and isinstance(value, str | int) else value


def person_of_memory(request: Request) -> str | None:
    """Return the person whose memory a request is: its responder; None if it is no memory."""
    response, category = request.response, request.context.get(CATEGORY)
    is_category = isinstance(category, str) and bool(category.strip()) and len(category) <= LONGEST_CATEGORY
    if request.status != "completed" or not response or response.decision not in AGREEING or not is_category:
        return None
    is_forgotten = request.memory is not None and request.memory.data is None
    # A name with a colon is not a person's: it is an agent, a rule, or an erased name.
    return response.responder if response.data and not is_forgotten and is_name_of_person(response.responder) else None


def is_name_of_person(name: str | None) -> bool:
    """Return whether a name is a person's; only people have memories.

    Args:
        name: The name of an actor; None for an unknown one.
    """
    return bool(name) and name != SYSTEM and ":" not in str(name)


def find_person_memory(request: Request, person: str) -> Memory:
    """Return this person's memory in a request, or raise `NotFoundError`, also for another person's memory."""
    response = request.response
    if not response or person_of_memory(request) != person:
        raise NotFoundError("memory", request.id)
    memory = request.memory
    return Memory(
        id=request.id,
        person=person,
        category=request.context[CATEGORY].strip(),
        question=request.title,
        answer=(memory.data if memory else response.data) or {},
        form=request.form,
        data_schema=request.data_schema,
        answered_at=response.at,
        edited_at=memory.at if memory else None,
        thread_id=request.thread_id,
        place=cursor_after_record(request),
    )


def with_memory_edited(
    request: Request, data: dict[str, Any], by: str, now: datetime, expected_updated_at: datetime | None = None
) -> tuple[Request, Event | None]:
    """Return the request with its memory edited, or raise if the new answer is invalid."""
    before = find_person_memory(request, by)
    fit = _checked(request, data)
    if fit == before.answer:
        return request, None
    if expected_updated_at not in (None, before.updated_at):
        raise ConflictError(f"memory {request.id!r} was changed since it was read: read it again, then edit it")
    return request.changed("memory_edited", by, now, memory=MemoryChanges(data=fit, at=now))


def with_memory_deleted(request: Request, by: str, now: datetime) -> tuple[Request, Event]:
    """Return the request with its memory deleted permanently; the answer is unchanged."""
    find_person_memory(request, by)
    return request.changed("memory_deleted", by, now, memory=MemoryChanges(data=None, at=now))


def _checked(request: Request, data: dict[str, Any]) -> dict[str, Any]:
    answer = Answer.parse({"decision": "edit", "digest": request.digest, "data": data})
    if errors := unstorable_numbers(answer):
        raise InvalidError(errors)
    if request.form:
        data = request.form.check(data)
    elif request.data_schema is not None:
        json_schema.check_instance(request.data_schema, data, field="data")
    if not data:
        raise InvalidError.of("data", "is empty: delete the memory instead", "memory_empty")
    return data
