"""Pytest fixtures for agents that ask people; Ringi is imported when a test first uses one."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ringi import sync
    from ringi.testing import ManualClock, ScriptedPerson, TestHarness
    from ringi.testing.harness import HarnessInbox


DID_NOT_FINISH = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Record whether a test failed or was skipped before its end."""
    if call.when != "teardown":
        item.stash[DID_NOT_FINISH] = call.excinfo is not None
    return (yield)


@pytest.fixture
def ringi_clock() -> ManualClock:
    """A clock that stands still until the test advances it."""
    from ringi.testing import ManualClock

    return ManualClock()


@pytest.fixture
def ringi_person() -> ScriptedPerson:
    """A person who answers by the rules of the test."""
    from ringi.testing import ScriptedPerson

    return ScriptedPerson()


@pytest.fixture
def ringi_harness(
    request: pytest.FixtureRequest, ringi_person: ScriptedPerson, ringi_clock: ManualClock
) -> Iterator[TestHarness]:
    """A harness with that person and that clock; a rule that answered no request fails the test."""
    from ringi.connect import TEST_INBOXES
    from ringi.testing import TestHarness

    harness = TestHarness(ringi_person, ringi_clock)
    TEST_INBOXES.append(harness.inbox)
    yield harness
    TEST_INBOXES.pop()
    # A test that failed or was skipped may not have reached its requests; a second error would hide the first.
    if not request.node.stash.get(DID_NOT_FINISH, False):
        ringi_person.check()


@pytest.fixture
def ringi_inbox(ringi_harness: TestHarness) -> HarnessInbox:
    """The inbox of `ringi_harness`; a wait on it returns the person's answer at once."""
    return ringi_harness.inbox


@pytest.fixture
def ringi_sync_inbox(ringi_harness: TestHarness) -> Iterator[sync.BlockingInbox]:
    """The inbox of `ringi_harness` for code without async."""
    from ringi import sync

    with sync.LOOP as portal:
        yield sync.BlockingInbox(ringi_harness.inbox, portal)
