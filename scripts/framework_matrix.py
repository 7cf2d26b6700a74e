"""Test each adapter of an agent framework alone, in fresh environments at the oldest and the newest supported version.

`python -m scripts.framework_matrix` tests all of them; `… openai-agents==0.23.1` tests one version of one framework.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
UV = str(Path(sys.executable).with_name("uv"))
PACKAGES = {"langgraph": "langgraph", "openai-agents": "openai-agents", "pydantic-ai": "pydantic-ai-slim"}
"""The package of each framework, by the extra of its adapter."""
NEUTRAL_TESTS = ("tests/runtimes/test_bare.py", "tests/runtimes/test_demo_agents.py")
LIST = ("pip", "list", "--format", "freeze", "--python")


class MatrixError(Exception):
    """A step failed; the message has its output."""


class Case(NamedTuple):
    """One environment of the matrix."""

    extra: str
    version: str
    """The version to install; empty for the newest one."""

    @property
    def package(self) -> str:
        """The package of the framework."""
        return PACKAGES[self.extra]

    @property
    def requirement(self) -> str:
        """The requirement that selects the version."""
        return f"{self.package}=={self.version}" if self.version else self.package

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of the adapter, and those of all frameworks."""
        return f"tests/runtimes/{self.extra.replace('-', '_')}", *NEUTRAL_TESTS


def oldest_version(extra: str) -> str:
    """Return the oldest supported version of a framework: the lower bound in its extra."""
    requirements = [Requirement(each) for each in PYPROJECT["project"]["optional-dependencies"][extra]]
    (found,) = (each for each in requirements if each.name == PACKAGES[extra])
    (bound,) = (each.version for each in found.specifier if each.operator == ">=")
    return bound


def all_cases() -> list[Case]:
    """Return the oldest and the newest version of each framework."""
    return [Case(extra, version) for extra in PACKAGES for version in (oldest_version(extra), "")]


def parse_case(text: str) -> Case:
    """Return the case of a requirement such as `openai-agents==0.23.1`; a name alone means the newest version."""
    name, _, version = text.partition("==")
    extra = next((extra for extra, package in PACKAGES.items() if name in (extra, package)), None)
    if extra is None:
        raise MatrixError(f"no framework {name!r}: use one of {', '.join(PACKAGES)}")
    return Case(extra, version)


def run(*command: str | Path, variables: dict[str, str] | None = None) -> str:
    """Run a command in the checkout and return its output."""
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | (variables or {}), capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise MatrixError(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def build_wheel(folder: Path) -> Path:
    """Build the wheel of the checkout, without the web page."""
    options = ("--quiet", "--wheel", "--no-build-isolation", "--python", sys.executable, "--out-dir", folder)
    run(UV, "build", *options, variables={"RINGI_SKIP_UI": "1"})
    return next(folder.glob("*.whl"))


def install(case: Case, wheel: Path, folder: Path) -> Path:
    """Create an environment with one framework and the tools of the tests, and return its Python."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    tools = (each for each in PYPROJECT["dependency-groups"]["frameworks"] if each.startswith("pytest"))
    # An override also installs a version that the extra does not support yet.
    override = folder / "override.txt"
    override.write_text(case.requirement)
    options = ("--quiet", "--python", python, "--override", override)
    run(UV, "pip", "install", *options, f"{wheel}[{case.extra},testing]", *tools)
    return python


def installed_versions(python: Path) -> dict[str, str]:
    """Return the versions of the packages in an environment."""
    lines = run(UV, *LIST, python).splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def check_alone(case: Case, versions: dict[str, str]) -> None:
    """Raise `MatrixError` if the environment has another framework too."""
    others = {*PACKAGES.values()} - {case.package}
    if found := sorted(others & versions.keys()):
        raise MatrixError(f"ringi[{case.extra}] installs {', '.join(found)} too: remove them from the extra")


def test(case: Case, wheel: Path, folder: Path) -> str:
    """Run the tests of one case, and return a line with the version and the result."""
    started = time.monotonic()
    python = install(case, wheel, folder)
    versions = installed_versions(python)
    check_alone(case, versions)
    output = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--confcutdir", "tests/runtimes", *case.tests)
    result = output.splitlines()[-1].strip("= ")
    bound = f"oldest {case.package}" if case.version else f"newest {case.package}"
    return f"{bound} {versions[case.package]}: {result}; with the installation {time.monotonic() - started:.0f} s"


def main(arguments: Sequence[str]) -> None:
    """Run the matrix, and name the failures at the end."""
    cases = [parse_case(each) for each in arguments] or all_cases()
    failed = []
    with tempfile.TemporaryDirectory(prefix="ringi-matrix-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        for case in cases:
            environment = folder / "environment"
            try:
                print(test(case, wheel, environment), flush=True)
            except MatrixError as error:
                print(f"{case.requirement}: {error}", flush=True)
                failed.append(case.requirement)
            shutil.rmtree(environment, ignore_errors=True)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
