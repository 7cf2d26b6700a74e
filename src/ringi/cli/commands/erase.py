"""The command that erases: `erase`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from ringi.cli.format.output import progress, say
from ringi.cli.format.visible import visible
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import person_name, run, with_inbox
from ringi.connect import open_backend
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import ConflictError, InvalidError
from ringi.inbox.inbox import Inbox
from ringi.privacy.erasure import Erasure

UNDONE = "nothing was erased: say --yes to do it; it cannot be undone"


def erase(
    ids: Annotated[list[str] | None, typer.Argument(help="Requests that have ended.", metavar="ID")] = None,
    person: Annotated[str | None, typer.Option(help="All that is this person's.")] = None,
    before: Annotated[str | None, typer.Option(help="All that ended before a day, such as 2026-01-31.")] = None,
    agent: Annotated[str | None, typer.Option(help="All that this agent keeps in its store.")] = None,
    all_agents: Annotated[bool, typer.Option("--all-agents", help="All that all agents keep in their stores.")] = False,
    namespace: Annotated[
        str | None, typer.Option(help="With --agent: only what is below, such as notes/ann.", metavar="A/B")
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without it, all but requests are only counted.")] = False,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Erase what ended requests say, or what agents keep, for good; ids, digests, times and the chain stay.

    Exits with 1 when something cannot be erased yet, such as a request that is still open.
    """
    if len([way for way in (ids, person, before, agent, all_agents) if way]) != 1:
        raise InvalidError.of(
            "id", "say what to erase: requests by their ids, --person NAME, --before DATE, --agent NAME or --all-agents"
        )
    if namespace and not agent:
        raise InvalidError.of("namespace", "name the agent whose store it is in: --agent NAME")
    if agent or all_agents:
        return _erase_store((tenant, *([agent] if agent else [])), namespace, url, yes, json_)
    by, day = name or person_name(), parsed_day(before) if before else None
    is_dry = not ids and not yes
    with progress("erasing" if yes else "looking") as tell:

        async def work(inbox: Inbox) -> Erasure:
            if ids:
                return await _each(inbox, ids, by)
            return await inbox.erase_all(
                by, person=person, before=day, dry_run=is_dry, progress=lambda done: tell(told(done, is_dry))
            )

        done = run(with_inbox(url, tenant, work))
    lines = [told(done, is_dry), *(f"left {visible(id)}: {visible(why)}" for id, why in done.left.items())]
    if is_dry:
        lines.append(UNDONE)
    say({"erased": not is_dry, **_shown(done)}, "\n".join(lines), json_)
    if done.left:
        raise typer.Exit(1)


def _erase_store(scope: Sequence[str], namespace: str | None, url: str | None, yes: bool, json_: bool) -> None:
    below = tuple(namespace.split("/")) if namespace else ()
    if namespace and not all(below):
        raise InvalidError.of("namespace", f"{namespace!r} has an empty part: write it as notes/ann")

    async def work() -> int:
        async with open_backend(url) as backend:
            if backend.agent_stores is None:
                raise InvalidError.of("url", "agents keep nothing in this store")
            store = backend.agent_stores(*scope)
            return int(await (store.erase(below) if yes else store.count(below)))

    count = run(work())
    told = [f"{'erased' if yes else 'would erase'} {count:,} item{'' if count == 1 else 's'}"]
    if not yes:
        told.append(UNDONE)
    say({"erased": yes, "items": count}, "\n".join(told), json_)


async def _each(inbox: Inbox, ids: Sequence[str], by: str) -> Erasure:
    done = Erasure()
    for id in ids:
        try:
            request = await inbox.erase(id, by)
            done = done.and_then(Erasure(requests=(request.id,)))
        except ConflictError as error:
            done = done.and_then(Erasure(left={id: str(error)}))
    return done


def parsed_day(text: str) -> datetime:
    """Return the beginning of a day here, or a time with a zone, or raise `InvalidError`."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidError.of("before", f"{text!r} is no day: write one such as 2026-01-31") from None
    return at.astimezone(UTC)


def told(done: Erasure, is_dry: bool) -> str:
    """Return in words what was erased, or would be."""
    others = {"thread": len(done.threads), "journal": len(done.journals)}
    counts = [("request", len(done.requests)), *((name, number) for name, number in others.items() if number)]
    what = " and ".join(f"{number:,} {name}{'' if number == 1 else 's'}" for name, number in counts)
    return f"{'would erase' if is_dry else 'erased'} {what}"


def _shown(done: Erasure) -> dict[str, Any]:
    return {name: list(getattr(done, name)) for name in ("requests", "threads", "journals")} | {"left": done.left}
