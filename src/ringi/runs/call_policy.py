"""The policy of an agent, for the calls at which its framework pauses."""

from __future__ import annotations

import hashlib
from typing import Any

from ringi.base.canonical_json import canonical
from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.inbox.inbox import Inbox
from ringi.policy.question import question_of
from ringi.policy.rules import Policy, Verdict

OF_RULE = ("title", "priority", "expires_in")
"""The parts of a question that a rule can set, besides its people and decisions."""


class CallPolicy:
    """Decides by a policy what happens with the calls of a run; without a policy, people are asked about each.

    Args:
        policy: The policy; None for none.
        inbox: The inbox of the run's tenant.
        by: The name of the person who started the run.
    """

    def __init__(self, policy: Policy | None, inbox: Inbox, by: str | None) -> None:
        self._policy, self._inbox, self._by = policy, inbox, by

    async def settle(self, ask: Ask) -> Request | None:
        """Return the request of a call that a rule allows or denies, recorded at once; None if people are asked."""
        if self._policy is None or ask.action is None:
            return None
        denial = self._policy.denial(ask.action.name, ask.action.args)
        if denial:
            return await self._inbox.submit_denied(ask, rule=denial.rule, reason=denial.reason, by=self._by)
        effect, rule, approver = self._verdict(ask)
        name = approver or (rule.name if rule and effect == "allow" else None)
        if effect == "ask" and approver is None:
            return None
        return await self._inbox.submit_approved(ask, rule=name or "otherwise", by=self._by)

    def question(self, ask: Ask) -> Ask:
        """Return the question to people, with what the rule says about it."""
        if self._policy is None or ask.action is None:
            return ask
        _, rule, _ = self._verdict(ask)
        asked = question_of(self._policy, rule, ask.action.name, ask.action.args, facts={}, context=ask.context)
        changes: dict[str, Any] = {"context": asked.context}
        if rule:
            changes |= {name: value for name in OF_RULE if (value := getattr(rule, name)) not in (None, ())}
            if rule.assignee or rule.candidate_groups:
                changes |= {"assignee": rule.assignee, "candidate_groups": rule.candidate_groups}
            # A framework may offer less than the rule allows, such as no edit.
            both = tuple(each for each in ask.resolved_allowed if each in rule.allowed)
            changes["allowed"] = both or ("reject",)
        return ask.model_copy(update=changes)

    async def recheck(self, request: Request) -> Request:
        """Return the request, or the record of its denial: a rule of this minute beats an approval of yesterday."""
        granted = request.granted
        denial = self._policy.denial(granted.name, granted.args) if self._policy and granted else None
        if denial is None or granted is None:
            return request
        identity = canonical([request.id, denial.rule, granted.args])
        id = f"p-{hashlib.sha256(identity).hexdigest()[:32]}"
        ask = Ask(
            id=id,
            thread_id=request.thread_id,
            run_id=request.run_id,
            title=request.title,
            action=granted,
            allowed=("reject",),
        )
        return await self._inbox.submit_denied(ask, rule=denial.rule, reason=denial.reason, by=self._by)

    def _verdict(self, ask: Ask) -> Verdict:
        assert self._policy
        assert ask.action
        return self._policy.decide(ask.action.name, ask.action.args)
