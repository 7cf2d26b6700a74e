"""The limits of `fast`, the list of the most expensive tests, and what a failed test leaves behind."""

from __future__ import annotations

import socket
import subprocess
import sys
import warnings
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture.engine import ConjectureRunner
from tests import conftest, costs, tiers


@contextmanager
def refused(words: str) -> Iterator[None]:
    """Expect a refusal, and forget it: it is no failure of this test."""
    with pytest.raises(PermissionError, match=words):
        yield
    costs.started.clear()


def report(nodeid: str = "a", seconds: float = 0.0) -> pytest.TestReport:
    return pytest.TestReport(
        nodeid, ("", None, ""), {}, "passed", None, "call", user_properties=[(costs.SECONDS, seconds)]
    )


def test_a_fast_test_that_starts_a_process_is_refused_with_the_remedy() -> None:
    with refused(r"starts no process .*: name it `quick` in PLACES"):
        subprocess.Popen([sys.executable, "-V"])


def test_a_fast_test_that_opens_a_socket_is_refused() -> None:
    with socket.socket() as opened, refused(r"socket\.bind \('127\.0\.0\.1', 0\)"):
        opened.bind(("127.0.0.1", 0))


def test_a_fast_test_that_ignores_the_refusal_fails() -> None:
    costs.started.append("subprocess.Popen sh")
    phase = costs.Costs().pytest_runtest_makereport()
    next(phase)
    with pytest.raises(StopIteration) as end:
        phase.send(report())
    costs.started.clear()

    assert end.value.value.failed
    assert "subprocess.Popen sh" in end.value.value.longrepr


def test_the_phases_of_a_test_are_added_and_the_most_expensive_test_is_first() -> None:
    reports = [report("a", 1.0), report("b", 2.5), report("a", 2.0), *(report(f"c{each}") for each in range(20))]

    lines = costs.most_expensive(reports)

    assert [line.split() for line in lines[:2]] == [["3.00", "s", "a"], ["2.50", "s", "b"]]
    assert len(lines) == costs.LISTED


@pytest.mark.parametrize(("seconds", "count"), [(0.0, 5), (60.0, 40)])
def test_a_property_that_has_used_its_seconds_takes_no_further_example(
    monkeypatch: pytest.MonkeyPatch, seconds: float, count: int
) -> None:
    monkeypatch.setattr(ConjectureRunner, "should_generate_more", tiers.within(seconds))
    examples = []

    @given(st.integers())
    @settings(max_examples=40, database=None, derandomize=True)
    def holds(number: int) -> None:
        examples.append(number)

    holds()

    assert count <= len(examples) <= count + 2


def test_what_a_failed_test_left_open_does_not_fail_the_next_one() -> None:
    class Connection:
        def __del__(self) -> None:
            warnings.warn("unclosed", ResourceWarning, stacklevel=1)

    session = SimpleNamespace(testsfailed=0)
    item: Any = SimpleNamespace(session=session)
    protocol = conftest.pytest_runtest_protocol(item)
    next(protocol)
    connection: Any = Connection()
    connection.itself, session.testsfailed = connection, 1
    sys.last_value, found = ValueError(connection), weakref.ref(connection)
    del connection
    with pytest.raises(StopIteration):
        protocol.send(None)

    assert found() is None
