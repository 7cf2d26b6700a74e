"""Change conditions of the source, one at a time, and list the changes that no test notices.

`python -m scripts.mutate --seed 15` changes 60 lines that the seed chooses, in a git worktree of its own. It runs the
tests of `quick` once to see which of them reach these lines, and then for each change only those; for the changes that
survive it does the same with `stores`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dev
from scripts import mutation_probe
from scripts.mutations import Change, changes_of, choose

FOLDERS = ("domain", "policy", "runs", "backends", "delivery", "server/auth")
TIERS = ("quick", "stores")
FIRST, MOST = 25, 150
"""How many tests run first for a change, the cheapest ones, and how many of a tier run in all."""
SECONDS = 300
"""The time that the tests of a change may take; a change that lets them hang is noticed."""
NOT_FOUND = 4
"""The exit code with which pytest refuses its arguments."""


class Scratch:
    """A git worktree in which the source is changed and tested."""

    def __init__(self, folder: Path, commit: str) -> None:
        self.folder, self.commit = folder, commit
        self.results = folder / ".venv" / "mutate"
        python = folder / ".venv" / "bin"
        own = {"PATH": f"{python}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(python.parent)}
        self.environment = os.environ | own | {"PYTHONDONTWRITEBYTECODE": ""}

    def prepare(self) -> None:
        """Set it up at the commit, with the page that this checkout has built."""
        if (self.folder / ".git").exists():
            run(["git", "checkout", "--quiet", "--force", "--detach", self.commit], self.folder)
        else:
            run(["git", "worktree", "add", "--quiet", "--detach", str(self.folder), self.commit], dev.ROOT)
        run([sys.executable, "dev.py", "setup"], self.folder)
        self.results.mkdir(exist_ok=True)
        page = Path("src/ringi/server/static")
        if (dev.ROOT / page).exists():
            shutil.copytree(dev.ROOT / page, self.folder / page, dirs_exist_ok=True)

    def changes(self, folders: Sequence[str]) -> Iterator[Change]:
        """Yield the possible changes below some folders of the package."""
        for folder in folders:
            for path in sorted((self.folder / "src/ringi" / folder).rglob("*.py")):
                yield from changes_of(path.relative_to(self.folder).as_posix(), path.read_bytes())

    def pytest(self, tier: str, arguments: Sequence[str], limit: float | None = None) -> tuple[int | None, str]:
        """Run tests; return the exit code, or None after the limit, and the output."""
        program = str(self.folder / ".venv" / "bin" / "python")
        command = [program, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tier", tier, *arguments]
        with (self.results / "output").open("w+") as output:
            streams: Any = {"stdout": output, "stderr": output, "start_new_session": True}
            process = subprocess.Popen(command, cwd=self.folder, env=self.environment, **streams)
            try:
                code: int | None = process.wait(limit)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                # A test that hangs has children.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            return code, output.read()

    def reached(self, changes: Sequence[Change], tier: str, tests: Sequence[str], name: str) -> dict[int, list[str]]:
        """Return the tests of a tier that reach each change, the cheapest first; those of an earlier run if it can."""
        folder = self.results / f"{name}-{tier}"
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            self._record(changes, tier, tests, folder)
        costs: defaultdict[str, float] = defaultdict(float)
        failed = set()
        for test, seconds, outcome in lines_of(folder / "reports"):
            costs[test] += seconds
            if outcome != "passed":
                failed.add(test)
        passed = set(costs) - failed
        found: defaultdict[int, set[str]] = defaultdict(set)
        for file in folder.glob("reached-*"):
            for number, test in lines_of(file):
                found[number].add(test)
        return {number: sorted(each & passed, key=lambda test: costs[test]) for number, each in found.items()}

    def _record(self, changes: Sequence[Change], tier: str, tests: Sequence[str], folder: Path) -> None:
        """Run the tests of a tier once, and let each record the changes that it reaches."""
        probe = Path(mutation_probe.__file__)
        shutil.copy(probe, self.folder / "src" / probe.name)
        (self.folder / "src" / "mutation_folder").write_text(str(folder))
        self.environment[mutation_probe.FOLDER] = str(folder)
        originals = {change.file: (self.folder / change.file).read_bytes() for change in changes}
        try:
            probed = dict(originals)
            for number in sorted(range(len(changes)), key=lambda each: -changes[each].start):
                file = changes[number].file
                probed[file] = changes[number].probed(probed[file], number)
            for file, source in probed.items():
                (self.folder / file).write_bytes(source)
            code, output = self.pytest(tier, ["-p", probe.stem, *dev.AT_ONCE, *tests])
        finally:
            for file, source in originals.items():
                (self.folder / file).write_bytes(source)
        print(output.splitlines()[-1] if output else f"pytest ended with {code}", flush=True)
        (folder / "done").touch()

    def judge(self, change: Change, tier: str, tests: Sequence[str]) -> str:
        """Return the test of a tier that notices a change, or an empty text."""
        original = (self.folder / change.file).read_bytes()
        (self.folder / change.file).write_bytes(change.applied(original))
        try:
            for part in filter(None, (tests[:FIRST], tests[FIRST:MOST])):
                code, output = self.pytest(tier, ["-x", *part], SECONDS)
                if code == NOT_FOUND and "ERROR: not found: " in output:
                    raise RuntimeError(output)
                if code is None:
                    return f"no end within {SECONDS} s"
                if code:
                    found = re.search(r"(?m)^(?:FAILED|ERROR) (\S+)", output)
                    return found[1] if found else f"exit code {code}"
        finally:
            (self.folder / change.file).write_bytes(original)
        return ""


def lines_of(file: Path) -> Iterator[list[Any]]:
    """Yield the values of each line of a file."""
    for line in file.read_text().splitlines():
        yield json.loads(line)


def run(command: list[str], folder: Path) -> None:
    """Run a command that must succeed."""
    subprocess.run(command, cwd=folder, check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what became of each change; exit with 1 if a test is missing."""
    parser = argparse.ArgumentParser(prog="python -m scripts.mutate", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seed", type=int, default=0, help="chooses the changes")
    parser.add_argument("--count", type=int, default=60, help="how many changes")
    parser.add_argument("--folders", nargs="+", default=FOLDERS, help="folders of src/ringi")
    parser.add_argument("--tiers", nargs="+", default=TIERS, help="tiers of tests")
    parser.add_argument("--commit", default="HEAD", help="the commit whose source is changed")
    parser.add_argument("--scratch", type=Path, default=dev.ROOT / "build/mutate", help="folder of the git worktree")
    parser.add_argument("tests", nargs="*", help="arguments of pytest; after --, such as -- --ignore tests/acceptance")
    options = parser.parse_args(arguments)
    commit = subprocess.check_output(["git", "rev-parse", options.commit], cwd=dev.ROOT, text=True).strip()
    os.nice(10)
    scratch = Scratch(options.scratch.resolve(), commit)
    scratch.prepare()
    changes = choose(scratch.changes(options.folders), options.count, options.seed)
    name = hashlib.sha256(repr((commit, changes, options.tests)).encode()).hexdigest()[:12]
    ran: dict[Change, list[str]] = {change: [] for change in changes}
    for tier in options.tiers:
        reached = scratch.reached(changes, tier, options.tests, name)
        for change in list(ran):
            tests = reached.get(changes.index(change), [])[:MOST]
            ran[change] += tests
            if killer := scratch.judge(change, tier, tests):
                print(f"noticed  {change}\n    {killer}", flush=True)
                del ran[change]
    for change, tests in ran.items():
        print(f"{'SURVIVED' if tests else 'NO TEST'}  {change}\n    {len(tests)} tests: {' '.join(tests[:5])}")
    print(f"{len(ran)} of {len(changes)} changes survived")
    return 1 if ran else 0


if __name__ == "__main__":
    sys.exit(main())
