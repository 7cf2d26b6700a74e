"""Record which test reaches which line: a pytest plugin, and the call that `scripts/mutate.py` inserts into the source.

It works in each process that a test starts, because the current test of each worker of pytest is in a file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

FOLDER, WORKER = "MUTATION_FOLDER", "PYTEST_XDIST_WORKER"
_written: set[tuple[int, str]] = set()


def reach(number: int) -> None:
    """Record that the current test reached a line.

    A process that does not know its worker records the tests of all workers.
    """
    folder = Path(os.environ.get(FOLDER) or Path(__file__).with_name("mutation_folder").read_text())
    worker = os.environ.get(WORKER)
    for file in [folder / f"test-{worker}"] if worker else folder.glob("test-*"):
        try:
            pair = number, file.read_text()
        except FileNotFoundError:
            # The line is reached before the first test.
            continue
        if pair not in _written:
            _written.add(pair)
            _append(folder / f"reached-{os.getpid()}", pair)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logstart(nodeid: str) -> None:
    """Write the current test of this worker."""
    if worker := os.environ.get(WORKER):
        current = Path(os.environ[FOLDER], f"test-{worker}")
        # In one step: a process that reads it meanwhile must not find an empty name.
        current.with_name(f"next-{worker}").write_text(nodeid)
        current.with_name(f"next-{worker}").replace(current)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write how long a phase of a test took, and its outcome, in the process that has the reports of all workers."""
    if WORKER not in os.environ:
        _append(Path(os.environ[FOLDER], "reports"), (report.nodeid, report.duration, report.outcome))


def _append(file: Path, values: Iterable[object]) -> None:
    with file.open("a") as stream:
        stream.write(json.dumps(list(values)) + "\n")
