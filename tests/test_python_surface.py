"""The Python API: arguments in Python's own types, short representations, one tree of errors."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import AsyncIterator, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel

import ringi
import ringi_apps
from ringi import errors
from ringi.connect import store_inbox
from ringi.domain import Ask, Button, Query
from ringi.errors import InvalidError, WaitTimeoutError
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.testing import ManualClock

INTERNAL = {
    # pydantic takes only a ValueError from a validator; each becomes an InvalidError before a caller sees it.
    "FieldValidationError",
    # Caught in the room that raises it.
    *("UnreadableReflectionError", "AskFirst"),
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
async def inbox() -> AsyncIterator[StoreInbox]:
    async with store_inbox("memory://", clock=ManualClock()) as inbox:
        yield inbox


async def test_a_model_class_is_a_form_and_a_timedelta_a_deadline(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Where to?", form=Trip, expires_in=timedelta(minutes=5))
    same = await inbox.ask("Where to?", form=ringi.Form.of(Trip), expires_in=300)

    assert (asked.form, asked.digest, asked.expires_at) == (same.form, same.digest, same.expires_at)


async def test_a_question_names_its_thread_and_run(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Go?", thread_id="thread-7", run_id="run-1")

    assert (asked.thread_id, asked.run_id) == ("thread-7", "run-1")
    assert await inbox.search(Query(thread_id="thread-7")) == [asked]


@pytest.mark.parametrize("seconds", [timedelta(0), timedelta(days=-1), timedelta(days=5000)])
async def test_a_timedelta_is_held_to_the_limits_of_seconds(inbox: StoreInbox, seconds: timedelta) -> None:
    with pytest.raises(InvalidError, match="expires_in"):
        await inbox.ask("Go?", expires_in=seconds)


async def test_a_class_that_is_no_model_is_refused(inbox: StoreInbox) -> None:
    with pytest.raises(InvalidError, match="form"):
        await inbox.ask("Go?", form=dict)  # type: ignore[arg-type]


async def test_a_representation_is_one_short_line(inbox: StoreInbox) -> None:
    form = ringi.Form([ringi.Select("reason", options=["late"]), ringi.Number("amount")])
    asked = await inbox.ask("Refund " + "1182 " * 90, id="r1", form=form, context={"secret": "x" * 5000})
    done = await inbox.respond(Seen("r1", asked.digest), "approve", {"reason": "late"}, by="ann")

    assert repr(asked) == f"Request(id='r1', kind='form', status='pending', title='{asked.title[:60]}…')"
    assert repr(done.response) == "Response(decision='approve', responder='ann', given=['data'])"
    assert repr(form) == "Form(reason='select', amount='number')"


async def test_a_wait_takes_the_request_or_its_id_and_returns_it_however_it_ended(inbox: StoreInbox) -> None:
    asked = await inbox.ask("Go?")
    with pytest.raises(WaitTimeoutError, match="stays open"):
        await inbox.wait(asked, timeout=0)
    cancelled = await inbox.cancel(asked.id, by="ann")

    assert await inbox.wait(asked) == await inbox.wait(asked.id, timeout=0) == cancelled


MAKERS: dict[str, Callable[[], object]] = {
    "Action.name": lambda: ringi.Action(""),
    "Ask.expires_in": lambda: Ask(title="Go?", expires_in=-1),
    "Button.style": lambda: Button(style="loud"),
    "Query.state": lambda: Query(state="pending"),  # type: ignore[call-arg]
    "reason.options": lambda: ringi.Select("reason", options=[]),
    "form.fields": lambda: ringi.Form([]),
}


@pytest.mark.parametrize("field", MAKERS)
def test_a_wrong_value_is_named_when_it_is_made(field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        MAKERS[field]()

    assert [error.field for error in refused.value.errors] == [field]


IN_AN_ENVIRONMENT_OF_THEIR_OWN = tuple(
    f"ringi.{room}.{name}"
    for room in ("runtimes", "demo.frameworks", "integrations")
    for name in ("openai_agents", "pydantic_ai")
)


def error_classes() -> set[type[Exception]]:
    modules = [
        importlib.import_module(each.name)
        for package in (ringi, ringi_apps)
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
        if not each.name.endswith("__main__") and not each.name.startswith(IN_AN_ENVIRONMENT_OF_THEIR_OWN)
    ]
    return {
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Exception) and each.__module__.startswith("ringi")
    }


def test_every_error_is_a_ringi_error() -> None:
    made = error_classes()

    assert {each.__name__ for each in made if not issubclass(each, ringi.RingiError)} == INTERNAL


@pytest.mark.parametrize("name", [*ringi.ELSEWHERE, "ConflictError", "WaitTimeoutError"])
def test_a_name_that_is_elsewhere_says_where(name: str) -> None:
    with pytest.raises(AttributeError, match=r"use `.+`"):
        getattr(ringi, name)


def test_callers_can_catch_nine_errors() -> None:
    raised = "Conflict Forbidden Invalid LostReply NotAuthorized NotFound Ringi Unavailable WaitTimeout"

    defined = {name for name, each in vars(errors).items() if getattr(each, "__module__", "") == errors.__name__}
    assert defined == {f"{each}Error" for each in [*raised.split(), "Field"]}


def test_the_top_has_at_most_thirty_names() -> None:
    assert len(ringi.__all__) <= 30
    assert all(getattr(ringi, name) for name in ringi.__all__)


def own_errors() -> set[type[Exception]]:
    return {each for each in error_classes() if issubclass(each, ringi.RingiError)}


SAMPLES: dict[str, Any] = {
    "str": "refund",
    "str | None": "refund",
    "Iterable[str]": ("refund",),
    "int": 409,
    "int | None": 409,
    "float": 2.5,
    "float | None": 2.5,
    "bool": True,
    "object": "gone",
    "Exception | None": OSError("gone"),
    "dict[str, Any] | None": {"responder": "ann", "at": "2026-11-26T00:00:00Z"},
    "tuple[str, ...]": ("amount", "order"),
    "datetime": datetime(2026, 11, 26, tzinfo=UTC),
    "PlanReason": "STATUS",
    "UnreadCause": "changed",
    "UnavailableError": errors.UnavailableError("no disk"),
    "Sequence[FieldError]": [errors.FieldError("amount", "is too large", "at_most", {"limit": 5})],
}
"""A value for each type of an error's arguments."""
OWN_SAMPLES: dict[str, dict[str, Any]] = {"StepError": {"code": "args"}}


def sample_error(kind: type[Exception]) -> Exception:
    own = OWN_SAMPLES.get(kind.__name__, {})
    parameters = {} if kind.__init__ is Exception.__init__ else inspect.signature(kind).parameters
    with_names = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = {each.name: SAMPLES[each.annotation] for each in parameters.values() if each.kind in with_names}
    error = kind(**{**named, **own}) if parameters else kind("gone")
    error.add_note("seen by the worker")
    return error


@pytest.mark.parametrize("kind", sorted(own_errors(), key=repr))
def test_an_error_survives_another_process_and_a_copy(kind: type[Exception]) -> None:
    error = sample_error(kind)
    for other in (pickle.loads(pickle.dumps(error)), pickle.loads(pickle.dumps(error, 0)), copy.copy(error)):
        assert type(other) is kind
        assert str(other) == str(error) != ""
        assert repr(vars(other)) == repr(vars(error))
        assert repr(other.args) == repr(error.args)
