"""What `ringi verify` does: the audit, the seals, and where the last verification ended."""

from __future__ import annotations

import asyncio
import multiprocessing
from collections.abc import AsyncIterator, Awaitable, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple

from ringi.audit import seals
from ringi.audit.verify import Finding, VerifiedPart, verify_store
from ringi.cli.format.output import show_progress
from ringi.cli.texts import cli_text, translate_cli_error
from ringi.connect import home_folder, open_to_verify, resolve_inbox_url
from ringi.domain.record import Position, parse_position_number
from ringi.errors import UnavailableError

VERIFIED = "verified.jsonl"
"""The file in `$RINGI_HOME` with the last seals up to which stores were found intact."""
MANY = 20_000
"""Events from which the check of the store itself has a process of its own: it takes half of the time."""


class Verification(NamedTuple):
    """The result of `ringi verify`."""

    events: int
    """The number of events that were read."""
    findings: list[Finding]
    seals: seals.SealReport
    unchecked: str
    """The part that is not checked here; empty if there is none."""
    since: seals.Seal | None = None
    """The seal up to which an earlier verification found everything intact."""


async def verify_with_seals(url: str | None, expect: Sequence[Path] | None, *, is_anew: bool) -> Verification:
    """Verify a store, and compare its events with seals.

    Args:
        url: The store.
        expect: The files of seals.
        is_anew: Whether to read again what was intact at an earlier verification.
    """
    from ringi.server.auth.authenticator import seal_key

    expected = [each for path in expect or () for each in seals.read_seals(path)]
    key = seal_key(home_folder()) if expect else ""
    before = seals.VerifiedSeals(home_folder() / VERIFIED, resolve_inbox_url(url), key)
    known = [] if is_anew or not expect else before.seals()
    with show_progress(cli_text("reading_trail")) as report:
        async with open_to_verify(url) as (store, stream):
            verdict, positions, why = None, dict[int, Position](), ""
            try:
                verdict, positions = await seals.match_events_with_seals(store, [*expected, *known], key)
            except UnavailableError as error:  # The audit reports the unreadable part; the seals cannot add to it.
                why = f"the seals cannot be compared: {error}"
            is_matched = verdict is not None and not verdict.findings
            since = max(known, key=lambda seal: seal.count) if known and is_matched else None
            verified = VerifiedPart(positions[since.count], since.at) if since else None
            is_small = parse_position_number(await store.tail()) < MANY
            apart = nullcontext() if verified or is_small else inspecting_in_process(resolve_inbox_url(url))
            async with apart as inspecting:
                say = lambda done: report(translate_cli_error(done))  # noqa: E731
                count, findings = await verify_store(store, say, stream, verified=verified, inspecting=inspecting)
            verdict = verdict or seals.SealReport([why] if expect else [], 0, count)
            intact = [seal for seal in expected if seal.count == verdict.sealed]
            if intact and is_matched and not findings:
                before.keep(intact[0])
            return Verification(count, findings, verdict, store.uninspected, since)


@asynccontextmanager
async def inspecting_in_process(url: str) -> AsyncIterator[Awaitable[list[Finding]]]:
    """Let another process check the store itself during the block; yield its findings."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        yield asyncio.get_running_loop().run_in_executor(pool, inspect_store, url)


def inspect_store(url: str) -> list[Finding]:
    """Return the findings of a store about itself."""

    async def work() -> list[Finding]:
        async with open_to_verify(url) as (store, _):
            return [finding async for finding in store.inspect()]

    return asyncio.run(work())
