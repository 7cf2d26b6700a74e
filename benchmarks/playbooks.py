"""What learning one thing more costs as a playbook grows: the curator, which is code, and the prompt behind it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.formula import PROMPT
from ringi.backend import Backend
from ringi.connect import open_backend
from ringi.engrammer.insights import Feedback, Insight, entry_of, proposed, refused
from ringi.engrammer.playbook import Entry, Playbook
from ringi.engrammer.rendering import shared_prefix, size
from ringi.engrammer.roles import told_generator
from ringi.engrammer.stored import APPLICATION, enter, journal_id, read
from ringi.journal import Journal
from ringi.record import DEFAULT_TENANT

SIZES = (10, 100, 1_000)
ROUNDS = 15
BUDGET = 1_000_000
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
QUESTION = "What does a bank earn on 4 million at 3 percent?"


class Cost(NamedTuple):
    """What one more bullet costs in a playbook of this size."""

    bullets: int
    tokens: int
    """Of the playbook: what a curator that is a model would have to read each time."""
    code_ms: float
    """Laying the insight beside the playbook, checking it and making its entry: the processor's time."""
    stored_ms: float
    """All of it until it is on the disk."""
    prefix: float
    """The share of the generator's prompt, its question included, that begins as before the bullet was learned."""
    edited: float
    """The same where the bullet in the middle is edited instead: what stands after it is read again."""


async def costs(path: Path) -> list[Cost]:
    """Return what one more bullet costs, by size."""
    async with open_backend(f"sqlite:///{path / 'costs.db'}") as backend:
        return [await cost(backend, bullets) for bullets in SIZES]


async def cost(backend: Backend, bullets: int) -> Cost:
    name, playbook = f"of-{bullets}", grown(bullets)
    state = playbook.model_dump(mode="json")
    await backend.store.put(*Journal.begun(journal_id(name), APPLICATION, state, by="system", now=NOW))
    stored, code = list[float](), list[float]()
    for number in range(ROUNDS):
        code.append(seconds(time.thread_time, partial(step, number, playbook)))
        began = time.perf_counter()
        await enter(backend, DEFAULT_TENANT, name, partial(step, number), by="system", now=NOW)
        stored.append(time.perf_counter() - began)
    after = playbook.entered(step(0, playbook), NOW)
    middle = playbook.active[bullets // 2].id
    edited = playbook.entered(playbook.edited(middle, text="It says something else now."), NOW)
    assert len((await read(backend.store, DEFAULT_TENANT, name)).active) == bullets + ROUNDS
    return Cost(
        bullets,
        size(playbook),
        median(code) * 1e3,
        median(stored) * 1e3,
        shared_prefix(prompt(playbook), prompt(after)),
        shared_prefix(prompt(playbook), prompt(edited)),
    )


def step(number: int, playbook: Playbook) -> Entry:
    """Lay an insight beside a playbook, check what it comes to, and return its entry: what the product does."""
    insight = Insight(
        id=f"i-{number}",
        type="new_strategy",
        section="formulas",
        text=text(100_000 + number),
        feedback=Feedback(source="ground_truth", verdict="wrong"),
        thread_id="t",
        run_id="r",
    )
    proposal = proposed(insight, playbook, BUDGET, "playbook")
    assert proposal
    assert refused(proposal.operation, playbook, BUDGET) is None
    return entry_of(proposal.operation, insight, f"request-{playbook.version}-{number}", playbook)


def grown(bullets: int) -> Playbook:
    """Return a playbook of so many bullets."""
    playbook = Playbook()
    for number in range(bullets):
        playbook = playbook.entered(playbook.added("formulas", text(number)), NOW)
    return playbook


def text(number: int) -> str:
    """Return a bullet of some 120 characters."""
    return f"Rule {number}: divide what flows in a year by what stands at its end, with {number % 7} digits."


def prompt(playbook: Playbook) -> str:
    """Return all that the generator is told, in the order in which a provider reads it."""
    return "\n\n".join(message.text for message in told_generator(PROMPT, playbook, [], QUESTION))


def seconds(clock: Callable[[], float], work: Callable[[], object]) -> float:
    began = clock()
    work()
    return clock() - began
