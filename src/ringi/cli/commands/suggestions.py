"""Commands for rules that the decisions of people suggest: `suggestions`, `suggestions accept`."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.base.canonical_json import canonical, jsonable
from ringi.cli.format.output import say, say_list
from ringi.cli.format.requests import clock, public
from ringi.cli.format.visible import visible
from ringi.cli.inputs import names_in
from ringi.cli.options import By, Groups, Json, Tenant, Url
from ringi.cli.session import person_name, run, with_inbox
from ringi.cli.texts import text_of
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.domain.voting import Decider
from ringi.inbox.inbox import Inbox


def suggestions(context: typer.Context, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """List the rules that the decisions of people suggest."""
    if context.invoked_subcommand:
        return
    found = run(with_inbox(url, tenant, lambda inbox: inbox.suggestions()))
    parts = [*map(suggestion_text, found), text_of("suggestion.terms")] if found else [text_of("no_suggestions")]
    say_list(found, "\n\n".join(parts), json_)


def accept(
    id: Annotated[str, typer.Argument(help="The id of the suggestion, from `ringi suggestions`.")],
    one_in: Annotated[
        int, typer.Option(help="One in so many of its calls still asks people, at random.", min=2, max=100)
    ] = 20,
    groups: Groups = "",
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Switch on a suggested rule: from now on it approves its calls without asking."""
    by = name or person_name()

    async def switch_on(inbox: Inbox) -> Request:
        person = await inbox.absences.decider(Decider(by, names_in(groups)))
        return await inbox.accept_suggestion(id, by=person, one_in=one_in, channel="cli")

    rule = run(with_inbox(url, tenant, switch_on))
    say(public(rule), switched_on_text(rule), json_)


def suggestion_text(rule: Suggestion) -> str:
    """Return a suggested rule and the figures that speak for it."""
    scope = [rule.tool, canonical(jsonable(rule.where)).decode(), rule.asked_by, rule.agent]
    figures = [
        text_of("suggestion.approved", approved=rule.approved, decisions=rule.decisions),
        text_of("suggestion.covered", covered=rule.covered, replayed=rule.replayed),
        text_of("suggestion.newer", covered=rule.newer_covered, newer=rule.newer),
        text_of("suggestion.example", id=visible(rule.template)),
    ]
    return "\n  ".join([f"{rule.id}  {visible(' · '.join(each for each in scope if each))}", *figures])


def switched_on_text(rule: Request) -> str:
    """Return what a rule approves from now on, and how to end it."""
    grant = rule.response.grant if rule.response else None
    assert grant
    limits = {"uses": grant.max_uses, "until": clock(grant.until), "one_in": grant.one_in}
    return text_of("switched_on", id=rule.id, tool=visible(grant.tool), **limits)
