"""The policy of an agent, for the calls at which its framework pauses."""

from __future__ import annotations

from typing import Any

from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.policy.question import question_of
from ringi.policy.rules import OTHERWISE, Policy
from ringi.runs.context import RunContext

OF_RULE = ("title", "priority", "expires_in")
"""The parts of a question that a rule can set, besides its people and decisions."""


class CallPolicy:
    """Decides by a policy what happens with the calls of a run; without a policy, people are asked about each.

    Args:
        policy: The policy; None for none.
        host: The context of the run, which records what rules decide.
    """

    def __init__(self, policy: Policy | None, host: RunContext) -> None:
        self._policy, self._host = policy, host

    async def settle(self, ask: Ask) -> Request | None:
        """Return the request of a call that a rule allows or denies, recorded at once; None if people are asked."""
        if self._policy is None or ask.action is None:
            return None
        call = ask.action.name, ask.action.args
        if denial := self._policy.denial(*call):
            return await self._host.deny(ask, *denial)
        effect, rule, approver = self._policy.decide(*call)
        if effect == "ask" and approver is None:
            return None
        name = approver or (rule and rule.name) or OTHERWISE
        return await self._host.inbox.submit_approved(ask, rule=name, by=self._host.by)

    def question(self, ask: Ask) -> Ask:
        """Return the question to people, with what the rule says about it."""
        if self._policy is None or ask.action is None:
            return ask
        call = ask.action.name, ask.action.args
        rule = self._policy.decide(*call).rule
        context = question_of(self._policy, rule, *call, facts={}, context=ask.context).context
        changes: dict[str, Any] = {"context": context}
        if rule:
            changes |= {name: value for name in OF_RULE if (value := getattr(rule, name)) is not None}
            if rule.assignee or rule.candidate_groups:
                changes |= {"assignee": rule.assignee, "candidate_groups": rule.candidate_groups}
            # A framework may offer less than the rule allows, such as no edit.
            both = tuple(each for each in ask.resolved_allowed if each in rule.allowed)
            changes["allowed"] = both or ("reject",)
        return ask.model_copy(update=changes)

    async def recheck(self, request: Request) -> Request:
        """Return the request, with a rejection if the policy denies its call: a new rule beats an earlier approval."""
        granted = request.granted
        denial = self._policy.denial(granted.name, granted.args) if self._policy and granted else None
        if denial is None or granted is None:
            return request
        ask = Ask(title=request.title, action=granted, allowed=("reject",))
        denied = await self._host.deny(ask, *denial)
        return request.model_copy(update={"response": denied.response})
