"""Commands that stop agents and let them go on: `pause`, `pauses`, `resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.cli.format.output import say, say_list
from ringi.cli.format.requests import clock
from ringi.cli.format.table import table
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import person_name, run, with_inbox
from ringi.cli.texts import text_of
from ringi.domain.ask import parse_body
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import DEFAULT_TENANT


def pause(
    reason: Annotated[str, typer.Option(help="The reason, for people and for the audit trail.")],
    agent: Annotated[str | None, typer.Option(help="The agent; by default all agents of the tenant.")] = None,
    until: Annotated[str | None, typer.Option(help="The time at which the pause ends by itself.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Pause an agent, or all agents: their runs wait, and no approved call begins."""
    new, by = parse_body(NewPause, {"agent": agent, "reason": reason, "until": until}), name or person_name()
    paused = run(
        with_inbox(url, tenant, lambda inbox: inbox.pause(new.reason, by=by, agent=new.agent, until=new.until))
    )
    say(paused.model_dump(mode="json"), table_of([paused]), json_)


def pauses(tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """List the pauses in force."""
    found = run(with_inbox(url, tenant, lambda inbox: inbox.pauses()))
    text = table_of(found) if found else text_of("no_pauses")
    say_list(found, text, json_)


def resume(
    id: Annotated[str, typer.Argument(help="The id of the pause, from `ringi pauses`.")],
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """End a pause: the waiting runs go on."""
    by = name or person_name()
    run(with_inbox(url, tenant, lambda inbox: inbox.resume(id, by=by)))
    say({"id": id}, text_of("resumed", id=id), json_)


def table_of(found: list[Pause]) -> str:
    """Return pauses as a table."""
    columns = [text_of(f"column.{each}") for each in ("id", "agent", "by", "since", "until", "why")]
    rows = [
        (
            each.id,
            each.agent or text_of("all_agents"),
            each.by,
            clock(each.since),
            clock(each.until) if each.until else "",
            each.reason,
        )
        for each in found
    ]
    return table(columns, rows)
