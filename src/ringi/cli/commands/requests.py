"""Commands on requests: those that ask, read, answer and change them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from inspect import Parameter, Signature, getdoc, signature
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ringi.base.clock import utc_now
from ringi.cli.error_texts import cli_error_text
from ringi.cli.format.output import listing_text, show_progress
from ringi.cli.format.requests import (
    age_text,
    asking_agent_text,
    full_request_text,
    request_as_public_json,
    request_end_text,
    request_line,
    title_of_request,
)
from ringi.cli.options import Unknown, parse_json_option, read_file_option, read_json_option, split_names
from ringi.cli.session import CommandSession, MemberSession, NamedSession, person_with_groups
from ringi.cli.texts import cli_text
from ringi.domain.ask import Answer, Ask, Kind, Priority
from ringi.domain.filters import FindOptions
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.errors import InvalidError
from ringi.inbox.api import Inbox, Seen, refuse_name
from ringi.inbox.inbox import StoreInbox

RequestArgument = Annotated[str, typer.Argument(help="The id of the request, from `ringi list`.")]
ARGUMENT = re.compile(r"^    (\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)
"""An argument in the docstring of a verb, with its description."""


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
    body = _form(read_json_option("form", form)) if form else {}
    body |= {"display": read_json_option("display", display) if display else None, "action": _action(action, args)}
    body |= {"title": title, "description": description, "id": id, "priority": priority, "expires_in": expires_in}
    body |= {"assignee": assignee, "groups": split_names(groups) or None}
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
    rows = []
    for each in found:
        age = age_text(each.ended_at if is_by_end and each.ended_at else each.created_at, now)
        kind_, rank = cli_text(f"kind.{each.kind}"), cli_text(f"short_priority.{each.priority or 'normal'}")
        agent, title = asking_agent_text(each), title_of_request(each)
        rows.append((each.id, kind_, request_end_text(each), age, agent, rank, title))
    columns = ("id", "kind", "status", "age", "agent", "priority", "title")
    session.say(None, listing_text(columns, rows, "no_requests", found.next))


def show(session: CommandSession, id: str) -> None:
    """Show one request and its history."""

    async def read(inbox: Inbox) -> tuple[Request, list[Event]]:
        return await inbox.get(id), await inbox.events(request_id=id)

    request, events = session.work(read)
    session.say(request_as_public_json(request), full_request_text(request, events))


def command_of_verb(verb: Callable[..., Any]) -> Callable[..., None]:
    """Return the command that calls a verb on a request and prints its new state.

    Args:
        verb: The method of the inbox; its first parameter is the request.
    """
    doc, name = getdoc(verb) or "", verb.__name__
    described = {argument: " ".join(text.split()) for argument, text in ARGUMENT.findall(doc)}

    def command(session: MemberSession, id: str, **values: Any) -> None:
        session.change(lambda inbox: getattr(inbox, name)(id, by=session.person, **values))

    place = Parameter.POSITIONAL_OR_KEYWORD
    own = [each for each in signature(verb, eval_str=True).parameters.values() if each.name not in ("self", "by")]
    options = [
        each.replace(kind=place, annotation=Annotated[each.annotation, typer.Option(help=described[each.name])])
        for each in own[1:]
    ]
    first = [Parameter("session", place, annotation=MemberSession), Parameter("id", place, annotation=RequestArgument)]
    vars(command)["__signature__"] = Signature([*first, *options])
    command.__name__, command.__doc__ = name, doc.partition("\n\n")[0]
    return command


def respond(
    session: MemberSession,
    id: RequestArgument,
    decision: Annotated[str, typer.Argument(help="One of approve, edit, reject, respond.")],
    data: Annotated[str | None, typer.Option(help="The values of the form, as JSON.")] = None,
    args: Annotated[str | None, typer.Option(help="All arguments of an edited action, as JSON.")] = None,
    message: Annotated[str | None, typer.Option(help="A reason, or an answer as text.")] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="A file for a field of the form, as FIELD=PATH; repeatable.")
    ] = None,
    grant: Annotated[
        str | None,
        typer.Option(
            help='With approve: the later calls to approve too, as JSON such as {"until": "2026-12-01T18:00:00Z"}.'
        ),
    ] = None,
    override: Annotated[
        str | None,
        typer.Option(help="Decide although the rules of the request exclude you, for this reason; it is reviewed."),
    ] = None,
    digest: Annotated[
        str | None, typer.Option(help="Answer only if the request has this digest, from `ringi show`.")
    ] = None,
) -> None:
    """Answer a request."""
    answers, edited = parse_json_option("data", data), parse_json_option("args", args)
    body = {"decision": decision, "data": answers, "args": edited, "message": message, "digest": digest or ""}
    body |= {"grant": parse_json_option("grant", grant), "override": override}
    parsed, files = Answer.parse(body), [read_file_option(each) for each in file or ()]

    async def answer(inbox: Inbox) -> Request:
        current = digest or (await inbox.get(id)).digest
        person = await session.decider(inbox, is_admin=override is not None)
        try:
            attached = {
                field: await inbox.attach(id, field, path.name, content, by=person) for field, path, content in files
            }
            data = {**(parsed.data or {}), **attached} if attached else parsed.data
            sent = parsed.model_copy(update={"digest": current, "data": data})
            if isinstance(inbox, StoreInbox):
                return await inbox.answer(id, sent, by=person, channel="cli")
            more = {name: getattr(sent, name) for name in ("data", "args", "message", "grant", "override")}
            return await inbox.respond(Seen(id, current), sent.decision, by=person, **more)
        except InvalidError as error:
            # The command itself is correct: it fails with 1, not with 2.
            sys.stderr.write(f"{cli_text('error', message=cli_error_text(error))}\n")
            raise typer.Exit(1) from error

    session.change(answer)


undo = command_of_verb(Inbox.undo)
claim = command_of_verb(Inbox.claim)
release = command_of_verb(Inbox.release)
cancel = command_of_verb(Inbox.cancel)


def reassign(
    session: NamedSession,
    id: RequestArgument,
    to: Annotated[str | None, typer.Option(help="The person who should answer.")] = None,
    groups: Annotated[str, typer.Option(help="Or the groups that should answer, separated by commas.")] = "",
    unknown: Unknown = False,
    by_groups: Annotated[str, typer.Option(help="Your groups, separated by commas.")] = "",
) -> None:
    """Assign a request to another person or to groups."""
    names = split_names(groups)
    if not to and not names:
        raise InvalidError.of("to", "pass --to NAME or --groups A,B", "assignee_required")
    person = person_with_groups(session.by, by_groups)
    session.change(lambda inbox: inbox.reassign(id, assignee=to, groups=names, unknown=unknown, by=person))


def outcome(
    session: NamedSession,
    id: RequestArgument,
    outcome: Annotated[Literal["committed", "failed", "unknown"], typer.Argument(help="The outcome of the call.")],
    result_digest: Annotated[
        str | None, typer.Option(help="The digest of the result, never the result itself.")
    ] = None,
) -> None:
    """Report what became of an approved call."""
    session.change(lambda inbox: inbox.report_outcome(id, outcome, result_digest=result_digest, by=session.by))
