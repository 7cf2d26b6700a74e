"""Commands for auditors: the report of decisions, checks, and erasure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from ringi.cli.format.output import escape_hidden_characters, listing_text, show_progress
from ringi.cli.format.requests import local_time_text
from ringi.cli.options import parse_time_option
from ringi.cli.session import CommandSession, NamedSession, run_on_event_loop
from ringi.cli.texts import cli_count_text, cli_text, environment_language, translate_cli_error
from ringi.connect import Backend, open_backend
from ringi.domain.checks import CheckReport, CheckShare
from ringi.errors import ConflictError, InvalidError
from ringi.inbox.api import Inbox
from ringi.inbox.inbox import StoreInbox
from ringi.policy.rules import read_policy_file
from ringi.privacy.candidates import Erasure
from ringi.statistics import Statistics
from ringi.statistics.figures import MAX_DAYS, figures_period
from ringi.statistics.report import OversightReport, oversight_report
from ringi.statistics.report_html import oversight_report_html

DAY = ["%Y-%m-%d"]
SECONDS = 1.0
"""The time between two lines of progress."""
LISTED = 20
"""The number of checks in the table."""


def report(
    session: CommandSession,
    since: Annotated[
        datetime | None, typer.Option(help="The first day, in UTC; by default six days before the last.", formats=DAY)
    ] = None,
    until: Annotated[datetime | None, typer.Option(help="The last day, in UTC; by default today.", formats=DAY)] = None,
) -> None:
    """Print a report for auditors: how people decided, by rule, tool and group.

    It states its period, the version of Ringi, and the event up to which the audit trail is counted.
    """

    async def work(_: Backend, inbox: StoreInbox) -> OversightReport:
        now = inbox.clock()
        first, last = (each and each.replace(tzinfo=UTC) for each in (since, until))
        days = figures_period(first, last, now, MAX_DAYS["day"])
        statistics = Statistics(inbox.store, inbox.clock)
        with show_progress(cli_text("reading_trail")):
            while not (counts := await statistics.count(session.tenant, *days, seconds=SECONDS)).is_complete:
                pass
        return oversight_report(counts, session.tenant, *days, now)

    found = session.work_on_backend(work)
    if session.json:
        sys.stdout.write(f"{found.model_dump_json(indent=2)}\n")
    else:
        sys.stdout.write(oversight_report_html(found, environment_language()))


def list_checks(session: CommandSession, context: typer.Context) -> None:
    """List the checks, and the shares that people noticed; exit code 1 if they are too low."""
    if context.invoked_subcommand:
        return
    report = session.work(lambda inbox: inbox.checks.report())
    session.say(report.model_dump(mode="json"), checks_report_text(report))
    if report.has_alarm:
        raise typer.Exit(1)


def plant_checks(
    session: NamedSession,
    file: Annotated[Path, typer.Argument(help="A JSON or TOML file with a list of `checks`.")],
    tool: Annotated[str | None, typer.Option(help="Only the checks of this tool.")] = None,
    share: Annotated[
        str | None, typer.Option(help="Plant one only while fewer of the tool's requests are checks, such as 1%.")
    ] = None,
) -> None:
    """Plant requests that can never run, to measure whether people notice them."""
    wanted, part = read_check_recipes(file, tool), parse_share(share)
    ids = session.work(lambda inbox: inbox.checks.plant(wanted, by=session.by, share=part))
    session.say({"ids": ids}, "\n".join(ids) or cli_text("nothing_planted"))


def read_check_recipes(file: Path, tool: str | None) -> list[dict[str, Any]]:
    """Return the recipes in a file, or only those of one tool."""
    data = read_policy_file(file, "checks")
    found = data.get("checks") if isinstance(data, dict) else data
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise InvalidError.of("checks", f"{file} has no list of recipes: write one")
    return [each for each in found if tool in (None, each.get("tool"))]


def parse_share(text: str | None) -> float | None:
    """Return a share such as `1%` or `0.01` as a number."""
    if text is None:
        return None
    try:
        return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        raise InvalidError.of("share", f"{text!r} is not a share: write 1% or 0.01") from None


def checks_report_text(report: CheckReport) -> str:
    """Return the shares and the newest checks as tables."""
    columns = ("id", "tool", "since", "by", "status", "why")
    rows = []
    for each in report.items[:LISTED]:
        at, people, caught = local_time_text(each.created_at), ", ".join(each.people), cli_text(f"check.{each.caught}")
        rows.append((each.id, each.tool, at, people, caught, each.because))
    shares = map(noticed_shares_text, (report.tools, report.people))
    return "\n\n".join(filter(None, [*shares, listing_text(columns, rows, "no_checks")]))


def noticed_shares_text(found: list[CheckShare]) -> str:
    """Return how many of the newest 20 checks, and of all, were noticed."""
    lines: list[str] = []
    for each in found:
        counts = {"caught": each.newest_caught, "newest": each.newest, "all_caught": each.caught, "total": each.total}
        text = cli_text("check.share", name=escape_hidden_characters(each.name), **counts)
        lines.append(f"{text} · {cli_text('check.alarm')}" if each.alarm else text)
    return "\n".join(lines)


def erase(
    session: NamedSession,
    ids: Annotated[list[str] | None, typer.Argument(help="The ids of requests that have ended.", metavar="ID")] = None,
    person: Annotated[str | None, typer.Option(help="All data of this person.")] = None,
    before: Annotated[
        str | None, typer.Option(help="Everything that ended before this day, such as 2026-01-31.")
    ] = None,
    agent: Annotated[str | None, typer.Option(help="All data in the store of this agent.")] = None,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="All data in the stores of all agents.")] = False,
    namespace: Annotated[
        str | None, typer.Option(help="With --agent: only this namespace, such as notes/ann.", metavar="A/B")
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Erase; without it, everything but single requests is only counted.")
    ] = False,
) -> None:
    """Erase the content of ended requests, or the data of agents, permanently.

    Ids, digests, times and the hash chain stay. Exits with 1 if something cannot be erased yet, such as an open
    request.
    """
    if len([way for way in (ids, person, before, agent, all_agents) if way]) != 1:
        what = "choose one: ids of requests, --person NAME, --before DATE, --agent NAME or --all-agents"
        raise InvalidError.of("id", what)
    if namespace and not agent:
        raise InvalidError.of("namespace", "only with --agent NAME")
    if agent or all_agents:
        return _erase_store(session, agent, namespace, yes)
    by, day = session.by, parse_time_option("before", before) if before else None
    is_dry = not ids and not yes
    with show_progress(cli_text("erasing" if yes else "counting")) as report:

        def show(done: Erasure) -> None:
            report(erasure_summary(done, is_dry))

        async def work(inbox: Inbox) -> Erasure:
            if ids:
                return await _each(inbox, ids, by)
            return await inbox.trail.erase(person=person, before=day, dry_run=is_dry, progress=show, by=by)

        done = session.work(work)
    lines = [erasure_summary(done, is_dry)]
    for id, error in done.left.items():
        why = escape_hidden_characters(translate_cli_error(error))
        lines.append(cli_text("not_erased", id=escape_hidden_characters(id), why=why))
    if is_dry:
        lines.append(cli_text("dry_run"))
    data = {each: list(getattr(done, each)) for each in ("requests", "threads", "journals")}
    session.say({"erased": not is_dry, **data, "left": done.left}, "\n".join(lines))
    if done.left:
        raise typer.Exit(1)


def _erase_store(session: CommandSession, agent: str | None, namespace: str | None, yes: bool) -> None:
    below = tuple(namespace.split("/")) if namespace else ()
    if namespace and not all(below):
        raise InvalidError.of("namespace", f"{namespace!r} has an empty part: write it as notes/ann")

    async def work() -> int:
        async with open_backend(session.url) as backend:
            if backend.agent_stores is None:
                raise InvalidError.of("url", "agents have no data in this store")
            store = backend.agent_stores(session.tenant, *([agent] if agent else []))
            return int(await (store.erase(below) if yes else store.count(below)))

    count = run_on_event_loop(work())
    lines = [cli_text("erased" if yes else "would_erase", counted=cli_count_text("counted.item", count))]
    if not yes:
        lines.append(cli_text("dry_run"))
    session.say({"erased": yes, "items": count}, "\n".join(lines))


async def _each(inbox: Inbox, ids: Sequence[str], by: str | None) -> Erasure:
    done = Erasure()
    for id in ids:
        try:
            request = await inbox.erase(id, by=by)
            done = done.and_then(Erasure(requests=(request.id,)))
        except ConflictError as error:
            done = done.and_then(Erasure(left={id: str(error)}))
    return done


def erasure_summary(done: Erasure, is_dry: bool) -> str:
    """Return a line with the numbers of erased records, or of those to erase."""
    others = {"thread": len(done.threads), "journal": len(done.journals)}
    counts = [("request", len(done.requests)), *((name, number) for name, number in others.items() if number)]
    texts = cli_text("and").join(cli_count_text(f"counted.{name}", number) for name, number in counts)
    return cli_text("would_erase" if is_dry else "erased", counted=texts)
