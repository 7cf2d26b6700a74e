"""`make cluster` leaves no server behind, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_ends_all_processes_of_the_cluster(number: signal.Signals) -> None:
    command = [sys.executable, "-m", "scripts.cluster"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, start_new_session=True) as cluster:
        assert cluster.stdout
        while "Stop with Ctrl-C" not in (line := cluster.stdout.readline()):
            assert line, "the cluster did not start"
        started = psutil.Process(cluster.pid).children(recursive=True)
        names = {each.name() for each in started}
        cluster.send_signal(number)
        assert cluster.wait(50) == 0
    _, alive = psutil.wait_procs(started, 10)
    assert ({"postgres", "redis-server"} <= names, alive) == (True, [])
