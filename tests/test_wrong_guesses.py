"""What people try first in Python and is not so: each guess names the right word, or works."""

from __future__ import annotations

import asyncio
import re
import warnings
from typing import Any

import pydantic
import pytest

import ringi
from ringi import ask
from ringi.base.extras import UnsupportedError
from ringi.base.settings import SettingError
from ringi.errors import InvalidError
from ringi.policy import Policy
from ringi.runs import Agent


class Answer(pydantic.BaseModel):
    """A model that somebody takes for a schema."""

    reason: str


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ({"quorum": 2}, '[{"groups": ["finance"], "count": 2}]'),
        ({"groups": "finance"}, 'must be a list: ["finance"]'),
        ({"exclude": "starter"}, 'must be a list: ["starter"]'),
        ({"escalation": {"after": 600}}, '[{"after": 600, "to": ["group:finance"]}]'),
        ({"schema": Answer}, "as `form`"),
        ({"action": "refund"}, '{"name": "refund"'),
    ],
)
async def test_a_field_of_another_shape_shows_its_shape(options: dict[str, Any], remedy: str) -> None:
    async with ringi.open("memory://") as inbox:
        with pytest.raises(InvalidError, match=re.escape(remedy)):
            await inbox.ask("Pay?", **options)


async def test_twelve_fields_are_asked_and_more_name_the_setting() -> None:
    fields = [ringi.Text(f"f{n}") for n in range(13)]
    async with ringi.open("memory://") as inbox:
        await inbox.ask("Pay?", form=ringi.Form(fields[:12]))
        with pytest.raises(InvalidError, match="max_fields"):
            await inbox.ask("Pay?", form=ringi.Form(fields))


@pytest.mark.parametrize(("name", "call"), [("wait", "inbox.wait("), ("approve", 'inbox.respond(request, "approve"')])
def test_a_verb_at_the_top_names_the_inbox(name: str, call: str) -> None:
    with pytest.raises(AttributeError, match=r"async with ringi\.open") as error:
        getattr(ringi, name)
    assert call in str(error.value)


def test_another_name_is_missing_as_in_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'ringi' has no attribute 'nothing'"):
        getattr(ringi, "nothing")  # noqa: B009


def test_an_inbox_that_nobody_closed_is_named_with_its_line() -> None:
    async def forget() -> None:
        inbox = await ringi.open("memory://")
        await inbox.ask("Pay?")

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        asyncio.run(forget())

    assert [(each.category, each.filename) for each in found] == [(RuntimeWarning, __file__)]
    assert "never closed" in str(found[0].message)


def test_an_inbox_that_was_closed_is_not() -> None:
    async def close() -> None:
        await (await ringi.open("memory://")).close()

    asyncio.run(close())


async def test_an_address_with_its_version_is_refused() -> None:
    with pytest.raises(SettingError, match=r"leave out /v1: give https://example\.com"):
        await ringi.open("https://example.com/v1", token="token")


def test_a_question_outside_of_a_run_names_the_inbox() -> None:
    with pytest.raises(UnsupportedError, match=r"ringi\.open"):
        ask("Pay?")


def test_a_policy_of_an_agent_is_read_from_plain_data() -> None:
    assert Agent("shop", object(), policy={"rules": [{"tools": ["pay"]}]}).policy == Policy.parse(  # type: ignore[arg-type]
        {"rules": [{"tools": ["pay"]}]}
    )


def test_an_unknown_condition_names_the_known_ones() -> None:
    rule = {"tools": ["pay"], "where": {"amount": {"lte": 100}}}
    with pytest.raises(
        InvalidError, match=r"rules\[0\].where.amount.lte: is not known here: use one of .*at_most"
    ) as error:
        Policy.parse({"rules": [rule]})
    assert "remove it" not in str(error.value)
