"""What is not JSON is written in its one form, or refused by name at the call, on every store and over HTTP."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePath
from typing import Any, NamedTuple
from uuid import UUID

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token

import ringi
from ringi import Action
from ringi.connect import store_inbox
from ringi.errors import InvalidError
from ringi.inbox.inbox import StoreInbox

ID = UUID("12345678-1234-5678-1234-567812345678")


class Color(Enum):
    RED = "red"
    PRICE = Decimal("1.10")


class Level(IntEnum):
    HIGH = 3


class Word(StrEnum):
    YES = "yes"


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Order:
    number: int
    at: datetime


class Customer(BaseModel):
    id: UUID
    color: Color


class Login(BaseModel):
    """A model with a field that pydantic never writes."""

    user: str
    password: str = Field(exclude=True)


class Command(BaseModel):
    """A model that takes more fields than it names."""

    model_config = ConfigDict(extra="allow")
    path: str


class Numbers(RootModel[list[int]]):
    """A model of a list."""


WRITTEN: list[tuple[Any, Any]] = [
    (ID, str(ID)),
    (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05Z"),
    (datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=9))), "2026-01-02T03:04:00+09:00"),
    (date(2026, 1, 2), "2026-01-02"),
    (Color.RED, "red"),
    (Level.HIGH, 3),
    (Word.YES, "yes"),
    ({Word.YES: 1}, {"yes": 1}),
    ((1, "two", None), [1, "two", None]),
    (Point(1, 2), [1, 2]),
    (Order(7, datetime(2026, 1, 2, tzinfo=UTC)), {"number": 7, "at": "2026-01-02T00:00:00Z"}),
    (Customer(id=ID, color=Color.RED), {"id": str(ID), "color": "red"}),
    ([True, 1, 1.5, "x"], [True, 1, 1.5, "x"]),
    (Login(user="ann", password="hunter2"), {"user": "ann"}),
    (Command.model_validate({"path": "/", "recursive": True}), {"path": "/", "recursive": True}),
    (Numbers([1, 2]), [1, 2]),
]
REFUSED: list[tuple[Any, str, str]] = [
    (Decimal("1.10"), "value", "send str(value)"),
    (Color.PRICE, "value", "send str(value)"),
    (datetime(2026, 1, 2), "value", "give it a time zone"),  # noqa: DTZ001
    ({3, 1}, "value", "send sorted(value)"),
    (frozenset("a"), "value", "send sorted(value)"),
    (b"bytes", "value", "base64"),
    (time(1, 2), "value", "time is not JSON"),
    (timedelta(1), "value", "timedelta is not JSON"),
    (PurePath("x"), "value", "is not JSON"),
    (object(), "value", "object is not JSON"),
    (1 + 2j, "value", "complex is not JSON"),
    ({1: "one"}, "value", "the key 1 is not Unicode text"),
    ({"\ud83d": "x"}, "value", "is not Unicode text"),
    ([{"price": Decimal(1)}], "value.0.price", "send str(value)"),
    (Order(7, datetime(2026, 1, 2)), "value.at", "give it a time zone"),  # noqa: DTZ001
    (float("nan"), "value", "not a JSON number"),
]


@pytest.fixture
async def inbox(url: str) -> AsyncIterator[StoreInbox]:
    async with store_inbox(url) as inbox:
        yield inbox


async def asked(inbox: Any, value: Any) -> tuple[ringi.Request, ringi.Request]:
    """Ask with a value everywhere where one may stand; return the reply and what is stored."""
    request = await inbox.ask("Go?", action=Action("go", {"value": value}), context={"value": value})
    return request, await inbox.get(request.id)


async def refusal(inbox: Any, value: Any) -> dict[str, str]:
    with pytest.raises(InvalidError) as refused:
        await inbox.ask("Go?", action=Action("go", {"value": value}), context={"value": value})
    return {error.field: error.message for error in refused.value.errors}


async def test_what_has_one_form_is_stored_and_returned_in_it(inbox: StoreInbox) -> None:
    for value, plain in WRITTEN:
        for request in await asked(inbox, value):
            assert request.action
            assert (request.action.args, request.context) == ({"value": plain}, {"value": plain})
            assert type(request.context["value"]) is type(plain)


async def test_what_has_none_is_refused_with_its_path_and_the_remedy(inbox: StoreInbox) -> None:
    for value, path, remedy in REFUSED:
        errors = await refusal(inbox, value)
        assert remedy in errors[f"context.{path}"]
        assert remedy in errors[f"action.args.{path}"]
    assert await inbox.find() == []


async def test_over_http_it_is_the_same(server: DemoServer) -> None:
    async with ringi.open(server.url, token=token(server, "bot", "agent")) as client:
        for value, plain in WRITTEN:
            for request in await asked(client, value):
                assert request.context == {"value": plain}
        for value, path, remedy in REFUSED[:-1]:
            assert remedy in (await refusal(client, value))[f"context.{path}"]


async def test_what_contains_itself_is_refused() -> None:
    endless: dict[str, Any] = {}
    endless["again"] = endless
    async with store_inbox("memory://") as inbox:
        with pytest.raises(InvalidError, match="contains itself"):
            await inbox.ask("Go?", context=endless)


async def test_what_runs_is_what_was_shown() -> None:
    async with store_inbox("memory://") as inbox:
        request = await inbox.ask("Go?", action=Action("go", {"at": date(2026, 1, 2)}))
        done = await inbox.respond(request, "approve", by="ann")

        assert done.granted
        assert done.granted.args == {"at": "2026-01-02"}
        done.authorize("go", {"at": "2026-01-02"})


async def test_an_answer_is_made_plain_too(inbox: StoreInbox) -> None:
    request = await inbox.ask("Go?", action=Action("go", {"at": "2026-01-01"}))

    with pytest.raises(InvalidError, match=r"args\.at: Decimal is not JSON"):
        await inbox.respond(request, "edit", args={"at": Decimal(1)}, by="ann")
    done = await inbox.respond(request, "edit", args={"at": date(2026, 1, 2)}, by="ann")

    assert done.response
    assert done.response.args == {"at": "2026-01-02"}
