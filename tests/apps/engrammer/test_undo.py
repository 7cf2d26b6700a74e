from __future__ import annotations

import re

import pytest
from tests.apps.engrammer.learned import GLUE, OIL, SAND, Journal, playbook_error

from ringi_apps.engrammer.entries import Entry, Tag
from ringi_apps.engrammer.errors import OutdatedReadError
from ringi_apps.engrammer.rendering import render


@pytest.fixture
def journal() -> Journal:
    return Journal(GLUE, SAND)


def test_undoing_an_add_retires_what_it_brought(journal: Journal) -> None:
    journal.undo(3)

    assert [each.content.text for each in journal.playbook.active] == [GLUE]
    assert journal.playbook.next_id == "b-00003"


@pytest.mark.parametrize("op", ["edit", "retire", "merge", "keep section"])
def test_undoing_a_change_brings_back_every_letter(journal: Journal, op: str) -> None:
    before = render(journal.playbook)
    version = journal.write(
        {
            "edit": lambda: journal.playbook.edit_entry("b-00001", OIL, "mistakes"),
            "retire": lambda: journal.playbook.retire_entry("b-00001"),
            "merge": lambda: journal.playbook.merge_entry("b-00001", ["b-00002"], OIL),
            "keep section": lambda: journal.playbook.edit_entry("b-00001", section="context"),
        }[op]()
    )
    assert render(journal.playbook) != before

    journal.undo(version)

    assert render(journal.playbook) == before
    assert all(each.content.merged_into is None for each in journal.playbook.bullets.values())


def test_undoing_a_restore_retires_again_and_into_the_same(journal: Journal) -> None:
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"]))
    journal.undo(journal.write(journal.playbook.restore_entry("b-00002")))

    assert journal.playbook.bullet("b-00002").content.merged_into == "b-00001"


def test_an_undo_can_be_undone_and_that_too(journal: Journal) -> None:
    version = journal.write(journal.playbook.edit_entry("b-00001", OIL))
    seen = [journal.text("b-00001")]
    for _ in range(3):
        version = journal.undo(version)
        seen.append(journal.text("b-00001"))

    assert seen == [OIL, GLUE, OIL, GLUE]


def test_what_a_later_version_built_on_is_not_undone_and_the_refusal_names_it(journal: Journal) -> None:
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"], OIL))
    journal.write(journal.playbook.add_entry("others", "Wear gloves."))

    what = "version 3 cannot be undone: version 4 (merge) came later and changed bullet 'b-00002' too; undo version 4"
    with playbook_error("consumed", re.escape(what)):
        journal.undo(3)


def test_what_was_merged_into_a_bullet_keeps_its_add_from_being_undone(journal: Journal) -> None:
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"]))

    with playbook_error("consumed", "version 4"):
        journal.undo(2)


def test_the_newest_that_stands_in_the_way_is_named_until_none_is_left(journal: Journal) -> None:
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    journal.write(journal.playbook.edit_entry("b-00001", "Wear gloves."))
    for blocking in (5, 4):
        with playbook_error("consumed") as caught:
            journal.undo(2)
        assert caught.value.more["version"] == blocking
        journal.undo(blocking)

    journal.undo(2)

    assert [each.id for each in journal.playbook.active] == ["b-00002"]


def test_what_is_undone_is_not_undone_twice_and_the_refusal_says_how_to_have_it_back(journal: Journal) -> None:
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    journal.undo(4)

    with playbook_error("consumed", "was already undone by version 5; to restore it, undo version 5"):
        journal.undo(4)


def test_an_undo_of_something_older_stands_in_the_way_of_having_an_edit_back(journal: Journal) -> None:
    journal.write(journal.playbook.edit_entry("b-00001", OIL))
    journal.undo(4)
    journal.undo(2)

    with playbook_error("consumed", re.escape("version 6 (undo)")):
        journal.undo(5)


def test_later_changes_of_other_bullets_and_counts_do_not_stand_in_the_way(journal: Journal) -> None:
    journal.write(journal.playbook.edit_entry("b-00002", OIL))
    journal.write(Entry(op="tag", tags=(Tag(bullet="b-00001", tag="helpful"),)))

    journal.undo(2)

    assert journal.playbook.bullet("b-00001").helpful == 1
    assert [each.id for each in journal.playbook.active] == ["b-00002"]


def test_an_undo_that_would_say_the_same_twice_is_refused(journal: Journal) -> None:
    journal.write(journal.playbook.retire_entry("b-00001"))
    journal.write(journal.playbook.add_entry("mistakes", GLUE))

    with playbook_error("duplicate", "b-00003"):
        journal.undo(4)


def test_what_changed_no_text_and_what_there_is_not_cannot_be_undone(journal: Journal) -> None:
    tag = journal.write(Entry(op="tag", tags=(Tag(bullet="b-00001", tag="helpful"),)))
    reject = journal.write(Entry(op="reject", text=OIL))

    with playbook_error("not_undoable", f"version {tag} cannot be undone: it is a 'tag'"):
        journal.undo(tag)
    with playbook_error("not_undoable", "it is a 'reject'"):
        journal.undo(reject)
    for version in (0, 1, 99):
        with playbook_error("not_undoable", "entries have the versions 2 to 5"):
            journal.undo(version)


def test_an_undo_by_entries_that_were_read_too_early_is_refused(journal: Journal) -> None:
    early = list(journal.entries)
    journal.write(journal.playbook.merge_entry("b-00001", ["b-00002"]))

    with pytest.raises(OutdatedReadError, match="is at version 4 but was read up to 3: read it again and retry"):
        journal.playbook.undo_entry(2, early)


def test_an_undo_needs_no_entries_that_changed_no_bullet(journal: Journal) -> None:
    early = list(journal.entries)
    journal.write(Entry(op="tag", tags=(Tag(bullet="b-00001", tag="used"),)))
    journal.write(Entry(op="reject", text=OIL))

    journal.write(journal.playbook.undo_entry(2, early))
    assert not journal.playbook.bullets["b-00001"].content.is_active
