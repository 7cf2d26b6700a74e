"""Commands for runs that need attention, and for pauses of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, TypeVar

import typer

from ringi.base.texts import reason_text
from ringi.cli.format.output import progress, say, say_list, table
from ringi.cli.format.requests import clock
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import existing_store, person_name, run, with_inbox
from ringi.cli.texts import language, text_of
from ringi.connect import Backend, inbox_on, open_backend
from ringi.domain.ask import parse_body
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import DEFAULT_TENANT, Query
from ringi.domain.thread import Thread
from ringi.inbox.inbox import Inbox
from ringi.runs import operations

T = TypeVar("T")
ThreadId = Annotated[str, typer.Argument(help="The id of the thread, from `ringi runs`.", metavar="THREAD")]
Reason = Annotated[str | None, typer.Option(help="The reason, for the audit trail.")]


def runs(
    limit: Annotated[int, typer.Option(help="The maximum number.", min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue a list: the `next` of the previous page.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """List runs that need attention: they cannot continue on their own."""
    visible = Query(tenant=tenant)
    with progress(text_of("reading")):
        found, next = run(
            _on(url, tenant, lambda backend, _: operations.troubles(backend.store, visible, limit=limit, cursor=cursor))
        )
    rows = [
        (trouble.thread_id, trouble.agent or "", clock(trouble.since), reason_text(trouble.why, language()))
        for trouble in found
    ]
    more = "\n" + text_of("more", cursor=next) if next else ""
    columns = [text_of(f"column.{each}") for each in ("thread", "agent", "since", "why")]
    text = table(columns, rows) + more if rows else text_of("no_runs")
    say({"items": [trouble.model_dump(mode="json") for trouble in found], "next": next}, text, json_)


def retry(
    thread: ThreadId,
    reason: Reason = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Resume a failed run from its last checkpoint."""
    by = name or person_name()
    _end(
        run(_on(url, tenant, lambda backend, inbox: operations.retry(backend, inbox, thread, by=by, reason=reason))),
        json_,
    )


def ask_again(
    thread: ThreadId,
    reason: Reason = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Ask again, because the agent's code failed on the previous answer."""
    by = name or person_name()

    async def again(backend: Backend, inbox: Inbox) -> Thread:
        return await operations.ask_again(backend, inbox, thread, by=by, reason=reason)

    _end(run(_on(url, tenant, again)), json_)


def abandon(
    thread: ThreadId,
    reason: Reason = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """End a run permanently and withdraw its open requests."""
    by = name or person_name()
    _end(
        run(_on(url, tenant, lambda backend, inbox: operations.abandon(backend, inbox, thread, by=by, reason=reason))),
        json_,
    )


async def _on(url: str | None, tenant: str, work: Callable[[Backend, Inbox], Awaitable[T]]) -> T:
    async with open_backend(existing_store(url)) as backend, inbox_on(backend, tenant=tenant) as inbox:
        return await work(backend, inbox)


def _end(thread: Thread, as_json: bool) -> None:
    from ringi.server.serialize import thread_view

    data = thread_view(thread).model_dump(mode="json", exclude={"pending"})
    say(data, f"{thread.id}  {text_of(f'thread.{thread.status}')}", as_json)


def pause(
    reason: Annotated[str, typer.Option(help="The reason, for people and for the audit trail.")],
    agent: Annotated[str | None, typer.Option(help="The agent; by default all agents of the tenant.")] = None,
    until: Annotated[str | None, typer.Option(help="The time at which the pause ends by itself.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Pause an agent, or all agents: their runs wait, and no approved call begins."""
    new, by = parse_body(NewPause, {"agent": agent, "reason": reason, "until": until}), name or person_name()
    paused = run(
        with_inbox(url, tenant, lambda inbox: inbox.pause(new.reason, by=by, agent=new.agent, until=new.until))
    )
    say(paused.model_dump(mode="json"), table_of([paused]), json_)


def pauses(tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """List the pauses in force."""
    found = run(with_inbox(url, tenant, lambda inbox: inbox.pauses()))
    text = table_of(found) if found else text_of("no_pauses")
    say_list(found, text, json_)


def unpause(
    id: Annotated[str, typer.Argument(help="The id of the pause, from `ringi pauses`.")],
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """End a pause: the waiting runs go on."""
    by = name or person_name()
    run(with_inbox(url, tenant, lambda inbox: inbox.resume(id, by=by)))
    say({"id": id}, text_of("unpaused", id=id), json_)


def table_of(found: list[Pause]) -> str:
    """Return pauses as a table."""
    columns = [text_of(f"column.{each}") for each in ("id", "agent", "by", "since", "until", "why")]
    rows = [
        (
            each.id,
            each.agent or text_of("all_agents"),
            each.by,
            clock(each.since),
            clock(each.until) if each.until else "",
            each.reason,
        )
        for each in found
    ]
    return table(columns, rows)
