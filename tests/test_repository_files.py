"""The files for contributors name commands, tests and paths that exist."""

from __future__ import annotations

import ast
import importlib
import re
import tomllib
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import Any

import dev
import pytest
from benchmarks.suite import BENCHES
from scripts import language, sizes

ROOT = Path(__file__).parent.parent
YAML: Any = importlib.import_module("yaml")
PAGES = ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
OTHERS = [*sorted((ROOT / ".github").glob("*_TEMPLATE/*.yml")), ROOT / ".pre-commit-config.yaml"]
FILE_NAME = attrgetter("name")
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")
TESTS = sorted({found for name in PAGES for found in NAMED.findall((ROOT / name).read_text("utf-8"))})


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@cache
def functions_of(file: str) -> set[str]:
    nodes = ast.walk(ast.parse(text_of(file)))
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def steps_of(workflow: Path) -> list[dict[str, Any]]:
    jobs = YAML.safe_load(workflow.read_text("utf-8"))["jobs"].values()
    return [step for job in jobs for step in job.get("steps", [])]


@pytest.mark.parametrize(("file", "test"), TESTS)
def test_a_test_that_a_page_names_exists(file: str, test: str) -> None:
    assert test in functions_of(file)


def test_each_threat_names_a_test() -> None:
    rows = text_of("SECURITY.md").partition("## Threats")[2].partition("## Out of scope")[0]
    threats = re.findall(r"(?m)^\| (?!threat \||---)(.*) \|$", rows)

    assert len(threats) >= 20
    assert [threat for threat in threats if "`tests/" not in threat] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_link_of_a_page_leads_somewhere(name: str) -> None:
    links = re.findall(r"\]\((?!https?://|#|\.\./)([^)#]+)", text_of(name))

    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_path_that_a_page_names_exists(name: str) -> None:
    paths = re.findall(r"`((?:src|tests|docs|scripts|ui|benchmarks)/[\w./-]*)`", text_of(name))

    assert [path for path in paths if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_address_for_mail(name: str) -> None:
    assert re.findall(r"[\w.]+@[\w-]+\.\w+|mailto:", text_of(name)) == []


@pytest.mark.parametrize(
    "file", [ROOT / "CONTRIBUTING.md", ROOT / ".pre-commit-config.yaml", *WORKFLOWS], ids=FILE_NAME
)
def test_make_has_the_commands_that_are_named(file: Path) -> None:
    targets = set(re.findall(r"(?:`|run: |^)make ([a-z-]+)", file.read_text("utf-8"), re.M))

    assert targets - set(dev.COMMANDS) == set()


def test_the_page_names_the_limits_and_benches_as_the_code_has_them() -> None:
    page = text_of("CONTRIBUTING.md")
    benches = " ".join(re.findall(r'make bench ARGS="?([a-z ]+[a-z])', page)).split()

    assert f"at most {sizes.LONGEST} lines, a file {sizes.FILE}" in page
    assert f"at most {language.SUBJECT_LIMIT} characters" in page
    assert set(benches) <= set(BENCHES)
    assert set(re.findall(r"`(\w+)`", page.partition("refuses `told`")[2].partition("\n")[0])) <= set(language.BANNED)


@pytest.mark.parametrize("file", OTHERS, ids=FILE_NAME)
def test_a_form_or_a_hook_is_yaml(file: Path) -> None:
    assert YAML.safe_load(file.read_text("utf-8"))


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=FILE_NAME)
def test_a_workflow_pins_actions_reads_only_and_ends(workflow: Path) -> None:
    found = YAML.safe_load(workflow.read_text("utf-8"))
    actions = [step["uses"] for step in steps_of(workflow) if "uses" in step]

    assert actions
    assert [action for action in actions if not re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", action)] == []
    assert found["permissions"] == {"contents": "read"}
    assert [name for name, job in found["jobs"].items() if "uses" not in job and "timeout-minutes" not in job] == []


def test_a_release_is_made_of_tags_only_after_all_checks() -> None:
    release = YAML.safe_load(text_of(".github/workflows/release.yml"))
    jobs = release["jobs"]

    # YAML 1.1 reads the key `on` as a truth value.
    assert release[True] == {"push": {"tags": ["v*"]}}
    assert [jobs[name]["needs"] for name in ("build", "attest", "publish")] == ["checks", "build", "attest"]
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


def test_a_job_that_mints_tokens_runs_only_pinned_actions() -> None:
    jobs = [job for file in WORKFLOWS for job in YAML.safe_load(file.read_text("utf-8"))["jobs"].values()]
    minting = [job for job in jobs if "id-token" in job.get("permissions", {})]

    assert len(minting) == 2
    assert [step for job in minting for step in job["steps"] if "uses" not in step] == []


def test_each_supported_python_is_tested() -> None:
    jobs = YAML.safe_load(text_of(".github/workflows/ci.yml"))["jobs"].values()
    tested = {version for job in jobs for version in job["strategy"]["matrix"]["python"]}

    assert tested == set(re.findall(r"Python :: (3\.\d+)", text_of("pyproject.toml")))


def test_how_to_pages_are_grouped_as_on_the_index() -> None:
    nav = tomllib.loads(text_of("zensical.toml"))["project"]["nav"]
    groups = next(part["How to"] for part in nav if "How to" in part)

    names = [next(iter(group)) for group in groups]
    assert names == ["Build an agent that asks", "Build an application", "Answer requests", "Operate", "Audit"]
    headings = re.findall(r"(?m)^## (.+)$", text_of("docs/index.md"))
    assert [heading for heading in headings if heading in names] == names
