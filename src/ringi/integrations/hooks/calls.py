"""The calls of a coding agent's tools: authorized before they run, and their outcome reported afterwards."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path

from ringi.base.settings import Settings
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.domain.response import Outcome
from ringi.errors import NotAuthorizedError, PausedError, WaitTimeoutError
from ringi.inbox.api import InboxAPI
from ringi.integrations.client_calls import ClientGate
from ringi.integrations.functions import Authorized
from ringi.integrations.hooks.event import HookEvent, Reply
from ringi.policy.files import PolicyFile
from ringi.policy.rules import Policy, Rule

READING = (
    *("AskUserQuestion", "Glob", "Grep", "LS", "ListAgents", "NotebookRead", "Read", "TodoWrite", "ToolSearch"),
    *("get_goal", "request_user_input", "update_plan", "view_image"),
)
"""The tools that only read files or keep the agent's own notes: without a policy, the client decides about them."""
UNREAD = Policy(rules=(Rule(tools=READING, effect="allow"),))
PROMPT = "prompt:"
"""The beginning of an attempt whose call the client has not named."""
RECENT = 50
"""The number of a session's newest requests among which a call is looked for."""


def policy_file(path: str | None) -> PolicyFile | None:
    """Return the policy: the given file, else that of `RINGI_POLICY`, else `.ringi/policy.toml` if there is one.

    Args:
        path: The path of a file; None for the default.
    """
    default = Path(".ringi") / "policy.toml"
    chosen = path or Settings.load().policy or (default if default.exists() else None)
    return PolicyFile(chosen) if chosen else None


class HookCalls:
    """The calls of one session.

    Args:
        event: The event about a call.
        inbox: The inbox to ask in.
        policy: The policy; None asks about every call that does not only read.
        timeout: Seconds to wait for people.
    """

    def __init__(self, event: HookEvent, inbox: InboxAPI, policy: PolicyFile | None, timeout: float) -> None:
        self._event, self._inbox, self._policy, self._timeout = event, inbox, policy, timeout

    async def before(self) -> Reply:
        """Answer whether a call may run, and with which arguments."""
        return await self._decided(self._before, self._denied)

    async def prompt(self) -> Reply:
        """Answer a prompt of the client about a call."""
        return await self._decided(self._prompt, self._refused)

    async def after(self, outcome: Outcome) -> Reply:
        """Report the outcome of a call that people or a rule have approved."""
        if request := await self._begun():
            attempt = request.receipt.attempt if request.receipt else None
            await self._inbox.report_outcome(request.id, outcome, attempt=attempt)
        return None

    async def _before(self) -> Reply:
        event = self._event
        granted = await self._authorized(lambda: UNREAD, event.call_id)
        is_edited = granted.args != event.args
        # Codex reports a bare "allow" as an error of the hook. Without a policy, the client's own rules hold for tools
        # that only read.
        if not is_edited and (event.client == "codex" or (granted.request is None and self._policy is None)):
            return None
        edited = {"updatedInput": granted.args} if is_edited else {}
        return event.specific(permissionDecision="allow", permissionDecisionReason="approved in Ringi", **edited)

    async def _prompt(self) -> Reply:
        event = self._event
        policy = Policy(rules=(Rule(tools=(event.tool,)),))
        # The client does not name the call here, and two equal calls need two approvals.
        granted = await self._authorized(lambda: policy, f"{PROMPT}{uuid.uuid4().hex}")
        if granted.args == event.args:
            return event.specific(decision={"behavior": "allow"})
        if event.client == "claude-code":
            return event.specific(decision={"behavior": "allow", "updatedInput": granted.args})
        await granted.report("failed")  # Codex refuses changed arguments here, so this call does not run.
        return self._refused(f"People want other arguments; call it with these instead: {json.dumps(granted.args)}")

    async def _authorized(self, default: Callable[[], Policy], attempt: str) -> Authorized:
        event = self._event
        gate = ClientGate(self._policy.policy if self._policy else default, self._inbox, event.session)
        return await gate.authorize(event.tool, event.args, attempt=attempt, timeout=self._timeout)

    async def _decided(self, decide: Callable[[], object], refuse: Callable[[str], Reply]) -> Reply:
        try:
            return await decide()  # type: ignore[misc,no-any-return]
        except WaitTimeoutError as error:
            return refuse(
                f"Nobody has answered request {error.id} yet. It stays open: make exactly the same call again to go on "
                "waiting for the answer."
            )
        except (NotAuthorizedError, PausedError) as error:
            return refuse(str(error))

    def _denied(self, why: str) -> Reply:
        return self._event.specific(permissionDecision="deny", permissionDecisionReason=why)

    def _refused(self, why: str) -> Reply:
        return self._event.specific(decision={"behavior": "deny", "message": why})

    async def _begun(self) -> Request | None:
        """Return the request by which this call has begun."""
        event = self._event
        query = Query(thread_id=event.session.thread_id, statuses=("completed",), limit=RECENT)
        begun = [request for request in await self._inbox.find(query) if _is_begun(request)]
        own = (request for request in begun if request.receipt and request.receipt.attempt == event.call_id)
        return next(own, None) or next((request for request in begun if self._is_prompted(request)), None)

    def _is_prompted(self, request: Request) -> bool:
        """Return whether a prompt approved this call, by what it does: the client did not name it."""
        attempt, granted = request.receipt.attempt if request.receipt else None, request.granted
        is_equal = granted is not None and (granted.name, granted.args) == (self._event.tool, self._event.args)
        return is_equal and (attempt or "").startswith(PROMPT)


def _is_begun(request: Request) -> bool:
    return request.receipt is not None and request.receipt.is_begun_by(request.receipt.attempt)
