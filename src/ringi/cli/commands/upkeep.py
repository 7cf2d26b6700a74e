"""Commands for the store, its copies and its keys."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.audit.verify import Finding, verify_store
from ringi.backends.migrations import OLDER
from ringi.backends.sqlite import backup as copies
from ringi.base.canonical_json import jsonable
from ringi.base.settings import (
    SIGN_IN_LINK_MINUTES,
    SettingError,
    Settings,
    read_setting_variable,
    setting_variable_name,
    without_password,
)
from ringi.cli.format.output import escape_hidden_characters, print_json_or_text, show_progress, terminal_table
from ringi.cli.options import AsJson, StoreUrl, Tenant, split_names
from ringi.cli.session import CommandSession, process_user_name, run_on_event_loop
from ringi.cli.texts import cli_text, translate_cli_error
from ringi.cli.verification import verify_with_seals
from ringi.connect import TOKENS, Backend, home_folder, open_backend, open_to_verify, resolve_inbox_url, sqlite_file
from ringi.delivery import signing
from ringi.domain.record import DEFAULT_TENANT, START
from ringi.errors import RingiError
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.offboarding import Ended
from ringi.inbox.offboarding import offboard as end_all
from ringi.server.identity import Role, public_url

log = logging.getLogger(__name__)
Expect = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file of seals, such as a copy of .ringi/seals.jsonl; repeatable, one for each server.",
        exists=True,
        dir_okay=False,
    ),
]
BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="The backup file.")]
NOT_EMPTY = "the store is not empty: choose another --url, or pass --force to replace it; the old store is kept"
MAX_FINDINGS = 10
"""Maximum findings in an error message."""
Report = Callable[[str], None]


def config(json_: AsJson = False) -> None:
    """Print each setting, its value, and where the value comes from.

    Secrets are not printed.
    """
    found = Settings.load()
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(found, name) if field.repr or not read_setting_variable(name) else "…"
        if name == "url" or "://" in read_setting_variable(name):
            value = without_password(read_setting_variable(name) or resolve_inbox_url(None))
        origin = "environment" if read_setting_variable(name) else "default"
        rows.append({"name": setting_variable_name(name), "value": jsonable(value), "origin": origin})
    lines = [(row["name"], setting_as_text(row["value"]), cli_text(f"config.{row['origin']}")) for row in rows]
    print_json_or_text({"items": rows}, terminal_table(("", "", ""), lines).lstrip(), json_)


def setting_as_text(value: Any) -> str:
    """Return a setting as its variable has it; empty without a value."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return ",".join(map(setting_as_text, value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def migrate(url: StoreUrl = None, json_: AsJson = False) -> None:
    """Migrate the store to this version of Ringi."""

    async def state() -> str:
        try:
            async with open_to_verify(url) as (store, _):
                return "empty" if await store.tail() == START else "current"
        except SettingError as error:
            return "older" if error.remedy == OLDER else "empty"

    async def work() -> tuple[str, str]:
        before = await state()
        async with open_backend(url) as backend:
            return str(without_password(backend.url)), before

    with show_progress(cli_text("migrating")):
        done, before = run_on_event_loop(work())
    print_json_or_text({"url": done, "before": before}, cli_text(f"migrated.{before}", url=done), json_)


def verify(
    url: StoreUrl = None,
    expect: Expect = None,
    all_: Annotated[bool, typer.Option("--all", help="Verify also what was intact before.")] = False,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Exit with 0 if the store is empty.")] = False,
    json_: AsJson = False,
) -> None:
    """Verify that no record was changed outside of Ringi, and that all records can be read.

    Verifying only reads: it creates and migrates nothing. Exits with 1 if an event or a record was changed or
    damaged, or if the store is empty; with 2 if there is no store. With --expect it also finds events that were
    removed, moved or rewritten before the last seal, and the next time it reads only what is newer than that seal.
    """
    count, findings, verdict, unchecked, since = run_on_event_loop(verify_with_seals(url, expect, is_anew=all_))
    found = [{**finding._asdict(), "key": list(finding.key)} for finding in findings]
    wrong = len(findings) + len(verdict.findings)
    data: dict[str, Any] = {"events": count, "findings": found} | ({"unchecked": unchecked} if unchecked else {})
    text = [*map(audit_finding_line, findings), *map(translate_cli_error, verdict.findings)]
    text.append(cli_text("verified", count=count, wrong=wrong))
    if since:
        data |= {"since": {"events": since.count, "at": jsonable(since.at)}}
        text.append(cli_text("verified.since", count=since.count, at=f"{since.at:%Y-%m-%d %H:%M}"))
        count += since.count
    if expect:
        data |= {"seals": verdict._asdict()}
        text.append(cli_text("verified.seals", sealed=verdict.sealed, later=verdict.later))
    print_json_or_text(data, "\n".join(text), json_)
    if unchecked and not json_:
        sys.stderr.write(f"{cli_text('note', text=translate_cli_error(unchecked))}\n")
    if not count and not allow_empty:
        sys.stderr.write(f"{cli_text('error', message=cli_text('empty_store'))}\n")
    if wrong or not (count or allow_empty):
        raise typer.Exit(1)


def audit_finding_line(finding: Finding) -> str:
    """Return a finding as a line of text."""
    tenant, id = finding.key
    name = f"{finding.record} {tenant}/{id}" if id else finding.record
    line = f"{name}: {translate_cli_error(finding.what)}"
    if finding.position:
        line = cli_text("finding_at", finding=line, position=finding.position)
    return escape_hidden_characters(line)


def token_create(
    session: CommandSession,
    role: Annotated[Role, typer.Option(help="The role of the token.")],
    name: Annotated[str, typer.Option(help="The name of the token's holder in the audit trail.")],
    groups: Annotated[str, typer.Option(help="The groups of the holder, separated by commas.")] = "",
) -> None:
    """Create a token and print it; the store then knows the name of a person."""
    from ringi.server.auth.authenticator import Keys

    names = split_names(groups)
    token = Keys.load(home_folder()).mint(tenant=session.tenant, role=role, name=name, groups=names)
    if role in ("person", "admin"):
        try:
            session.work_on_backend(lambda _, inbox: inbox.note_person(name, names), creates=True)
        except RingiError as error:
            log.warning("the store does not know %r before its first call: %s", name, error)
    session.say({"token": token, "tenant": session.tenant, "role": role, "name": name, "groups": list(names)}, token)


def token_show(
    role: Annotated[Literal["agent", "person", "admin"], typer.Argument(help="The role; there is one token for each.")],
    json_: AsJson = False,
) -> None:
    """Print the token of a role that `ringi serve` or `ringi demo` created on this machine."""
    path = home_folder() / TOKENS
    try:
        tokens = json.loads(path.read_text("utf-8"))
        data = {"role": role, "token": str(tokens[role]), "url": tokens.get("url")}
    except FileNotFoundError as error:
        raise SettingError("tokens", str(path), "no server has run on this machine: start `ringi serve`") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = "the file has no token of this role: start `ringi serve` to create it"
        raise SettingError("tokens", str(path), why) from error
    print_json_or_text(data, escape_hidden_characters(data["token"]), json_)


def link(
    role: Annotated[Literal["person", "admin", "auditor"], typer.Option(help="The role of the person.")] = "person",
    name: Annotated[str | None, typer.Option(help="The person to sign in; by default your user name.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    groups: Annotated[str, typer.Option(help="The groups of the holder, separated by commas.")] = "",
    minutes: Annotated[
        float, typer.Option(help="Minutes until the link expires.", min=0.1, max=1440)
    ] = SIGN_IN_LINK_MINUTES,
    server: Annotated[
        str | None,
        typer.Option(help="The address of the server; by default RINGI_PUBLIC_URL, else the server on this machine."),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Create a link that signs a person in to the page, once."""
    from ringi.server.auth.authenticator import Keys, Principal
    from ringi.server.auth.links import mint_link

    who = Principal(tenant, role, name or process_user_name(), split_names(groups))
    server = server or server_address()
    address = mint_link(Keys.load(home_folder()), server, who, minutes)
    print_json_or_text({"link": address, "minutes": minutes, **who._asdict()}, address, json_)


def server_address() -> str:
    """Return the address of the server on this machine; raise `SettingError` if none has run."""
    try:
        return public_url() or str(json.loads((home_folder() / TOKENS).read_text())["url"])
    except FileNotFoundError as error:
        why = "no server has run on this machine: pass its address with --server, or start `ringi serve`"
        raise SettingError("server", None, why) from error


def token_revoke(
    session: CommandSession,
    token: Annotated[str | None, typer.Argument(help="The token; or use --name.")] = None,
    name: Annotated[
        str | None, typer.Option(help="The person whose tokens and sessions until now are revoked.")
    ] = None,
    role: Annotated[Role | None, typer.Option(help="With --name: only tokens of this role.")] = None,
) -> None:
    """Revoke a token, or all tokens and sessions of a person, on all servers at once.

    With --name, also end what the person holds: absences, deputyships, grants, rules, open votes, held
    answers and claims.
    """
    from ringi.server.auth.authenticator import Keys
    from ringi.server.auth.revocations import LoadedRevocations, Revocation, token_digest

    if (token is None) == (name is None):
        raise SettingError("token", name, "pass either the token or --name")
    revoked: dict[str, Any] = {"tenant": session.tenant, "name": name, "role": role}
    if token is not None:
        who = Keys.load(home_folder()).read(token)
        revoked = {"tenant": who.tenant, "name": who.name, "role": who.role, "mark": token_digest(token)}

    async def work(backend: Backend, inbox: StoreInbox) -> tuple[Revocation, list[Ended]]:
        revocations = LoadedRevocations(backend)
        revocation = Revocation(**revoked, at=revocations.now(), by=process_user_name())
        await revocations.revoke(revocation)
        is_all = name and role in (None, "person", "admin")
        return revocation, await end_all(inbox, str(name), process_user_name()) if is_all else []

    revocation, ended = session.work_on_backend(work, creates=True)
    text = cli_text("revoked.token" if token else "revoked.all", name=escape_hidden_characters(revocation.name))
    data = revocation.model_dump(mode="json") | ({"ended": jsonable(ended)} if name else {})
    lines = [text, *(cli_text(f"ended.{each.kind}", id=escape_hidden_characters(each.id)) for each in ended)]
    session.say(data, "\n".join(lines))


def offboard(session: CommandSession, name: Annotated[str, typer.Argument(help="The person who leaves.")]) -> None:
    """End all that a person holds: tokens, sessions, absences, deputyships, grants, rules, open votes, held
    answers and claims.

    A person who signs in at a provider or through a proxy can sign in again until they are removed there.
    """
    token_revoke(session, name=name)


def secret_create(json_: AsJson = False) -> None:
    """Create a secret that signs webhook deliveries; the receiver needs it too."""
    secret = signing.new_secret()
    print_json_or_text({"secret": secret}, secret, json_)


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
