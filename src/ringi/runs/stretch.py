"""The next stretch of a leased thread: from its position to the next question or the end, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from ringi.base.texts import reason_of
from ringi.domain.request import Request
from ringi.errors import FenceError, PausedError, UnavailableError
from ringi.inbox import tracing
from ringi.inbox.inbox import Inbox
from ringi.runs.executor import RunExecutor
from ringi.runs.images import ImageMemory
from ringi.runs.lease import Lease
from ringi.runs.leased_run import LeasedRun
from ringi.runs.runner import Runner

MAX_ATTEMPTS = 5
"""The number of workers that may die in one stretch before the run is given up."""
MAX_OUTAGES = 50
"""The number of store outages allowed in one stretch: the run itself may cause them."""


async def advance(
    runner: Runner, inbox: Inbox, lease: Lease, memory: ImageMemory, unsettled: Sequence[Request] | None
) -> None:
    """Execute the next stretch of a leased thread.

    Args:
        runner: Knows the agents and the backend.
        inbox: The inbox of the thread's tenant.
        lease: The lease on the thread.
        memory: The images of recent runs.
        unsettled: The thread's open or unacknowledged requests, read after the version before the lease; None if they
            must be read.
    """
    leased_run, thread = LeasedRun(runner.backend, inbox, lease), lease.thread
    try:
        if thread.agent not in runner.agents:
            await leased_run.give_up(reason_of("agent_missing", agent=repr(thread.agent)))
        elif thread.attempts > MAX_ATTEMPTS:
            await leased_run.give_up(reason_of("worker_died", times=MAX_ATTEMPTS))
        elif (thread.outages or 0) > MAX_OUTAGES:
            await leased_run.give_up(reason_of("store_outages", times=MAX_OUTAGES))
        else:
            inbox.metrics.retried.inc(thread.attempts > 1)
            with tracing.within(leased_run.run.traceparent):
                await RunExecutor(leased_run, runner, memory, unsettled).execute()
    except (asyncio.CancelledError, UnavailableError) as error:
        is_outage = isinstance(error, UnavailableError) and not isinstance(error, PausedError)
        await asyncio.shield(leased_run.release(is_outage=is_outage))
        raise
    except FenceError:
        await leased_run.withdraw_after_loss()
        raise
    finally:
        leased_run.emitter.stop()
