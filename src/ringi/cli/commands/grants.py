"""Commands for what people have approved in advance: `grants`, `revoke`."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.base.canonical_json import canonical, jsonable
from ringi.cli.format.output import say, say_list
from ringi.cli.format.requests import clock
from ringi.cli.format.table import table
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import person_name, run, with_inbox
from ringi.cli.texts import text_of
from ringi.domain.grants import Grant, GrantView
from ringi.domain.record import DEFAULT_TENANT


def grants(tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """List the grants: the calls that people have approved in advance."""
    found = run(with_inbox(url, tenant, lambda inbox: inbox.grants()))
    text = table_of(found) if found else text_of("no_grants")
    say_list(found, text, json_)


def revoke(
    id: Annotated[str, typer.Argument(help="The id of the grant, from `ringi grants`.")],
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Revoke a grant: from now on people are asked again."""
    by = name or person_name()
    run(with_inbox(url, tenant, lambda inbox: inbox.revoke_grant(id, by=by)))
    say({"id": id}, text_of("revoked", id=id), json_)


def table_of(found: list[GrantView]) -> str:
    """Return grants as a table."""
    columns = [text_of(f"column.{each}") for each in ("id", "tool", "scope", "uses", "until", "by", "status")]
    rows = [
        (
            each.id,
            each.grant.tool,
            scope_text(each.grant),
            f"{each.uses}/{each.grant.max_uses}",
            clock(each.grant.until),
            each.granted_by,
            text_of(f"grant.{each.status.replace(' ', '_')}"),
        )
        for each in found
    ]
    return table(columns, rows)


def scope_text(grant: Grant) -> str:
    """Return what limits the calls of a grant, in one line."""
    if grant.where is None:
        args = text_of("grant.same_args")
    elif grant.where:
        args = canonical(jsonable(grant.where)).decode()
    else:
        args = text_of("grant.any_args")
    return " · ".join(each for each in (args, grant.asked_by, grant.agent, grant.thread_id, grant.folder) if each)
