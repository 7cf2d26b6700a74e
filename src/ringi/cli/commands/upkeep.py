"""The commands that look after the store and its keys: `migrate`, `verify`, `link`, `token create`, `token revoke`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.audit import seals
from ringi.audit.verify import Finding
from ringi.audit.verify import verify as verify_store
from ringi.cli.format.output import progress, say
from ringi.cli.format.visible import visible
from ringi.cli.options import Json, Tenant, Url
from ringi.cli.session import person_name, run
from ringi.connect import home, open_backend, open_to_verify
from ringi.delivery import signing
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import SettingError, UnavailableError, without_password

Expect = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file of seals, such as a copy of .ringi/seals.jsonl; several times, of several servers.",
        exists=True,
        dir_okay=False,
    ),
]


def migrate(url: Url = None, json_: Json = False) -> None:
    """Bring the store up to this version."""

    async def work() -> str:
        async with open_backend(url) as backend:
            return str(without_password(backend.url))

    with progress("bringing the store up to date"):
        done = run(work())
    say({"url": done}, f"{done} is up to date", json_)


def verify(
    url: Url = None,
    expect: Expect = None,
    allow_empty: Annotated[bool, typer.Option("--allow-empty", help="A store without events is no failure.")] = False,
    json_: Json = False,
) -> None:
    """Prove that nobody touched the records, and that all of them can be read.

    Only reads: it creates and migrates nothing. Exits with 1 when an event or a record was changed behind Ringi's
    back, when something is damaged, and when the store is empty; with 2 when there is none. With --expect it also
    finds what was cut off, moved or rewritten as a whole before the last seal.
    """
    count, findings, verdict, unchecked = run(_verify(url, expect))
    found = [{**finding._asdict(), "key": list(finding.key)} for finding in findings]
    wrong = len(findings) + len(verdict.findings)
    data: dict[str, Any] = {"events": count, "findings": found} | ({"unchecked": unchecked} if unchecked else {})
    text = [*map(shown, findings), *verdict.findings, f"{count} events, {wrong} findings"]
    if expect:
        data |= {"seals": verdict._asdict()}
        text.append(f"{verdict.sealed} events are as they were sealed; {verdict.later} came after the last seal")
    say(data, "\n".join(text), json_)
    if unchecked and not json_:
        sys.stderr.write(f"note: {unchecked}\n")
    if not count and not allow_empty:
        sys.stderr.write("error: the store is empty: look at --url and RINGI_URL, or say --allow-empty\n")
    if wrong or not (count or allow_empty):
        raise typer.Exit(1)


def shown(finding: Finding) -> str:
    """Return a finding as a line."""
    tenant, id = finding.key
    name = f"{finding.record} {tenant}/{id}" if id else finding.record
    return visible(f"{name}: {finding.what}" + (f" (event {finding.position})" if finding.position else ""))


def token_create(
    role: Annotated[Literal["agent", "person", "admin"], typer.Option(help="What it may do.")],
    name: Annotated[str, typer.Option(help="Who it stands for: the name in the audit trail.")],
    tenant: Tenant = DEFAULT_TENANT,
    groups: Annotated[str, typer.Option(help="Groups, with commas between them.")] = "",
    json_: Json = False,
) -> None:
    """Make a token."""
    from ringi.server.auth.authenticator import Keys

    names = group_names(groups)
    token = Keys.load(home()).mint(tenant=tenant, role=role, name=name, groups=names)
    say({"token": token, "tenant": tenant, "role": role, "name": name, "groups": list(names)}, token, json_)


def token_show(
    role: Annotated[Literal["agent", "person", "admin"], typer.Argument(help="Whose: one token of each role.")],
    json_: Json = False,
) -> None:
    """Show the token of a role that `ringi serve` or `ringi demo` wrote for this machine."""
    path = home() / "tokens.json"
    try:
        tokens = json.loads(path.read_text("utf-8"))
        told = {"role": role, "token": str(tokens[role]), "url": tokens.get("url")}
    except FileNotFoundError as error:
        raise SettingError("tokens", str(path), "no server ran here: start `ringi serve`") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SettingError("tokens", str(path), "it holds no such token: start `ringi serve` to write it") from error
    say(told, visible(told["token"]), json_)


def link(
    role: Annotated[Literal["person", "admin"], typer.Option(help="What they may do.")] = "person",
    name: Annotated[str | None, typer.Option(help="Who it signs in; by default you.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    groups: Annotated[str, typer.Option(help="Groups, with commas between them.")] = "",
    minutes: Annotated[float, typer.Option(help="How long it can be opened.", min=0.1, max=1440)] = 10,
    server: Annotated[
        str | None, typer.Option(help="The server; by default RINGI_PUBLIC_URL, else the one that runs here.")
    ] = None,
    json_: Json = False,
) -> None:
    """Make a link that opens the page as somebody, once."""
    from ringi.server.auth.authenticator import Keys, Principal
    from ringi.server.auth.links import mint_link

    who = Principal(tenant, role, name or person_name(), group_names(groups))
    server = server or server_address()
    address = mint_link(Keys.load(home()), server, who, minutes)
    say({"link": address, "minutes": minutes, **who._asdict()}, address, json_)


def server_address() -> str:
    """Return where people open the server of this machine, or raise `SettingError`."""
    from ringi.server.identity import public_url

    try:
        return public_url() or str(json.loads((home() / "tokens.json").read_text())["url"])
    except FileNotFoundError as error:
        raise SettingError("server", None, "no server ran here: name its address, or start `ringi serve`") from error


def group_names(groups: str) -> tuple[str, ...]:
    """Return the names in a text with commas between them."""
    return tuple(group.strip() for group in groups.split(",") if group.strip())


def token_revoke(
    token: Annotated[str | None, typer.Argument(help="The token; without it, all of --name.")] = None,
    name: Annotated[str | None, typer.Option(help="Whose tokens and sessions, all that were made until now.")] = None,
    role: Annotated[Literal["agent", "person", "admin"] | None, typer.Option(help="Only those of this role.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Take back a token, or sign somebody out everywhere. Servers know it at once."""
    from ringi.server.auth.authenticator import Keys
    from ringi.server.auth.revocations import Revocation, Revocations, mark_of

    if (token is None) == (name is None):
        raise SettingError("token", name, "give the token, or --name for all of somebody")
    whose: dict[str, Any] = {"tenant": tenant, "name": name, "role": role}
    if token is not None:
        who = Keys.load(home()).read(token)
        whose = {"tenant": who.tenant, "name": who.name, "role": who.role, "mark": mark_of(token)}

    async def work() -> Revocation:
        async with open_backend(url) as backend:
            revocations = Revocations(backend)
            revocation = Revocation(**whose, at=revocations.now(), by=person_name())
            await revocations.revoke(revocation)
            return revocation

    revocation = run(work())
    what = "this token" if token else "all tokens and sessions until now"
    say(revocation.model_dump(mode="json"), f"{visible(revocation.name)}: {what} revoked", json_)


def secret_create(json_: Json = False) -> None:
    """Make a secret that signs deliveries; the receiver needs it too."""
    secret = signing.new_secret()
    say({"secret": secret}, secret, json_)


async def _verify(url: str | None, expect: list[Path] | None) -> tuple[int, list[Finding], seals.SealReport, str]:
    from ringi.server.auth.authenticator import seal_key

    expected = [each for path in expect or () for each in seals.read_seals(path)]
    key = seal_key(home()) if expect else ""
    with progress("reading the audit trail") as tell:
        async with open_to_verify(url) as (store, stream):
            count, findings = await verify_store(store, tell, stream)
            try:
                verdict = await seals.compare(store, expected, key)
            except UnavailableError as error:  # What the audit has named; the seals say nothing of what follows.
                verdict = seals.SealReport([f"the seals cannot be compared: {error}"] if expect else [], 0, count)
            return count, findings, verdict, store.uninspected
