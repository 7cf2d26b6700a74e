"""The command that asks people: `ask`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ringi.cli.format.output import show_progress
from ringi.cli.format.requests import request_as_public_json, request_line
from ringi.cli.options import parse_json_option, read_json_option, split_names
from ringi.cli.session import NamedSession
from ringi.cli.texts import cli_text
from ringi.domain.ask import Ask, Priority
from ringi.domain.request import Request
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
    groups: Annotated[str, typer.Option(help="The groups that may answer, separated by commas.")] = "",
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
        "groups": split_names(groups) or None,
        "description": description,
        **(_form(read_json_option("form", form)) if form else {}),
        "display": read_json_option("display", display) if display else None,
        "action": _action(action, args),
        "assignee": assignee,
        "priority": priority,
        "expires_in": expires_in,
    }
    asked = Ask.parse({key: value for key, value in body.items() if value is not None})
    request = session.work(lambda inbox: _ask(inbox, asked, session.by, wait), creates=True)
    session.say(request_as_public_json(request), request.id if quiet else request_line(request))
    if wait and not _is_approved(request):
        raise typer.Exit(1)


def _is_approved(request: Request) -> bool:
    # The command after `&&` is the action as it was asked; an edit approved a different one.
    if request.action:
        return request.granted == request.action
    return request.response is not None and request.response.decision != "reject"


def _form(content: Any) -> dict[str, Any]:
    names = set(content) if isinstance(content, dict) else set[str]()
    is_schema = "fields" not in names and {"type", "properties", "$schema"} & names
    return {"schema" if is_schema else "form": content}


def _action(name: str | None, args: str | None) -> dict[str, Any] | None:
    if name is None and args is not None:
        raise InvalidError.of("action", "name the action with --action", "required")
    if name is not None and not set("={(").isdisjoint(name):
        raise InvalidError.of("action", f"{name!r} is more than a name: give the arguments in --args, as JSON")
    return None if name is None else {"name": name, "args": {} if args is None else parse_json_option("args", args)}


async def _ask(inbox: Inbox, asked: Ask, by: str | None, wait: bool) -> Request:
    if by is not None and not isinstance(inbox, StoreInbox):
        refuse_name(by)
    request = await (inbox.submit(asked, by=by) if isinstance(inbox, StoreInbox) else inbox.submit(asked))
    if not wait:
        return request
    with show_progress(cli_text("waiting_for", id=request.id)):
        return await inbox.wait(request)
