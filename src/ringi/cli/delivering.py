"""The commands about what was sent to others: `deliveries`, `redeliver`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.picture import clock
from ringi.cli.printing import progress, say
from ringi.cli.running import person_name, run
from ringi.cli.table import table
from ringi.connect import inbox_on, open_backend
from ringi.delivery.tries import Delivery
from ringi.inbox import Inbox
from ringi.record import DEFAULT_TENANT, Query

if TYPE_CHECKING:
    from ringi.delivery.deliveries import Deliveries

T = TypeVar("T")


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


async def _on(url: str | None, tenant: str, work: Callable[[Inbox, Deliveries], Awaitable[T]]) -> T:
    from ringi.delivery.deliveries import Deliveries
    from ringi.delivery.endpoints import DeliverySettings

    async with open_backend(url) as backend, inbox_on(backend, tenant=tenant) as inbox:
        return await work(inbox, Deliveries(backend, inbox, DeliverySettings()))


def _standing(delivery: Delivery) -> str:
    count = sum(each.status != "queued" for each in delivery.tries)
    tries = "1 try" if count == 1 else f"{count} tries"
    next = f", next {clock(delivery.next_at)}" if delivery.next_at else ""
    why = delivery.tries[-1].error
    return f"{delivery.status} after {tries}{next}" + (f": {why}" if why else "")
