"""Commands for people who are away: `away`, `back`, `absences`."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.base.canonical_json import jsonable
from ringi.cli.format.output import escape_hidden_characters, listing_text
from ringi.cli.format.requests import local_time_text
from ringi.cli.options import Unknown, parse_time_option
from ringi.cli.session import CommandSession, MemberSession, NamedSession
from ringi.cli.texts import cli_text
from ringi.inbox.api import Inbox


def away(
    session: MemberSession,
    until: Annotated[str, typer.Option(help="The end: a day as 2026-08-31, or a time.")],
    deputy: Annotated[str, typer.Option(help="The person who may answer in your place.")],
    unknown: Unknown = False,
) -> None:
    """Name a deputy, who sees and answers until a time what is open to you."""
    at = parse_time_option("until", until)
    absence = session.work(lambda inbox: inbox.people.leave(deputy, at, by=session.person, unknown=unknown)).absence
    assert absence
    names = {"name": escape_hidden_characters(absence.person), "deputy": escape_hidden_characters(absence.deputy)}
    session.say(jsonable(absence), cli_text("absence.away", **names, until=local_time_text(absence.until)))


def back(
    session: NamedSession,
    person: Annotated[str | None, typer.Argument(help="The person whose absence you end as an administrator.")] = None,
) -> None:
    """End your absence, or that of another person; the deputy can no longer answer in their place."""
    by = session.by
    if person is None:

        async def come_back(inbox: Inbox) -> str:
            from ringi.client.client import Client

            await inbox.people.come_back(by=by)
            return await inbox.actor() if isinstance(inbox, Client) else str(by)

        own = session.work(come_back)
        session.say({"person": own}, cli_text("absence.back", name=escape_hidden_characters(own)))
    else:
        session.work(lambda inbox: inbox.people.end_absence(person, by=by))
        session.say({"person": person}, cli_text("ended.absences", id=escape_hidden_characters(person)))


def absences(session: CommandSession) -> None:
    """List who is away and who stands for whom."""
    found = session.work(lambda inbox: inbox.people.absences())
    rows = [(each.person, each.deputy, local_time_text(each.until)) for each in found]
    session.say_list(found, listing_text(("person", "deputy", "until"), rows, "no_absences"))
