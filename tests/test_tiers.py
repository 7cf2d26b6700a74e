"""The choice of failures that run once more."""

from __future__ import annotations

from typing import Any

import pytest
from tests.tiers import FEW, once_more

LATE = "tests/acceptance/test_inbox.py::test_a"


def report(nodeid: str, when: Any = "call") -> pytest.TestReport:
    return pytest.TestReport(nodeid, ("", None, ""), {}, "failed", None, when)


@pytest.mark.parametrize("nodeid", [LATE, "tests/cli/test_watch_terminal.py::test_b[x]"])
def test_what_looks_at_a_screen_is_judged_once_more(nodeid: str) -> None:
    assert once_more([report(nodeid)], [], 1) == [nodeid]


@pytest.mark.parametrize(
    "nodeid",
    [
        "tests/faults/test_kill_retries.py::test_a",
        "tests/acceptance/test_kill_server.py::test_a",
        "tests/acceptance/test_chat.py::test_a_server_that_is_killed_takes_nothing",
        "tests/test_promises.py::test_a[sqlite]",
        "tests/backends/redis/test_redis_accidents.py::test_a",
        "tests/runs/test_outages.py::test_a",
    ],
)
def test_what_guards_a_promise_is_judged_once(nodeid: str) -> None:
    assert once_more([report(nodeid)], [], 1) == []
    assert once_more([report(LATE), report(nodeid)], [], 1) == []


def test_of_a_run_that_broke_off_that_left_something_or_that_failed_often_nothing_is_run_again() -> None:
    assert once_more([report(LATE)], [], 3) == []
    assert once_more([report(LATE)], [report("tests/forms/test_form.py::test_b", "teardown")], 1) == []
    assert once_more([report(LATE, "???")], [], 1) == []
    assert once_more([report(LATE)] * (FEW + 1), [], 1) == []
    assert once_more([], [], 1) == []
