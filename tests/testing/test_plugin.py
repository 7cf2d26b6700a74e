"""The fixtures in a project of somebody else's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ASYNC = """
import pytest
from ringi import Action

async def refund(inbox):
    request = await inbox.ask("Refund order 1182?", action=Action("refund", {"amount": 40}), expires_in=30 * 86_400)
    return (await inbox.wait(request)).response
"""
WITH_ASYNC = """
@pytest.mark.asyncio
async def test_it_is_approved(ringi_inbox, ringi_person):
    ringi_person.approves(action="refund")
    assert (await refund(ringi_inbox)).decision == "approve"
"""
WITHOUT_ASYNC = """
import asyncio

def test_it_is_rejected(ringi_inbox, ringi_person):
    ringi_person.rejects("too much", title="Refund")
    assert asyncio.run(refund(ringi_inbox)).message == "too much"

def test_two_loops_share_a_desk(ringi_harness):
    ringi_harness.person.rejects(times=1).approves()
    assert [asyncio.run(refund(ringi_harness.inbox)).decision for _ in "ab"] == ["reject", "approve"]
"""
SYNC = """
def test_it_blocks(ringi_sync_inbox, ringi_person):
    ringi_person.responds("yes", title="May I")
    request = ringi_sync_inbox.ask("May I?")
    assert ringi_sync_inbox.wait(request).response.message == "yes"
"""
UNUSED = """
def test_it_imports_nothing():
    import sys
    assert [name for name in sys.modules if name.split(".")[0] == "ringi"] == []
"""
WRONG = """
def test_nobody_answers(ringi_sync_inbox):
    request = ringi_sync_inbox.ask("May I?")
    ringi_sync_inbox.wait(request.id)

def test_nobody_asks(ringi_harness, ringi_person):
    ringi_person.approves(action="refund")

def test_it_breaks_off(ringi_harness, ringi_person):
    ringi_person.approves(action="refund")
    assert 1 == 2
"""
BROKEN_OFF = """
import pytest

def test_it_skips_itself(ringi_harness, ringi_person):
    ringi_person.approves(action="refund")
    pytest.skip("no key here")

@pytest.mark.xfail
def test_it_is_known_to_fail(ringi_harness, ringi_person):
    ringi_person.approves(action="refund")
    assert 1 == 2

@pytest.fixture
def broken(ringi_harness, ringi_person):
    ringi_person.approves(action="refund")
    pytest.skip("not even begun")

def test_its_fixture_skips_it(broken):
    pass
"""


def run(folder: Path, *tests: str, options: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run these tests in a project of their own, without the configuration of this one."""
    (folder / "pytest.ini").write_text("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
    (folder / "test_shop.py").write_text("".join(tests))
    command = (sys.executable, "-m", "pytest", "-p", "pytest_ringi", "-p", "no:cacheprovider", "-W", "ignore")
    return subprocess.run(
        [*command, *options, "test_shop.py"], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


def test_a_project_tests_its_agents_with_and_without_async(tmp_path: Path) -> None:
    done = run(tmp_path, ASYNC, WITH_ASYNC, WITHOUT_ASYNC, SYNC)

    assert (done.returncode, "4 passed" in done.stdout) == (0, True), done.stdout


def test_a_project_needs_no_plugin_for_async(tmp_path: Path) -> None:
    done = run(tmp_path, ASYNC, WITHOUT_ASYNC, SYNC, options=("-p", "no:asyncio", "-p", "no:anyio"))

    assert (done.returncode, "3 passed" in done.stdout) == (0, True), done.stdout


def test_a_project_that_uses_no_fixture_imports_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, UNUSED)

    assert (done.returncode, "1 passed" in done.stdout) == (0, True), done.stdout


def test_what_is_wrong_is_told_in_the_lines_of_the_test(tmp_path: Path) -> None:
    done = run(tmp_path, WRONG)

    assert (done.returncode, "2 failed, 1 passed, 1 error" in done.stdout) == (1, True), done.stdout
    assert "such as person.responds('…', title='May I?')" in done.stdout
    assert "person.approves(action='refund') answered no request" in done.stdout


def test_a_test_that_breaks_off_is_not_blamed_for_its_rules(tmp_path: Path) -> None:
    done = run(tmp_path, BROKEN_OFF)

    assert (done.returncode, "2 skipped, 1 xfailed" in done.stdout) == (0, True), done.stdout
