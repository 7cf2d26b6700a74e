"""Commands that answer or change a request: `respond`, `undo`, `claim`, `release`, `reassign`, `cancel`, `outcome`."""

from __future__ import annotations

import sys
from typing import Annotated, Literal

import typer

from ringi.cli.error_texts import cli_error_text
from ringi.cli.options import Unknown, parse_json_option, read_file_option, split_names
from ringi.cli.session import MemberSession, NamedSession, person_with_groups
from ringi.cli.texts import cli_text
from ringi.cli.verbs import RequestArgument, command_of_verb
from ringi.domain.ask import Answer
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.inbox.api import Inbox, Seen
from ringi.inbox.inbox import StoreInbox


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
