"""What is published works where there is neither a checkout nor Node."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import trove_classifiers

ROOT = Path(__file__).resolve().parents[2]
UV = str(Path(sys.executable).with_name("uv"))
START_SECONDS = 60
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

pytestmark = pytest.mark.timeout(300)


class Archives(NamedTuple):
    """Both archives; the wheel was built from the other one."""

    source: Path
    wheel: Path


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Archives:
    folder, nowhere = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("nowhere")
    build = (UV, "build", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    run(*build, "--sdist", ROOT, cwd=nowhere)
    (source,) = folder.glob("*.tar.gz")
    # npm can fetch nothing: the source archive brings the page with it.
    run(*build, "--wheel", source, cwd=nowhere, npm_config_registry="http://127.0.0.1:9", npm_config_cache=str(nowhere))
    (wheel,) = folder.glob("*.whl")
    return Archives(source, wheel)


@pytest.fixture(scope="module")
def names(archives: Archives) -> list[str]:
    with zipfile.ZipFile(archives.wheel) as wheel:
        return wheel.namelist()


def test_both_archives_bear_the_version_that_stands_in_one_place(archives: Archives) -> None:
    assert archives.source.name == f"ringi-{VERSION}.tar.gz"
    assert archives.wheel.name == f"ringi-{VERSION}-py3-none-any.whl"
    assert re.search(rf"^## {re.escape(VERSION)}\b", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.M)


def test_the_wheel_holds_every_file_of_the_package_the_page_the_types_and_the_licence(names: list[str]) -> None:
    files = (path.relative_to(ROOT / "src") for path in (ROOT / "src").rglob("*") if path.is_file())
    sources = {path.as_posix() for path in files if not {"__pycache__", "static"} & set(path.parts)}
    wanted = {
        "ringi/server/static/index.html",
        "ringi/py.typed",
        "ringi_apps/py.typed",
        f"ringi-{VERSION}.dist-info/licenses/LICENSE",
    }

    assert (sources | wanted) - set(names) == set()
    assert any(re.fullmatch(r"ringi/server/static/assets/.+\.js", name) for name in names)


def test_the_wheel_holds_the_licences_of_the_packages_in_the_page(archives: Archives) -> None:
    with zipfile.ZipFile(archives.wheel) as wheel:
        notices = wheel.read("ringi/server/static/third-party-licenses.md").decode()
    asked = json.loads((ROOT / "ui/package.json").read_text())["dependencies"]
    missing = [name for name in asked if not re.search(rf"^## {re.escape(name)} ", notices, re.M)]
    assert missing == []
    assert notices.count("Permission is hereby granted") > len(asked)


def test_the_wheel_holds_nothing_that_only_developers_need(names: list[str]) -> None:
    packages = {"ringi", "ringi_apps", "pytest_ringi"}
    assert {name.split("/")[0] for name in names} == {*packages, f"ringi-{VERSION}.dist-info"}
    assert [name for name in names if name.endswith((".map", ".pyc", ".stamp")) or "/test_" in name] == []


def test_the_source_archive_holds_what_the_wheel_is_built_from(archives: Archives) -> None:
    with tarfile.open(archives.source) as source:
        names = {name.partition("/")[2] for name in source.getnames()}

    assert {"hatch_build.py", "ui/package-lock.json", "ui/index.html", "CHANGELOG.md", "LICENSE"} <= names
    assert [name for name in names if name.startswith(("tests/", "ui/node_modules")) or name.endswith(".map")] == []


def test_the_metadata_names_no_place_and_says_what_it_is(archives: Archives) -> None:
    with zipfile.ZipFile(archives.wheel) as wheel:
        metadata = wheel.read(f"ringi-{VERSION}.dist-info/METADATA").decode()

    assert f"\nVersion: {VERSION}\n" in metadata
    assert "\nLicense-Expression: Apache-2.0\n" in metadata
    assert "\nRequires-Python: >=3.11\n" in metadata
    assert "\nProvides-Extra: langgraph\n" in metadata
    assert "\nDescription-Content-Type: text/markdown\n" in metadata
    assert set(re.findall(r"^Classifier: (.+)$", metadata, re.M)) <= trove_classifiers.classifiers
    assert re.findall(r"^Requires-Dist: .*(?:@|://).*$", metadata, re.M) == []


@pytest.mark.parametrize("extra", ["[server]", "[all]"])
def test_a_wheel_in_a_clean_environment_opens_the_demo(archives: Archives, extra: str, tmp_path: Path) -> None:
    programs = installed(f"{archives.wheel}{extra}", tmp_path)

    assert run(programs / "ringi", "--version", cwd=tmp_path).strip() == f"ringi {VERSION}"
    with demo(programs / "ringi", tmp_path) as url, httpx.Client(base_url=url, timeout=30) as client:
        assert client.get("/healthz").json() == {"status": "ok"}
        agents, questions = items(client, tmp_path, "agents"), items(client, tmp_path, "requests")
        names = {
            *("refund", "preferences", "two_questions", "desk", "chat", "finisher"),
            *("assistant", "sales", "helper", "engrammer"),
        }
        whole = {agent["name"] for agent in agents if "." not in agent["name"]}
        assert (whole, len(questions)) == ((names, 0) if extra == "[all]" else (set(), 5))
        page = client.get("/").raise_for_status().text
        assets = re.findall(r'(?:src|href)="(/[^"]+)"', page)
        assert [path for path in assets if path.endswith(".js")]
        assert [client.get(path).status_code for path in assets] == [200] * len(assets)


INBOX = """
import asyncio, ringi

async def main():
    async with ringi.open() as inbox:
        request = await inbox.ask("Deploy?")
        print((await inbox.get(request.id)).status)

asyncio.run(main())
"""


def test_the_base_is_small_and_its_command_names_the_extra(archives: Archives, tmp_path: Path) -> None:
    programs = installed(str(archives.wheel), tmp_path)
    site = Path(run(programs / "python", "-c", "import ringi; print(ringi.__path__[0])", cwd=tmp_path).strip()).parent
    packages = [found.name for found in site.glob("*.dist-info")]
    size = sum(file.stat().st_size for file in site.rglob("*") if file.is_file() and "__pycache__" not in file.parts)

    assert len(packages) <= 16, packages
    # 20.3 MB are jsonschema-rs and pydantic-core, 6.1 MB the page, 3.2 MB of it for drawing PDFs.
    assert size <= 36_000_000
    assert run(programs / "python", "-c", INBOX, cwd=tmp_path) == "pending\n"
    refused = subprocess.run([programs / "ringi", "list"], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert refused.stderr == "error: the command needs an extra: pip install 'ringi[terminal]'\n"


REFUND = """
import asyncio
import ringi

async def refund(inbox):
    request = await inbox.ask("Refund 40?", action=ringi.Action("refund", {"amount": 40}), expires_in=30 * 86_400)
    return (await inbox.wait(request.id)).granted

def test_a_refund_is_approved(ringi_inbox, ringi_person):
    ringi_person.approves(action="refund")
    assert asyncio.run(refund(ringi_inbox)).args == {"amount": 40}

def test_silence_for_a_month_pays_nothing(ringi_inbox, ringi_person):
    ringi_person.ignores(action="refund")
    assert asyncio.run(refund(ringi_inbox)) is None
"""


def test_the_kit_is_there_for_tests_where_the_wheel_is_installed(archives: Archives, tmp_path: Path) -> None:
    programs = installed(f"{archives.wheel}[testing]", tmp_path)
    (tmp_path / "test_refund.py").write_text(REFUND)

    assert "2 passed" in run(programs / "python", "-m", "pytest", "test_refund.py", cwd=tmp_path, PYTHONPATH="")


def installed(wheel: str, folder: Path) -> Path:
    """Install into a clean environment, and return where its programs are."""
    environment = folder / "environment"
    run(UV, "venv", "--quiet", "--python", sys.executable, environment, cwd=folder)
    programs = environment / ("Scripts" if os.name == "nt" else "bin")
    install = (UV, "pip", "install", "--quiet", "--python", programs / "python", "-c", ROOT / "requirements.lock")
    run(*install, wheel, cwd=folder)
    return programs


def items(client: httpx.Client, folder: Path, what: str) -> list[Any]:
    """Return a list as the person at this machine sees it."""
    token = json.loads((folder / ".ringi/tokens.json").read_text())["person"]
    found: list[Any] = client.get(f"/v1/{what}", headers={"authorization": f"Bearer {token}"}).json()["items"]
    return found


@contextmanager
def demo(ringi: Path, folder: Path) -> Iterator[str]:
    """Run the demo in a folder with nothing on the PATH, and yield its address."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("RINGI_", "PYTHON", "VIRTUAL"))
    }
    command = [str(ringi), "demo", "--port", "0", "--json"]
    with subprocess.Popen(
        command, cwd=folder, env=environment | {"PATH": ""}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout
            assert select.select([process.stdout], [], [], START_SECONDS)[0], "the demo said nothing"
            yield json.loads(process.stdout.readline())["url"]
        finally:
            process.kill()
