"""Evaluation of a proposal: answer the test questions without and with it before a person decides."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from datetime import datetime

from langchain_core.runnables import RunnableConfig
from langgraph.constants import TAG_NOSTREAM

from ringi.base import OutageError
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.generator import AnswerGenerator, NoteReader
from ringi_apps.engrammer.insights import InsightProposal, Trial, approved_entry
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.reflector import describe_failure
from ringi_apps.engrammer.rendering import render
from ringi_apps.engrammer.roles import generator_messages
from ringi_apps.engrammer.settings import Case, EngrammerSettings

log = logging.getLogger(__name__)
MAX_CONCURRENT = 4
"""Maximum number of concurrent questions."""
MAX_CACHED = 2_000


class ProposalEvaluator:
    """Evaluates proposals of one Engrammer; results for an unchanged playbook are cached."""

    def __init__(self, engrammer: EngrammerSettings) -> None:
        self._engrammer, self._reader = engrammer, NoteReader(engrammer.model, engrammer.notes)
        # The proposals of one answer come at once: without it each would ask what the playbook answers as it stands.
        self._baseline_lock = asyncio.Lock()
        self._results: OrderedDict[tuple[str, Case], bool] = OrderedDict()

    async def of(
        self, proposal: InsightProposal, playbook: Playbook, config: RunnableConfig, now: datetime
    ) -> Trial | None:
        """Return the result for a proposal; None without test questions or if the proposal does not apply."""
        cases = self._engrammer.cases
        if not cases:
            return None
        try:
            entry = approved_entry(proposal.operation, proposal.insight, None, playbook)
            after = playbook.apply(entry, now)
        except PlaybookError:
            return None
        try:
            async with self._baseline_lock:
                without = await self._grade_cases(cases, playbook, config)
            with_it = await self._grade_cases(cases, after, config)
        except OutageError:
            raise
        except Exception as error:
            # What a provider cannot answer now costs the trial, not the proposal.
            failed = describe_failure(error)
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

    async def _grade_cases(self, cases: Sequence[Case], playbook: Playbook, config: RunnableConfig) -> list[bool]:
        """Return for each case whether it is answered correctly with a playbook."""
        slots, playbook_text = asyncio.Semaphore(MAX_CONCURRENT), render(playbook)

        async def is_right(case: Case) -> bool:
            known = self._results.get((playbook_text, case))
            if known is not None:
                return known
            async with slots:
                found = self._results[playbook_text, case] = await self._is_right(case, playbook, config)
            if len(self._results) > MAX_CACHED:
                self._results.popitem(last=False)
            return found

        return list(await asyncio.gather(*map(is_right, cases)))

    async def _is_right(self, case: Case, playbook: Playbook, config: RunnableConfig) -> bool:
        engrammer = self._engrammer
        messages = generator_messages(engrammer.prompt, playbook, [], case.query)
        silent_config: RunnableConfig = {**config, "tags": [*config.get("tags", []), TAG_NOSTREAM]}
        generator = AnswerGenerator(self._reader, streams_notes=False)
        return engrammer.grade(case.expected, await generator.generate(messages, silent_config))
