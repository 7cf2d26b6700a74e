"""The command `erase`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from ringi.cli.format.output import escape_hidden_characters, show_progress
from ringi.cli.options import parse_time_option
from ringi.cli.session import CommandSession, NamedSession, run_on_event_loop
from ringi.cli.texts import cli_count_text, cli_text, translate_cli_error
from ringi.connect import open_backend
from ringi.errors import ConflictError, InvalidError
from ringi.inbox.api import Inbox
from ringi.privacy.candidates import Erasure


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
        raise InvalidError.of(
            "id", "choose one: ids of requests, --person NAME, --before DATE, --agent NAME or --all-agents"
        )
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
