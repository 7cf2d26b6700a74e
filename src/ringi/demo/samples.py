"""What waits for a person when the demo begins: requests of different kinds, and an agent at work."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

from ringi.errors import ConflictError
from ringi.runs import Runner

STARTER = "ann"


class Sample(NamedTuple):
    """A run that the demo begins once."""

    thread_id: str
    agent: str
    input: dict[str, Any]


SAMPLES = (
    Sample("sample-stock", "desk", {"task": "Count the stock, and order what is almost sold out."}),
    Sample("sample-finish", "finisher", {"task": "Write a haiku about rain on a paper lantern."}),
    Sample("sample-form", "preferences", {}),
    Sample("sample-mail", "desk", {"task": "Apologize to the customer of order 1182."}),
    Sample("sample-delete", "desk", {"task": "Customer c-77 asks us to forget them."}),
    Sample("sample-refund", "desk", {"task": "Refund order 1182."}),
)
"""The runs in the order of their start: five ask at once, the first is at work for a while."""


async def begin_samples(runner: Runner) -> None:
    """Begin each sample whose thread does not exist yet.

    Args:
        runner: The runner of the demo; samples of agents that it does not have are left out.
    """
    tenant = runner.inbox.tenant
    for thread_id, agent, input in SAMPLES:
        if agent in runner.startable:
            with contextlib.suppress(ConflictError):
                await runner.start(tenant, thread_id, agent, input, by=STARTER, check=refuse_second_sample_run)


def refuse_second_sample_run(thread: object) -> None:
    """Refuse a second run of a sample: a person may have answered the first one long ago."""
    raise ConflictError(f"the sample has begun before: {thread!r}")
