"""Rules that the decisions of people suggest: listed, and switched on by a person."""

from __future__ import annotations

import asyncio
import secrets
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from ringi.base.canonical_json import jsonable
from ringi.base.failpoints import failpoint
from ringi.base.texts import Sentence, sentences_text
from ringi.domain import suggestions
from ringi.domain.ask import Action, Ask, Wording, parse_body
from ringi.domain.decisions import MCP, refuse_deputy, refuse_weak_sign_in
from ringi.domain.endings import FINAL
from ringi.domain.grants import Grant
from ringi.domain.record import SYSTEM, Page, Query
from ringi.domain.request import Request
from ringi.domain.suggestions import CoveredSuggestion, NewRule, Suggestion
from ringi.domain.voting import Caller, Decider
from ringi.errors import ForbiddenError, NotFoundError
from ringi.inbox import api
from ringi.inbox.core import InboxPart

RULE = "ringi.rule"
"""The name of the action that records a rule: no agent has such a tool."""
LOOKED_AT = 2_000
"""The number of the newest requests whose tools are looked at."""
SEED_BYTES = 32


class InboxSuggestions(InboxPart, api.Suggestions):
    """The rules that the decisions of one tenant's people suggest."""

    async def list(self) -> Page[Suggestion]:
        return Page([found.suggestion async for found, _ in self._suggested()])

    async def accept(
        self,
        id: str,
        *,
        until: datetime | None = None,
        max_uses: int = 1_000,
        one_in: int = 20,
        by: Caller = None,
        channel: str = "python",
    ) -> Request:
        new = parse_body(NewRule, {"until": until, "max_uses": max_uses, "one_in": one_in})
        person = await self._inbox.decider(by)
        if channel == MCP:
            raise ForbiddenError("later calls cannot be approved over MCP: use the page")
        async for found, template in self._suggested():
            if found.suggestion.id == id:
                return await self._switch_on(found, template, new, person, channel)
        raise NotFoundError("suggestion", id)

    async def _switch_on(
        self, found: CoveredSuggestion, template: Request, new: NewRule, person: Decider, channel: str
    ) -> Request:
        # Whoever may not decide such a call alone may not approve it in advance.
        refuse_weak_sign_in(template, person)
        refuse_deputy(template, person)
        now = self._inbox.clock()
        grant = found.grant(new, now)
        ask = rule_ask(found.suggestion, template, jsonable(grant)).checked(max_fields=0)
        own = {"id": uuid.uuid4().hex, "seed": secrets.token_hex(SEED_BYTES), "tenant": self._inbox.tenant}
        rule, event = Request.rule(ask, **own, now=now, by=person, channel=channel, grant=grant)
        await self._inbox.granted.begin(rule)
        failpoint("rule.before_put")
        await self._inbox.store.put(rule, event)
        await self._inbox.notify(rule)
        self._inbox.granted.refresh(self._inbox.tenant)
        await self._end_if_refused(grant)
        return rule

    async def _end_if_refused(self, grant: Grant) -> None:
        """End a rule if people refused a call that it covers while it was switched on: they found no rule to end."""
        requests = await self._ended(grant.tool)
        decided = suggestions.human_decisions_on_calls(requests)
        wrong = {each.request for each in decided if not each.is_approved and grant.covers(each.call)}
        if refused := next((each for each in requests if each.id in wrong), None):
            await self._inbox.granted.refute(refused, refused.response.responder if refused.response else SYSTEM)

    async def _suggested(self) -> AsyncIterator[tuple[CoveredSuggestion, Request]]:
        """Yield the rules of requests that the caller may decide, except those in force."""
        for tool in await self._tools():
            requests = await self._ended(tool)
            by_id = {request.id: request for request in requests}
            # Beside the event loop: it tries each rule on hundreds of requests.
            for found in await asyncio.to_thread(suggestions.suggest_rules_for_tool, requests):
                template = by_id[found.suggestion.template]
                with suppress(NotFoundError, ForbiddenError):
                    self._inbox.check(template)
                    if not await self._inbox.granted.rules_covering(template):
                        yield found, template

    async def _ended(self, tool: str) -> Sequence[Request]:
        """Return the newest ended requests about a tool, newest first."""
        query = Query(tenant=self._inbox.tenant, tool=tool, statuses=FINAL, limit=LOOKED_AT)
        return await self._inbox.store.find(Request, query)

    async def _tools(self) -> Sequence[str]:
        """Return the tools about which people were asked lately."""
        query = Query(tenant=self._inbox.tenant, kind="approval", statuses=FINAL, limit=LOOKED_AT)
        newest = await self._inbox.store.find(Request, query)
        # A request with a seed records a rule.
        asked = [request for request in newest if not request.is_by_rule and request.seed is None]
        return sorted({request.action.name for request in asked if request.action})


def rule_ask(suggestion: Suggestion, template: Request, grant: dict[str, Any]) -> Ask:
    """Return the question whether a rule applies, open to the people who decide the calls that it covers.

    Args:
        suggestion: The suggestion.
        template: The newest request that it covers.
        grant: The grant as JSON data.
    """
    title = Sentence(code="rule_title", params={"tool": suggestion.tool})
    return Ask(
        title=sentences_text([title]),
        wording=Wording(title=(title,)),
        action=Action(RULE, grant),
        context={"suggestion": jsonable(suggestion)},
        assignee=template.assignee,
        groups=template.groups,
        allowed=("approve", "reject"),
    )
