"""Commands for runs that need attention, pauses of agents, and webhook deliveries."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ringi.base.clock import utc_now
from ringi.base.settings import SettingError, Settings
from ringi.base.texts import reason_text
from ringi.cli.format.output import (
    escape_hidden_characters,
    escape_hidden_in_lines,
    listing_text,
    print_json_or_text,
    show_progress,
)
from ringi.cli.format.requests import local_time_text
from ringi.cli.options import AsJson
from ringi.cli.session import CommandSession, NamedSession, run_on_event_loop
from ringi.cli.texts import cli_count_text, cli_text, environment_language, translate_cli_error
from ringi.connect import Backend
from ringi.delivery.addresses import NO_ADDRESS
from ringi.delivery.attempt_log import Delivery
from ringi.domain.ask import parse_body
from ringi.domain.events import displayable_host
from ringi.domain.pauses import NewPause, Pause
from ringi.domain.record import Query
from ringi.domain.thread import Thread
from ringi.inbox.inbox import StoreInbox
from ringi.runs import operations

if TYPE_CHECKING:
    from ringi.delivery.deliveries import Deliveries

ThreadId = Annotated[str, typer.Argument(help="The id of the thread, from `ringi runs`.", metavar="THREAD")]
ReasonOption = Annotated[str | None, typer.Option(help="The reason, for the audit trail.")]
MAX_REPLY_BYTES = 1_000
"""Bytes of a reply that are printed."""


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
    rows = []
    for each in found:
        agent, until = each.agent or cli_text("all_agents"), local_time_text(each.until) if each.until else ""
        rows.append((each.id, agent, each.by, local_time_text(each.since), until, each.reason))
    return listing_text(("id", "agent", "by", "since", "until", "why"), rows, "no_pauses")


def deliveries(
    session: CommandSession,
    id: Annotated[str | None, typer.Argument(help="The id of a request; by default the newest requests.")] = None,
    limit: Annotated[int, typer.Option(help="The maximum number of requests.", min=1, max=1000)] = 50,
    endpoints: Annotated[bool, typer.Option("--endpoints", help="Count unfinished deliveries per endpoint.")] = False,
) -> None:
    """List webhook deliveries and their status."""
    if endpoints:
        counts = session.work_on_backend(lambda backend, inbox: _deliveries(backend, inbox).counts())
        numbers = [(each.endpoint, str(each.waiting), str(each.running), str(each.retrying)) for each in counts]
        columns = ("endpoint", "waiting", "running", "retrying")
        return session.say_list(counts, listing_text(columns, numbers, "no_unfinished"))

    async def read(backend: Backend, inbox: StoreInbox) -> list[Delivery]:
        sent = _deliveries(backend, inbox)
        requests = [await inbox.get(id)] if id else await inbox.search(Query(limit=limit))
        return [each for request in requests for each in await sent.of_request(session.tenant, request.id)]

    with show_progress(cli_text("reading_deliveries")):
        found = session.work_on_backend(read)
    rows = [(each.id, each.type, each.host, _status(each)) for each in found]
    session.say_list(found, listing_text(("delivery", "event", "to", "status"), rows, "no_deliveries"))


def redeliver(
    session: NamedSession,
    delivery: Annotated[str, typer.Argument(help="The id of the delivery, from `ringi deliveries`.")],
) -> None:
    """Send a delivery again. A running server or worker sends it at once."""
    done = session.work_on_backend(
        lambda backend, inbox: _deliveries(backend, inbox).redeliver(session.tenant, delivery, by=str(session.by))
    )
    session.say(done.model_dump(mode="json"), f"{done.id}  {cli_text(f'delivery.{done.status}')}")


def webhooks_test(
    endpoint: Annotated[str | None, typer.Argument(help="An endpoint in RINGI_WEBHOOKS; by default all.")] = None,
    json_: AsJson = False,
) -> None:
    """Send a signed test event to the endpoints in RINGI_WEBHOOKS, and print their replies."""
    with show_progress(cli_text("waiting_for_endpoints")):
        tests = run_on_event_loop(_test_endpoints(endpoint))
    print_json_or_text({"items": tests, "next": None}, "\n".join(map(_test_text, tests)), json_)
    if not all(each["delivered"] for each in tests):
        raise typer.Exit(1)


def _test_text(test: dict[str, Any]) -> str:
    key = "tested" if test["delivered"] else "tested.failed"
    values = test | {"why": escape_hidden_characters(_why(test["error"])), "seconds": f"{test['seconds']:g}"}
    reply = escape_hidden_in_lines(test["reply"]).splitlines()
    return "\n".join([cli_text(key, **values), *(f"  {line}" for line in reply)])


async def _test_endpoints(name: str | None) -> list[dict[str, Any]]:
    """Return the endpoints, each with the outcome of its test event and the beginning of its reply."""
    from ringi.delivery.settings import DeliverySettings
    from ringi.delivery.webhooks import WebhookClient

    settings = DeliverySettings.of(Settings.load())
    called = {each.name: each for each in settings.endpoints if each.url}
    names = ", ".join(called) or "none"
    if not called or (name and name not in called):
        raise SettingError("RINGI_WEBHOOKS", name or "", f"choose an endpoint with a url; configured: {names}")
    chosen = [called[name]] if name else list(called.values())
    async with WebhookClient(settings, utc_now) as caller:
        outcomes = await asyncio.gather(*(caller.test(each, str(each.url)) for each in chosen))
    return [
        {"endpoint": each.name, "host": displayable_host(str(each.url)), "delivered": done.is_delivered}
        | {"code": done.code, "error": done.error, "seconds": done.seconds}
        | {"reply": done.reply[:MAX_REPLY_BYTES].decode("utf-8", "replace")}
        for each, done in zip(chosen, outcomes, strict=True)
    ]


def _deliveries(backend: Backend, inbox: StoreInbox) -> Deliveries:
    from ringi.delivery.deliveries import Deliveries
    from ringi.delivery.settings import DeliverySettings

    return Deliveries(backend, inbox, DeliverySettings())


def _status(delivery: Delivery) -> str:
    count = sum(each.status != "queued" for each in delivery.tries)
    text = cli_count_text("delivery_status", count, status=cli_text(f"delivery.{delivery.status}"))
    if delivery.next_at:
        text += cli_text("delivery_next", at=local_time_text(delivery.next_at))
    if why := _why(delivery.tries[-1].error):
        text += cli_text("delivery_why", why=why)
    return text


def _why(error: str | None) -> str:
    return translate_cli_error(error or "") + (cli_text("tested.not_public") if error == NO_ADDRESS else "")
