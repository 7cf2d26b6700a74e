"""The calls and the forms of programs that Ringi stands beside: coding agents, editors and MCP clients."""

from __future__ import annotations

import itertools
import os
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from ringi.base.canonical_json import digest, jsonable, short_json_hash
from ringi.base.clock import utc_now
from ringi.domain.ask import Ask, Outcome
from ringi.domain.grants import FOLDER
from ringi.domain.record import AGENT
from ringi.domain.request import CLIENT, Request
from ringi.errors import ConflictError, NotAuthorizedError, NotFoundError, WaitTimeoutError
from ringi.forms.form import Form
from ringi.gateways.call_views import call_view
from ringi.gateways.own_files import names_own_files
from ringi.inbox.api import Inbox
from ringi.integrations.askers import GatedFunctionCall, InboxAsker, InboxOptions
from ringi.integrations.functions import AuthorizedFunctionCall, FunctionGate
from ringi.policy.question import question_with_schema
from ringi.policy.rules import Policy, Rule

FRESH_SECONDS = 1.0
"""The time for which a look at the pauses counts, for calls that a rule allows."""
MAX_AGE = timedelta(days=7)
"""The age up to which an approval that no call has used is used by a later call."""
REPEAT = timedelta(seconds=60)
"""The time after the beginning of a call in which the same attempt is authorized again."""
OWN_FILES_RULE = "files of Ringi and of its clients"
OnWait = Callable[[Request], Awaitable[None]]
NOT_IN_IDS = re.compile(r"[^A-Za-z0-9._~:@-]+")
MAX_TITLE, MAX_TEXT = 200, 19_000


class ClientSession(NamedTuple):
    """One conversation of a client."""

    client: str
    """The name of the client, such as `claude-code`; an administrator can pause it as an agent."""
    id: str
    folder: str | None = None
    """The folder in which the client works."""

    @property
    def thread_id(self) -> str:
        """The thread of its requests."""
        return NOT_IN_IDS.sub("-", f"{self.client}:{self.id}").lstrip("._~:@-")[:200]

    @property
    def context(self) -> dict[str, Any]:
        """The context of its requests."""
        return {CLIENT: self.client, **({FOLDER: self.folder} if self.folder else {})}


def gated_program_environment() -> dict[str, str]:
    """Return the variables of this process for a program behind a gate, which must not reach the inbox that decides."""
    return {name: value for name, value in os.environ.items() if not name.startswith("RINGI_")}


class ClientGate:
    """The authorization of the calls of one session.

    The policy decides first: deny, ask, allow; a call that no rule names is asked about. `RINGI_ENABLED` has no effect.
    An open or approved request for the same call under the same rule that no attempt has begun is used again, so that a
    client that gave up continues where it stopped. Any error means that the call must not run. A call whose arguments
    name the files of Ringi, or those with the hooks and gates of a client, asks even if a rule allows it.

    Args:
        policy: Returns the current policy.
        inbox: The inbox to ask in.
        session: The session.
        scope: The calls among which an earlier request is looked for; by default those of the session.
        can_edit: False if the client cannot run a call with other arguments: then people cannot edit it.
    """

    def __init__(
        self,
        policy: Callable[[], Policy],
        inbox: Inbox,
        session: ClientSession,
        *,
        scope: str | None = None,
        can_edit: bool = True,
    ) -> None:
        self._policy, self._inbox, self.session, self.can_edit = policy, inbox, session, can_edit
        self._scope = scope or session.thread_id
        self._numbers: dict[str, int] = {}
        self._asking: tuple[Policy, Policy] | None = None
        self._checked_at = float("-inf")

    async def authorize(
        self,
        name: str,
        args: Mapping[str, Any],
        *,
        schema: dict[str, Any] | None = None,
        attempt: str | None = None,
        timeout: float | None = None,
        on_wait: OnWait | None = None,
    ) -> AuthorizedFunctionCall:
        """Return the authorized call, which has begun: run it now, once, with these arguments, and report its outcome.

        Args:
            name: The name of the tool in the policy.
            args: The arguments by name, as plain JSON.
            schema: The JSON Schema of the arguments, if it is known.
            attempt: Identifies the call; the same attempt within a minute is authorized again. By default a random one.
            timeout: Seconds to wait for people; None waits without limit.
            on_wait: Is awaited with each request for which this call waits.

        Raises:
            NotAuthorizedError: The policy denies the call, or people rejected it.
            PausedError: An administrator has paused the client, or all agents.
            WaitTimeoutError: Nobody answered in time; the request stays open.
            RingiError: The call cannot be authorized now.
        """
        call = GatedFunctionCall(name, dict(args))
        more = own_files_rules(call)
        policy = self._current_policy(more)
        if policy.decide(*call).effect == "allow":
            await self.check_pauses(is_gated=False)
            return AuthorizedFunctionCall(call.args)
        options = InboxOptions(self._inbox, None, timeout)
        # An approval under another rule may be that of other people.
        base = short_json_hash(self._scope, *call, jsonable(policy.rule_of(*call)))
        asker = ClientAsker(self, options, base, attempt or uuid.uuid4().hex, schema, on_wait)
        asker.number = self._numbers.get(base, 0)
        try:
            while True:
                granted = await FunctionGate(name, policy, {}).authorize_at(call, asker)
                before, policy = policy, self._current_policy(more)
                if granted.request is None:
                    return granted  # By now a rule allows it.
                if policy is not before and (denial := policy.denial(call.name, granted.args)):
                    raise NotAuthorizedError(granted.request.id, f"the rule {denial.rule!r} denies it: {denial.reason}")
                if policy.rule_of(*call) not in (None, before.rule_of(*call)):
                    raise NotAuthorizedError(granted.request.id, "another rule asks about it now: make the call again")
                # Another attempt may have begun the call, or the grant that approved it may be over: ask again.
                with suppress(ConflictError):
                    await self._inbox.report_outcome(granted.request.id, "unknown", attempt=asker.attempt)
                    return granted
                asker.number, policy = asker.number + 1, self._current_policy(more)
        finally:
            self._numbers[base] = asker.number

    async def request(self, id: str) -> Request:
        """Return a request of this client about a call in this folder.

        Raises:
            NotFoundError: There is none with this id.
        """
        request = await self._inbox.get(id)
        if {**request.context, **self.session.context} != request.context:
            raise NotFoundError("request", id)
        return request

    async def check_pauses(self, *, is_gated: bool) -> None:
        """Raise `PausedError` if the client is paused; a call that a rule allows may rely on a look a second ago."""
        if is_gated or time.monotonic() - self._checked_at > FRESH_SECONDS:
            await self._inbox.pauses.check(self.session.client)
            self._checked_at = time.monotonic()

    def _current_policy(self, more: tuple[Rule, ...]) -> Policy:
        """Return the policy with more rules; calls that no rule names ask, even if it has only rules that ask."""
        policy = self._policy()
        if self._asking is None or self._asking[0] is not policy:
            self._asking = policy, policy_with_rules(policy, ())
        return policy_with_rules(policy, more) if more else self._asking[1]


def own_files_rules(call: GatedFunctionCall) -> tuple[Rule, ...]:
    """Return the rule for a call that names the files of Ringi or the settings of a client: it always asks."""
    return (Rule(tools=(call.name,), name=OWN_FILES_RULE),) if names_own_files(call.args) else ()


def policy_with_rules(policy: Policy, more: tuple[Rule, ...]) -> Policy:
    """Return a policy with more rules, in which a call that no rule names asks, unless the policy says otherwise."""
    return Policy(rules=(*policy.rules, *more), otherwise=policy.otherwise or "ask", cards=policy.cards)


class ClientAsker(InboxAsker):
    """Asks about a call of a client, and waits in this process.

    Args:
        gate: The gate of the session.
        options: The inbox and the time to wait.
        base: The digest of the call, from which the ids of its requests derive.
        attempt: Identifies the call.
        schema: The JSON Schema of the arguments.
        on_wait: Is awaited with the request for which the call waits.
    """

    number = 0
    """The number of the request for this call; those before it are used up."""

    def __init__(
        self,
        gate: ClientGate,
        options: InboxOptions,
        base: str,
        attempt: str,
        schema: dict[str, Any] | None,
        on_wait: OnWait | None,
    ) -> None:
        super().__init__(AsyncExitStack(), options, base)
        self._gate, self.attempt, self._schema, self._on_wait = gate, attempt, schema, on_wait
        self.by = f"{AGENT}{gate.session.client}"

    def asks(self) -> bool:
        return True

    async def earlier_facts(self, call: GatedFunctionCall) -> dict[str, Any] | None:
        while True:
            self._earlier = None
            try:
                facts = await super().earlier_facts(call)
            except ConflictError as error:
                if error.code != "different":
                    raise
                facts = {}  # It was erased.
            if facts is None or self._is_usable():
                return facts
            self.number += 1

    def completed(self, question: Ask) -> Ask:
        action, session = question.action, self._gate.session
        if action is None:
            return question
        view, allowed = call_view(action.name, action.args, session.folder), question.resolved_allowed
        if not self._gate.can_edit:
            allowed = tuple(each for each in allowed if each != "edit")
        more: dict[str, Any] = {"display": view.display or None, "thread_id": session.thread_id, "allowed": allowed}
        more["context"] = {**question.context, **session.context}
        if question.title == f"Run {action.name}?":
            more |= {"title": view.title, "wording": view.wording}
        return question_with_schema(question.model_copy(update=more), self._schema)

    async def check_pauses(self, *, is_gated: bool) -> None:
        await self._gate.check_pauses(is_gated=is_gated)

    async def report(self, request: Request, outcome: Outcome) -> None:
        await (await self._opened()).report_outcome(request.id, outcome, attempt=self.attempt)

    async def _begin_wait(self, request: Request) -> None:
        await super()._begin_wait(request)
        if self._on_wait:
            await self._on_wait(request)

    async def _refuse_ended_grant(self, inbox: Inbox, ended: Request) -> None:
        pass  # The beginning of the call checks it, and then people are asked again.

    def _is_usable(self) -> bool:
        request = self._earlier
        if request is None or not request.is_final:
            return request is not None
        now, receipt, response = utc_now(), request.receipt, request.response
        if request.granted is None or response is None:
            return False
        if request.is_unexecuted:
            return now - response.at < MAX_AGE
        is_recent = request.acknowledged_at is not None and now - request.acknowledged_at < REPEAT
        return receipt is not None and receipt.is_begun_by(self.attempt) and is_recent

    def _id(self, name: str) -> str:
        return f"call-{short_json_hash(self._key, self.number)}"


class FormResult(NamedTuple):
    """The end of a form, in the words of MCP and ACP."""

    action: Literal["accept", "decline", "cancel"]
    content: dict[str, Any] = {}

    @property
    def json(self) -> dict[str, Any]:
        """The result as in both protocols."""
        return {"action": self.action, **({"content": self.content} if self.action == "accept" else {})}


async def ask_client_form(
    inbox: Inbox,
    session: ClientSession,
    message: str,
    schema: object,
    *,
    source: str,
    place: tuple[str, ...],
    timeout: float | None = None,
) -> FormResult:
    """Ask people to fill in a form, and return the result.

    Args:
        inbox: The inbox to ask in.
        session: The session of the client.
        message: The text of the one who asks.
        schema: The JSON Schema of the form; None for a form without fields.
        source: The name of the server or agent that asks.
        place: Where in the session it asks; the same form in the same place that is still open is used again.
        timeout: Seconds to wait for people; None waits without limit.

    Raises:
        InvalidError: The form cannot be shown in the inbox.
    """
    title = " ".join(f"{source}: {message}".split())
    ask = Ask(
        title=title[:MAX_TITLE],
        kind="form",
        description=message[:MAX_TEXT] if len(title) > MAX_TITLE or "\n" in message else None,
        form=Form.from_json_schema(schema or {"type": "object", "properties": {}}),
        allowed=("respond", "reject"),
        context=session.context,
    )
    response = None
    with suppress(WaitTimeoutError):
        response = (await ask_client_question(inbox, session, ask, place, timeout)).response
    if response is None:
        return FormResult("cancel")
    return FormResult("accept", response.data or {}) if response.decision == "respond" else FormResult("decline")


async def ask_client_question(
    inbox: Inbox, session: ClientSession, ask: Ask, place: tuple[str, ...], timeout: float | None
) -> Request:
    """Return the ended request of a question; the same question in the same place that is still open is used again.

    Raises:
        WaitTimeoutError: Nobody answered in time; the request stays open.
    """
    key = short_json_hash(session.thread_id, *place, digest(ask.model_dump(mode="json")))
    for number in itertools.count():
        known = ask.model_copy(update={"id": f"ask-{key}-{number}", "thread_id": session.thread_id})
        request = await inbox.submit(known)
        if not request.is_final:
            return await inbox.wait(request, timeout)
    raise AssertionError  # The numbers do not end.
