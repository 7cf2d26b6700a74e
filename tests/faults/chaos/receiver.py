"""A receiver of webhooks that takes its time, and writes down what it was sent."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from tests.delivery.receivers import OK, Receiver, Writer, receiving
from tests.faults.chaos.history import History

from ringi.delivery.signing import new_secret

SLOWEST = 0.5


@asynccontextmanager
async def listening(folder: Path, history: History) -> AsyncIterator[Mapping[str, str]]:
    """Run the receiver, and give the settings of the processes that deliver to it."""
    dice = random.Random(1)

    async def accept(receiver: Receiver, writer: Writer) -> None:
        got, came = receiver.got.pop(), time.time()
        # Only this call stands in the list: nothing has waited since it was read.
        await asyncio.sleep(dice.uniform(0, SLOWEST))
        await OK(receiver, writer)
        history.add("sent", got.json["data"]["id"], "receiver", came, 200, {"event": got.json["type"], "id": got.id})

    async with receiving(accept) as receiver:
        endpoint = {"name": "receiver", "url": receiver.url, "secrets": [new_secret()], "tenant": "default"}
        file = folder / "endpoints.json"
        file.write_text(json.dumps([endpoint]))
        schedule = ",".join(["0", *["1"] * 60])
        yield {
            "RINGI_WEBHOOKS": str(file),
            "RINGI_WEBHOOK_ALLOW": "127.0.0.0/8",
            "RINGI_WEBHOOK_SCHEDULE": schedule,
        }
