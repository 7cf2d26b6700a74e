"""The cost of one more lesson as a playbook grows: the curator, which is code, and the prompt behind it."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from itertools import takewhile
from pathlib import Path
from statistics import median
from typing import NamedTuple

from benchmarks.apps.answers import PROMPT
from ringi.connect import open_backend
from ringi.contracts.backend import Backend
from ringi.domain.journal import Journal
from ringi.domain.record import DEFAULT_TENANT, SYSTEM
from ringi_apps.engrammer.entries import Entry
from ringi_apps.engrammer.insights import (
    AnswerFeedback,
    Insight,
    InsightProposal,
    approved_entry,
    build_proposal,
    refusal_code,
)
from ringi_apps.engrammer.persistence import APPLICATION, append_entry, journal_id, read_playbook
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.rendering import playbook_tokens
from ringi_apps.engrammer.roles import generator_messages

SIZES = (10, 100, 1_000)
ROUNDS = 15
BUDGET = 1_000_000
NOW = datetime(2026, 1, 15, 12, tzinfo=UTC)
QUESTION = "What does a bank earn on 4 million at 3 percent?"


class Cost(NamedTuple):
    """The cost of one more bullet in a playbook of this size."""

    bullets: int
    tokens: int
    """The tokens of the playbook, which a model as curator would read each time."""
    proposal_ms: float
    """CPU time to compare an insight with the playbook for display to a person."""
    curation_ms: float
    """CPU time to check an approved operation and to make its entry."""
    stored_ms: float
    """The time from the approved operation until its entry and the new playbook are on the disk."""
    prefix: float
    """The share of the generator's prompt, with its question, that is unchanged after the bullet was learned."""
    edited: float
    """The same share if the bullet in the middle is edited: everything after it is read again."""


async def costs(path: Path) -> list[Cost]:
    """Return the cost of one more bullet, by size."""
    async with open_backend(f"sqlite:///{path / 'costs.db'}") as backend:
        return [await cost(backend, bullets) for bullets in SIZES]


async def cost(backend: Backend, bullets: int) -> Cost:
    """Return the median cost of one more bullet in a playbook of this size over several rounds."""
    name, playbook = f"of-{bullets}", make_playbook(bullets)
    state = playbook.model_dump(mode="json")
    await backend.store.put(*Journal.begun(journal_id(name), APPLICATION, state, by=SYSTEM, now=NOW))
    proposals, curations, stored = list[float](), list[float](), list[float]()
    for number in range(ROUNDS):
        proposal = propose(number, playbook)
        proposals.append(timed(partial(propose, number, playbook)))
        curations.append(timed(partial(curate, proposal, playbook)))
        began = time.perf_counter()
        await append_entry(backend, DEFAULT_TENANT, name, partial(curate, proposal), by=SYSTEM, now=NOW)
        stored.append((time.perf_counter() - began) * 1e3)
    assert len((await read_playbook(backend.store, DEFAULT_TENANT, name)).active) == bullets + ROUNDS
    after = playbook.apply(curate(propose(0, playbook), playbook), NOW)
    middle = playbook.active[bullets // 2].id
    edited = playbook.apply(playbook.edit_entry(middle, text="It says something else now."), NOW)
    prefixes = [shared_prefix(prompt(playbook), prompt(other)) for other in (after, edited)]
    return Cost(bullets, playbook_tokens(playbook), median(proposals), median(curations), median(stored), *prefixes)


def shared_prefix(a: str, b: str) -> float:
    """Return the share of `b` covered by its common prefix with `a`, which a provider can read from its cache."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False))) / len(b)


def propose(number: int, playbook: Playbook) -> InsightProposal:
    """Compare an insight with a playbook, as the product does before it asks a person."""
    insight = Insight(
        id=f"i-{number}",
        type="new_strategy",
        section="formulas",
        text=text(100_000 + number),
        feedback=AnswerFeedback(source="ground_truth", verdict="wrong"),
        thread_id="t",
        run_id="r",
    )
    proposal = build_proposal(insight, playbook, BUDGET, "playbook")
    assert proposal
    return proposal


def curate(proposal: InsightProposal, playbook: Playbook) -> Entry:
    """Check an approved operation and return its entry, as the product does."""
    assert refusal_code(proposal.operation, playbook, BUDGET) is None
    return approved_entry(proposal.operation, proposal.insight, f"request-{proposal.insight.id}", playbook)


def make_playbook(bullets: int) -> Playbook:
    """Return a playbook with a number of bullets."""
    playbook = Playbook()
    for number in range(bullets):
        playbook = playbook.apply(playbook.add_entry("formulas", text(number)), NOW)
    return playbook


def text(number: int) -> str:
    """Return a bullet of about 120 characters."""
    return f"Rule {number}: divide what flows in a year by what stands at its end, with {number % 7} digits."


def prompt(playbook: Playbook) -> str:
    """Return the generator's whole prompt, in the order in which a provider reads it."""
    return "\n\n".join(message.text for message in generator_messages(PROMPT, playbook, [], QUESTION))


def timed(work: Callable[[], object]) -> float:
    """Return the CPU time of some work in milliseconds, without other load of the machine."""
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1e3
