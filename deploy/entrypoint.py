#!/usr/bin/env -S python3 -I
"""The command `ringi` of the container image.

- A variable `RINGI_NAME_FILE` names a file that holds the value of `RINGI_NAME`, so that no secret is in the
  environment of the container or in its definition.
- `ringi credentials FOLDER` makes the passwords of a PostgreSQL and a Valkey once, with the files that they read.
- Everything else is passed on: this process becomes `ringi`, so that signals reach it.

Ringi itself makes the key of its tokens, waits for the store and migrates it, one process at a time.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAM = "/opt/ringi/bin/ringi"
FILE = "_FILE"
OWNER, GROUP = 0o600, 0o640


class EntryError(Exception):
    """The container cannot start as it is configured; the message names the variable and the remedy."""


def main(arguments: list[str]) -> None:
    """Make the credentials, or become `ringi`."""
    if arguments[:1] == ["credentials"]:
        make_credentials(arguments[1:])
        return
    program = os.environ.get("RINGI_PROGRAM") or PROGRAM
    os.execve(program, ["ringi", *arguments], with_files(os.environ))


def with_files(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with the values of those that name files, or raise `EntryError`."""
    values = dict(variables)
    for name, path in variables.items():
        if not (name.startswith("RINGI_") and name.endswith(FILE)):
            continue
        del values[name]
        if not path:
            continue
        target = name.removesuffix(FILE)
        if variables.get(target):
            raise EntryError(f"{target} and {name} are both set: unset one of them")
        values[target] = text_of(name, Path(path))
    return values


def text_of(name: str, path: Path) -> str:
    """Return the text of the file that a variable names, or raise `EntryError`."""
    try:
        text = path.read_text("utf-8").strip()
    except (OSError, UnicodeError) as error:
        raise EntryError(f"{name} names {path}, which cannot be read: {error}") from error
    if not text:
        raise EntryError(f"{name} names {path}, which is empty: write the value into it")
    return text


def make_credentials(arguments: list[str]) -> None:
    """Write what the services sign in with. Passwords that are there already stay."""
    parser = argparse.ArgumentParser(prog="ringi credentials")
    parser.add_argument("folder", type=Path, help="a volume that the services share")
    parser.add_argument("--postgres", required=True, metavar="HOST:PORT")
    parser.add_argument("--valkey", required=True, metavar="HOST:PORT")
    given = parser.parse_args(arguments)
    folder: Path = given.folder
    postgres, valkey = password(folder / "postgres-password"), password(folder / "valkey-password")
    files = (
        ("database-url", f"postgresql://ringi:{postgres}@{given.postgres}/ringi", OWNER),
        ("redis-url", f"redis://:{valkey}@{given.valkey}/0", OWNER),
        ("valkey.conf", f"requirepass {valkey}", GROUP),
    )
    for name, text, mode in files:
        drafted(folder / name, text, mode).replace(folder / name)


def password(path: Path) -> str:
    """Return the password in a file, made once; several processes that make it at once get the same."""
    if not path.exists():
        draft = drafted(path, secrets.token_hex(32), GROUP)
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text().strip()


def drafted(path: Path, text: str, mode: int) -> Path:
    """Return a file beside the path that holds the text, whole and on the disk."""
    draft = path.with_name(f".{path.name}-{secrets.token_hex(8)}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
        os.fchmod(file.fileno(), mode)
    return draft


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (EntryError, OSError) as problem:
        sys.exit(f"error: {problem}")
