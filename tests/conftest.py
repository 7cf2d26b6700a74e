"""Real servers and a real browser for the tests; a missing one fails the test."""

from __future__ import annotations

import gc
import os
import signal
import sys
import uuid
import warnings
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, async_playwright
from tests import browser as chromiums
from tests import built_once, costs, servers, tiers, warm
from tests.mortal_redis import mortal_redis

RUN = "TEST_RUN_OF_RINGI"
"""The environment variable by which a process is known that a test started, even if its parent has ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let somebody see for a minute what otherwise is looked at for a moment."""
    parser.addoption("--hold-seconds", type=float, default=2.0, help="how long a foreign transaction is held open")
    parser.addoption("--tier", choices=tiers.RUNS, default="all", help="which tests to run; see tests/tiers.py")


def pytest_configure(config: pytest.Config) -> None:
    """Scale the generated examples to the tier, mark the processes of this run, and let Ctrl-C end them.

    A shell starts a background job with SIGINT ignored, and a child inherits that, but not a handler.
    """
    tiers.load_profile(config.getoption("--tier"))
    costs.install(config)
    built_once.install()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ[RUN] = uuid.uuid4().hex


@pytest.fixture(scope="session", autouse=True)
def no_process_outlives_the_tests() -> Iterator[None]:
    """Fail at the end of the run, with the test's name, if a process that a test started still runs."""
    yield
    warm.stop()
    survivors = [line for process in psutil.process_iter() if (line := _killed(process))]
    assert not survivors, "these processes outlived the tests that started them:\n" + "\n".join(survivors)


def _killed(process: psutil.Process) -> str | None:
    """Kill a process if this run started it, and return which test did."""
    try:
        environment = process.environ()
        words = " ".join(process.cmdline())
        # The servants of multiprocessing end with the process that uses them.
        is_servant = process.ppid() == os.getpid() and "from multiprocessing." in words
        if process.pid == os.getpid() or is_servant or environment.get(RUN) != os.environ[RUN]:
            return None
        line = f"{environment.get('PYTEST_CURRENT_TEST', 'a fixture')}: {words}"
        process.kill()
    except psutil.Error:
        return None
    return line


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Spend no time on files of which the run takes nothing."""
    if not collection_path.is_relative_to(config.rootpath):
        return None
    place = collection_path.relative_to(config.rootpath).as_posix()
    return tiers.is_left_out(place, config.getoption("--tier")) or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tier, and run what uses the browser in the loop to which the browser belongs."""
    tiers.select(config, items)
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


def pytest_collection_finish() -> None:
    """Keep what was imported and collected out of garbage collection, which takes a third of the time otherwise."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Free what the frames of a failed test hold, such as open connections, before the next test would warn of it."""
    failed = item.session.testsfailed
    result = yield
    if item.session.testsfailed > failed:
        for name in ("last_exc", "last_type", "last_value", "last_traceback"):
            vars(sys).pop(name, None)
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()
    return result


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """List the tests that took the most processor time."""
    reports = [report for found in terminalreporter.stats.values() for report in found]
    terminalreporter.section("most processor time of their own")
    for line in costs.most_expensive(report for report in reports if isinstance(report, pytest.TestReport)):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL of this run's own; superuser, trusted, nothing flushed to disk."""
    with servers.postgres() as url:
        yield url


@pytest.fixture(scope="session")
def postgres_16_url() -> Iterator[str]:
    """A PostgreSQL 16 of this run's own, the oldest that is supported; else like `postgres_url`."""
    with servers.postgres(servers.postgres_16_programs, "TEST_POSTGRES_16_URL") as url:
        yield url


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A Redis 6.2 of this run's own; nothing kept on disk."""
    with servers.redis() as url:
        yield url


@pytest.fixture(scope="session")
def valkey_url() -> Iterator[str]:
    """A Valkey 9 of this run's own; nothing kept on disk."""
    with servers.valkey() as url:
        yield url


@pytest.fixture(scope="session")
def durable_redis_url() -> Iterator[str]:
    """A Redis of this run's own that writes each change to its disk."""
    with mortal_redis(servers.redis_program()) as server:
        yield server.url


@pytest.fixture(scope="session")
def chromium() -> Path:
    """A headless Chromium that runs here."""
    return chromiums.find()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(chromium: Path) -> AsyncIterator[Browser]:
    """A running Chromium. Async fixtures that touch it need `loop_scope="session"` as well."""
    async with async_playwright() as playwright:
        running = await playwright.chromium.launch(executable_path=chromium, args=chromiums.ARGUMENTS)
        yield running
        await running.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(browser: Browser) -> AsyncIterator[Page]:
    """An empty page with cookies and storage of its own."""
    context = await browser.new_context()
    yield await context.new_page()
    await context.close()


@pytest.fixture(params=["memory", "sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store of each sort, empty."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    if request.param == "redis":
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'ringi.db'}"
