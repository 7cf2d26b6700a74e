"""The commands about what is sent to others: `deliveries`, `redeliver`, `webhooks test`."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

import typer

from ringi.base.clock import utc_now
from ringi.cli.format.output import progress, say
from ringi.cli.format.requests import clock
from ringi.cli.format.table import table
from ringi.cli.format.visible import visible, visible_lines
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import existing, person_name, run
from ringi.connect import inbox_on, open_backend
from ringi.delivery.attempts import Delivery
from ringi.domain.record import DEFAULT_TENANT, Query
from ringi.domain.webhook import host_of
from ringi.errors import SettingError
from ringi.inbox.inbox import Inbox

if TYPE_CHECKING:
    from ringi.delivery.deliveries import Deliveries
    from ringi.delivery.webhooks import Outcome

T = TypeVar("T")
REPLY_SHOWN = 1_000
"""Bytes of a reply that are shown."""


def deliveries(
    id: Annotated[str | None, typer.Argument(help="The request; without it, the newest requests.")] = None,
    limit: Annotated[int, typer.Option(help="How many requests.", min=1, max=1000)] = 50,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """List what was sent to webhooks, and what became of it."""

    async def read(inbox: Inbox, sent: Deliveries) -> list[Delivery]:
        requests = [await inbox.get(id)] if id else await inbox.find(Query(limit=limit))
        return [each for request in requests for each in await sent.of_request(tenant, request.id)]

    with progress("reading the deliveries"):
        found = run(_on(url, tenant, read))
    rows = [(each.id, each.type, each.host, _standing(each)) for each in found]
    text = table(("delivery", "event", "to", "status"), rows) if rows else "nothing was sent"
    say({"items": [each.model_dump(mode="json") for each in found], "next": None}, text, json_)


def redeliver(
    delivery: Annotated[str, typer.Argument(help="The delivery, from `ringi deliveries`.")],
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Send a delivery once more; a server does it at once, whatever became of it before."""
    by = name or person_name()
    done = run(_on(url, tenant, lambda _, sent: sent.redeliver(tenant, delivery, by=by)))
    say(done.model_dump(mode="json"), f"{done.id}  {done.status}", json_)


def webhooks_test(
    endpoint: Annotated[str | None, typer.Argument(help="The endpoint in RINGI_WEBHOOKS; without it, each.")] = None,
    json_: Json = False,
) -> None:
    """Send a signed test event to the endpoints in RINGI_WEBHOOKS, and show what came back."""
    with progress("waiting for the endpoints"):
        tried = run(_tested(endpoint))
    say({"items": [each.shown for each in tried], "next": None}, "\n".join(each.text for each in tried), json_)
    if not all(each.outcome.is_delivered for each in tried):
        raise typer.Exit(1)


class Tested(NamedTuple):
    """What came back from an endpoint."""

    endpoint: str
    host: str
    outcome: Outcome

    @property
    def reply(self) -> str:
        """The beginning of what the endpoint said."""
        return self.outcome.reply[:REPLY_SHOWN].decode("utf-8", "replace")

    @property
    def shown(self) -> dict[str, Any]:
        """It as JSON data."""
        code, error, seconds = self.outcome.code, self.outcome.error, self.outcome.seconds
        told = {"code": code, "error": error, "seconds": seconds, "reply": self.reply}
        return {"endpoint": self.endpoint, "host": self.host, "delivered": self.outcome.is_delivered} | told

    @property
    def text(self) -> str:
        """It as lines for people."""
        became = f"{self.outcome.code} delivered" if self.outcome.is_delivered else f"failed: {self.outcome.error}"
        first = f"{self.endpoint}  {self.host}  {visible(became)} in {self.outcome.seconds:g} s"
        return "\n".join([first, *(f"  {line}" for line in visible_lines(self.reply).splitlines())])


async def _tested(name: str | None) -> list[Tested]:
    from ringi.delivery.settings import DeliverySettings
    from ringi.delivery.webhooks import Caller

    settings = DeliverySettings.of(os.environ)
    called = {each.name: each for each in settings.endpoints if each.url}
    known = ", ".join(called) or "none"
    if not called or (name and name not in called):
        wrong = f"name an endpoint with a url: it has {known}"
        raise SettingError("RINGI_WEBHOOKS", name or "", wrong)
    chosen = [called[name]] if name else list(called.values())
    async with Caller(settings, utc_now) as caller:
        outcomes = await asyncio.gather(*(caller.test(each, str(each.url)) for each in chosen))
    return [Tested(each.name, host_of(str(each.url)), outcome) for each, outcome in zip(chosen, outcomes, strict=True)]


async def _on(url: str | None, tenant: str, work: Callable[[Inbox, Deliveries], Awaitable[T]]) -> T:
    from ringi.delivery.deliveries import Deliveries
    from ringi.delivery.settings import DeliverySettings

    async with open_backend(existing(url)) as backend, inbox_on(backend, tenant=tenant) as inbox:
        return await work(inbox, Deliveries(backend, inbox, DeliverySettings()))


def _standing(delivery: Delivery) -> str:
    count = sum(each.status != "queued" for each in delivery.tries)
    tries = "1 try" if count == 1 else f"{count} tries"
    next = f", next {clock(delivery.next_at)}" if delivery.next_at else ""
    why = delivery.tries[-1].error
    return f"{delivery.status} after {tries}{next}" + (f": {why}" if why else "")
