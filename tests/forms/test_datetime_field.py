"""A moment in a form: RFC 3339 with its offset, kept as it was sent, compared as a moment."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from pydantic import AwareDatetime, BaseModel, Field

import ringi
from ringi import DateTime, Form
from ringi.errors import InvalidError

FIT = ["2026-11-24T09:30:00+09:00", "2026-11-24T00:30:00Z", "2026-11-24T00:30:00.123456-00:00", "0001-01-01T00:00:00Z"]
UNFIT = [
    "2026-11-24T09:30:00", "2026-11-24", "2026-11-24 09:30:00Z", "2026-11-24T09:30Z", "20261124T093000Z",
    "2026-11-24t09:30:00z", "2026-02-30T00:00:00Z", "2026-11-24T24:00:01Z", "2026-11-24T23:59:60Z",
    "2026-11-24T09:30:00+9", "2026-11-24T09:30:00+24:30", "0001-01-01T00:00:00+09:00", "9999-12-31T23:59:59-01:00",
    "２０２６-11-24T09:30:00Z", "2026-11-24T09:30:00Z\n", "", 1_764_000_000, True, None, {}, ["2026-11-24T09:30:00Z"],
]  # fmt: skip


@pytest.mark.parametrize("value", FIT)
def test_a_moment_is_kept_as_it_was_sent(value: str) -> None:
    assert Form([DateTime("at")]).check({"at": value}) == {"at": value}


@pytest.mark.parametrize("value", UNFIT)
def test_what_is_no_moment_for_every_reader_is_refused(value: Any) -> None:
    with pytest.raises(InvalidError, match="at: "):
        Form([DateTime("at", required=True)]).check({"at": value})


BOUNDED = Form([DateTime("at", min="2026-11-24T09:00:00+09:00", max="2026-11-24T01:00:00Z")])


def test_bounds_are_compared_as_moments_whatever_their_offsets() -> None:
    for inside in ("2026-11-24T00:00:00Z", "2026-11-23T19:30:00-05:00", "2026-11-24T10:00:00+09:00"):
        BOUNDED.check({"at": inside})
    with pytest.raises(InvalidError, match=r"too early: send 2026-11-24T09:00:00\+09:00 or later"):
        BOUNDED.check({"at": "2026-11-24T08:59:59+09:00"})
    with pytest.raises(InvalidError, match="too late: send 2026-11-24T01:00:00Z or earlier"):
        BOUNDED.check({"at": "2026-11-24T01:00:00.000001Z"})


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"min": "2026-11-24"}, "at.min"),
        ({"default": "soon"}, "at.default"),
        ({"min": "2026-11-24T02:00:00Z", "max": "2026-11-24T10:00:00+09:00"}, "at.min"),
        ({"min": "2026-11-24T02:00:00Z", "default": "2026-11-24T10:00:00+09:00"}, "at.default"),
    ],
)
def test_an_unsound_definition_names_its_part(parts: dict[str, str], field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        DateTime("at", **parts)  # type: ignore[arg-type]
    assert refused.value.errors[0].field == field


def test_a_form_and_its_json_schema_are_one() -> None:
    schema = BOUNDED.json_schema()
    assert schema["properties"]["at"]["format"] == "date-time"
    assert Form.from_json_schema(schema) == BOUNDED


class Call(BaseModel):
    at: AwareDatetime = Field(ge=datetime(2026, 11, 24, tzinfo=UTC), lt=datetime(2026, 11, 25, tzinfo=UTC))
    day: date | None = None


async def test_a_model_with_a_moment_is_a_form_and_comes_back_typed() -> None:
    async with ringi.open("memory://") as inbox:
        asked = await inbox.ask("When shall we call?", form=Call)
        assert asked.form
        assert [field.type for field in asked.form.fields] == ["datetime", "date"]
        for late in ("2026-11-25T00:00:00Z", "2026-11-24T19:00:00-05:00"):
            with pytest.raises(InvalidError, match="too late"):
                await inbox.respond(asked, "approve", {"at": late}, by="ann")
        answer = {"at": "2026-11-24T18:30:00+09:00"}
        done = await inbox.respond(asked, "approve", answer, by="ann")
        assert done.response
        assert done.response.data == answer
        assert done.response.into(Call).at == datetime(2026, 11, 24, 9, 30, tzinfo=UTC)
