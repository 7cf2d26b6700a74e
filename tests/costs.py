"""What each test costs in processor time, and a limit to what a `fast` test may start.

Other programs on the machine do not change the processor time of a test, but they change its duration.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable
from operator import itemgetter
from typing import Any

import pytest
from tests import tiers

SECONDS = "processor_seconds"
"""The name of the cost among the properties of a report."""

LISTED = 10
"""How many of the most expensive tests a run lists."""

STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.exec"}
OPENS = {"socket.connect", "socket.bind"}

started: list[str] = []
_is_watched = False


def spent() -> float:
    """Return the processor time of this process and of its children that have ended, in seconds."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


class Costs:
    """A pytest plugin that writes the processor time of each phase of a test into its report.

    The set-up of what several tests share is no cost of the first of them, and its end none of the last.
    """

    def __init__(self) -> None:
        self._since = spent()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Refuse processes and sockets to a `fast` test."""
        global _is_watched
        self._since = spent()
        started.clear()
        _is_watched = tiers.tier_of(item) == "fast"
        try:
            return (yield)
        finally:
            _is_watched = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, nextitem: pytest.Item | None) -> Generator[None, object, object]:
        """Leave out what the last test of a process ends for all."""
        result = yield
        if nextitem is None:
            self._since = spent()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
        """Leave out what is shared."""
        since, before = self._since, spent()
        try:
            return (yield)
        finally:
            if fixturedef.scope != "function":
                # One shared fixture may set up another, whose time must not count twice.
                self._since = since + spent() - before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Add the cost of a phase to its report, and fail a `fast` test whose code ignored the refusal."""
        report = yield
        now = spent()
        report.user_properties.append((SECONDS, now - self._since))
        self._since = now
        if started and not report.failed:
            report.outcome, report.longrepr = "failed", refusal(started[0])
        started.clear()
        return report


def watch(event: str, arguments: tuple[Any, ...]) -> None:
    """Refuse what a `fast` test starts; an audit hook of Python."""
    if not _is_watched or event not in STARTS | OPENS:
        return
    what = f"{event} {arguments[event in OPENS]}" if arguments else event
    started.append(what)
    raise PermissionError(refusal(what))


def refusal(what: str) -> str:
    """Return why a `fast` test failed, with the remedy."""
    return f"a `fast` test starts no process and opens no socket ({what}): name it `quick` in PLACES of tests/tiers.py"


def install(config: pytest.Config) -> None:
    """Measure each test of this run."""
    config.pluginmanager.register(Costs(), "ringi-costs")
    sys.addaudithook(watch)


def most_expensive(reports: Iterable[pytest.TestReport]) -> list[str]:
    """Return a line for each of the tests with the most processor time, from the reports of their phases."""
    total: defaultdict[str, float] = defaultdict(float)
    for report in reports:
        total[report.nodeid] += sum(
            value for name, value in report.user_properties if name == SECONDS and isinstance(value, float)
        )
    first = sorted(total.items(), key=itemgetter(1), reverse=True)[:LISTED]
    return [f"{seconds:6.2f} s  {nodeid}" for nodeid, seconds in first]
