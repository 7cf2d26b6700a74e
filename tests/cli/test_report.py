"""`ringi report`: the figures for auditors, as a page and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.desk import Desk
from tests.cli.test_commands import output_of, printed, refused


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A store with one answered question."""
    desk = Desk(tmp_path / "home")
    desk.folder.mkdir()
    printed(desk, "ask", "Go <b>on</b>?", "--id", "r1")
    printed(desk, "respond", "r1", "respond", "--message", "yes", "--name", "ann")
    return desk


def test_the_report_counts_the_answer(desk: Desk) -> None:
    report = json.loads(output_of(desk, "report", "--json"))
    assert report["complete"]
    assert (report["total"]["asked"], report["total"]["decided_by_people"]) == (1, 1)
    assert report["head"].startswith("sha256:")


def test_the_page_names_no_person_and_has_no_script(desk: Desk) -> None:
    page = output_of(desk, "report")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert "ann" not in page


def test_a_period_that_ends_before_it_begins_is_refused(desk: Desk) -> None:
    assert "before" in refused(desk, 2, "report", "--since", "2026-02-01", "--until", "2026-01-01")
