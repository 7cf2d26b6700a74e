"""A trial: questions whose right answers are known, answered with a proposal and without it, before anybody decides."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ringi.engrammer.answering import Answering
from ringi.engrammer.errors import PlaybookError
from ringi.engrammer.insights import Proposal, Trial, entry_of
from ringi.engrammer.playbook import Playbook
from ringi.engrammer.reflecting import failure_of
from ringi.engrammer.rendering import rendered
from ringi.engrammer.roles import told_generator
from ringi.engrammer.settings import Case, EngrammerSettings
from ringi.errors import OutageError

log = logging.getLogger(__name__)
AT_ONCE = 4
"""How many questions of a trial are with the provider at a time."""
MOST_KEPT = 2_000


class Trials:
    """The trials of one Engrammer; what an unchanged playbook answers is asked once."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer = engrammer
        # The proposals of one answer come at once: without it each would ask what the playbook answers as it stands.
        self._first = asyncio.Lock()
        self._known: OrderedDict[tuple[str, Case], bool] = OrderedDict()

    async def of(self, proposal: Proposal, playbook: Playbook, config: RunnableConfig, now: datetime) -> Trial | None:
        """Return how a proposal does; None where nothing can be tried, or it does not fit the playbook."""
        cases = self._engrammer.cases
        if not cases:
            return None
        try:
            entry = entry_of(proposal.operation, proposal.insight, None, playbook)
            after = playbook.entered(entry, now)
        except PlaybookError:
            return None
        try:
            async with self._first:
                without = await self._right(cases, playbook, config)
            with_it = await self._right(cases, after, config)
        except OutageError:
            raise
        except Exception as error:
            # What a provider cannot answer now costs the trial, not the proposal.
            failed = failure_of(error)
            log.warning("a trial failed: %s", failed)
            return Trial(failed=failed)
        pairs = list(zip(cases, without, with_it, strict=True))
        return Trial(
            cases=len(cases),
            right_before=sum(without),
            right_after=sum(with_it),
            wins=tuple(case.query for case, old, new in pairs if new and not old),
            losses=tuple(case.query for case, old, new in pairs if old and not new),
        )

    async def _right(self, cases: Sequence[Case], playbook: Playbook, config: RunnableConfig) -> list[bool]:
        """Return which cases are answered rightly with a playbook."""
        places, told = asyncio.Semaphore(AT_ONCE), rendered(playbook)

        async def is_right(case: Case) -> bool:
            known = self._known.get((told, case))
            if known is not None:
                return known
            async with places:
                found = self._known[told, case] = await self._answered(case, playbook, config)
            if len(self._known) > MOST_KEPT:
                self._known.popitem(last=False)
            return found

        return list(await asyncio.gather(*map(is_right, cases)))

    async def _answered(self, case: Case, playbook: Playbook, config: RunnableConfig) -> bool:
        engrammer = self._engrammer
        told = told_generator(engrammer.prompt, playbook, [], case.query)
        quiet: RunnableConfig = {**config, "tags": [*config.get("tags", []), TAG_NOSTREAM]}
        answering = Answering(engrammer.model, engrammer.notes, tells=False)
        return engrammer.grade(case.expected, await answering.talk(told, quiet))
