"""Execute one run on one worker, from its current position to the next question or the end."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import traceback
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, TypeAlias

from ag_ui.core import Interrupt
from langgraph.errors import is_invalid_resume
from pydantic import ValidationError

from ringi.base.canonical_json import canonical
from ringi.base.failpoints import failpoint
from ringi.connect import Backend
from ringi.domain.ask import Continuation, digest_of
from ringi.domain.record import SYSTEM, Key
from ringi.domain.request import Request
from ringi.domain.thread import Failure, checkpoint_thread
from ringi.errors import (
    AgentError,
    AskedAgainError,
    ConflictError,
    DifferentAskError,
    FenceError,
    NotFoundError,
    RingiError,
    UnavailableError,
)
from ringi.inbox import tracing
from ringi.inbox.inbox import Inbox
from ringi.runs.agent import Agent
from ringi.runs.cleanup import drop_others, ended_requests, open_requests, requests_of_run
from ringi.runs.context import CALL, RunContext
from ringi.runs.graph_run import GraphPosition, GraphRun, Question, resume_value, resume_with
from ringi.runs.images import Room, RunImages
from ringi.runs.interrupt_formats import OWN
from ringi.runs.lease import Lease
from ringi.runs.leased_run import LeasedRun
from ringi.runs.model_form import clean_text
from ringi.runs.reconciler import RUNNER
from ringi.runs.runner import Runner

log = logging.getLogger(__name__)
TRIES = 5
"""The number of workers that may die in one stretch before the run is given up."""
OUTAGES = 50
"""The number of store outages allowed in one stretch: the run itself may cause them."""
Asked: TypeAlias = tuple[Question, Sequence[Request]]
MISSED = (
    "the agent's own code caught the pause of {titles}: nobody was asked, and what it gates was not done. "
    "Let GraphBubbleUp through where it catches exceptions"
)
MOST_MISSED = 10
MAX_TRACEBACK = 16_000
"""The number of characters stored of a traceback: its beginning and its end."""
NO_WORDS = "no message; its traceback is in the log and, for admins, on the page of the thread"
NOT_TAKEN = (
    "the agent failed on an answer ({why}). Ask again, or correct its code and retry: it gets the same answer once more"
)
REFUSED = (
    "the agent does not take this answer, or its own code caught a pause before it: it asks again. "
    "Let GraphBubbleUp through where it catches exceptions"
)


class RunExecutor:
    """Executes one thread's run under one lease."""

    def __init__(self, hold: LeasedRun, agents: Mapping[str, Agent], room: Room) -> None:
        self._hold, self._lease, self._emitter, self._inbox = hold, hold.lease, hold.emitter, hold.inbox
        self._backend, self._run = hold.backend, hold.run
        self._by = hold.run.by or hold.lease.thread.started_by
        runner = Runner(hold.backend, hold.inbox, agents)
        self._host = RunContext(runner, hold.thread, hold.run.id, self._by)
        saver, most = hold.backend.savers(hold.thread), hold.inbox.limits.max_fields
        agent = agents[hold.thread.agent]
        self._graph = GraphRun(agent, saver, hold.lease.key, hold.run.id, host=self._host, max_fields=most)
        self._images = RunImages(hold.backend.stream, saver, room)
        self._handed: set[str] = set()
        self._taken: tuple[str | None, Sequence[Asked]] = None, ()
        """The answers that the agent has been given since its last pause, and the checkpoint at which it was."""

    async def take(self) -> None:
        """Continue the run until it asks, ends or fails.

        Raises `FenceError` if another worker or a cancel took the thread.
        Raises `UnavailableError` for a store outage: it does not fail the run, and the next worker continues it.
        """
        await self._emitter.take_over()
        try:
            # Images are loaded even if the agent no longer accepts them: the history contains them.
            async with self._images.loaded(self._hold.thread):
                while await self._step():
                    failpoint("run.between_steps")
        except (FenceError, UnavailableError):
            raise
        except Exception as error:
            if isinstance(error, RingiError) and not isinstance(error, ConflictError):
                log.warning("run %s failed: %s", self._run.id, error)
            else:
                log.exception("run %s failed", self._run.id)
            await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        failure = failure_of(error.error if isinstance(error, AgentError) else error)
        steps, (asked_at, taken) = self._graph.failed_steps, self._taken
        # A task of a workflow is a step of its own, nested in the step that asks.
        found = [requests for question, requests in taken if question.task_id in steps]
        refused = found or [requests for _, requests in taken if steps]
        answers = [request for requests in refused or [each for _, each in taken] for request in requests]
        for requests in refused:
            for request in requests:
                await self._inbox.mark_attention(request.id, NOT_TAKEN.format(why=failure.message))
        if refused:
            await self._hold.mark(NOT_TAKEN.format(why=failure.message))
        given = {"answers": tuple(request.id for request in answers), "asked_at": None if refused else asked_at}
        await self._hold.fail(failure.model_copy(update=given))

    async def _step(self) -> bool:
        if self._run.back_to:
            await self._graph.go_back(self._run.back_to)
            await self._lease.change(lambda t: t.went_back(self._inbox.clock()))
            self._run = self._run.model_copy(update={"back_to": None})
        place = await self._graph.place()
        asks = [ask for question in place.questions for ask in question.asks]
        self._host.set_open_questions(asks)
        await self._report_swallowed(self._host.swallowed_questions({digest_of(ask) for ask in asks}, place.asking))
        if not place.has_begun:
            return await self._go(self._graph.prepared(self._images.shown(self._run.input)))
        lost = await self._lost(place)
        if lost:
            return await self._mark_stuck(place, lost)
        values = self._graph.shown(place) if place.questions or not place.has_more else {}
        asked = [(question, await self._ask(question)) for question in place.questions]
        requests = [request for _, each in asked for request in each]
        await self._recover(requests)
        await drop_others(self._backend, self._inbox, self._lease.thread, {request.id for request in requests})
        ended = ended_of(asked)
        if ended:
            return await self._resume(ended, place.checkpoint_id)
        if requests:
            return await self._park(values, requests)
        return await self._go(None) if place.has_more else await self._finish(values)

    async def _go(self, input: Any) -> bool:
        await self._emitter.open()
        failpoint("run.before_go")
        context = self._graph.context(self._images.shown(self._run.input), self._by)
        with tracing.running(self._lease.thread, self._run):
            await self._graph.go(input, self._emitter, context)
        await self._emitter.flush()
        failpoint("run.after_go")
        return True

    async def _resume(self, ended: Sequence[Asked], asked_at: str | None) -> bool:
        answers = {question.interrupt_id: resume_value(question, requests) for question, requests in ended}
        repeated = self._handed & answers.keys()
        if repeated:
            raise AskedAgainError(sorted(repeated))
        self._handed |= answers.keys()
        self._taken = asked_at, ended
        try:
            await self._go(resume_with(answers))
            self._taken = None, ()
            return True
        except ValidationError as error:
            if not is_invalid_resume(error):
                raise
            log.warning("run %s does not take an answer to %s: asking again", self._run.id, ", ".join(answers))
        self._handed -= answers.keys()
        for request in [request for question, requests in ended if question.is_particular for request in requests]:
            await self._inbox.mark_attention(request.id, REFUSED)
        return await self._go(None)

    async def _ask(self, question: Question) -> list[Request]:
        return [await self._ask_one(question, position) for position in question.positions]

    async def _ask_one(self, question: Question, position: int) -> Request:
        attempt = self._run.attempt
        for earlier in range(attempt):
            asked = await self._asked(request_id(self._lease.key, question, position, earlier))
            # A request that the failure withdrew, or that expired, is asked again; a person's decision counts.
            counts = asked and asked.id not in self._run.anew and asked.attention != REFUSED
            if asked and counts and (asked.response or not asked.is_final):
                return asked
        ids = (request_id(self._lease.key, question, position, attempt, refusals) for refusals in count())
        request = await self._submit(question, position, next(ids))
        while request.attention == REFUSED:
            request = await self._submit(question, position, next(ids))
        return request

    async def _submit(self, question: Question, position: int, id: str) -> Request:
        key = self._lease.key
        whom = {} if question.dialect is OWN else self._graph.agent.whom
        told = {"id": id, "thread_id": key.id, "run_id": self._run.id, **whom}
        ask = question.asks[position].model_copy(update=told)
        args = {"interrupt_id": question.interrupt_id, "node": question.node}
        target = self._graph.agent.name
        continuation = Continuation(runner=RUNNER, target=target, key=key.id, args=args)
        is_known = self._emitter.has_shown(id)
        try:
            return await self._inbox.submit(ask, by=self._by, continuation=continuation, is_known=is_known)
        except DifferentAskError:
            # A deploy may have changed the tool's schema since the question was asked: it is the same question.
            if digest_of(question.asks[position]) == question.digests[position]:
                raise
            return await self._inbox.get(id)

    async def _asked(self, id: str) -> Request | None:
        try:
            return await self._inbox.get(id)
        except NotFoundError:
            return None

    async def _recover(self, requests: Sequence[Request]) -> None:
        """Remove the stuck marks: a later deploy has restored the missing steps."""
        for request in requests:
            if request.needs_attention:
                await self._inbox.retry(request.id, SYSTEM)
        if self._lease.thread.attention:
            await self._hold.mark(None)

    async def _report_swallowed(self, titles: Sequence[str]) -> None:
        if not titles:
            return
        log.error("run %s: %s", self._run.id, missed(titles))
        known = self._lease.thread.missed or ()
        both = tuple(dict.fromkeys((*known, *titles)))[:MOST_MISSED]
        if both != known:
            await self._lease.change(lambda t: t.missing(both, self._inbox.clock()))

    async def _lost(self, place: GraphPosition) -> set[str]:
        """Return the steps that asked and that the deployed graph does not have."""
        if not place.lost:
            return set()
        asked = await requests_of_run(self._backend, self._lease.thread)
        told = [r.continuation.args for r in asked if r.continuation]
        nodes = {str(args["node"]) for args in told if args.get("interrupt_id") in place.lost}
        return {node for node in nodes if not self._graph.has_node(node)}

    async def _mark_stuck(self, place: GraphPosition, lost: set[str]) -> bool:
        # Resuming would commit a state in which the lost step never asked, and would silently drop its request.
        why = f"the deployed agent has no step {', '.join(map(repr, sorted(lost)))} any more"
        pending = await open_requests(self._backend, self._lease.thread)
        stuck = [r for r in pending if r.continuation and r.continuation.args.get("node") in lost]
        for request in [*stuck, *await ended_requests(self._backend, self._lease.thread)]:
            await self._inbox.mark_attention(request.id, why)
        await self._hold.mark(why)
        if pending:
            return await self._park(self._graph.shown(place), pending)
        await self._hold.fail(Failure(message=why, code="attention"))
        return False

    async def _park(self, values: dict[str, Any], requests: Sequence[Request]) -> bool:
        await self._emitter.pause(values, [interrupt_of(request) for request in requests if not request.is_final])
        for request in requests:
            if request.is_unacknowledged:
                # Its interrupt also waits for other requests; unacknowledged, it would be delivered repeatedly until
                # then.
                await self._inbox.acknowledge(request.id, SYSTEM)
        failpoint("run.before_park")
        await self._hold.settle(lambda t: t.parked(self._lease.thread, self._inbox.clock(), values))
        return False

    async def _finish(self, values: dict[str, Any]) -> bool:
        titles = self._lease.thread.missed
        if titles:
            # Not earlier: a run that waits for people needs no operator.
            await self._hold.mark(missed(titles))
        if not self._graph.agent.history:
            await self._forget()
        await self._emitter.finish(values)
        failpoint("run.before_finish")
        await self._hold.settle(lambda t: t.finished(self._lease.thread, self._inbox.clock(), values))
        return False

    async def _forget(self) -> None:
        failpoint("run.before_forget")
        try:
            await self._graph.forget()
        except FenceError:
            raise
        except Exception:
            # The run's work is done: it must not be retried or failed because disk space was not freed.
            id = self._lease.key.id
            log.warning("thread %s keeps its old checkpoints until its next run ends", id, exc_info=True)


async def advance(backend: Backend, inbox: Inbox, agents: Mapping[str, Agent], lease: Lease, room: Room) -> None:
    """Execute the next stretch of a leased thread."""
    hold, thread = LeasedRun(backend, inbox, lease), lease.thread
    try:
        if thread.agent not in agents:
            await hold.give_up(f"no agent {thread.agent!r} is deployed")
        elif thread.tries > TRIES:
            await hold.give_up(f"its worker died {TRIES} times")
        elif (thread.outages or 0) > OUTAGES:
            await hold.give_up(f"its store was away {OUTAGES} times while it ran: see what its workers logged")
        else:
            inbox.measures.retried.inc(thread.tries > 1)
            with tracing.within(hold.run.traceparent):
                await RunExecutor(hold, agents, room).take()
    except (asyncio.CancelledError, UnavailableError) as error:
        await asyncio.shield(hold.give_back(is_outage=isinstance(error, UnavailableError)))
        raise
    except FenceError:
        await hold.clear_up()
        raise
    finally:
        hold.emitter.stop()


def failure_of(error: Exception) -> Failure:
    """Return the message of an error for people, and its origin for operators."""
    name = type(error).__name__
    text = "".join(traceback.format_exception(error))
    if len(text) > MAX_TRACEBACK:
        text = f"{text[: MAX_TRACEBACK // 4]}\n…\n{text[-MAX_TRACEBACK * 3 // 4 :]}"
    return Failure(message=f"{name}: {str(error) or NO_WORDS}"[:2000], code=name, traceback=clean_text(text))


def missed(titles: Sequence[str]) -> str:
    """Return the message to an operator about questions that were swallowed."""
    return MISSED.format(titles=", ".join(f"“{title}”" for title in titles))


def ended_of(asked: Sequence[Asked]) -> Sequence[Asked]:
    """Return the questions that can be answered now, with their requests."""
    ended = [each for each in asked if all(request.is_final for request in each[1])]
    # If one of several answers is refused, it stops the others midway and their effects would be repeated.
    return [each for each in ended if each[0].is_particular][:1] or ended


def request_id(key: Key, question: Question, position: int, attempt: int, refusals: int = 0) -> str:
    """Return the id of a question's request: stable for this attempt of the run."""
    place: list[Any] = [checkpoint_thread(key), question.interrupt_id, question.digests[position]]
    place += [attempt] if attempt else []
    place += [{"position": position, "refusals": refusals}] if position or refusals else []
    return f"q-{hashlib.sha256(canonical(place)).hexdigest()[:32]}"


REASONS = {"approval": "tool_call", "form": "input_required", "choice": "input_required", "question": "input_required"}


def interrupt_of(request: Request) -> Interrupt:
    """Return a request in the AG-UI format of an interrupt."""
    schema = request.form.json_schema() if request.form else request.data_schema
    return Interrupt(
        id=request.id,
        reason=REASONS.get(request.kind, "confirmation"),
        message=request.title,
        response_schema=schema,
        tool_call_id=gated if isinstance(gated := request.context.get(CALL), str) else None,
        expires_at=request.expires_at.isoformat() if request.expires_at else None,
        metadata={"kind": request.kind, "digest": request.digest, "allowed": list(request.allowed)},
    )
