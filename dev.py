"""Set up, run, test and measure a checkout of Ringi. Needs Python >= 3.11 and nothing else."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
CACHE = ROOT / ".cache"
LOCK = ROOT / "requirements.lock"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / "python"


class Failure(Exception):
    """A step failed; the message is all that the user needs."""


def main(arguments: list[str]) -> int:
    """Run one command with the arguments that follow it."""
    if sys.version_info < (3, 11):
        raise Failure(f"Ringi needs Python 3.11 or newer; this is {sys.version.split()[0]}")
    name, *rest = arguments or ["help"]
    if name not in COMMANDS:
        raise Failure(f"no command {name!r}; there are: {', '.join(COMMANDS)}")
    return COMMANDS[name](rest)


def setup(_: list[str]) -> int:
    """Create or refresh .venv from the hash-locked requirements."""
    stamp, wanted = VENV / ".stamp", _fingerprint()
    if stamp.exists() and stamp.read_text() == wanted:
        return 0
    _create_environment()
    uv = str(BIN / "uv")
    _step("install packages", [uv, "pip", "sync", "-q", "--require-hashes", str(LOCK)])
    _step(
        "install ringi, editable",
        [uv, "pip", "install", "-q", "--no-deps", "--no-build-isolation", "-e", str(ROOT)],
        RINGI_SKIP_UI="1",
    )
    stamp.write_text(wanted)
    return 0


def _fingerprint() -> str:
    digest = hashlib.sha256(sys.version.encode())
    for name in ("requirements.lock", "pyproject.toml", "hatch_build.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()


def _create_environment() -> None:
    if (BIN / "uv").exists() and _runs([str(PYTHON), "--version"]):
        return
    shutil.rmtree(VENV, ignore_errors=True)
    _step("create .venv", [sys.executable, "-m", "venv", str(VENV)])
    pin = CACHE / "uv.lock.txt"
    CACHE.mkdir(exist_ok=True)
    pin.write_text(_locked("uv"))
    _step("install uv", [str(PYTHON), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(pin)])


def _locked(package: str) -> str:
    lines = LOCK.read_text().splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"{package}=="))
    end = next(i for i in range(start + 1, len(lines) + 1) if i == len(lines) or not lines[i].startswith(" "))
    return "\n".join(lines[start:end]) + "\n"


def _runs(command: list[str]) -> bool:
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _step(title: str, command: list[str], **env: str) -> None:
    started = time.monotonic()
    print(f"· {title} …", file=sys.stderr, flush=True)
    done = subprocess.run(command, cwd=ROOT, env=_environment() | env, check=False)
    if done.returncode:
        raise Failure(f"{title} failed: {' '.join(command)}")
    print(f"  {time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)


def _environment() -> dict[str, str]:
    return os.environ | {"VIRTUAL_ENV": str(VENV), "UV_PYTHON": str(PYTHON)}


COMMANDS = {"setup": setup}

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except Failure as failure:
        sys.exit(f"dev.py: {failure}")
