from __future__ import annotations

from typing import Any

import pytest
from tests.apps.engrammer.learned import GLUE, OIL, SAND, Journal, insight, playbook_error

from ringi.errors import InvalidError
from ringi.forms.json_schema import check_instance, check_schema
from ringi.testing.clock import NOON
from ringi_apps.engrammer.entries import MAX_BULLET_LENGTH
from ringi_apps.engrammer.history import blame
from ringi_apps.engrammer.insights import (
    InsightProposal,
    PlaybookOperation,
    QuoteClaim,
    approved_entry,
    build_proposal,
    check_operation,
    insight_id,
    operation_edit_schema,
    refusal_code,
    rejection_entry,
    verify_quotes,
)
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.rendering import playbook_tokens

BUDGET = 1_000


def propose(playbook: Playbook, **fields: Any) -> InsightProposal:
    proposal = build_proposal(insight(**fields), playbook, BUDGET, "engrammer")
    assert proposal is not None
    return proposal


def test_an_insight_has_the_same_id_however_often_its_run_is_tried() -> None:
    assert insight_id("r", 1) == insight_id("r", 1)
    assert len({insight_id("r", 1), insight_id("r", 2), insight_id("r1", 1), insight_id("r", 11)}) == 4


def test_an_insight_of_a_made_up_section_is_among_the_others() -> None:
    assert insight(section="wisdom").section == "others"


def test_what_a_person_approves_is_what_is_learned() -> None:
    playbook = Playbook()
    proposal = propose(playbook, text=GLUE)

    entry = approved_entry(proposal.operation, proposal.insight, "q-1", playbook)
    playbook = playbook.apply(entry, NOON)

    assert [each.content.text for each in playbook.active] == [GLUE]
    assert playbook.applied == {"q-1": 2}
    assert entry.proposed is None


def test_what_a_person_changes_before_it_is_learned_tells_both_texts() -> None:
    playbook = Playbook()
    proposal = propose(playbook, text=GLUE)
    changed = PlaybookOperation.model_validate(proposal.operation.model_dump(mode="json") | {"text": SAND})

    entry = approved_entry(changed, proposal.insight, "q-1", playbook)

    assert entry.changes[0].after.text == SAND
    assert entry.proposed == GLUE


def test_a_proposal_says_what_it_changes_and_what_it_costs() -> None:
    playbook = Journal(GLUE, SAND).playbook
    proposal = propose(playbook, text=GLUE + " Longer in the cold.", op="edit", source_bullet_id="b-00001")

    assert proposal.before == GLUE
    assert proposal.operation.base == {"b-00001": playbook.bullets["b-00001"].hash}
    assert proposal.tokens == 5
    assert proposal.room == BUDGET - playbook_tokens(playbook) - 5


def test_what_is_like_a_proposal_is_shown_but_not_what_it_changes_itself() -> None:
    journal = Journal(GLUE, SAND, "Clamp a glued joint for 60 minutes.")
    proposal = propose(journal.playbook, text=GLUE + " Or more.", op="edit", source_bullet_id="b-00001")

    assert [(each.bullet, each.flags) for each in proposal.similar] == [("b-00003", ("number",))]


@pytest.mark.parametrize("op", ["edit", "merge", "retire"])
def test_an_operation_on_what_changed_meanwhile_is_refused(op: str) -> None:
    journal = Journal(GLUE, SAND)
    proposal = propose(journal.playbook, text=OIL, op=op, source_bullet_id="b-00001", sources=("b-00002",))
    assert refusal_code(proposal.operation, journal.playbook, BUDGET) is None

    journal.write(journal.playbook.edit_entry("b-00001", "Clamp it for an hour."))

    assert refusal_code(proposal.operation, journal.playbook, BUDGET) == "changed"


def test_an_operation_on_what_was_retired_meanwhile_is_refused_and_proposed_anew_as_an_add() -> None:
    journal = Journal(GLUE)
    proposal = propose(journal.playbook, text=OIL, op="edit", source_bullet_id="b-00001")
    journal.write(journal.playbook.retire_entry("b-00001"))

    assert refusal_code(proposal.operation, journal.playbook, BUDGET) == "gone"
    with playbook_error("gone"):
        approved_entry(proposal.operation, proposal.insight, "q-1", journal.playbook)
    again = build_proposal(proposal.insight, journal.playbook, BUDGET, "engrammer", renewed="gone")
    assert again is not None
    assert (again.operation.op, again.operation.base, again.renewed) == ("add", {}, "gone")


def test_nothing_is_left_of_a_merge_of_one_and_of_retiring_what_is_retired() -> None:
    journal = Journal(GLUE, SAND)
    merge = insight(OIL, op="merge", source_bullet_id="b-00001", sources=("b-00002",))
    retire = insight(OIL, op="retire", source_bullet_id="b-00001")
    journal.write(journal.playbook.retire_entry("b-00001"))

    assert build_proposal(merge, journal.playbook, BUDGET, "engrammer") is None
    assert build_proposal(retire, journal.playbook, BUDGET, "engrammer") is None


def test_a_text_that_was_learned_meanwhile_is_refused() -> None:
    journal = Journal()
    proposal = propose(journal.playbook, text=GLUE)
    journal.write(journal.playbook.add_entry("mistakes", GLUE.upper().rstrip(".")))

    assert refusal_code(proposal.operation, journal.playbook, BUDGET) == "duplicate"


def test_what_has_no_room_is_refused_and_what_makes_room_is_not() -> None:
    playbook = Journal(GLUE, SAND).playbook
    more = propose(playbook, text=OIL)
    less = propose(playbook, op="retire", source_bullet_id="b-00001")

    assert refusal_code(more.operation, playbook, playbook_tokens(playbook)) == "budget"
    assert refusal_code(less.operation, playbook, 1) is None
    with playbook_error("budget", "its budget is 1"):
        check_operation(more.operation, playbook, 1)


def test_an_operation_that_names_no_bullet_is_not_taken_for_an_add() -> None:
    with pytest.raises(InvalidError, match="bullet"):
        approved_entry(PlaybookOperation(op="edit", section="strategies", text=GLUE), insight(), "q-1", Playbook())


@pytest.mark.parametrize("op", ["add", "edit", "merge", "retire"])
def test_a_person_can_change_only_the_text_and_the_section(op: str) -> None:
    playbook = Journal(GLUE, SAND).playbook
    operation = propose(playbook, text=OIL, op=op, source_bullet_id="b-00001", sources=("b-00002",)).operation
    schema, args = operation_edit_schema(operation), operation.model_dump(mode="json")
    check_schema(schema, field="schema")
    check_instance(schema, args, field="args")
    other: dict[str, Any] = {
        "op": "add" if op != "add" else "retire",
        "bullet": "b-2",
        "sources": ["b-9"],
        "base": {"b": ""},
    }

    for name, value in other.items():
        with pytest.raises(InvalidError, match=f"args.{name}"):
            check_instance(schema, args | {name: value}, field="args")
    for wrong in (
        {"text": ""},
        {"text": " \n"},
        {"text": "x" * (MAX_BULLET_LENGTH + 1)},
        {"section": "wisdom"},
        {"more": 1},
    ):
        with pytest.raises(InvalidError):
            check_instance(schema, args | wrong, field="args")


def test_a_person_can_move_and_reword_what_is_added_but_not_what_is_retired() -> None:
    playbook = Journal(GLUE).playbook
    add = propose(playbook, text=OIL).operation
    retire = propose(playbook, op="retire", source_bullet_id="b-00001").operation
    reworded = {"text": SAND, "section": "mistakes"}

    check_instance(operation_edit_schema(add), add.model_dump(mode="json") | reworded, field="args")
    with pytest.raises(InvalidError):
        check_instance(operation_edit_schema(retire), retire.model_dump(mode="json") | {"text": SAND}, field="args")


def test_a_rejection_is_remembered() -> None:
    playbook = Journal(GLUE).playbook
    proposal = propose(playbook, text=OIL)
    rejected = rejection_entry(proposal.operation, proposal.insight, "q-1", playbook)

    playbook = playbook.apply(rejected, NOON)

    refusal = playbook.rejected[-1]
    assert (refusal.text, refusal.request_id) == (OIL, "q-1")
    assert len(playbook.active) == 1
    assert playbook.applied["q-1"] == playbook.version


def test_who_rejects_a_merge_keeps_the_bullets_apart_as_they_stand() -> None:
    journal = Journal(GLUE, SAND)
    proposal = propose(journal.playbook, text=OIL, op="merge", source_bullet_id="b-00001", sources=("b-00002",))
    journal.write(rejection_entry(proposal.operation, proposal.insight, "q-1", journal.playbook))
    one, other = journal.playbook.active

    assert journal.playbook.is_kept_apart(other, one)
    journal.write(journal.playbook.edit_entry("b-00002", SAND + " By hand."))
    assert not journal.playbook.is_kept_apart(*journal.playbook.active)


def test_who_rejects_that_one_ends_for_another_has_not_said_which_is_wrong() -> None:
    journal = Journal(GLUE, SAND)
    proposal = propose(journal.playbook, op="retire", source_bullet_id="b-00001", sources=("b-00002",))
    assert (proposal.operation.sources, list(proposal.operation.base)) == ((), ["b-00001", "b-00002"])

    journal.write(rejection_entry(proposal.operation, proposal.insight, "q-1", journal.playbook))

    assert not journal.playbook.is_kept_apart(*journal.playbook.active)
    assert [(each.op, each.bullet) for each in journal.playbook.rejected] == [("retire", "b-00001")]
    assert [each.entry.op for each in blame("b-00002", journal.entries)] == ["add"]


def test_a_bullet_does_not_end_for_one_that_changed_or_ended_itself() -> None:
    journal = Journal(GLUE, "Clamp a glued joint for 60 minutes.")
    ended: dict[str, Any] = {"op": "retire", "source_bullet_id": "b-00001", "sources": ("b-00002",)}
    proposal = propose(journal.playbook, **ended)
    assert [each.bullet for each in proposal.similar] == ["b-00002"]
    assert proposal.room == BUDGET - playbook_tokens(Journal("Clamp a glued joint for 60 minutes.").playbook)

    journal.write(journal.playbook.edit_entry("b-00002", SAND))
    assert refusal_code(proposal.operation, journal.playbook, BUDGET) == "changed"

    journal.write(journal.playbook.retire_entry("b-00002"))
    assert refusal_code(proposal.operation, journal.playbook, BUDGET) == "gone"
    assert build_proposal(insight(**ended), journal.playbook, BUDGET, "engrammer", "gone") is None


def test_nothing_ends_where_no_bullet_is_named_that_ends() -> None:
    playbook = Journal(GLUE).playbook

    assert build_proposal(insight(op="retire", sources=("b-00001",)), playbook, BUDGET, "engrammer") is None


def test_a_quote_is_kept_where_it_stands_and_dropped_where_it_does_not() -> None:
    sources: Any = {("note", "db/1"): "Glue both faces.\nThen clamp.", ("answer", None): "Clamp for a day."}
    quotes = [
        QuoteClaim(where="note", ref="db/1", quote="both faces.\nThen"),
        QuoteClaim(where="note", ref="db/1", quote="both faces. Then"),
        QuoteClaim(where="answer", quote="Glue both faces."),
        QuoteClaim(where="note", ref="db/2", quote="Glue"),
        QuoteClaim(where="answer", quote=" "),
        QuoteClaim(where="answer", quote=""),
    ]

    found = verify_quotes(quotes, sources, "t", "r")

    assert [(each.quote, each.start, each.end, each.ref) for each in found] == [("both faces.\nThen", 5, 21, "db/1")]


def test_a_quote_is_found_however_its_letters_are_composed() -> None:
    sources: Any = {("answer", None): "Utiliser la pie\u0300ce 木か\u3099"}

    found = verify_quotes([QuoteClaim(where="answer", quote="pi\u00e8ce 木が")], sources, "t", "r")

    assert [(each.quote, each.start, each.end) for each in found] == [("pièce 木が", 12, 20)]
