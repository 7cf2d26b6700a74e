"""One event of a hook, as Claude Code or Codex writes it, and the reply to it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, Self, get_args

from ringi.base.canonical_json import JsonObject, short_json_hash
from ringi.base.outages import PausedError
from ringi.base.settings import Settings
from ringi.base.texts import Sentence, sentence_text
from ringi.base.validation import safe_repr
from ringi.domain.ask import Ask, Outcome, Receipt, Wording
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError, WaitTimeoutError
from ringi.gateways.client_calls import MAX_TEXT, ClientGate, ClientSession, ask_client_form, ask_client_question
from ringi.gateways.hooks.protocol import APPROVED, BEFORE, READING, hook_policy_path
from ringi.inbox.api import Inbox
from ringi.integrations.finish_words import parse_finish_decision
from ringi.integrations.functions import AuthorizedFunctionCall
from ringi.policy.rules import Policy, PolicyFile, Rule

HookClient = Literal["claude-code", "codex"]
CLIENTS: tuple[HookClient, ...] = get_args(HookClient)
MAX_ID = 200
HookReply = JsonObject | None
"""What the hook prints; None prints nothing: the client goes on by its own rules."""
UNREAD = Policy(rules=(Rule(tools=READING, effect="allow"),))
PROMPT = "prompt:"
"""The beginning of an attempt whose call the client has not named."""
RECENT = 50
"""The number of a session's newest requests among which a call is looked for."""
MAX_TASK = 120


class HookEvent(NamedTuple):
    """An event of a client."""

    client: HookClient
    name: str
    """`hook_event_name`, such as `PreToolUse`."""
    session: ClientSession
    data: JsonObject
    """Everything that the client wrote."""

    @classmethod
    def parse(cls, client: HookClient, text: bytes) -> Self:
        """Return the event in what a client writes to a hook.

        Raises:
            InvalidError: It is not the JSON of an event.
        """
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            why = f"is not JSON ({error}): run this as a hook of {client}"
            raise InvalidError.of("stdin", why, "not_json") from None
        if not isinstance(data, dict):
            raise InvalidError.of("stdin", f"{safe_repr(data)} is not an event of a hook of {client}")
        session = ClientSession(client, hook_event_text(data, "session_id"), hook_event_text(data, "cwd"))
        return cls(client, hook_event_text(data, "hook_event_name"), session, data)

    @property
    def tool(self) -> str:
        """The name of the tool."""
        return hook_event_text(self.data, "tool_name")

    @property
    def args(self) -> JsonObject:
        """The arguments of the tool."""
        args = self.data.get("tool_input")
        if not isinstance(args, dict):
            raise InvalidError.of("tool_input", f"{safe_repr(args)} is not an object")
        return args

    @property
    def call_id(self) -> str:
        """The id by which the client knows the call."""
        id = hook_event_text(self.data, "tool_use_id")
        return id if len(id) <= MAX_ID else short_json_hash(id)

    @property
    def turn(self) -> str:
        """The id of the turn; empty if the client does not name it."""
        return str(self.data.get("prompt_id") or self.data.get("turn_id") or "")

    def specific(self, **output: object) -> JsonObject:
        """Return a reply of this kind of event."""
        return {"hookSpecificOutput": {"hookEventName": self.name, **output}}


def hook_event_text(data: JsonObject, name: str) -> str:
    """Return a text of an event.

    Raises:
        InvalidError: It is missing, or not a text.
    """
    value = data.get(name)
    if not isinstance(value, str) or not value:
        raise InvalidError.of(name, f"{safe_repr(value)} is not a text: run this as a hook")
    return value


def hook_policy_file(path: str | None) -> PolicyFile | None:
    """Return the policy: the given file, else that of `RINGI_POLICY`, else `.ringi/policy.toml` if there is one.

    Args:
        path: The path of a file; None for the default.
    """
    chosen = hook_policy_path(path or Settings.load().policy, Path())
    return PolicyFile(chosen) if chosen else None


class HookCalls:
    """The calls of one session.

    Args:
        event: The event about a call.
        inbox: The inbox to ask in.
        policy: The policy; None asks about every call that does not only read.
        timeout: Seconds to wait for people.
    """

    def __init__(self, event: HookEvent, inbox: Inbox, policy: PolicyFile | None, timeout: float) -> None:
        self._event, self._inbox, self._policy, self._timeout = event, inbox, policy, timeout

    async def decide(self) -> HookReply:
        """Answer whether a call may run and with which arguments, before it or at a prompt of the client about it."""
        try:
            return await (self._before() if self._event.name == BEFORE else self._prompt())
        except WaitTimeoutError as error:
            return self._refused(
                f"Nobody has answered request {error.id} yet. It stays open: make exactly the same call again to go on "
                "waiting for the answer."
            )
        except (NotAuthorizedError, PausedError) as error:
            return self._refused(str(error))

    async def after(self, outcome: Outcome) -> HookReply:
        """Report the outcome of a call that people or a rule have approved."""
        event = self._event
        found = await self._inbox.find(thread_id=event.session.thread_id, status="completed", limit=RECENT)
        receipts = [(request, request.receipt) for request in found if request.receipt]
        begun = [(request, receipt) for request, receipt in receipts if receipt.is_begun_by(receipt.attempt)]
        own = [each for each in begun if each[1].attempt == event.call_id]
        for request, receipt in (own or [each for each in begun if self._is_prompted(*each)])[:1]:
            await self._inbox.report_outcome(request.id, outcome, attempt=receipt.attempt)
        return None

    async def _before(self) -> HookReply:
        event = self._event
        granted = await self._authorized(lambda: UNREAD, event.call_id)
        is_edited = granted.args != event.args
        # Codex reports a bare "allow" as an error of the hook. Without a policy, the client's own rules hold for tools
        # that only read.
        if not is_edited and (event.client == "codex" or (granted.request is None and self._policy is None)):
            return None
        edited = {"updatedInput": granted.args} if is_edited else {}
        return event.specific(**APPROVED, **edited)

    async def _prompt(self) -> HookReply:
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

    async def _authorized(self, default: Callable[[], Policy], attempt: str) -> AuthorizedFunctionCall:
        event = self._event
        gate = ClientGate(self._policy.policy if self._policy else default, self._inbox, event.session)
        return await gate.authorize(event.tool, event.args, attempt=attempt, timeout=self._timeout)

    def _refused(self, why: str) -> HookReply:
        if self._event.name == BEFORE:
            return self._event.specific(permissionDecision="deny", permissionDecisionReason=why)
        return self._event.specific(decision={"behavior": "deny", "message": why})

    def _is_prompted(self, request: Request, receipt: Receipt) -> bool:
        """Return whether a prompt approved this call, by what it does: the client did not name it."""
        granted = request.granted
        is_equal = granted is not None and (granted.name, granted.args) == (self._event.tool, self._event.args)
        return is_equal and (receipt.attempt or "").startswith(PROMPT)


async def answer_elicitation_hook(event: HookEvent, inbox: Inbox, timeout: float) -> HookReply:
    """Ask people for the form of an MCP server, and return what they filled in; a page is opened by the client itself.

    Raises:
        InvalidError: The form cannot be shown in the inbox.
    """
    if event.data.get("mode") == "url":
        return None
    server, message = hook_event_text(event.data, "mcp_server_name"), hook_event_text(event.data, "message")
    asked = event.data.get("requested_schema")
    place = (event.name, event.turn)
    result = await ask_client_form(inbox, event.session, message, asked, source=server, place=place, timeout=timeout)
    return event.specific(**result.json)


async def answer_stop_hook(event: HookEvent, inbox: Inbox, timeout: float) -> HookReply:
    """Ask whether the work is done; words other than a consent go back to the agent.

    A request that nobody answers lets the agent stop: a stopped agent does nothing.
    """
    summary = str(event.data.get("last_assistant_message") or "").strip()
    task = " ".join(summary.split())[:MAX_TASK]
    title = Sentence(code="finished", params={"task": task}) if task else Sentence(code="finished_untitled")
    ask = Ask(
        title=sentence_text(title, "en"),
        kind="finish",
        wording=Wording(title=(title,)),
        allowed=("approve", "reject", "respond"),
        context={**event.session.context, **({"summary": summary[:MAX_TEXT]} if summary else {})},
    )
    try:
        response = (await ask_client_question(inbox, event.session, ask, (event.name, event.turn), timeout)).response
    except WaitTimeoutError:
        return None
    words = ((response and response.message) or "").strip()
    is_done = response is None or response.decision == "approve"
    if is_done or (response and response.decision == "respond" and parse_finish_decision(words).decision == "complete"):
        return None
    by = response.responder if response else ""
    return {"decision": "block", "reason": f"{by} says that this is not finished: {words or 'no reason is given'}"}
