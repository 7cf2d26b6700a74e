from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from tests.apps.engrammer.learned import GLUE, OIL, SAND, Journal, playbook_error

from ringi.base.canonical_json import digest
from ringi.errors import InvalidError
from ringi.server.problems import problem_document_of_error
from ringi.testing.clock import NOON
from ringi_apps.engrammer.entries import MAX_BULLET_LENGTH, BulletChange, Content, Entry, Tag
from ringi_apps.engrammer.errors import unknown_bullet
from ringi_apps.engrammer.history import blame, proposal_stats
from ringi_apps.engrammer.playbook import Playbook, fold
from ringi_apps.engrammer.rendering import render
from ringi_apps.engrammer.views import diff_view


def test_a_playbook_is_the_sum_of_its_entries() -> None:
    journal = Journal(GLUE, SAND)
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    journal.write(journal.playbook.retire_entry("b-00002", reason="wrong"))

    assert fold((each.entry, each.at) for each in journal.entries) == journal.playbook
    assert [each.content.text for each in journal.playbook.active] == [OIL]
    assert journal.playbook.version == 5


def test_a_playbook_that_was_stored_is_read_as_it_was() -> None:
    journal = Journal(GLUE, SAND)
    journal.write(Entry(op="reject", text=OIL, request_id="q-1", reason="no"))
    journal.write(journal.playbook.keep_apart_entry(["b-00001", "b-00002"]))
    state = journal.playbook.model_dump(mode="json")

    again = Playbook.model_validate_json(json.dumps(state))

    assert again == journal.playbook
    assert digest(again.model_dump(mode="json")) == digest(state)


def test_a_bullet_remembers_when_it_was_made_and_last_changed() -> None:
    journal = Journal(GLUE, SAND)
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    journal.write(Entry(op="tag", tags=(Tag(bullet="b-00001", tag="helpful"),)))

    bullet = journal.playbook.bullet("b-00001")
    assert (bullet.created, bullet.changed) == (2, 4)


def test_counts_leave_what_a_bullet_says_alone() -> None:
    journal = Journal(GLUE)
    before = journal.playbook.bullet("b-00001")
    tags = ("helpful", "helpful", "harmful", "used", "neutral")
    journal.write(Entry(op="tag", tags=tuple(Tag(bullet="b-00001", tag=tag) for tag in tags)))

    after = journal.playbook.bullet("b-00001")
    assert (after.helpful, after.harmful, after.used) == (2, 1, 1)
    assert after.hash == before.hash


def test_the_id_of_a_retired_bullet_is_not_used_again() -> None:
    journal = Journal(GLUE)
    journal.write(journal.playbook.retire_entry("b-00001"))
    journal.write(journal.playbook.add_entry("strategies", SAND))

    assert list(journal.playbook.bullets) == ["b-00001", "b-00002"]


def test_the_hash_of_a_bullet_tells_its_text_its_section_and_whether_it_is_active() -> None:
    journal = Journal(GLUE)
    hashes = [journal.playbook.bullet("b-00001").hash]
    changes: list[Callable[[], Entry]] = [
        lambda: journal.playbook.edit_entry("b-00001", OIL),
        lambda: journal.playbook.edit_entry("b-00001", section="mistakes"),
        lambda: journal.playbook.retire_entry("b-00001"),
    ]
    for change in changes:
        journal.write(change())
        hashes.append(journal.playbook.bullet("b-00001").hash)
    assert len(set(hashes)) == 4

    journal.write(journal.playbook.restore_entry("b-00001"))
    assert journal.playbook.bullet("b-00001").hash == hashes[2]


@pytest.mark.parametrize("text", ["", " \n", "x" * (MAX_BULLET_LENGTH + 1)])
def test_a_text_that_cannot_be_a_bullet_is_refused_by_its_field(text: str) -> None:
    journal = Journal(GLUE)
    with pytest.raises(InvalidError, match="text"):
        journal.playbook.add_entry("strategies", text)
    with pytest.raises(InvalidError, match="text"):
        journal.playbook.edit_entry("b-00001", text)


def test_a_section_that_there_is_not_is_refused_and_the_others_are_named() -> None:
    with pytest.raises(InvalidError, match=r"section: there is no 'wisdom': choose one of strategies, formulas"):
        Journal(GLUE).playbook.edit_entry("b-00001", section="wisdom")


def test_a_bullet_of_a_section_from_another_version_can_still_be_edited() -> None:
    journal = Journal()
    content = Content(section="snippets", text=GLUE)
    journal.write(Entry(op="add", changes=(BulletChange(bullet="b-00001", before=None, after=content),)))

    journal.write(journal.playbook.edit_entry("b-00001", OIL, "snippets"))

    assert render(journal.playbook) == f"[b-00001] (snippets) {OIL}"


def test_an_entry_on_what_is_not_there_any_more_is_refused_whole() -> None:
    journal = Journal(GLUE, SAND)
    entry = journal.playbook.merge_entry("b-00001", ["b-00002"], OIL)
    journal.write(journal.playbook.edit_entry("b-00002", "Sand with a block."))
    before = journal.playbook

    with playbook_error("changed", "'b-00002' changed meanwhile"):
        journal.write(entry)
    assert journal.playbook == before


def test_two_who_add_at_once_do_not_share_an_id() -> None:
    journal = Journal()
    one, other = journal.playbook.add_entry("strategies", GLUE), journal.playbook.add_entry("strategies", SAND)
    journal.write(one)

    with playbook_error("changed", "the next is 'b-00002'"):
        journal.write(Entry(op="add", changes=(other.changes[0].model_copy(update={"bullet": "b-00007"}),)))
    with playbook_error("changed", "b-00001"):
        journal.write(other)


def test_a_bullet_that_there_never_was_is_unknown() -> None:
    playbook = Journal(GLUE).playbook
    content = Content(section="others", text=OIL)
    for entry in (
        Entry(op="tag", tags=(Tag(bullet="b-00002", tag="used"),)),
        Entry(op="edit", changes=(BulletChange(bullet="b-00002", before=content, after=content),)),
        Entry(op="keep", bullets=("b-00001", "b-00002")),
    ):
        with playbook_error("unknown", "b-00002"):
            playbook.apply(entry, NOON)
    with playbook_error("unknown"):
        playbook.edit_entry("b-00002", OIL)


def test_a_retired_bullet_is_not_changed_and_a_standing_one_not_restored() -> None:
    journal = Journal(GLUE, SAND)
    with playbook_error("standing", "nothing to restore"):
        journal.playbook.restore_entry("b-00001")
    journal.write(journal.playbook.retire_entry("b-00001"))

    changes: list[Callable[[], Entry]] = [
        lambda: journal.playbook.edit_entry("b-00001", OIL),
        lambda: journal.playbook.retire_entry("b-00001"),
        lambda: journal.playbook.merge_entry("b-00002", ["b-00001"]),
        lambda: journal.playbook.keep_apart_entry(["b-00001", "b-00002"]),
    ]
    for change in changes:
        with playbook_error("gone", "restore it first"):
            change()


def test_no_two_active_bullets_say_the_same() -> None:
    journal = Journal(GLUE, SAND)
    journal.write(journal.playbook.retire_entry("b-00001"))
    journal.write(journal.playbook.add_entry("mistakes", GLUE.upper()))

    for entry in (
        journal.playbook.add_entry("others", f" {SAND}"),
        journal.playbook.edit_entry("b-00002", GLUE),
        journal.playbook.restore_entry("b-00001"),
    ):
        with playbook_error("duplicate"):
            journal.write(entry)


def test_an_edit_that_changes_nothing_is_refused() -> None:
    with playbook_error("duplicate", "already has this text"):
        Journal(GLUE).playbook.edit_entry("b-00001", GLUE)


def test_an_edit_of_the_form_alone_is_no_duplicate_of_itself() -> None:
    journal = Journal(GLUE)
    journal.write(journal.playbook.edit_entry("b-00001", GLUE.upper()))

    assert journal.text("b-00001") == GLUE.upper()


def test_the_answer_to_a_request_is_applied_once() -> None:
    journal = Journal()
    journal.write(journal.playbook.add_entry("strategies", GLUE, request_id="q-1"))

    with playbook_error("applied", "applied as version 2"):
        journal.write(journal.playbook.add_entry("strategies", SAND, request_id="q-1"))


def test_a_merge_retires_its_sources_and_says_into_what() -> None:
    journal = Journal(GLUE, SAND, OIL)
    journal.write(journal.playbook.merge_entry("b-00002", ["b-00001", "b-00003"], "All in one."))

    bullets = journal.playbook.bullets
    assert [each.id for each in journal.playbook.active] == ["b-00002"]
    assert {each.content.merged_into for each in bullets.values()} == {"b-00002", None}


def test_a_bullet_that_was_merged_can_be_brought_back_alone() -> None:
    journal = Journal(GLUE, SAND)
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"], OIL))
    journal.write(journal.playbook.restore_entry("b-00002"))

    assert [each.content.text for each in journal.playbook.active] == [OIL, SAND]
    assert journal.playbook.bullet("b-00002").content.merged_into is None


@pytest.mark.parametrize("sources", [(), ("b-00001",), ("b-00002", "b-00002")])
def test_a_merge_of_a_bullet_with_itself_is_refused(sources: tuple[str, ...]) -> None:
    with pytest.raises(InvalidError, match="sources"):
        Journal(GLUE, SAND).playbook.merge_entry("b-00001", sources, OIL)


def test_only_the_newest_refusals_are_kept() -> None:
    journal = Journal()
    for number in range(203):
        journal.write(Entry(op="reject", text=f"text {number}"))

    assert len(journal.playbook.rejected) == 200
    assert journal.playbook.rejected[-1].text == "text 202"


def test_a_diff_tells_what_the_agent_is_told_otherwise() -> None:
    journal = Journal(GLUE, SAND)
    older = journal.playbook
    journal.write(older.edit_entry("b-00001", section="mistakes"))
    journal.write(journal.playbook.retire_entry("b-00002"))
    journal.write(journal.playbook.add_entry("others", OIL))

    found = diff_view(older, journal.playbook)

    assert [(each.id, each.text) for each in found.added] == [("b-00003", OIL)]
    assert [(each.id, each.text) for each in found.removed] == [("b-00002", SAND)]
    assert [(each.id, each.before.section, each.after.section) for each in found.changed] == [
        ("b-00001", "strategies", "mistakes")
    ]
    nothing = diff_view(older, older)
    assert (nothing.added, nothing.removed, nothing.changed) == ([], [], [])


def test_blame_tells_every_entry_that_speaks_of_a_bullet() -> None:
    journal = Journal(GLUE, SAND, OIL)
    journal.write(journal.playbook.edit_entry("b-00001", "Clamp it."))
    journal.write(Entry(op="tag", tags=(Tag(bullet="b-00002", tag="used"),)))
    journal.write(journal.playbook.keep_apart_entry(["b-00002", "b-00003"]))
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"]))

    assert [each.version for each in blame("b-00001", journal.entries)] == [2, 5, 8]
    assert [each.entry.op for each in blame("b-00002", journal.entries)] == ["add", "tag", "keep", "merge"]


def test_measures_count_what_persons_decided_of_what_was_proposed() -> None:
    journal = Journal("By hand: wear gloves.")
    journal.write(journal.playbook.add_entry("strategies", GLUE, request_id="q-1"))
    bad = journal.write(journal.playbook.add_entry("strategies", SAND, request_id="q-2", proposed="Sand."))
    journal.write(Entry(op="reject", text=OIL, request_id="q-3"))
    journal.write(journal.playbook.keep_apart_entry(["b-00001", "b-00002"], request_id="q-4"))
    journal.undo(bad)

    found = proposal_stats(journal.entries, pending=2)

    assert found.model_dump() == {
        "proposed": 6,
        "approved": 2,
        "edited": 1,
        "rejected": 2,
        "reverted": 1,
        "precision": 0.5,
    }
    journal.undo(journal.playbook.version)
    assert proposal_stats(journal.entries).reverted == 0


def test_there_is_no_precision_where_nothing_was_decided() -> None:
    assert proposal_stats(Journal(GLUE).entries, pending=1).precision is None


def test_a_refusal_tells_a_caller_over_http_what_stands_in_the_way() -> None:
    journal = Journal(GLUE)
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    with playbook_error("consumed") as caught:
        journal.undo(2)

    document = problem_document_of_error(caught.value)
    assert {name: document[name] for name in ("status", "code", "version", "op", "bullet")} == {
        "status": 409,
        "code": "consumed",
        "version": 3,
        "op": "edit",
        "bullet": "b-00001",
    }
    assert problem_document_of_error(unknown_bullet("b-1"))["status"] == 404
    with playbook_error("not_undoable"):
        journal.undo(9)
