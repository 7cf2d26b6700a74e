"""Commands that read requests: `list`, `show`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ringi.base.clock import utc_now
from ringi.cli.format.output import listing_text, show_progress
from ringi.cli.format.requests import (
    age_text,
    asking_agent_text,
    full_request_text,
    request_as_public_json,
    request_end_text,
    title_of_request,
)
from ringi.cli.session import CommandSession
from ringi.cli.texts import cli_text
from ringi.domain.ask import Kind
from ringi.domain.filters import FindOptions
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.inbox.api import Inbox


def list_(
    session: CommandSession,
    status: Annotated[
        Literal["pending", "completed", "cancelled", "expired", "all"] | None,
        typer.Option(help="Only with this status. By default pending, and with the order `ended` all that have ended."),
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only of this kind.")] = None,
    assignee: Annotated[str | None, typer.Option(help="Only assigned to this person.")] = None,
    search: Annotated[str | None, typer.Option(help="Only with this text.")] = None,
    tool: Annotated[str | None, typer.Option(help="Only about a call of this tool.")] = None,
    agent_: Annotated[str | None, typer.Option("--agent", help="Only of this agent.")] = None,
    tier: Annotated[Tier | None, typer.Option(help="Only with this at stake.")] = None,
    group: Annotated[str | None, typer.Option(help="Only for the members of this group.")] = None,
    order: Annotated[
        Literal["newest", "urgent", "ended"],
        typer.Option(
            help="`urgent`: overdue or due soon, then by priority; `ended`: what has ended, the latest end first."
        ),
    ] = "newest",
    not_executed: Annotated[
        bool, typer.Option("--not-executed", help="Only approved calls that are not known to have begun.")
    ] = False,
    limit: Annotated[int, typer.Option(help="The maximum number.", min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue a list: the `next` of the previous page.")] = None,
) -> None:
    """List requests, newest first, most urgent first, or by their end."""
    is_by_end = not_executed or order == "ended"
    chosen = status or ("all" if is_by_end else "pending")
    statuses = () if chosen == "all" or not_executed else (chosen,)
    filters: FindOptions = {"status": statuses, "kind": kind, "assignee": assignee, "q": search, "tool": tool}
    filters |= {"agent": agent_, "tier": tier, "group": group, "unexecuted": not_executed, "order": order}
    with show_progress(cli_text("reading")):
        found = session.work(lambda inbox: inbox.find(limit=limit, cursor=cursor, **filters))
    if session.json:
        return session.say({"items": [request_as_public_json(request) for request in found], "next": found.next}, "")
    now = utc_now()
    rows = [
        (
            each.id,
            cli_text(f"kind.{each.kind}"),
            request_end_text(each),
            age_text(each.ended_at if is_by_end and each.ended_at else each.created_at, now),
            asking_agent_text(each),
            cli_text(f"short_priority.{each.priority or 'normal'}"),
            title_of_request(each),
        )
        for each in found
    ]
    columns = ("id", "kind", "status", "age", "agent", "priority", "title")
    session.say(None, listing_text(columns, rows, "no_requests", found.next))


def show(session: CommandSession, id: str) -> None:
    """Show one request and its history."""

    async def read(inbox: Inbox) -> tuple[Request, list[Event]]:
        return await inbox.get(id), await inbox.events(request_id=id)

    request, events = session.work(read)
    session.say(request_as_public_json(request), full_request_text(request, events))
