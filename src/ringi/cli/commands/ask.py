"""Commands that create and read requests: `ask`, `list`, `show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.base.clock import utc_now
from ringi.cli.format.output import listing, progress
from ringi.cli.format.requests import age, agent, line, outcome, picture, public, title_of
from ringi.cli.options import parsed_json, read_json
from ringi.cli.session import CommandSession, NamedSession
from ringi.cli.texts import text_of
from ringi.domain.ask import Ask, Kind, Priority
from ringi.domain.filters import FindOptions
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.errors import InvalidError
from ringi.inbox.api import Inbox, refuse_name
from ringi.inbox.inbox import StoreInbox


def ask(
    session: NamedSession,
    title: Annotated[str, typer.Argument(help="The question.")],
    description: Annotated[str | None, typer.Option(help="Background for the people who answer; Markdown.")] = None,
    form: Annotated[
        Path | None, typer.Option(help='A JSON file with the form, {"fields": […]}, or with a JSON Schema.')
    ] = None,
    display: Annotated[
        Path | None, typer.Option(help='A JSON file with display blocks: [{"type": "table", …}, …].')
    ] = None,
    action: Annotated[str | None, typer.Option(help="The name of the action to approve.")] = None,
    args: Annotated[str | None, typer.Option(help="The arguments of the action, as JSON.")] = None,
    assignee: Annotated[str | None, typer.Option(help="The person who should answer.")] = None,
    priority: Annotated[Priority | None, typer.Option(help="The priority.")] = None,
    id: Annotated[str | None, typer.Option(help="The id; if it exists, that request is returned.")] = None,
    group: Annotated[list[str] | None, typer.Option(help="A group that may answer; repeatable.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer; exit with 1 unless approved.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print only the id of the request.")] = False,
    expires_in: Annotated[float | None, typer.Option(help="Seconds until the request expires.")] = None,
) -> None:
    """Ask people for a decision.

    With --wait the exit code is 0 only after an approval or an answer, so this is safe:
    `ringi ask "Deploy?" --action deploy --wait && deploy`
    """
    body = {
        "title": title,
        "id": id,
        "groups": group or None,
        "description": description,
        **(_form(read_json("form", form)) if form else {}),
        "display": read_json("display", display) if display else None,
        "action": _action(action, args),
        "assignee": assignee,
        "priority": priority,
        "expires_in": expires_in,
    }
    asked = Ask.parse({key: value for key, value in body.items() if value is not None})
    request = session.work(lambda inbox: _ask(inbox, asked, session.by, wait), creates=True)
    session.say(public(request), request.id if quiet else line(request))
    if wait and not _is_approved(request):
        raise typer.Exit(1)


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
    with progress(text_of("reading")):
        found = session.work(lambda inbox: inbox.find(limit=limit, cursor=cursor, **filters))
    if session.json:
        return session.say({"items": [public(request) for request in found], "next": found.next}, "")
    now = utc_now()
    rows = [
        (
            each.id,
            text_of(f"kind.{each.kind}"),
            outcome(each),
            age(each.ended_at if is_by_end and each.ended_at else each.created_at, now),
            agent(each),
            text_of(f"short_priority.{each.priority or 'normal'}"),
            title_of(each),
        )
        for each in found
    ]
    columns = ("id", "kind", "status", "age", "agent", "priority", "title")
    session.say(None, listing(columns, rows, "no_requests", found.next))


def show(session: CommandSession, id: str) -> None:
    """Show one request and its history."""

    async def read(inbox: Inbox) -> tuple[Request, list[Event]]:
        return await inbox.get(id), await inbox.events(request_id=id)

    request, events = session.work(read)
    session.say(public(request), picture(request, events))


def _is_approved(request: Request) -> bool:
    # The command after `&&` is the action as it was asked; an edit approved a different one.
    if request.action:
        return request.granted == request.action
    return request.response is not None and request.response.decision != "reject"


def _form(content: Any) -> dict[str, Any]:
    is_schema = (
        isinstance(content, dict) and "fields" not in content and {"type", "properties", "$schema"} & set(content)
    )
    return {"schema" if is_schema else "form": content}


def _action(name: str | None, args: str | None) -> dict[str, Any] | None:
    if name is None and args is not None:
        raise InvalidError.of("action", "name the action with --action", "required")
    if name is not None and not set("={(").isdisjoint(name):
        raise InvalidError.of("action", f"{name!r} is more than a name: give the arguments in --args, as JSON")
    return None if name is None else {"name": name, "args": {} if args is None else parsed_json("args", args)}


async def _ask(inbox: Inbox, asked: Ask, by: str | None, wait: bool) -> Request:
    if by is not None and not isinstance(inbox, StoreInbox):
        refuse_name(by)
    request = await (inbox.submit(asked, by=by) if isinstance(inbox, StoreInbox) else inbox.submit(asked))
    if not wait:
        return request
    with progress(text_of("waiting_for", id=request.id)):
        return await inbox.wait(request)
