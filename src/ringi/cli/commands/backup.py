"""The commands that copy a store and put a copy back: `backup`, `restore`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ringi.audit.verify import Finding, verify
from ringi.backends.sqlite import backup as copies
from ringi.cli.commands.upkeep import shown
from ringi.cli.format.output import progress, say
from ringi.cli.options import Json, Url
from ringi.cli.session import run
from ringi.connect import open_to_verify, sqlite_file
from ringi.errors import SettingError

File = Annotated[Path, typer.Argument(metavar="FILE", help="The file of the copy.")]
NOT_EMPTY = "the store holds something: name another with --url, or say --force to replace and keep it"
MOST = 10
"""How many findings are named."""
Tell = Callable[[str], None]


def backup(
    file: File,
    url: Url = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    json_: Json = False,
) -> None:
    """Copy a SQLite store to FILE as of one moment, while others write, and verify the copy.

    FILE appears when it is whole and verified. Exits with 1 when the copy has findings: then nothing is left.
    """
    source, target = sqlite_file(url), file.absolute()
    if target.exists() and not force:
        raise SettingError("FILE", str(file), "it exists: choose another name, or say --force")
    if target.resolve() == source.resolve():
        raise SettingError("FILE", str(file), "this is the store itself: choose another name")
    with progress("copying") as tell, copies.draft_of(target) as draft:
        copies.copy(source, draft, pages_told(tell))
        count = checked(file, draft, tell)
        copies.put(draft, target)
    say({"file": str(target), "events": count}, f"{file}: {count} events, verified", json_)


def restore(
    file: File,
    url: Url = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a store that holds something; it is kept.")] = False,
    json_: Json = False,
) -> None:
    """Put a copy in the place of a SQLite store that no process has open.

    The copy is verified first. A store that holds something is replaced with --force only, and kept beside the new one.
    """
    target = sqlite_file(url)
    if not file.exists():
        raise SettingError("FILE", str(file), "there is no such file")
    is_empty = copies.is_empty(target)
    if not is_empty and not force:
        raise copies.refusal(target, NOT_EMPTY)
    target.parent.mkdir(parents=True, exist_ok=True)
    with progress("copying") as tell, copies.draft_of(target) as draft:
        copies.copy(file.absolute(), draft, pages_told(tell))
        count = checked(file, draft, tell)
        with copies.set_aside(target, datetime.now(UTC)) as kept:
            copies.put(draft, target)
        if kept and is_empty:
            kept.unlink()
            kept = None
    text = f"{target}: {count} events, verified" + (f"\nthe store before is {kept}" if kept else "")
    say({"file": str(target), "events": count, "kept": str(kept) if kept else None}, text, json_)


def pages_told(tell: Tell) -> copies.Progress:
    """Return what tells people how far a copy is."""
    return lambda copied, total: tell(f"{copied:,} of {total:,} pages copied")


def checked(file: Path, draft: Path, tell: Tell) -> int:
    """Return how many events a copy has, or raise `ConflictError` with what is wrong in it."""

    async def work() -> tuple[int, list[Finding]]:
        async with open_to_verify(f"sqlite:///{draft}") as (store, stream):
            return await verify(store, tell, stream)

    count, findings = run(work())
    wrong = "; ".join(map(shown, findings[:MOST])) or ("" if count else "it has no events")
    if wrong:
        raise copies.refusal(file, wrong)
    return count
