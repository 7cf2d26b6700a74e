"""Measure Ringi against floors and peers: `python -m benchmarks [NAME …]`, or `NAME … --against COMMIT`.

Each bench runs in a process of its own, within a limit. A slow machine is no failure: the exit
code is 0 unless something broke.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import multiprocessing
import os
import platform
import sqlite3
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor

from benchmarks.against import print_comparison
from benchmarks.measure import Row, folder, percentile, table
from benchmarks.suite import BENCHES, ONLY_BY_NAME, run

FLUSHES = 50
PACKAGES = ("ringi", "pydantic", "fastapi", "starlette", "uvicorn", "uvloop", "langgraph", "aiosqlite")


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(prog="python -m benchmarks")
    options.add_argument("names", nargs="*", metavar="NAME")
    options.add_argument("--against", metavar="COMMIT", help="run that commit's tree too, in alternating rounds")
    parsed = options.parse_args(arguments)
    names: list[str] = parsed.names
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        print(f"no bench {', '.join(unknown)}; there are {', '.join(BENCHES)}", file=sys.stderr)
        return 2
    rows: list[Row] = []
    broken: list[str] = []
    print(environment(), flush=True)
    if parsed.against:
        print_comparison(names, parsed.against)
        return 0
    for name in names or [name for name in BENCHES if name not in ONLY_BY_NAME]:
        try:
            rows += measured(name)
        except Exception:
            traceback.print_exc()
            broken.append(name)
    if len(names) != 1:
        print(f"\n{table(rows)}")
    if broken:
        print(f"\nbroken: {', '.join(broken)}")
    return 1 if broken else 0


def measured(name: str) -> list[Row]:
    """Run one bench in a separate process and print its rows."""
    began = time.monotonic()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        rows = pool.submit(run, name).result()
    print(f"\n{name}: {time.monotonic() - began:.0f} s\n{table(rows)}", flush=True)
    return rows


def environment() -> str:
    """Return the versions and the machine of the measurement."""
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    machine = f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, load {load}"
    python = f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"
    return f"{time.strftime('%Y-%m-%d')}, {machine}, {flush_milliseconds():.2f} ms a flush\n{python}, {versions}"


def flush_milliseconds() -> float:
    """Return the median time of a flush to the disk: it decides the speed of SQLite."""
    times = list[float]()
    with folder() as path, (path / "flushed").open("wb", buffering=0) as file:
        for _ in range(FLUSHES):
            file.write(b"x" * 4096)
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return percentile(times, 50) * 1e3


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
