"""Why an insight is not approved together with others."""

from __future__ import annotations

from typing import Any

import pytest
from tests.apps.engrammer.learned import GLUE, OIL, SAND, Journal, insight
from tests.apps.engrammer.pairs import CONTRADICTIONS, DUPLICATES

from ringi import Action, Request
from ringi.domain import Answer, Ask
from ringi.testing.clock import NOON
from ringi_apps.engrammer.cautions import InsightCaution, find_cautions
from ringi_apps.engrammer.insights import AnswerFeedback, build_proposal
from ringi_apps.engrammer.learning import LEARN, learning_context
from ringi_apps.engrammer.playbook import Playbook

ACROSS = "Sand across the grain, never along it."
SELF = AnswerFeedback(source="self", verdict="unknown")


def request(text: str, playbook: Playbook, number: int = 0, **fields: Any) -> Request:
    """Return the pending request for an insight."""
    proposal = build_proposal(insight(text, number, **fields), playbook, 1_000, "engrammer")
    assert proposal is not None
    ask = Ask(
        title=text,
        kind="learning",
        action=Action(LEARN, proposal.operation.model_dump(mode="json")),
        allowed=("approve", "edit", "reject"),
        context={"learning": learning_context(proposal)},
    )
    return Request.asked(ask.checked(max_fields=5), id=f"q-{number}", now=NOON, by="agent:engrammer")[0]


def cautions(journal: Journal, *insights: dict[str, Any]) -> list[InsightCaution]:
    """Return the cautions of these insights, which wait together."""
    waiting = [request(playbook=journal.playbook, number=number, **each) for number, each in enumerate(insights)]
    return list(find_cautions(waiting, [], journal.playbook).values())


def test_an_insight_that_somebody_judged_and_nothing_contradicts_has_no_caution() -> None:
    assert cautions(Journal(GLUE), {"text": SAND}, {"text": OIL}) == [InsightCaution(), InsightCaution()]


def test_what_only_the_agent_judged_is_its_own_opinion() -> None:
    assert cautions(Journal(), {"text": SAND}, {"text": OIL, "feedback": SELF}) == [
        InsightCaution(), InsightCaution(is_own_opinion=True),
    ]  # fmt: skip


@pytest.mark.parametrize("context", [{}, {"learning": {}}, {"learning": {"feedback": {"source": "invented"}}}])
def test_an_unknown_judge_counts_as_the_agent_itself(context: dict[str, Any]) -> None:
    unknown = request(SAND, Playbook()).model_copy(update={"context": context})
    (caution,) = find_cautions([unknown], [], Playbook()).values()
    assert caution == InsightCaution(is_own_opinion=True)


def test_additions_whose_texts_may_contradict_name_each_other() -> None:
    assert [each.contradicts for each in cautions(Journal(), {"text": SAND}, {"text": OIL}, {"text": ACROSS})] == [
        ("q-2",), (), ("q-0",),
    ]  # fmt: skip


def test_nearly_all_contradictory_additions_are_found_in_three_languages_and_few_duplicates() -> None:
    def share(pairs: tuple[tuple[str, str, str], ...]) -> float:
        found = [cautions(Journal(), {"text": one}, {"text": other})[0].contradicts for _, one, other in pairs]
        return sum(map(bool, found)) / len(found)

    assert share(CONTRADICTIONS) >= 0.9
    assert share(DUPLICATES) <= 0.13


@pytest.mark.parametrize(
    ("one", "other", "excludes"),
    [
        ({"op": "edit", "source_bullet_id": "b-00001"}, {"op": "edit", "source_bullet_id": "b-00001"}, True),
        ({"op": "edit", "source_bullet_id": "b-00001"}, {"op": "edit", "source_bullet_id": "b-00002"}, False),
        ({"op": "retire", "source_bullet_id": "b-00001"}, {"op": "edit", "source_bullet_id": "b-00001"}, True),
        (
            {"op": "merge", "source_bullet_id": "b-00001", "sources": ("b-00002",)},
            {"op": "edit", "source_bullet_id": "b-00002"},
            True,
        ),
        # Each is retired because of the other: both would be gone.
        (
            {"op": "retire", "source_bullet_id": "b-00001", "sources": ("b-00002",)},
            {"op": "retire", "source_bullet_id": "b-00002", "sources": ("b-00001",)},
            True,
        ),
        # Both are retired because of a third one, which stays.
        (
            {"op": "retire", "source_bullet_id": "b-00001", "sources": ("b-00003",)},
            {"op": "retire", "source_bullet_id": "b-00002", "sources": ("b-00003",)},
            False,
        ),
    ],
)
def test_operations_that_change_what_the_other_relies_on_exclude_each_other(
    one: dict[str, Any], other: dict[str, Any], *, excludes: bool
) -> None:
    journal = Journal(GLUE, SAND, "Brush the bench clean.")
    found = cautions(journal, {"text": "Wax a drawer.", **one}, {"text": "Score veneer with a knife.", **other})
    assert [each.contradicts for each in found] == ([("q-1",), ("q-0",)] if excludes else [(), ()])


def test_what_retires_a_line_does_not_contradict_the_text_that_replaces_it() -> None:
    journal = Journal(SAND)
    adds, retires = cautions(journal, {"text": ACROSS}, {"text": SAND, "op": "retire", "source_bullet_id": "b-00001"})
    assert (adds.contradicts, adds.contradicts_playbook) == ((), True)
    assert retires == InsightCaution()
    assert cautions(Journal(SAND, ACROSS), {"text": SAND, "op": "retire", "source_bullet_id": "b-00001"}) == [
        InsightCaution()
    ]


def test_an_insight_contradicts_a_line_of_its_proposal_and_one_that_was_learned_since() -> None:
    journal = Journal(GLUE)
    waiting = [request(ACROSS, journal.playbook)]
    assert find_cautions(waiting, [], journal.playbook) == {"q-0": InsightCaution()}
    journal.write(journal.playbook.add_entry("strategies", SAND))
    assert find_cautions(waiting, [], journal.playbook) == {"q-0": InsightCaution(contradicts_playbook=True)}
    assert cautions(journal, {"text": ACROSS}) == [InsightCaution(contradicts_playbook=True)]


def test_an_insight_contradicts_what_is_approved_and_not_in_the_playbook_yet() -> None:
    waiting, other = request(SAND, Playbook()), request(ACROSS, Playbook(), 1)
    answer = Answer(decision="approve", digest=other.digest)
    approved, _ = other.completed(answer, by="ann", channel="http", now=NOON)
    assert find_cautions([waiting], [approved], Playbook()) == {"q-0": InsightCaution(contradicts_playbook=True)}


def test_a_better_wording_does_not_contradict_the_line_that_it_replaces() -> None:
    journal = Journal("Sand for 2 minutes.")
    waiting = [request("Sand for 3 minutes.", journal.playbook, op="edit", source_bullet_id="b-00001")]
    assert find_cautions(waiting, [], journal.playbook) == {"q-0": InsightCaution()}
    journal.write(journal.playbook.edit_entry("b-00001", "Sand for 4 minutes."))
    assert find_cautions(waiting, [], journal.playbook) == {"q-0": InsightCaution()}
