"""Commands for people who are away: `away`, `back`, `absences`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from ringi.base.canonical_json import jsonable
from ringi.cli.format.output import say, say_list, table, visible
from ringi.cli.format.requests import clock
from ringi.cli.options import By, Groups, Json, Tenant, Unknown, Url, names_in
from ringi.cli.session import person_name, run, with_inbox
from ringi.cli.texts import text_of
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import InvalidError


def away(
    until: Annotated[str, typer.Option(help="The end: a day as 2026-08-31, or a time.")],
    deputy: Annotated[str, typer.Option(help="The person who may answer in your place.")],
    groups: Groups = "",
    unknown: Unknown = False,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Name a deputy, who sees and answers until a time what is open to you."""
    at, by = parsed_end(until), name or person_name()
    own = names_in(groups)
    absence = run(with_inbox(url, tenant, lambda inbox: inbox.leave(deputy, at, by=by, groups=own, unknown=unknown)))
    names = {"name": visible(absence.person), "deputy": visible(absence.deputy)}
    say(jsonable(absence), text_of("absence.away", **names, until=clock(absence.until)), json_)


def back(
    person: Annotated[str | None, typer.Argument(help="The person whose absence you end as an administrator.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """End your absence, or that of another person; the deputy can no longer answer in their place."""
    by = name or person_name()
    if person is None:
        run(with_inbox(url, tenant, lambda inbox: inbox.come_back(by)))
        say({"person": by}, text_of("absence.back", name=visible(by)), json_)
    else:
        run(with_inbox(url, tenant, lambda inbox: inbox.end_absence(person, by)))
        say({"person": person}, text_of("ended.absences", id=visible(person)), json_)


def absences(tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """List who is away and who stands for whom."""
    found = run(with_inbox(url, tenant, lambda inbox: inbox.find_absences()))
    columns = [text_of(f"column.{each}") for each in ("person", "deputy", "until")]
    rows = [(each.person, each.deputy, clock(each.until)) for each in found]
    say_list(found, table(columns, rows) if found else text_of("no_absences"), json_)


def parsed_end(text: str) -> datetime:
    """Parse a time, by default in the local time zone; raise `InvalidError` for anything else."""
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        raise InvalidError.of("until", f"{text!r} is not a day: write it as 2026-01-31") from None
