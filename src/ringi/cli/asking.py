"""The commands that ask and look: `ask`, `list`, `show`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.table import Table

from ringi.ask import Ask
from ringi.cli.options import Json, Tenant, Url
from ringi.cli.printing import err, out, outcome, public, say, visible
from ringi.cli.reading import parsed_json, read_json
from ringi.cli.running import person_name, run, with_inbox
from ringi.connect import open
from ringi.errors import InvalidError
from ringi.record import DEFAULT_TENANT, Query, cursor_of
from ringi.request import Request


def ask(
    title: Annotated[str, typer.Argument(help="The question.")],
    form: Annotated[Path | None, typer.Option(help='A JSON file with a form: {"fields": […]}.')] = None,
    action: Annotated[str | None, typer.Option(help="The call that waits for consent: its name.")] = None,
    args: Annotated[str | None, typer.Option(help="The arguments of the call, as JSON.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer; exit with 1 unless it is a yes.")] = False,
    expires_in: Annotated[float | None, typer.Option(help="Seconds after which nobody may answer.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Put a question to people; with --wait, `ringi ask "Deploy?" --action deploy --wait && deploy` is safe."""
    if args is not None and action is None:
        raise InvalidError.of("args", "name the call that they are for with --action")
    call = {"name": action, "args": {} if args is None else parsed_json("args", args)} if action is not None else None
    body = {"title": title, "form": read_json(form) if form else None, "action": call, "expires_in": expires_in}
    asked = Ask.parse({name: value for name, value in body.items() if value is not None})
    request = run(_ask(asked, tenant, url, wait))
    say(public(request), f"{request.id}  {request.status}{outcome(request)}", json_)
    if wait and not (request.status == "completed" and request.response and request.response.decision != "reject"):
        raise typer.Exit(1)


def list_(
    status: Annotated[Literal["pending", "completed", "cancelled", "expired", "all"], typer.Option()] = "pending",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """List requests, newest first."""
    query = Query(statuses=() if status == "all" else (status,), limit=limit + 1)
    found = run(with_inbox(url, tenant, lambda inbox: inbox.find(query)))
    requests = found[:limit]
    if json_:
        next = cursor_of(requests[-1]) if len(found) > limit else None
        return say({"items": [public(request) for request in requests], "next": next}, "", json_)
    table = Table("id", "kind", "title", "status", "asked by", box=None)
    for request in requests:
        table.add_row(*map(visible, (request.id, request.kind, request.title, request.status, request.asked_by or "")))
    out.print(table if requests else "nothing to do")


def show(id: str, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """Show one request."""
    request = run(with_inbox(url, tenant, lambda inbox: inbox.get(id)))
    say(public(request), visible(json.dumps(public(request), indent=2, ensure_ascii=False), keep="\n"), json_)


async def _ask(asked: Ask, tenant: str, url: str | None, wait: bool) -> Request:
    async with open(url, tenant=tenant) as inbox:
        request = await inbox.submit(asked, by=person_name())
        if not wait:
            return request
        with err.status(f"waiting for the answer to {request.id}"):
            return await inbox.wait_final(request.id) or request
