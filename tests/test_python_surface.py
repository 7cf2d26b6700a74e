"""The Python API: arguments in Python's own types, short representations, one tree of errors."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import AsyncIterator, Callable
from datetime import timedelta

import pytest
from pydantic import BaseModel

import ringi
from ringi import errors
from ringi.testing import Clock

INTERNAL = {
    # pydantic takes only a ValueError from a validator; each becomes an InvalidError before a caller sees it.
    "FieldValidationError",
    # Caught in the room that raises it.
    "UnreadableReflectionError",
    # Those of `ringi.testing` fail a test even where the tested code catches RingiError.
    *("RunFailedError", "UnansweredError", "UnusedRuleError"),
    "UnknownCheckpointError",
    # Ends the attempts to save a thread, which go on after a ConflictError.
    "OtherConflictError",
}


class Trip(BaseModel):
    city: str
    nights: int = 1


@pytest.fixture
async def inbox() -> AsyncIterator[ringi.Inbox]:
    async with ringi.open("memory://", clock=Clock()) as inbox:
        yield inbox


async def test_a_model_class_is_a_form_and_a_timedelta_a_deadline(inbox: ringi.Inbox) -> None:
    asked = await inbox.ask("Where to?", form=Trip, expires_in=timedelta(minutes=5))
    same = await inbox.ask("Where to?", form=ringi.Form.of(Trip), expires_in=300)

    assert (asked.form, asked.digest, asked.expires_at) == (same.form, same.digest, same.expires_at)


async def test_a_question_names_its_thread_and_run(inbox: ringi.Inbox) -> None:
    asked = await inbox.ask("Go?", thread_id="thread-7", run_id="run-1")

    assert (asked.thread_id, asked.run_id) == ("thread-7", "run-1")
    assert await inbox.find(ringi.Query(thread_id="thread-7")) == [asked]


@pytest.mark.parametrize("seconds", [timedelta(0), timedelta(days=-1), timedelta(days=5000)])
async def test_a_timedelta_is_held_to_the_limits_of_seconds(inbox: ringi.Inbox, seconds: timedelta) -> None:
    with pytest.raises(ringi.InvalidError, match="expires_in"):
        await inbox.ask("Go?", expires_in=seconds)


async def test_a_class_that_is_no_model_is_refused(inbox: ringi.Inbox) -> None:
    with pytest.raises(ringi.InvalidError, match="form"):
        await inbox.ask("Go?", form=dict)  # type: ignore[arg-type]


async def test_a_representation_is_one_short_line(inbox: ringi.Inbox) -> None:
    form = ringi.Form([ringi.Select("reason", options=["late"]), ringi.Number("amount")])
    asked = await inbox.ask("Refund " + "1182 " * 90, id="r1", form=form, context={"secret": "x" * 5000})
    done = await inbox.respond("r1", "approve", {"reason": "late"}, responder="ann", digest=asked.digest)

    assert repr(asked) == f"Request(id='r1', kind='form', status='pending', title='{asked.title[:60]}…')"
    assert repr(done.response) == "Response(decision='approve', responder='ann')"
    assert repr(form) == "Form(reason='select', amount='number')"


async def test_a_wait_takes_the_request_or_its_id_and_returns_it_however_it_ended(inbox: ringi.Inbox) -> None:
    asked = await inbox.ask("Go?")
    with pytest.raises(ringi.WaitTimeoutError, match="stays open"):
        await inbox.wait(asked, timeout=0)
    cancelled = await inbox.cancel(asked.id, "ann")

    assert await inbox.wait(asked) == await inbox.wait(asked.id, timeout=0) == cancelled


MAKERS: dict[str, Callable[[], object]] = {
    "Action.name": lambda: ringi.Action(""),
    "Ask.expires_in": lambda: ringi.Ask(title="Go?", expires_in=-1),
    "Button.style": lambda: ringi.Button(style="loud"),
    "Query.state": lambda: ringi.Query(state="pending"),  # type: ignore[call-arg]
    "reason.options": lambda: ringi.Select("reason", options=[]),
    "form.fields": lambda: ringi.Form([]),
}


@pytest.mark.parametrize("field", MAKERS)
def test_a_wrong_value_is_named_when_it_is_made(field: str) -> None:
    with pytest.raises(ringi.InvalidError) as refused:
        MAKERS[field]()

    assert [error.field for error in refused.value.errors] == [field]


def test_every_error_is_a_ringi_error_and_importable_from_ringi() -> None:
    modules = [
        importlib.import_module(each.name)
        for each in pkgutil.walk_packages(ringi.__path__, "ringi.")
        if not each.name.endswith("__main__")
    ]
    made = {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Exception) and each.__module__.startswith("ringi")
    }
    public = {each.__name__ for each in made if each.__module__ == errors.__name__}

    assert {each.__name__ for each in made if not issubclass(each, ringi.RingiError)} == INTERNAL
    assert public - set(ringi.__all__) == set()
