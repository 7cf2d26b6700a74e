"""Commands for the store and its keys: `migrate`, `verify`, `link`, `token`, `secret`."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.audit import seals
from ringi.audit.verify import Finding
from ringi.audit.verify import verify as verify_store
from ringi.base.canonical_json import jsonable
from ringi.base.settings import SettingError, Settings, variable, variable_of, without_password
from ringi.cli.format.output import progress, say, table, visible
from ringi.cli.options import AsJson, StoreUrl, Tenant, names_in
from ringi.cli.session import CommandSession, person_name, run
from ringi.cli.texts import text_of, translated
from ringi.connect import Backend, home, open_backend, open_to_verify, resolved_url
from ringi.delivery import signing
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import RingiError, UnavailableError
from ringi.inbox.inbox import StoreInbox
from ringi.inbox.offboarding import Ended
from ringi.inbox.offboarding import offboard as end_all

log = logging.getLogger(__name__)
Expect = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file of seals, such as a copy of .ringi/seals.jsonl; repeatable, one for each server.",
        exists=True,
        dir_okay=False,
    ),
]


def config(json_: AsJson = False) -> None:
    """Print each setting, its value, and where the value comes from.

    Secrets are not printed.
    """
    found = Settings.load()
    rows = []
    for name, field in Settings.model_fields.items():
        value = getattr(found, name) if field.repr or not variable(name) else "…"
        if name == "url" or "://" in variable(name):
            value = without_password(variable(name) or resolved_url(None))
        origin = "environment" if variable(name) else "default"
        rows.append({"name": variable_of(name), "value": jsonable(value), "origin": origin})
    lines = [(row["name"], as_text(row["value"]), text_of(f"config.{row['origin']}")) for row in rows]
    say({"items": rows}, table(("", "", ""), lines).lstrip(), json_)


def as_text(value: Any) -> str:
    """Return a setting as its variable has it; empty without a value."""
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, list):
        return ",".join(map(as_text, value))
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


def migrate(url: StoreUrl = None, json_: AsJson = False) -> None:
    """Migrate the store to this version of Ringi."""

    async def work() -> str:
        async with open_backend(url) as backend:
            return str(without_password(backend.url))

    with progress(text_of("migrating")):
        done = run(work())
    say({"url": done}, text_of("migrated", url=done), json_)


def verify(
    url: StoreUrl = None,
    expect: Expect = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="Exit with 0 if the store is empty.")] = False,
    json_: AsJson = False,
) -> None:
    """Verify that no record was changed outside of Ringi, and that all records can be read.

    Verifying only reads: it creates and migrates nothing. Exits with 1 if an event or a record was changed or
    damaged, or if the store is empty; with 2 if there is no store. With --expect it also finds events that were
    removed, moved or rewritten before the last seal.
    """
    count, findings, verdict, unchecked = run(_verify(url, expect))
    found = [{**finding._asdict(), "key": list(finding.key)} for finding in findings]
    wrong = len(findings) + len(verdict.findings)
    data: dict[str, Any] = {"events": count, "findings": found} | ({"unchecked": unchecked} if unchecked else {})
    text = [*map(finding_line, findings), *map(translated, verdict.findings)]
    text.append(text_of("verified", count=count, wrong=wrong))
    if expect:
        data |= {"seals": verdict._asdict()}
        text.append(text_of("verified.seals", sealed=verdict.sealed, later=verdict.later))
    say(data, "\n".join(text), json_)
    if unchecked and not json_:
        sys.stderr.write(f"{text_of('note', text=translated(unchecked))}\n")
    if not count and not allow_empty:
        sys.stderr.write(f"{text_of('error', message=text_of('empty_store'))}\n")
    if wrong or not (count or allow_empty):
        raise typer.Exit(1)


def finding_line(finding: Finding) -> str:
    """Return a finding as a line of text."""
    tenant, id = finding.key
    name = f"{finding.record} {tenant}/{id}" if id else finding.record
    line = f"{name}: {translated(finding.what)}"
    return visible(text_of("finding_at", finding=line, position=finding.position) if finding.position else line)


def token_create(
    session: CommandSession,
    role: Annotated[Literal["agent", "person", "admin", "auditor"], typer.Option(help="The role of the token.")],
    name: Annotated[str, typer.Option(help="The name of the token's holder in the audit trail.")],
    groups: Annotated[str, typer.Option(help="The groups of the holder, separated by commas.")] = "",
) -> None:
    """Create a token and print it; the store then knows the name of a person."""
    from ringi.server.auth.authenticator import Keys

    names = names_in(groups)
    token = Keys.load(home()).mint(tenant=session.tenant, role=role, name=name, groups=names)
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
    path = home() / "tokens.json"
    try:
        tokens = json.loads(path.read_text("utf-8"))
        data = {"role": role, "token": str(tokens[role]), "url": tokens.get("url")}
    except FileNotFoundError as error:
        raise SettingError("tokens", str(path), "no server has run on this machine: start `ringi serve`") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingError(
            "tokens", str(path), "the file has no token of this role: start `ringi serve` to create it"
        ) from error
    say(data, visible(data["token"]), json_)


def link(
    role: Annotated[Literal["person", "admin", "auditor"], typer.Option(help="The role of the person.")] = "person",
    name: Annotated[str | None, typer.Option(help="The person to sign in; by default your user name.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    groups: Annotated[str, typer.Option(help="The groups of the holder, separated by commas.")] = "",
    minutes: Annotated[float, typer.Option(help="Minutes until the link expires.", min=0.1, max=1440)] = 10,
    server: Annotated[
        str | None,
        typer.Option(help="The address of the server; by default RINGI_PUBLIC_URL, else the server on this machine."),
    ] = None,
    json_: AsJson = False,
) -> None:
    """Create a link that signs a person in to the page, once."""
    from ringi.server.auth.authenticator import Keys, Principal
    from ringi.server.auth.links import mint_link

    who = Principal(tenant, role, name or person_name(), names_in(groups))
    server = server or server_address()
    address = mint_link(Keys.load(home()), server, who, minutes)
    say({"link": address, "minutes": minutes, **who._asdict()}, address, json_)


def server_address() -> str:
    """Return the address of the server on this machine; raise `SettingError` if none has run."""
    from ringi.server.identity import public_url

    try:
        return public_url() or str(json.loads((home() / "tokens.json").read_text())["url"])
    except FileNotFoundError as error:
        raise SettingError(
            "server", None, "no server has run on this machine: pass its address, or start `ringi serve`"
        ) from error


def token_revoke(
    session: CommandSession,
    token: Annotated[str | None, typer.Argument(help="The token; or use --name.")] = None,
    name: Annotated[
        str | None, typer.Option(help="The person whose tokens and sessions until now are revoked.")
    ] = None,
    role: Annotated[
        Literal["agent", "person", "admin", "auditor"] | None,
        typer.Option(help="With --name: only tokens of this role."),
    ] = None,
) -> None:
    """Revoke a token, or all tokens and sessions of a person, on all servers at once.

    With --name, also end what the person holds: absences, deputyships, grants, rules, open votes, held
    answers and claims.
    """
    from ringi.server.auth.authenticator import Keys
    from ringi.server.auth.revocations import Revocation, Revocations, mark_of

    if (token is None) == (name is None):
        raise SettingError("token", name, "pass either the token or --name")
    revoked: dict[str, Any] = {"tenant": session.tenant, "name": name, "role": role}
    if token is not None:
        who = Keys.load(home()).read(token)
        revoked = {"tenant": who.tenant, "name": who.name, "role": who.role, "mark": mark_of(token)}

    async def work(backend: Backend, inbox: StoreInbox) -> tuple[Revocation, list[Ended]]:
        revocations = Revocations(backend)
        revocation = Revocation(**revoked, at=revocations.now(), by=person_name())
        await revocations.revoke(revocation)
        is_all = name and role in (None, "person", "admin")
        return revocation, await end_all(inbox, str(name), person_name()) if is_all else []

    revocation, ended = session.work_on_backend(work, creates=True)
    text = text_of("revoked.token" if token else "revoked.all", name=visible(revocation.name))
    data = revocation.model_dump(mode="json") | ({"ended": jsonable(ended)} if name else {})
    lines = [text, *(text_of(f"ended.{each.kind}", id=visible(each.id)) for each in ended)]
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
    say({"secret": secret}, secret, json_)


async def _verify(url: str | None, expect: list[Path] | None) -> tuple[int, list[Finding], seals.SealReport, str]:
    from ringi.server.auth.authenticator import seal_key

    expected = [each for path in expect or () for each in seals.read_seals(path)]
    key = seal_key(home()) if expect else ""
    with progress(text_of("reading_trail")) as report:
        async with open_to_verify(url) as (store, stream):
            count, findings = await verify_store(store, lambda done: report(translated(done)), stream)
            try:
                verdict = await seals.compare(store, expected, key)
            except UnavailableError as error:  # The audit has reported the unreadable part; the seals cannot add to it.
                verdict = seals.SealReport([f"the seals cannot be compared: {error}"] if expect else [], 0, count)
            return count, findings, verdict, store.uninspected
