from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apps.engrammer.learned import GLUE, OIL, SAND, Journal, playbook_error
from tests.apps.engrammer.pairs import PAIRS, Label, Pair

from ringi.testing.clock import NOON
from ringi_apps.engrammer.entries import EntryOp, Rejection
from ringi_apps.engrammer.similarity import (
    MIN_SCORE,
    DifferenceFlag,
    difference_flags,
    find_recent_rejection,
    find_similar,
    normalize,
    similarity_score,
)

OPPOSING: set[DifferenceFlag] = {"number", "negation", "swap"}


def share(pairs: Iterable[bool]) -> float:
    found = list(pairs)
    return sum(found) / len(found)


def labelled(label: Label) -> list[Pair]:
    return [pair for pair in PAIRS if pair.label == label]


@pytest.mark.parametrize("pair", PAIRS)
def test_no_pair_but_of_the_same_letters_is_ever_the_same_to_a_rule(pair: Pair) -> None:
    journal = Journal(pair.one)
    is_same = difference_flags(pair.one, pair.other) == ("same",)

    assert is_same == (pair.label == "copy")
    assert difference_flags(pair.other, pair.one) == difference_flags(pair.one, pair.other)
    if is_same:
        with playbook_error("duplicate", "b-00001"):
            journal.write(journal.playbook.add_entry("strategies", pair.other))
    else:
        journal.write(journal.playbook.add_entry("strategies", pair.other))
        assert len(journal.playbook.active) == 2


def test_most_duplicates_are_found_and_few_look_like_contradictions() -> None:
    duplicates = labelled("duplicate")

    assert share(similarity_score(each.one, each.other) >= MIN_SCORE for each in duplicates) >= 0.8
    assert share(bool(difference_flags(each.one, each.other)) for each in duplicates) <= 0.13


def test_nearly_all_contradictions_are_found_and_flagged() -> None:
    contradictions = labelled("contradiction")

    assert share(similarity_score(each.one, each.other) >= MIN_SCORE for each in contradictions) == 1
    assert share(bool(OPPOSING & set(difference_flags(each.one, each.other))) for each in contradictions) >= 0.9


def test_what_has_nothing_in_common_is_not_found() -> None:
    assert not any(similarity_score(each.one, each.other) >= MIN_SCORE for each in labelled("unrelated"))


def test_no_refusal_suppresses_what_says_the_opposite() -> None:
    for pair in labelled("contradiction"):
        refused = [Rejection(text=pair.one, at=NOON)]
        assert find_recent_rejection(pair.other, refused, NOON) is None, pair


@pytest.mark.parametrize(
    ("one", "other", "flags"),
    [
        ("Wait 20 minutes.", "Wait 1,000 minutes.", ("number",)),
        ("It holds 1,000 screws in all.", "It holds 1000 screws, in all.", ()),
        ("Use two clamps for each of the boards.", "For each of the boards, use 2 clamps.", ()),
        ("Keep it below 10⁵ Pa.", "Keep it below 105 Pa.", ("number",)),
        ("Do not dry it without a fan.", "Dry it with a fan.", ()),
        ("必ず下穴を開ける。", "下穴を開ける。", ()),
        ("下穴を開けなければならない。", "下穴を開ける。", ()),
        ("少ない力で削る。", "削るときは、わずかな力で足りる。", ()),
        ("不仅要擦，也要刷。", "要擦，也要刷。", ()),
        ("Glue, then clamp.", "Clamp, then glue.", ("swap",)),
    ],
)
def test_a_flag_says_what_may_set_two_texts_against_each_other(
    one: str, other: str, flags: tuple[DifferenceFlag, ...]
) -> None:
    assert difference_flags(one, other) == flags


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Feed it 5 mW.", "Feed it 5 MW."),
        ("r² is the area", "r2 is the area"),
        ("at 2½ turns", "at 21/2 turns"),
        ("a.b", "ab"),
    ],
)
def test_what_only_looks_the_same_is_not(one: str, other: str) -> None:
    assert normalize(one) != normalize(other)


def test_the_likest_bullets_come_first_and_others_not_at_all() -> None:
    playbook = Journal(SAND, GLUE, OIL, "Clamp a glued joint for 45 minutes.").playbook

    found = find_similar(GLUE, playbook.active)

    assert [(each.bullet, each.flags) for each in found] == [("b-00002", ("same",)), ("b-00004", ("number", "swap"))]
    assert found[0].score == 1
    assert len(find_similar(GLUE, playbook.active, most=1)) == 1
    assert len(find_similar(GLUE, playbook.active, at_least=0)) == 4


def test_a_near_copy_of_what_was_refused_is_suppressed_for_a_while() -> None:
    refused = [Rejection(text=GLUE, at=NOON)]
    copy = "Clamp the glued joint for 30 minutes"

    assert find_recent_rejection(copy, refused, NOON + timedelta(days=29)) == refused[0]
    assert find_recent_rejection(copy, refused, NOON + timedelta(days=30)) is None
    assert find_recent_rejection(GLUE, refused, NOON) == refused[0]
    assert find_recent_rejection(SAND, refused, NOON) is None


def test_a_number_changed_is_another_claim() -> None:
    assert find_recent_rejection("Clamp a glued joint for 60 minutes.", [Rejection(text=GLUE, at=NOON)], NOON) is None


def test_the_newest_of_two_refusals_is_named() -> None:
    refused = [Rejection(text=GLUE, at=NOON, request_id=id) for id in ("q-1", "q-2")]

    found = find_recent_rejection(GLUE, refused, NOON)

    assert found is not None
    assert found.request_id == "q-2"


@pytest.mark.parametrize(
    ("refused", "is_suppressed"),
    [("retire", False), ("add", True), ("edit", True)],
)
def test_who_refused_to_retire_a_bullet_did_not_refuse_what_it_says(refused: EntryOp, is_suppressed: bool) -> None:
    assert bool(find_recent_rejection(GLUE, [Rejection(text=GLUE, at=NOON, op=refused)], NOON)) == is_suppressed


@given(st.text(max_size=40), st.text(max_size=40))
def test_likeness_is_symmetric_and_between_0_and_1(one: str, other: str) -> None:
    assert similarity_score(one, other) == similarity_score(other, one)
    assert 0 <= similarity_score(one, other) <= 1
    assert difference_flags(one, other) == difference_flags(other, one)


@given(st.text(max_size=40))
def test_a_text_is_the_same_as_itself(text: str) -> None:
    assert difference_flags(text, text) == ("same",)
    assert difference_flags(text, f"  {text}\n") == ("same",)
    assert similarity_score(text, text) == pytest.approx(1, abs=1e-3)
