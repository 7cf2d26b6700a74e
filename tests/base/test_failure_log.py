"""A line that a loop repeats is logged once, and then at most once a minute."""

from __future__ import annotations

import logging
import uuid

import pytest

from ringi.base import outages
from ringi.base.outages import FailureLog, rate_limited_logger
from ringi.errors import UnavailableError


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


def test_a_warning_comes_again_after_a_minute(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    log = rate_limited_logger(uuid.uuid4().hex)
    for second in range(121):
        clock[0] = float(second)
        log.warning("no store: %s", "away")
        log.info("not limited")
    assert caplog.messages.count("no store: away") == 3


def test_other_words_and_other_errors_are_other_lines(clock: list[float], caplog: pytest.LogCaptureFixture) -> None:
    log = rate_limited_logger(uuid.uuid4().hex)
    for error in (KeyError("a"), KeyError("b"), KeyError("a")):
        for n in range(2):
            log.warning("try %s", n)
            log.error("failed", exc_info=error)
    assert caplog.messages == ["try 0", "failed", "try 1", "failed"]


def test_what_is_remembered_is_bounded(
    clock: list[float], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "MOST", 3)
    log = rate_limited_logger(uuid.uuid4().hex)
    for n in range(10):
        log.warning("line %s", n)
    (repeats,) = log.filters
    assert isinstance(repeats, outages.RepeatFilter)
    assert len(repeats._logged) <= 3


def test_a_failure_is_logged_and_the_code_after_its_block_runs(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger(uuid.uuid4().hex)
    with FailureLog(log, "cannot read %s", "it"):
        raise UnavailableError("the store is away")
    with FailureLog(log, "cannot read %s", "it"):
        raise KeyError("a bug")
    first, second = caplog.records
    assert (first.levelname, first.getMessage()) == (
        "WARNING",
        f"cannot read it: {UnavailableError('the store is away')}",
    )
    assert (second.levelname, second.getMessage()) == ("ERROR", "cannot read it")
    assert second.exc_info
    with pytest.raises(KeyboardInterrupt), FailureLog(log, "cannot read %s", "it"):
        raise KeyboardInterrupt
