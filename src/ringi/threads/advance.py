"""One worker's turn with a thread: from where it stands to its next question or its end."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import Interrupt
from pydantic import ValidationError

from ringi.ask import Continuation, digest_of
from ringi.canonical import canonical
from ringi.connect import Backend
from ringi.errors import AskedAgainError, ConflictError, FenceError, RingiError
from ringi.failpoint import failpoint
from ringi.feed import TOPIC
from ringi.inbox import Inbox
from ringi.record import Query
from ringi.request import Request
from ringi.thread import SYSTEM, Failure, Thread
from ringi.threads.agent import Agent
from ringi.threads.emitter import Emitter
from ringi.threads.langgraph import GraphRun, Place, Question, checkpoint_thread, resume_value, resume_with
from ringi.threads.lease import Lease
from ringi.threads.reconciler import RUNNER

log = logging.getLogger(__name__)
TRIES = 5
"""How many workers may die of one stretch before it is given up."""
QUESTION_CHANGED = "ringi_question_changed"
PAGE = 200


async def acknowledge_rest(backend: Backend, inbox: Inbox, thread: Thread, still_asked: Sequence[str] = ()) -> None:
    """Acknowledge the ended requests of a thread that its run no longer asks."""
    query = Query(tenant=thread.tenant, thread_id=thread.id, unacknowledged=True, limit=PAGE)
    for request in await backend.store.find(Request, query):
        if request.id not in still_asked:
            await inbox.acknowledge(request.id, SYSTEM)


class Turn:
    """The work on one thread under one lease."""

    def __init__(self, backend: Backend, inbox: Inbox, agent: Agent, lease: Lease) -> None:
        self._backend, self._inbox, self._lease = backend, inbox, lease
        run = lease.thread.run
        assert run
        self._run = run
        self._graph = GraphRun(agent, backend.savers(lease.key, lease.fence), lease.key, run.id)
        self._emitter = Emitter(backend.stream, backend.notifier, lease.key, run.id, lease.fence)
        self._handed: set[str] = set()

    async def take(self) -> None:
        """Go on until the run asks, ends or fails."""
        await self._emitter.take_over()
        try:
            while await self._step():
                failpoint("run.between_steps")
        except (FenceError, asyncio.CancelledError):
            raise
        except Exception as error:
            if isinstance(error, RingiError) and not isinstance(error, ConflictError):
                log.warning("run %s failed: %s", self._run.id, error)
            else:
                log.exception("run %s failed", self._run.id)
            await self._fail(error)

    async def _step(self) -> bool:
        place = await self._graph.place()
        if not place.has_begun:
            return await self._go(self._graph.agent.prepare(self._run.input))
        requests = await self._ask(place.questions) if place.questions else []
        await self._drop_others(requests)
        answers = self._answers(place.questions, requests)
        if answers:
            return await self._go(resume_with(answers), answers)
        if requests:
            return await self._park(place, requests)
        return await self._go(None) if place.has_more else await self._finish(place)

    async def _go(self, input: Any, answers: Mapping[str, Any] | None = None) -> bool:
        await self._emitter.open()
        failpoint("run.before_go")
        try:
            await self._graph.go(input, self._emitter)
        except ValidationError as error:
            if not answers or not any(e["type"] == QUESTION_CHANGED for e in error.errors()):
                raise
            log.warning("run %s asks something else now: asking again", self._run.id)
            await self._graph.go(None, self._emitter)
        await self._emitter.flush()
        failpoint("run.after_go")
        return True

    async def _ask(self, questions: Sequence[Question]) -> list[Request]:
        return [await self._ask_one(question) for question in questions]

    async def _ask_one(self, question: Question) -> Request:
        key, digest = self._lease.key, digest_of(question.ask)
        id = hashlib.sha256(canonical([checkpoint_thread(key), question.interrupt_id, digest])).hexdigest()[:32]
        ask = question.ask.model_copy(update={"id": f"q-{id}", "thread_id": key.id, "run_id": self._run.id})
        args = {"interrupt_id": question.interrupt_id, "node": question.node}
        target = self._graph.agent.name
        continuation = Continuation(runner=RUNNER, target=target, key=key.id, args=args)
        return await self._inbox.submit(ask, by=self._lease.thread.started_by, continuation=continuation)

    async def _drop_others(self, requests: Sequence[Request]) -> None:
        asked = {request.id for request in requests}
        query = Query(tenant=self._lease.key.tenant, thread_id=self._lease.key.id, statuses=("pending",), limit=PAGE)
        for stale in await self._backend.store.find(Request, query):
            if stale.continuation and stale.id not in asked:
                await self._supersede(stale)
        await acknowledge_rest(self._backend, self._inbox, self._lease.thread, [*asked])

    async def _supersede(self, request: Request) -> None:
        node = str(request.continuation.args.get("node")) if request.continuation else ""
        if not self._graph.has_node(node):
            await self._inbox.mark_attention(request.id, f"the deployed agent has no step {node!r} any more")
            return
        try:
            await self._inbox.cancel(request.id, SYSTEM, "superseded")
        except ConflictError:
            log.info("request %s ended before it was superseded", request.id)

    def _answers(self, questions: Sequence[Question], requests: Sequence[Request]) -> dict[str, Any]:
        ended = {q.interrupt_id: resume_value(q, r) for q, r in zip(questions, requests, strict=True) if r.is_final}
        repeated = self._handed & ended.keys()
        if repeated:
            raise AskedAgainError(sorted(repeated))
        self._handed |= ended.keys()
        return ended

    async def _park(self, place: Place, requests: Sequence[Request]) -> bool:
        values = self._graph.shown(place)
        await self._emitter.pause(values, [interrupt_of(request) for request in requests])
        failpoint("run.before_park")
        await self._settle(lambda t: t.parked(self._lease.fence, self._inbox.clock(), values))
        return False

    async def _finish(self, place: Place) -> bool:
        values = self._graph.shown(place)
        await self._emitter.finish(values)
        failpoint("run.before_finish")
        await self._settle(lambda t: t.finished(self._lease.fence, self._inbox.clock(), values))
        return False

    async def _fail(self, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}"[:2000]
        await self._emitter.fail(message, type(error).__name__)
        failure = Failure(message=message, code=type(error).__name__)
        await self._settle(lambda t: t.failed(self._lease.fence, self._inbox.clock(), failure))
        await acknowledge_rest(self._backend, self._inbox, self._lease.thread)

    async def _settle(self, step: Any) -> None:
        await self._lease.change(step)
        for topic in (self._lease.thread.topic, TOPIC):
            await self._backend.notifier.publish(topic)


async def advance(backend: Backend, inbox: Inbox, agents: Mapping[str, Agent], lease: Lease) -> None:
    """Take one turn with a thread that is held."""
    thread, clock = lease.thread, inbox.clock
    agent = agents.get(thread.agent)
    if agent and thread.tries <= TRIES:
        try:
            return await Turn(backend, inbox, agent, lease).take()
        except asyncio.CancelledError:
            await asyncio.shield(lease.change(lambda t: t.given_back(lease.fence, clock())))
            raise
    why = f"its worker died {TRIES} times" if agent else f"no agent {thread.agent!r} is deployed"
    await lease.change(lambda t: t.needing_attention(why, clock()))
    await lease.change(lambda t: t.failed(lease.fence, clock(), Failure(message=why, code="attention")))
    await acknowledge_rest(backend, inbox, thread)


REASONS = {"approval": "tool_call", "form": "input_required", "choice": "input_required", "question": "input_required"}


def interrupt_of(request: Request) -> Interrupt:
    """Return a request as AG-UI shows a pause."""
    schema = request.form.json_schema() if request.form else request.data_schema
    return Interrupt(
        id=request.id,
        reason=REASONS.get(request.kind, "confirmation"),
        message=request.title,
        response_schema=schema,
        expires_at=request.expires_at.isoformat() if request.expires_at else None,
        metadata={"kind": request.kind, "digest": request.digest, "allowed": list(request.allowed)},
    )
