"""Who is away, and for whom a person stands: the pure part."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.domain import absence
from ringi.domain.absence import Absence
from ringi.domain.journal import RINGI, Journal
from ringi.errors import InvalidError
from ringi.testing.clock import NOON

DAY = timedelta(days=1)
NAMES = st.sampled_from(["ann", "bob", "cat"])


def leaving(person: str, deputy: str, until: datetime = NOON + DAY) -> Absence:
    return Absence(person=person, deputy=deputy, until=until, groups=("finance",))


def journal() -> Journal:
    return Journal.begun(absence.JOURNAL, RINGI, {absence.PEOPLE: {}}, by="ann", now=NOON)[0]


@pytest.mark.parametrize(
    ("away", "field"),
    [
        (leaving("ann", "ann"), "deputy"),
        (leaving("ann", "agent:bot"), "deputy"),
        (leaving("ann", "bob", NOON), "until"),
        (leaving("ann", "bob", NOON + 367 * DAY), "until"),
    ],
)
def test_an_absence_needs_another_person_and_an_end_within_a_year(away: Absence, field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        away.checked(NOON)

    assert refused.value.errors[0].field == field


def test_a_deputy_who_is_away_has_no_deputy_for_others() -> None:
    state, _ = absence.with_absence(journal(), leaving("ann", "bob"), NOON)
    state, _ = absence.with_absence(state, leaving("bob", "cat"), NOON)
    found = absence.active_absences(state, NOON)

    assert [each.person for each in absence.absences_concerning(found, "bob").deputy_for] == ["ann"]
    assert [each.person for each in absence.absences_concerning(found, "cat").deputy_for] == ["bob"]
    assert [each.person for each in absence.active_absences(state, NOON + DAY)] == []


def test_an_erasure_removes_a_person_and_those_whose_deputy_the_person_is() -> None:
    state, first = absence.with_absence(journal(), leaving("ann", "bob"), NOON)
    state, second = absence.with_absence(state, leaving("cat", "ann"), NOON)

    after = state.model_copy(update=state.without([first, second], "ann"))

    assert absence.active_absences(after, NOON) == []
    assert after.is_sound
    assert "bob" not in after.model_dump_json()
    assert "ann" not in after.model_dump_json(exclude={"digest", "head"})


@given(st.lists(st.tuples(NAMES, NAMES, st.integers(0, 3)), max_size=8))
def test_the_newest_step_of_each_person_counts(steps: list[tuple[str, str, int]]) -> None:
    state, expected = journal(), dict[str, str]()
    for person, deputy, days in steps:
        if days and person != deputy:
            state, _ = absence.with_absence(state, leaving(person, deputy, NOON + days * DAY), NOON)
            expected[person] = deputy
        else:
            state, event = absence.journal_after_return(state, person, NOON)
            assert (event is None) == (person not in expected)
            expected.pop(person, None)

    assert {each.person: each.deputy for each in absence.active_absences(state, NOON)} == expected
