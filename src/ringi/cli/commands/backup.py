"""The commands that copy a store and put a copy back: `backup`, `restore`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ringi.audit.verify import Finding, verify_store
from ringi.backends.sqlite import backup as copies
from ringi.base.settings import SettingError
from ringi.cli.commands.upkeep import audit_finding_line
from ringi.cli.format.output import print_json_or_text, show_progress
from ringi.cli.options import AsJson, StoreUrl
from ringi.cli.session import run_on_event_loop
from ringi.cli.texts import cli_text, translate_cli_error
from ringi.connect import open_to_verify, sqlite_file

BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup file.")]
NOT_EMPTY = "the store is not empty: choose another --url, or pass --force to replace it; the old store is kept"
MAX_FINDINGS = 10
"""Maximum findings in an error message."""
Report = Callable[[str], None]


def backup(
    file: BackupFile,
    url: StoreUrl = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
    json_: AsJson = False,
) -> None:
    """Back up a SQLite store to FILE while it is in use, and verify the copy.

    FILE is created only if the copy is complete and has no findings; otherwise the exit code is 1.
    """
    source, target = sqlite_file(url), file.absolute()
    if target.exists() and not force:
        raise SettingError("FILE", str(file), "the file exists: choose another name, or pass --force")
    if target.resolve() == source.resolve():
        raise SettingError("FILE", str(file), "this file is the store itself: choose another name")
    with show_progress(cli_text("copying")) as report, copies.backup_draft_file(target) as draft:
        copies.copy_sqlite_store(source, draft, show_copy_progress(report))
        count = verify_backup_copy(file, draft, report)
        copies.put_finished_backup(draft, target)
    print_json_or_text({"file": str(target), "events": count}, cli_text("backed_up", file=file, count=count), json_)


def restore(
    file: BackupFile,
    url: StoreUrl = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a store that is not empty; the old one is kept.")
    ] = False,
    json_: AsJson = False,
) -> None:
    """Restore a SQLite store from a backup, while no process has the store open.

    The backup is verified first. A store that is not empty is replaced only with --force, and kept beside the new one.
    """
    target = sqlite_file(url)
    if not file.exists():
        raise SettingError("FILE", str(file), "no such file")
    is_empty = copies.is_store_file_empty(target)
    if not is_empty and not force:
        raise copies.backup_refusal_error(target, NOT_EMPTY)
    target.parent.mkdir(parents=True, exist_ok=True)
    with show_progress(cli_text("copying")) as report, copies.backup_draft_file(target) as draft:
        copies.copy_sqlite_store(file.absolute(), draft, show_copy_progress(report))
        count = verify_backup_copy(file, draft, report)
        with copies.set_replaced_store_aside(target, datetime.now(UTC)) as old_store:
            copies.put_finished_backup(draft, target)
        if old_store and is_empty:
            old_store.unlink()
            old_store = None
    text = cli_text("backed_up", file=target, count=count)
    if old_store:
        text += cli_text("old_store", file=old_store)
    aside = str(old_store) if old_store else None
    print_json_or_text({"file": str(target), "events": count, "kept": aside}, text, json_)


def show_copy_progress(report: Report) -> copies.Progress:
    """Return a callback that shows the progress of a copy."""
    return lambda copied, total: report(cli_text("copied", copied=f"{copied:,}", total=f"{total:,}"))


def verify_backup_copy(file: Path, draft: Path, report: Report) -> int:
    """Verify a copy and return its number of events; raise `ConflictError` with the findings."""

    async def work() -> tuple[int, list[Finding]]:
        async with open_to_verify(f"sqlite:///{draft}") as (store, stream):
            return await verify_store(store, lambda done: report(translate_cli_error(done)), stream)

    count, findings = run_on_event_loop(work())
    problems = "; ".join(map(audit_finding_line, findings[:MAX_FINDINGS])) or ("" if count else "it has no events")
    if problems:
        raise copies.backup_refusal_error(file, problems)
    return count
