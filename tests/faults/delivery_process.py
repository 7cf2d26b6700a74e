"""A process that delivers, to be killed."""

from __future__ import annotations

import asyncio
import sys

from tests.delivery.office import endpoint, settings

from ringi.backends import claimed_jobs as jobs
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.delivery.deliveries import Deliveries


async def main(store: str, receiver: str, *secrets: str) -> None:
    jobs.CLAIM_SECONDS = 1.0
    async with open_backend(store, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        await Deliveries(backend, inbox, settings(endpoint(receiver, secrets=secrets))).work(asyncio.Event())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
