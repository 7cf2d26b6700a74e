from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.base.canonical_json import canonical, digest, jsonable
from ringi.domain.record import (
    MAX_SEARCH,
    MAX_TERMS,
    START,
    Key,
    cursor_after_record,
    event_hash,
    index_terms,
    lookup_terms,
    normalize_for_search,
    parse_position_number,
    parse_record_cursor,
    query_terms,
    record_topic,
    unix_microseconds,
)
from ringi.errors import InvalidError
from ringi.testing.clock import NOON
from ringi.testing.factories import a_request

HASHED_TEXTS = ("tenant", "record", "record_id", "type", "payload_digest", "previous")
TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=9)), timezone(timedelta(hours=-7.5))]))


@given(TIMES, TIMES)
def test_microseconds_sort_as_times_do(one: datetime, other: datetime) -> None:
    assert (unix_microseconds(one) < unix_microseconds(other)) == (one < other)


@given(TIMES)
def test_microseconds_lose_nothing(at: datetime) -> None:
    assert datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=unix_microseconds(at)) == at


@given(TIMES, st.text(min_size=1), st.text())
def test_a_cursor_says_where_its_record_stands(at: datetime, id: str, tenant: str) -> None:
    request, _ = a_request()
    placed = request.model_copy(update={"id": id, "tenant": tenant, "created_at": at})

    assert parse_record_cursor(cursor_after_record(placed)) == (unix_microseconds(at), id, tenant)


@given(TIMES, st.integers(1, 2**53 - 1), st.fixed_dictionaries(dict.fromkeys(HASHED_TEXTS, st.text())))
def test_the_hash_of_an_event_is_the_digest_of_its_fields(at: datetime, version: int, texts: dict[str, str]) -> None:
    fields = {**texts, "version": version, "at": at, "payload": {"not": "hashed"}}

    assert event_hash(fields) == digest({**texts, "version": version, "at": jsonable(at.astimezone(UTC))})


@pytest.mark.parametrize("cursor", ["", "x", ":", "1", "1:2", "²:a:b", "--1:a:b", "1" * 19 + ":a:b", " 1:a:b"])
def test_what_is_no_cursor_is_named(cursor: str) -> None:
    with pytest.raises(InvalidError, match="cursor"):
        parse_record_cursor(cursor)


@pytest.mark.parametrize("position", ["x", "-1", "1.0", "²", " 1", "1" * 19])
def test_what_is_no_position_is_named(position: str) -> None:
    with pytest.raises(InvalidError, match="after"):
        parse_position_number(position)


def test_the_start_comes_before_the_first_event() -> None:
    assert parse_position_number(START) == 0
    assert parse_position_number("1") == 1


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
    assert normalize_for_search(text) == normalize_for_search(found)


def test_a_search_skips_what_is_missing() -> None:
    assert normalize_for_search("a", None, "", "b") == normalize_for_search("a", "b")


LETTERS = st.sampled_from("abäßAﾎﾟ12返金の注ーกิ환불_%+-.。 \n\u3000\u0301İ😀\x00")
TEXTS = st.text(LETTERS | st.characters(), max_size=40)


@given(TEXTS, st.data())
def test_a_text_is_filed_under_all_that_its_parts_are_looked_up_by(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    sought = query_terms(text[start : start + data.draw(st.integers(1, 20))])
    found = normalize_for_search(text)

    assert not all(piece in found for piece in sought) or set(lookup_terms(sought)) <= set(index_terms(found))


@given(st.text(LETTERS, max_size=40))
def test_every_word_of_a_text_finds_it(text: str) -> None:
    assert all(piece in normalize_for_search(text) for piece in query_terms(text))


@given(TEXTS)
def test_whatever_is_sought_has_a_term(text: str) -> None:
    assert bool(query_terms(text)) == bool(lookup_terms(query_terms(text)))


@given(TEXTS)
def test_terms_are_words_to_any_tokenizer(text: str) -> None:
    assert all(
        letter.isalnum() or ord(letter) > 127 for term in index_terms(normalize_for_search(text)) for letter in term
    )


def test_a_word_is_filed_under_its_beginnings_and_a_run_under_its_parts() -> None:
    terms = ["wr", "wre", "wref", "wrefu", "wrefund", "rの", "r返", "r金", "rの返", "r返金", "s25"]

    assert sorted(index_terms(normalize_for_search("Refunds の返金 %"))) == sorted(terms)


@pytest.mark.parametrize(
    ("text", "terms"),
    [("refun", ["wrefu"]), ("返金", ["r返金"]), ("返", ["r返"]), ("%", ["s25"]), ("a-返金", ["r返金", "wa"]), ("", [])],
)
def test_a_search_looks_up_what_is_rarest(text: str, terms: list[str]) -> None:
    assert lookup_terms(query_terms(text)) == terms


def test_a_search_looks_up_so_many_terms_at_most() -> None:
    assert len(lookup_terms(query_terms(" ".join(f"word{n}" for n in range(60))))) == MAX_TERMS


def test_a_search_is_as_long_as_it_may_be() -> None:
    assert len(query_terms("x " * (MAX_SEARCH // 2))) == 1
    with pytest.raises(InvalidError, match=f"{MAX_SEARCH} characters"):
        query_terms("x" * (MAX_SEARCH + 1))


def test_a_topic_names_kind_tenant_and_id() -> None:
    request, _ = a_request()

    assert request.topic == record_topic("request", Key("tenant-1", "request-1")) == "request/tenant-1/request-1"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, "\ud800", {1: 2, "b": 3}])
def test_what_is_no_portable_json_is_refused(value: object) -> None:
    with pytest.raises(InvalidError, match="portable JSON"):
        canonical(value)


def test_the_digest_does_not_depend_on_the_order_of_keys() -> None:
    assert digest({"a": 1, "b": [1.0, None]}) == digest({"b": [1, None], "a": 1})
