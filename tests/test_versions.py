"""The lower bounds of the dependencies, and the versions in the docs, are those that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from scripts import version_matrix
from scripts.version_matrix import (
    BUNDLES,
    NEWEST,
    OLDEST,
    PACKAGES,
    PYPROJECT,
    TOOLS,
    Case,
    MatrixError,
    oldest_version,
    parse_case,
)

ROOT = Path(__file__).resolve().parent.parent
PAGES = {"openai-agents": "OpenAI Agents", "pydantic-ai": "Pydantic AI"}


def locked(package: str) -> str:
    """Return the version in the lock file of the environment that tests the package."""
    file = "requirements.lock" if package == "langgraph" else "frameworks.lock"
    found = re.search(rf"(?m)^{re.escape(package)}==(\S+)", (ROOT / file).read_text("utf-8"))
    assert found
    return found[1]


def test_the_table_has_the_bounds_of_the_extras_and_the_locked_versions() -> None:
    page = (ROOT / "docs/reference/agents.md").read_text("utf-8")
    rows = re.findall(r"(?m)^\| \[.*?\| `(\S+)` \| `(\S+)` \| (\S+) \| (\S+) \|$", page)
    assert rows == [
        (extra, package, oldest_version(extra), locked(package)) for extra, package in sorted(PACKAGES.items())
    ]


@pytest.mark.parametrize("extra", PAGES)
def test_a_how_to_names_the_oldest_version(extra: str) -> None:
    page = (ROOT / f"docs/how-to/{extra}.md").read_text("utf-8")
    assert f"{PAGES[extra]} {oldest_version(extra)} or newer" in page


def test_a_version_can_be_chosen() -> None:
    assert parse_case("openai-agents==0.23.1") == Case("openai-agents", "0.23.1")
    assert parse_case("pydantic-ai") == parse_case("pydantic-ai-slim") == Case("pydantic-ai", NEWEST)
    assert parse_case("server==oldest") == Case("server", OLDEST)
    with pytest.raises(MatrixError, match="use one of server, mcp, langgraph"):
        parse_case("crewai")


def test_an_adapter_that_installs_another_framework_is_refused() -> None:
    with pytest.raises(MatrixError, match="installs langgraph too"):
        version_matrix.check_alone(Case("openai-agents", NEWEST), {"openai-agents": "0.24.0", "langgraph": "1.2.24"})


def test_the_oldest_environments_have_every_extra_and_their_tools_and_tests_exist() -> None:
    tested = {extra for case in version_matrix.all_cases() if case.version == OLDEST for extra in case.extras}
    assert tested == PYPROJECT["project"]["optional-dependencies"].keys() - {"all"}
    assert all({Requirement(tool).name for tool in Case(name, OLDEST).tools} >= {*TOOLS} for name in BUNDLES)
    assert all((ROOT / path).exists() for name in BUNDLES for path in Case(name, OLDEST).tests)


def test_each_dependency_has_one_lower_bound_in_all_extras() -> None:
    assert version_matrix.lower_bounds()["starlette"]
    with pytest.raises(MatrixError, match=r"pyproject.toml: rich, typer$"):
        version_matrix.lower_bounds(
            {"dependencies": ["anyio>=4"], "optional-dependencies": {"a": ["rich>=14", "typer"], "b": ["rich>=15"]}}
        )


def test_a_bound_that_no_environment_has_is_a_failure() -> None:
    bounds = version_matrix.lower_bounds()
    assert version_matrix.untested_bounds(bounds.items()) == []
    newer = bounds | {"starlette": "99"}
    assert version_matrix.untested_bounds(newer.items()) == [f"starlette>={bounds['starlette']}"]
