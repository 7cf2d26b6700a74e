from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.canonical import canonical, digest
from ringi.errors import InvalidError
from ringi.record import (
    START,
    Key,
    cursor_of,
    microseconds,
    parsed_cursor,
    parsed_number,
    searchable,
    topic_of,
)
from ringi.testing import a_request
from ringi.testing.clock import NOON

TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-7.5))]))


@given(TIMES, TIMES)
def test_microseconds_sort_as_times_do(one: datetime, other: datetime) -> None:
    assert (microseconds(one) < microseconds(other)) == (one < other)


@given(TIMES)
def test_microseconds_lose_nothing(at: datetime) -> None:
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds(at)) == at


@given(TIMES, st.text(min_size=1), st.text())
def test_a_cursor_says_where_its_record_stands(at: datetime, id: str, tenant: str) -> None:
    request, _ = a_request()
    placed = request.model_copy(update={"id": id, "tenant": tenant, "created_at": at})

    assert parsed_cursor(cursor_of(placed)) == (microseconds(at), id, tenant)


@pytest.mark.parametrize("cursor", ["", "x", ":", "1", "1:2", "²:a:b", "--1:a:b", "1" * 19 + ":a:b", " 1:a:b"])
def test_what_is_no_cursor_is_named(cursor: str) -> None:
    with pytest.raises(InvalidError, match="cursor"):
        parsed_cursor(cursor)


@pytest.mark.parametrize("position", ["x", "-1", "1.0", "²", " 1", "1" * 19])
def test_what_is_no_position_is_named(position: str) -> None:
    with pytest.raises(InvalidError, match="after"):
        parsed_number(position)


def test_the_start_comes_before_the_first_event() -> None:
    assert parsed_number(START) == 0
    assert parsed_number("1") == 1


def test_an_event_seals_what_it_says() -> None:
    request, event = a_request()

    assert event.hash == request.head == event.computed_hash()
    assert event.payload_digest == digest(event.payload)


def test_each_event_is_chained_to_the_one_before() -> None:
    request, created = a_request()

    later, changed = request.changed("claimed", "ann", NOON, claimed_by="ann")

    assert (created.previous, changed.previous) == ("", created.hash)
    assert (later.version, later.head, later.claimed_by) == (2, changed.hash, "ann")
    assert changed.payload == {"actor": "ann", "changed": {"claimed_by": "ann"}}


@pytest.mark.parametrize("field", ["tenant", "record", "record_id", "version", "type", "payload_digest", "previous"])
def test_no_field_of_an_event_can_change_under_its_hash(field: str) -> None:
    _, event = a_request()
    other = 7 if field == "version" else "other"

    assert event.model_copy(update={field: other}).computed_hash() != event.hash


def test_the_hash_does_not_depend_on_the_time_zone() -> None:
    _, event = a_request()
    in_tokyo = event.at.astimezone(timezone(timedelta(hours=9)))

    assert event.model_copy(update={"at": in_tokyo}).computed_hash() == event.hash


def test_the_id_of_an_event_differs_between_tenants() -> None:
    assert a_request(tenant="ours")[1].id != a_request(tenant="theirs")[1].id


@pytest.mark.parametrize(
    ("text", "found"), [("ﾘﾝｷﾞ", "リンギ"), ("ＡＢＣ", "abc"), ("Straße", "STRASSE"), ("①", "1"), ("İ", "i̇")]
)
def test_texts_are_searched_in_one_width_and_case(text: str, found: str) -> None:
    assert searchable(text) == searchable(found)


def test_a_search_skips_what_is_missing() -> None:
    assert searchable("a", None, "", "b") == "a\nb"


def test_a_topic_names_kind_tenant_and_id() -> None:
    request, _ = a_request()

    assert request.topic == topic_of("request", Key("tenant-1", "request-1")) == "request/tenant-1/request-1"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {1: 2, "b": 3}])
def test_what_is_no_portable_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidError, match="portable JSON"):
        canonical(value)


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1.0, None]}) == digest({"b": [1, None], "a": 1})
