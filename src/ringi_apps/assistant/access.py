"""Access of an HTTP caller to conversations: reads their memory and sends events to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from ringi import Request
from ringi.base import JsonObject
from ringi.contracts import find_record
from ringi.domain import Key, Thread, parse_body, record_topic
from ringi.errors import ConflictError, NotFoundError
from ringi.runs import open_requests, requests_of_run
from ringi.server import LongPoll, ServerComponents, ThreadName, may_read, require_readable_thread
from ringi_apps.assistant.assistant import AssistantAgent
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.memory import ContextMemory, with_defaults
from ringi_apps.assistant.memory_cache import memory_of
from ringi_apps.assistant.plans import Plan
from ringi_apps.assistant.stored_values import with_current_values

if TYPE_CHECKING:
    from ringi.runs import Runner
    from ringi_apps.assistant.assistant import Assistant

WAIT_SECONDS = 5.0
"""How many seconds a request waits for a conversation that is busy."""


@dataclass(frozen=True)
class ConversationSnapshot:
    """The current state of a conversation; `thread` is None if it has not started."""

    id: str
    assistant: Assistant
    memory: ContextMemory
    thread: Thread | None

    def plan_of(self, action: ActionDefinition) -> Plan | None:
        """Return the newest plan that an action makes or applies."""
        maker = self.assistant.definitions.plan_of(action)
        return self.memory.plans.get(maker.workflow or "") if maker else None


class ConversationAccess:
    """The conversations that one caller may read."""

    def __init__(self, components: ServerComponents, poll: LongPoll) -> None:
        self._components, self._poll, self._principal = components, poll, poll.caller()

    async def load(self, id: str, agent: str | None = None) -> ConversationSnapshot:
        """Return a conversation. If it has not started, use the assistant named `agent`.

        Raises `NotFoundError` for a thread that the caller may not read, and for a thread without an assistant.
        """
        runner, thread = self._runner(id), await self._thread(id)
        if thread is None and agent is None:
            raise NotFoundError("thread", id)
        agent_of_thread = runner.agents.get(thread.agent if thread else str(agent))
        if not isinstance(agent_of_thread, AssistantAgent):
            raise NotFoundError("assistant", id if thread else str(agent))
        memory = await memory_of(self._components.backend, thread) if thread else ContextMemory()
        definitions, now = agent_of_thread.assistant.definitions, self._components.inbox.clock()
        memory = with_defaults(with_current_values(memory, definitions, now), definitions, now)
        return ConversationSnapshot(id, agent_of_thread.assistant, memory, thread)

    async def send(
        self, id: str, agent: str | None, build_event: Callable[[ConversationSnapshot], JsonObject]
    ) -> Thread:
        """Build an event from the current conversation and send it, as soon as the conversation is free.

        Raises `ConflictError` if the conversation stays busy for `WAIT_SECONDS`.
        """
        until, notifier = time.monotonic() + WAIT_SECONDS, self._components.backend.notifier
        async with notifier.subscribe(record_topic(Thread.record, Key(self._principal.tenant, id))) as wakeup:
            while True:
                conversation = await self.load(id, agent)
                try:
                    return await self._start(conversation, build_event)
                except ConflictError as error:
                    seconds_left = until - time.monotonic()
                    if error.code != "busy" or seconds_left <= 0 or error.status == "interrupted":
                        raise
                await self._poll.wait(wakeup, min(seconds_left, notifier.recheck_after))

    async def wait_for_end(self, run: Thread) -> Thread | None:
        """Return the thread once this run has ended, or None if the call may not wait longer."""

        async def ended() -> Thread | None:
            thread = await self._runner(run.id).get(run.tenant, run.id)
            return thread if thread.run_id != run.run_id or not thread.is_live else None

        return await self._poll.until(ended, self._components.backend.notifier, run.topic, WAIT_SECONDS)

    async def approval_request(self, plan: Plan) -> Request | None:
        """Return the request that asks to approve the newest version of a plan, or that approved it."""
        backend, tenant = self._components.backend, self._principal.tenant
        if plan.approval and plan.status in ("executing", "completed"):
            return await find_record(backend.store, Request, Key(tenant, plan.approval.request_id))
        thread = await find_record(backend.store, Thread, Key(tenant, plan.thread_id or ""))
        requests = await requests_of_run(backend, thread) if thread else []
        # Requests that others posted with this thread's id are not included.
        return next((request for request in requests if request.kind == "approval"), None)

    async def open_approval(self, plan: Plan) -> Request | None:
        """Return the open approval request of a plan, if there is one that the caller may see."""
        # The request of an obsolete plan is withdrawn shortly after the memory changes.
        request = await self.approval_request(plan) if plan.status in ("planned", "failed") else None
        return request if request and not request.is_final and may_read(self._principal, request) else None

    async def open_question(self, thread_id: str) -> Request | None:
        """Return the open request of a background thread, if there is one that the caller may see."""
        backend = self._components.backend
        thread = await find_record(backend.store, Thread, Key(self._principal.tenant, thread_id))
        requests = await open_requests(backend, thread) if thread else []
        return next((request for request in requests if may_read(self._principal, request)), None)

    async def _start(
        self, conversation: ConversationSnapshot, build_event: Callable[[ConversationSnapshot], JsonObject]
    ) -> Thread:
        thread = conversation.thread
        if thread and thread.is_live:
            raise ConflictError.busy(thread.id, thread.status)
        agent, input = conversation.assistant.name, {"event": build_event(conversation)}
        runner = self._runner(conversation.id)
        check = partial(require_readable_thread, self._principal)
        self._poll.caller()  # The token may have been revoked meanwhile.
        return await runner.start(
            self._principal.tenant, conversation.id, agent, input, by=self._principal.asker, check=check
        )

    async def _thread(self, id: str) -> Thread | None:
        thread = await find_record(self._components.backend.store, Thread, Key(self._principal.tenant, id))
        if thread is None:
            parse_body(ThreadName, {"thread_id": id})
        return thread and require_readable_thread(self._principal, thread)

    def _runner(self, id: str) -> Runner:
        if self._components.runner is None:
            raise NotFoundError("thread", id)
        return self._components.runner
