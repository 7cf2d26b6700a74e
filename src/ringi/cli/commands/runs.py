"""Commands for runs that need attention, and for pauses of agents."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated

import typer

from ringi.base.texts import reason_text
from ringi.cli.format.output import listing_text, show_progress
from ringi.cli.format.requests import local_time_text
from ringi.cli.session import CommandSession, NamedSession
from ringi.cli.texts import cli_text, environment_language
from ringi.domain.ask import parse_body
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import Query
from ringi.domain.thread import Thread
from ringi.runs import operations

ThreadId = Annotated[str, typer.Argument(help="The id of the thread, from `ringi runs`.", metavar="THREAD")]
ReasonOption = Annotated[str | None, typer.Option(help="The reason, for the audit trail.")]


def runs(
    session: CommandSession,
    limit: Annotated[int, typer.Option(help="The maximum number.", min=1, max=1000)] = 50,
    cursor: Annotated[str | None, typer.Option(help="Continue a list: the `next` of the previous page.")] = None,
) -> None:
    """List runs that need attention: they cannot continue on their own."""
    visible = Query(tenant=session.tenant)
    with show_progress(cli_text("reading")):
        found, next = session.work_on_backend(
            lambda backend, _: operations.runs_needing_attention(backend.store, visible, limit=limit, cursor=cursor)
        )
    language = environment_language()
    rows = [
        (each.thread_id, each.agent or "", local_time_text(each.since), reason_text(each.why, language))
        for each in found
    ]
    session.say_list(found, listing_text(("thread", "agent", "since", "why"), rows, "no_runs", next), next)


def retry(session: NamedSession, thread: ThreadId, reason: ReasonOption = None) -> None:
    """Resume a failed run from its last checkpoint."""
    _change(session, thread, operations.retry_failed_run, reason)


def ask_again(session: NamedSession, thread: ThreadId, reason: ReasonOption = None) -> None:
    """Ask again, because the agent's code failed on the previous answer."""
    _change(session, thread, operations.ask_run_questions_again, reason)


def abandon(session: NamedSession, thread: ThreadId, reason: ReasonOption = None) -> None:
    """End a run permanently and withdraw its open requests."""
    _change(session, thread, operations.abandon, reason)


def _change(session: NamedSession, id: str, change: Callable[..., Awaitable[Thread]], reason: str | None) -> None:
    from ringi.server.serialize import thread_view

    thread = session.work_on_backend(lambda backend, inbox: change(backend, inbox, id, by=session.by, reason=reason))
    data = thread_view(thread).model_dump(mode="json", exclude={"pending"})
    session.say(data, f"{thread.id}  {cli_text(f'thread.{thread.status}')}")


def pause(
    session: NamedSession,
    reason: Annotated[str, typer.Option(help="The reason, for people and for the audit trail.")],
    agent: Annotated[str | None, typer.Option(help="The agent; by default all agents of the tenant.")] = None,
    until: Annotated[str | None, typer.Option(help="The time at which the pause ends by itself.")] = None,
) -> None:
    """Pause an agent, or all agents: their runs wait, and no approved call begins."""
    new = parse_body(NewPause, {"agent": agent, "reason": reason, "until": until})
    paused = session.work(lambda inbox: inbox.pauses.begin(new.reason, by=session.by, agent=new.agent, until=new.until))
    session.say(paused.model_dump(mode="json"), pauses_table([paused]))


def pauses(session: CommandSession) -> None:
    """List the pauses in force."""
    found = session.work(lambda inbox: inbox.pauses.list())
    session.say_list(found, pauses_table(found))


def unpause(
    session: NamedSession, id: Annotated[str, typer.Argument(help="The id of the pause, from `ringi pauses`.")]
) -> None:
    """End a pause: the waiting runs go on."""
    session.work(lambda inbox: inbox.pauses.end(id, by=session.by))
    session.say({"id": id}, cli_text("unpaused", id=id))


def pauses_table(found: list[Pause]) -> str:
    """Return pauses as a table."""
    rows = [
        (
            each.id,
            each.agent or cli_text("all_agents"),
            each.by,
            local_time_text(each.since),
            local_time_text(each.until) if each.until else "",
            each.reason,
        )
        for each in found
    ]
    return listing_text(("id", "agent", "by", "since", "until", "why"), rows, "no_pauses")
