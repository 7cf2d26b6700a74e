"""The versions of frameworks in the docs are those of the extras and of the lock files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts import framework_matrix
from scripts.framework_matrix import PACKAGES, Case, MatrixError, oldest_version, parse_case

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
    assert parse_case("pydantic-ai").requirement == "pydantic-ai-slim"
    with pytest.raises(MatrixError, match="use one of langgraph"):
        parse_case("crewai")


def test_an_adapter_that_installs_another_framework_is_refused() -> None:
    with pytest.raises(MatrixError, match="installs langgraph too"):
        framework_matrix.check_alone(Case("openai-agents", ""), {"openai-agents": "0.24.0", "langgraph": "1.2.24"})
