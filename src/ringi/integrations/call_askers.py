"""The place where a gated function asks that is a tool of an agent's framework: the run pauses before the call."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from typing import Any

from ringi.domain.ask import Ask, Outcome
from ringi.domain.request import Request
from ringi.integrations.askers import Call
from ringi.policy.facts import FactFunction, afind_facts
from ringi.policy.rules import Denial
from ringi.runtimes.gated_tools import AskFirst, GatedCall

log = logging.getLogger(__name__)


class CallAsker:
    """Asks by a pause of the run.

    Args:
        call: The call of the tool.
    """

    def __init__(self, call: GatedCall) -> None:
        self._call, self._run = call, call.run

    @property
    def suspensions(self) -> tuple[type[Exception], ...]:
        return (AskFirst,)

    def asks(self) -> bool:
        return bool(self._run.asks)

    async def find_facts(
        self, functions: Mapping[str, FactFunction], names: Collection[str], call: Call
    ) -> dict[str, Any]:
        return await afind_facts(functions, names, *call)

    async def earlier_facts(self, call: Call) -> dict[str, Any] | None:
        return None

    async def deny(self, question: Ask, denial: Denial) -> str:
        request: Request = await self._run.host.deny(question, *denial)
        return request.id

    async def approve(self, question: Ask, rule: str) -> Request | None:
        self._call.request = await self._run.host.approve(question, rule, self._call.place)
        return self._call.request

    async def ask(self, question: Ask) -> Request:
        log.info("%s suspends its run until a person answers", question.action and question.action.name)
        raise AskFirst(question)

    async def check_pauses(self, *, is_gated: bool) -> None:
        await self._run.host.check_pauses(is_gated=is_gated)

    def begin(self) -> None:
        pass

    async def report(self, request: Request, outcome: Outcome) -> None:
        self._run.host.outcomes.record(request, outcome)
