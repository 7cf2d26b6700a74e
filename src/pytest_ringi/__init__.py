"""Fixtures for tests of agents that ask. Nothing of Ringi is imported before a test asks for one of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ringi import sync
    from ringi.testing import Clock, ScriptedPerson, TestHarness
    from ringi.testing.harness import HarnessInbox


BROKE_OFF = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep in mind whether a test has come to its end."""
    if call.when != "teardown":
        item.stash[BROKE_OFF] = call.excinfo is not None
    return (yield)


@pytest.fixture
def ringi_clock() -> Clock:
    """A clock that stands still until it is moved."""
    from ringi.testing import Clock

    return Clock()


@pytest.fixture
def ringi_person() -> ScriptedPerson:
    """A person who answers by the rules that the test gives them."""
    from ringi.testing import ScriptedPerson

    return ScriptedPerson()


@pytest.fixture
def ringi_harness(
    request: pytest.FixtureRequest, ringi_person: ScriptedPerson, ringi_clock: Clock
) -> Iterator[TestHarness]:
    """Agents, an inbox and that person, by that clock; a rule that answered nothing fails the test."""
    from ringi.testing import TestHarness

    yield TestHarness(ringi_person, ringi_clock)
    # What failed, or skipped itself, has not come to its questions: two errors would hide the one that matters.
    if not request.node.stash.get(BROKE_OFF, False):
        ringi_person.check()


@pytest.fixture
def ringi_inbox(ringi_harness: TestHarness) -> HarnessInbox:
    """The inbox of `ringi_harness`: whoever waits on it has the person's answer at once."""
    return ringi_harness.inbox


@pytest.fixture
def ringi_sync_inbox(ringi_harness: TestHarness) -> Iterator[sync.Inbox]:
    """The inbox of `ringi_harness` without async."""
    from ringi import sync

    with sync.LOOP as portal:
        yield sync.Inbox(ringi_harness.inbox, portal)
