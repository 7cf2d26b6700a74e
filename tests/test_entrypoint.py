"""The command `ringi` of the container image: credentials are made once, and settings come from files."""

from __future__ import annotations

import os
import re
import runpy
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ENTRY = Path(__file__).resolve().parents[1] / "deploy/entrypoint.py"


def entry(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the entry point with a program that prints its arguments and variables in place of `ringi`."""
    env = {"PATH": os.environ["PATH"], "RINGI_PROGRAM": "/usr/bin/env"} | variables
    return subprocess.run([sys.executable, "-I", ENTRY, *words], env=env, capture_output=True, text=True, check=False)


def made(folder: Path) -> dict[str, str]:
    done = entry("credentials", str(folder), "--postgres", "postgres:5432", "--valkey", "valkey:6379")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return {path.name: path.read_text().strip() for path in folder.iterdir()}


def test_credentials_are_made_once_and_stay(tmp_path: Path) -> None:
    first = made(tmp_path)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}

    assert made(tmp_path) == first
    postgres, valkey = first["postgres-password"], first["valkey-password"]
    assert re.fullmatch("[0-9a-f]{64}", postgres)
    assert re.fullmatch("[0-9a-f]{64}", valkey)
    assert postgres != valkey
    assert first["database-url"] == f"postgresql://ringi:{postgres}@postgres:5432/ringi"
    assert first["redis-url"] == f"redis://:{valkey}@valkey:6379/0"
    assert first["valkey.conf"] == f"requirepass {valkey}"
    assert modes == {
        "postgres-password": 0o640, "valkey-password": 0o640, "valkey.conf": 0o640,
        "database-url": 0o600, "redis-url": 0o600,
    }  # fmt: skip


def test_credentials_that_were_interrupted_are_completed_with_the_same_passwords(tmp_path: Path) -> None:
    (tmp_path / "postgres-password").write_text("of the first start\n")
    (tmp_path / "database-url").write_text("")

    assert made(tmp_path)["database-url"] == "postgresql://ringi:of the first start@postgres:5432/ringi"


def test_processes_that_make_the_credentials_at_once_agree(tmp_path: Path) -> None:
    words = [sys.executable, "-I", str(ENTRY), "credentials", str(tmp_path), "--postgres", "p:1", "--valkey", "v:1"]
    processes = [subprocess.Popen(words) for _ in range(4)]

    assert [process.wait(30) for process in processes] == [0] * 4
    password = (tmp_path / "postgres-password").read_text().strip()
    assert password in (tmp_path / "database-url").read_text()
    assert len(list(tmp_path.iterdir())) == 5


def test_a_password_that_another_process_made_meanwhile_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entrypoint = runpy.run_path(str(ENTRY), run_name="entrypoint")
    path, drafted = tmp_path / "postgres-password", entrypoint["drafted"]

    def overtaken(*arguments: Any) -> Path:
        path.write_text("of the other\n")
        draft: Path = drafted(*arguments)
        return draft

    monkeypatch.setitem(entrypoint["password"].__globals__, "drafted", overtaken)
    assert entrypoint["password"](path) == "of the other"
    assert [each.name for each in tmp_path.iterdir()] == ["postgres-password"]


def test_a_variable_can_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "url").write_text("postgresql://ringi:word@postgres/ringi\n")
    done = entry(RINGI_URL_FILE=str(tmp_path / "url"), RINGI_REDIS_URL_FILE="", OTHER_FILE="/x")

    assert done.returncode == 0
    lines = set(done.stdout.splitlines())
    assert {"RINGI_URL=postgresql://ringi:word@postgres/ringi", "OTHER_FILE=/x"} <= lines
    assert [line for line in lines if line.startswith(("RINGI_URL_FILE", "RINGI_REDIS"))] == []


@pytest.mark.parametrize(
    ("variables", "why"),
    [
        ({"RINGI_SECRET_FILE": "{}/nowhere"}, "RINGI_SECRET_FILE names {}/nowhere, which cannot be read"),
        ({"RINGI_SECRET_FILE": "{}/empty"}, "RINGI_SECRET_FILE names {}/empty, which is empty"),
        ({"RINGI_SECRET_FILE": "{}/empty", "RINGI_SECRET": "x"}, "both set: unset one of them"),
    ],
)
def test_a_file_that_gives_no_value_is_named(variables: dict[str, str], why: str, tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    done = entry(**{name: value.format(tmp_path) for name, value in variables.items()})

    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert why.format(tmp_path) in done.stderr
    assert "Traceback" not in done.stderr
