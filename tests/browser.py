"""A headless Chromium for tests, without root: `python -m tests.browser` finds or downloads it.

It is the pinned one wherever that runs, whatever else is installed: another draws other fonts and asks for other files.
"""

from __future__ import annotations

import io
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

CACHE = Path(__file__).resolve().parent.parent / ".cache" / "chromium"
PACKAGE = "@sparticuz/chromium@153.0.0"
PROGRAMS = ("chromium-headless-shell", "chromium", "google-chrome")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

LAUNCHER = """#!/bin/sh
export LD_LIBRARY_PATH="{libraries}/lib${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"
[ -e /etc/fonts/fonts.conf ] || export FONTCONFIG_FILE="{libraries}/fonts.conf"
exec "{program}" "$@"
"""


class BrowserError(Exception):
    """No Chromium could be found or fetched."""

    def __init__(self, tried: list[str]) -> None:
        places = "\n".join(f"  - {line}" for line in tried)
        super().__init__(f"no Chromium; set TEST_CHROMIUM to one. Tried:\n{places}")


def find() -> Path:
    """Return a Chromium that runs, fetching one if need be, or raise `BrowserError`."""
    tried = []
    for name, rung in _rungs():
        try:
            found = rung()
            version = _version(found)
        except (OSError, subprocess.SubprocessError, LookupError) as error:
            tried.append(f"{name}: {_reason(error)}")
            continue
        print(f"{name}: {found} ({version})", file=sys.stderr)
        return found
    raise BrowserError(tried)


def _rungs() -> Iterator[tuple[str, Callable[[], Path]]]:
    yield "TEST_CHROMIUM", _executable
    if "TEST_CHROMIUM" in os.environ:
        return
    yield f"npm {PACKAGE}", _from_npm
    yield "PATH", _on_path
    yield "playwright install", _from_playwright
    yield "apt-get install", _from_apt


def _executable() -> Path:
    return Path(os.environ["TEST_CHROMIUM"])


def _on_path() -> Path:
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        raise LookupError(f"none of {', '.join(PROGRAMS)}")
    return Path(found)


def _from_npm() -> Path:
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        raise LookupError("for Linux on x86_64 only")
    launcher = CACHE / "chromium"
    if not launcher.exists():
        _run(Path(sys.executable).parent / "npm", "install", "--prefix", CACHE, "--ignore-scripts", PACKAGE)
        _unpack(CACHE / "node_modules/@sparticuz/chromium/bin", launcher)
    return launcher


def _unpack(packed: Path, launcher: Path) -> None:
    program, libraries = CACHE / "chromium.bin", CACHE / "libraries"
    program.write_bytes(_decompress(packed / "chromium.br"))
    program.chmod(0o755)
    for archive in ("al2023.tar.br", "fonts.tar.br"):
        with tarfile.open(fileobj=io.BytesIO(_decompress(packed / archive))) as tar:
            tar.extractall(libraries, filter="data")
    fonts = f"<fontconfig><dir>{libraries / 'fonts'}</dir><cachedir>{CACHE}</cachedir></fontconfig>"
    (libraries / "fonts.conf").write_text(fonts)
    # Written last: its presence says that all the rest is complete.
    launcher.write_text(LAUNCHER.format(program=program, libraries=libraries))
    launcher.chmod(0o755)


def _decompress(path: Path) -> bytes:
    import brotli

    plain: bytes = brotli.decompress(path.read_bytes())
    return plain


def _from_playwright() -> Path:
    _run(sys.executable, "-m", "playwright", "install", "chromium")
    script = "from playwright.sync_api import sync_playwright as start\n"
    script += "with start() as playwright: print(playwright.chromium.executable_path)"
    return Path(_run(sys.executable, "-c", script).strip())


def _from_apt() -> Path:
    if sys.platform == "win32" or os.geteuid() != 0 or not shutil.which("apt-get"):
        raise LookupError("for root on Debian only")
    _run("apt-get", "update", "-q")
    _run("apt-get", "install", "-qy", "--no-install-recommends", PROGRAMS[0])
    return _on_path()


def _run(*command: str | Path) -> str:
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True)
    return done.stdout


def _version(program: Path) -> str:
    return _run(program, "--version").strip()


def _reason(error: Exception) -> str:
    lines = (getattr(error, "stderr", None) or "").strip().splitlines()
    return f"{error} {lines[-1] if lines else ''}".strip()


if __name__ == "__main__":
    try:
        find()
    except BrowserError as error:
        sys.exit(str(error))
