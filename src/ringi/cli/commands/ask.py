"""The commands that ask and look: `ask`, `list`, `show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.base.clock import utc_now
from ringi.cli.format.output import progress, say
from ringi.cli.format.requests import age, agent, line, outcome, picture, public
from ringi.cli.format.table import table
from ringi.cli.inputs import parsed_json, read_json
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import person_name, run, with_inbox
from ringi.domain.ask import Ask, Kind, Priority
from ringi.domain.record import DEFAULT_TENANT, Event, Query, cursor_of
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.inbox.inbox import Inbox


def ask(
    title: Annotated[str, typer.Argument(help="The question.")],
    description: Annotated[str | None, typer.Option(help="What people should know; Markdown.")] = None,
    form: Annotated[Path | None, typer.Option(help='A JSON file with a form: {"fields": […]}.')] = None,
    display: Annotated[
        Path | None, typer.Option(help='A JSON file with what to show: [{"type": "table", …}, …].')
    ] = None,
    action: Annotated[str | None, typer.Option(help="The call that waits for consent: its name.")] = None,
    args: Annotated[str | None, typer.Option(help="The arguments of the call, as JSON.")] = None,
    assignee: Annotated[str | None, typer.Option(help="The person who shall answer.")] = None,
    priority: Annotated[Priority | None, typer.Option(help="How much it matters.")] = None,
    id: Annotated[
        str | None, typer.Option(help="The request's id: asked again with it, the same one is shown.")
    ] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group that may answer; several times for several.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer; exit with 1 unless it is a yes.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print the request's id only.")] = False,
    expires_in: Annotated[float | None, typer.Option(help="Seconds after which nobody may answer.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Put a question to people.

    With --wait, `ringi ask "Deploy?" --action deploy --wait && deploy` is safe.
    """
    body = {
        "title": title,
        "id": id,
        "candidate_groups": group or None,
        "description": description,
        "form": read_json("form", form) if form else None,
        "display": read_json("display", display) if display else None,
        "action": _action(action, args),
        "assignee": assignee,
        "priority": priority,
        "expires_in": expires_in,
    }
    asked = Ask.parse({key: value for key, value in body.items() if value is not None})
    by = name or person_name()
    request = run(with_inbox(url, tenant, lambda inbox: _ask(inbox, asked, by, wait), creates=True))
    say(public(request), request.id if quiet else line(request), json_)
    if wait and not _is_yes(request):
        raise typer.Exit(1)


def list_(
    status: Annotated[
        Literal["pending", "completed", "cancelled", "expired", "all"], typer.Option(help="Where they stand.")
    ] = "pending",
    kind: Annotated[Kind | None, typer.Option(help="Only of this kind.")] = None,
    assignee: Annotated[str | None, typer.Option(help="Only for this person.")] = None,
    search: Annotated[str | None, typer.Option(help="Only with these words.")] = None,
    limit: Annotated[int, typer.Option(help="How many.", min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Go on where a list ended: its `next`.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """List requests, newest first."""
    statuses = () if status == "all" else (status,)
    query = Query(statuses=statuses, kind=kind, assignee=assignee, text=search, before=cursor, limit=limit + 1)
    with progress("reading the list"):
        found = run(with_inbox(url, tenant, lambda inbox: inbox.find(query)))
    requests, next = found[:limit], cursor_of(found[limit - 1]) if len(found) > limit else None
    if json_:
        return say({"items": [public(request) for request in requests], "next": next}, "", json_)
    now = utc_now()
    rows = [
        (each.id, each.kind, outcome(each), age(each, now), agent(each), each.priority or "normal", each.title)
        for each in requests
    ]
    more = f"\nmore: --cursor '{next}'" if next else ""
    columns = ("id", "kind", "status", "age", "agent", "priority", "title")
    say(None, table(columns, rows) + more if rows else "nothing to do", json_)


def show(id: str, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """Show one request and its history."""

    async def read(inbox: Inbox) -> tuple[Request, list[Event]]:
        return await inbox.get(id), await inbox.events(request_id=id)

    request, events = run(with_inbox(url, tenant, read))
    say(public(request), picture(request, [event for event in events if event.record == "request"]), json_)


def _is_yes(request: Request) -> bool:
    # What runs behind `&&` is the call as it was asked: after an edit it would be one that nobody approved.
    if request.action:
        return request.granted == request.action
    return request.response is not None and request.response.decision != "reject"


def _action(name: str | None, args: str | None) -> dict[str, Any] | None:
    if name is None and args is not None:
        raise InvalidError.of("args", "name the call that they are for with --action")
    return None if name is None else {"name": name, "args": {} if args is None else parsed_json("args", args)}


async def _ask(inbox: Inbox, asked: Ask, by: str, wait: bool) -> Request:
    request = await inbox.submit(asked, by=by)
    if not wait:
        return request
    with progress(f"waiting for the answer to {request.id}"):
        return await inbox.wait(request)
