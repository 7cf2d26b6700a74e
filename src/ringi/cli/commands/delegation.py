"""Commands that delegate answers: to a deputy, a grant, or a rule that the decisions of people suggest."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.base.canonical_json import canonical, jsonable
from ringi.cli.format.output import escape_hidden_characters, listing_text
from ringi.cli.format.requests import local_time_text, request_as_public_json
from ringi.cli.options import Unknown, parse_time_option
from ringi.cli.session import CommandSession, MemberSession, NamedSession
from ringi.cli.texts import cli_text
from ringi.domain.grants import Grant
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox


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


def grants(session: CommandSession) -> None:
    """List the grants: the calls that people have approved in advance."""
    found = session.work(lambda inbox: inbox.grants.list())
    columns = ("id", "tool", "scope", "uses", "until", "by", "status")
    rows = []
    for each in found:
        scope, uses = grant_scope_text(each.grant), f"{each.uses}/{each.grant.max_uses}"
        until, status = local_time_text(each.grant.until), cli_text(f"grant.{each.status.replace(' ', '_')}")
        rows.append((each.id, each.grant.tool, scope, uses, until, each.granted_by, status))
    session.say_list(found, listing_text(columns, rows, "no_grants"))


def revoke(
    session: NamedSession, id: Annotated[str, typer.Argument(help="The id of the grant, from `ringi grants`.")]
) -> None:
    """Revoke a grant: from now on people are asked again."""
    session.work(lambda inbox: inbox.grants.revoke(id, by=session.by))
    session.say({"id": id}, cli_text("revoked", id=id))


def grant_scope_text(grant: Grant) -> str:
    """Return what limits the calls of a grant, in one line."""
    args = cli_text("grant.same_args" if grant.where is None else "grant.any_args")
    if grant.where:
        args = canonical(jsonable(grant.where)).decode()
    return " · ".join(each for each in (args, grant.asked_by, grant.agent, grant.thread_id, grant.folder) if each)


def list_suggestions(session: CommandSession, context: typer.Context) -> None:
    """List the rules that the decisions of people suggest."""
    if context.invoked_subcommand:
        return
    found = session.work(lambda inbox: inbox.suggestions.list())
    parts = [*map(suggestion_text, found), cli_text("suggestion.terms")] if found else [cli_text("no_suggestions")]
    session.say_list(found, "\n\n".join(parts))


def accept_suggestion(
    session: MemberSession,
    id: Annotated[str, typer.Argument(help="The id of the suggestion, from `ringi suggestions`.")],
    one_in: Annotated[
        int, typer.Option(help="One in so many of its calls still asks people, at random.", min=2, max=100)
    ] = 20,
) -> None:
    """Switch on a suggested rule: from now on it approves its calls without asking."""

    async def switch_on(inbox: Inbox) -> Request:
        person = await session.decider(inbox)
        if isinstance(inbox, StoreInbox):
            return await inbox.suggestions.accept(id, by=person, one_in=one_in, channel="cli")
        return await inbox.suggestions.accept(id, by=person, one_in=one_in)

    rule = session.work(switch_on)
    session.say(request_as_public_json(rule), active_rule_text(rule))


def suggestion_text(rule: Suggestion) -> str:
    """Return a suggested rule and the figures that speak for it."""
    scope = [rule.tool, canonical(jsonable(rule.where)).decode(), rule.asked_by, rule.agent]
    figures = [
        cli_text("suggestion.approved", approved=rule.approved, decisions=rule.decisions),
        cli_text("suggestion.covered", covered=rule.covered, replayed=rule.replayed),
        cli_text("suggestion.newer", covered=rule.newer_covered, newer=rule.newer),
        cli_text("suggestion.example", id=escape_hidden_characters(rule.template)),
    ]
    return "\n  ".join([f"{rule.id}  {escape_hidden_characters(' · '.join(each for each in scope if each))}", *figures])


def active_rule_text(rule: Request) -> str:
    """Return what a rule approves from now on, and how to end it."""
    grant = rule.response.grant if rule.response else None
    assert grant
    limits = {"uses": grant.max_uses, "until": local_time_text(grant.until), "one_in": grant.one_in}
    return cli_text("switched_on", id=rule.id, tool=escape_hidden_characters(grant.tool), **limits)
