"""Execute a run on one worker: each stretch to the next question or the end, its status and the words of its errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple, TypeAlias

from ringi.base.failpoints import failpoint
from ringi.base.outages import PausedError
from ringi.base.settings import hitl_enabled
from ringi.base.texts import reason_of
from ringi.connect import Backend
from ringi.contracts.backend import RUNNER, Job, Moment, OtherConflictError, StreamItem
from ringi.contracts.runtime import (
    AgentServiceError,
    AnswerRefusedError,
    Description,
    OpenRun,
    Question,
    Standing,
    UnreadAnswersError,
)
from ringi.contracts.store import Change
from ringi.domain.ask import Continuation, request_content_digest
from ringi.domain.record import SYSTEM, Event
from ringi.domain.request import Request
from ringi.domain.thread import ATTENTION, Failure, FenceError, Thread
from ringi.errors import ConflictError, NotFoundError, RingiError, UnavailableError
from ringi.inbox import tracing
from ringi.inbox.inbox import StoreInbox
from ringi.runs import cleanup
from ringi.runs.agui_events import request_as_agui_interrupt
from ringi.runs.context import ANSWER_REFUSED, ATTEMPT, CallOutcomes, RunContext, is_outcome_void, question_request_id
from ringi.runs.lease import Lease
from ringi.runs.messages import ImageMemory, RunImages, run_user_messages
from ringi.runs.run import ExecutedRun, RunStates, UsageSums, run_failure_of_error
from ringi.runs.runner import Runner
from ringi.runs.stream_writer import RunStreamWriter

log = logging.getLogger(__name__)
MAX_TOGETHER = 8
"""The number of requests that are saved in one transaction with their thread."""


class RequestChange(NamedTuple):
    """A change of a request that is saved when its run settles."""

    change: Change
    announce: Callable[[], Awaitable[object]]
    """Called once the change was saved together with the thread."""
    save: Callable[[], Awaitable[object]]
    """Saves and announces the change alone, or keeps what others have made of the request."""


class LeasedRun:
    """The store, the stream and the requests of one thread under one lease."""

    def __init__(self, backend: Backend, inbox: StoreInbox, lease: Lease, job: Job) -> None:
        assert lease.thread.run
        self.backend, self.inbox, self.lease, self.run = backend, inbox, lease, lease.thread.run
        self.job = job
        self.has_more: bool | None = None
        """Whether other jobs may be due, once the job was finished with the stretch; None before."""
        self.changes: list[RequestChange] = []
        """The changes of requests, which `settle` saves together with the thread."""
        self.outcomes = CallOutcomes()
        identity = (lease.key, self.run.id, lease.fence)
        self.emitter = RunStreamWriter(
            backend.stream, backend.notifier, *identity, clock=inbox.clock, user_messages=run_user_messages(self.run)
        )

    @property
    def thread(self) -> Thread:
        """The thread as this worker knows it."""
        return self.lease.thread

    def acknowledge(self, request: Request) -> None:
        """Collect the change that the run has taken up the outcome of a request."""
        receipt = self.outcomes.take(request.id)
        after, event = request.acknowledged(SYSTEM, self.inbox.clock(), receipt)
        announce = partial(self.inbox.announce_change, request, after)
        save = partial(self.inbox.acknowledge, request.id, SYSTEM, receipt=receipt)
        self.changes.append(RequestChange((after, event), announce, save))

    async def save_changes(self) -> None:
        """Save the collected changes one after another, because the run goes on."""
        while self.changes:
            await self.changes.pop(0).save()

    async def settle(
        self, step: Callable[[Thread], tuple[Thread, Event]], *, is_last: bool = False, prunes: bool = False
    ) -> bool:
        """Save the new version of the thread with the collected changes and output, and notify the watchers.

        Returns False, with the thread as it was, if a request has changed meanwhile: the run must look at it again.

        Args:
            step: Returns the new version and its event.
            is_last: Whether nothing is left to do for the job, which is finished with this change if the store can.
            prunes: Whether the run needs only the newest checkpoint from now on.
        """
        is_settled = True
        for request in self.outcomes.approved_by_rules():
            self.acknowledge(request)

        async def save(items: Sequence[StreamItem]) -> None:
            nonlocal is_settled
            together = self.backend.put_together
            if together and len(self.changes) <= MAX_TOGETHER:
                others = [each.change for each in self.changes]
                done = self.job if is_last else None

                async def put(thread: Thread, event: Event | None) -> None:
                    has_more = await together(Moment(thread, event, items, others, done=done, prunes=prunes))
                    self.has_more = has_more if done else None

                try:
                    await self.lease.change(step, put)
                except OtherConflictError:
                    is_settled = False
                    await self.emitter.append(items)
                    await self.save_changes()
                    return
                while self.changes:
                    await self.changes.pop(0).announce()
            else:
                await self.save_changes()
                await self.emitter.append(items)
                await self.lease.change(step)

        await self.emitter.store(save)
        await cleanup.notify_thread_watchers(self.backend, self.thread)
        return is_settled

    async def fail(self, failure: Failure, read: Iterable[Request] = ()) -> None:
        """End the run with an error, and withdraw its open requests; `read` are those whose answers its code has read.

        The others that have ended are not acknowledged: they wait for an operator.
        """
        self.changes.clear()  # What it has not asked yet is not asked any more.
        for request in read:
            self.acknowledge(request)
        await self.save_changes()
        self.emitter.fail(failure.message, failure.code)
        await self.settle(lambda t: t.failed(self.thread, self.inbox.clock(), failure, self.lease.usage()))
        await cleanup.close_orphans(self.backend, self.inbox, self.thread, self.outcomes.receipts)

    async def mark(self, why: str | None) -> None:
        """Mark the thread for an operator, or remove the mark."""
        await self.lease.change(lambda t: t.needing_attention(why, self.inbox.clock()))

    async def fail_unstarted(self, why: str) -> None:
        """End a run that no worker may begin again, for an operator to inspect."""
        await self.emitter.take_over(has_fence=True)
        await self.stop(why)

    async def stop(self, why: str, answers: tuple[str, ...] = (), read: Iterable[Request] = ()) -> None:
        """End the run for an operator; `answers` are the requests whose answers no code of the agent has read."""
        await self.mark(why)
        await self.fail(Failure(message=why, code=ATTENTION, answers=answers), read)

    async def release(self, *, is_outage: bool) -> None:
        """Release the run to another worker at once; if that fails, it becomes available when the lease expires."""
        try:
            self.emitter.stop()
            await self.lease.change(
                lambda t: t.released(self.thread, self.inbox.clock(), self.lease.usage(), is_outage=is_outage)
            )
            await cleanup.notify_thread_watchers(self.backend, self.thread)
        except FenceError:
            await self.withdraw_after_loss()
        except RingiError as error:
            self.lease.is_cut_off = isinstance(error, UnavailableError)
            log.warning("thread %s stays held until its lease ends: %s", self.thread.id, error)

    async def withdraw_after_loss(self) -> None:
        """After the loss of a canceled thread, withdraw the requests that were created during the cancellation."""
        current = await self.backend.store.get(Thread, *self.lease.key)
        if current.run_id != self.run.id or current.status == "idle":
            await cleanup.withdraw_requests(self.backend, self.inbox, self.thread, SYSTEM, cleanup.CANCELLED)


AskedQuestion: TypeAlias = tuple[Question, Sequence[Request]]


def swallowed_questions_message(titles: Sequence[str]) -> str:
    """Return the message to an operator about questions that were swallowed."""
    return reason_of("swallowed", titles=", ".join(f"“{title}”" for title in titles))


def missing_steps_message(agent: str, about: Description, missing: Mapping[str, Sequence[Request]]) -> str:
    """Return the message to an operator about steps that have asked, and that the deployed agent does not have."""
    here, steps = f"{about.framework} {about.version}", ", ".join(map(repr, missing))
    named = _named(request for requests in missing.values() for request in requests)
    return reason_of("steps_missing", agent=repr(agent), here=here, steps=steps, requests=named)


def unread_answers_message(
    agent: str, about: Description, unread: Sequence[AskedQuestion], error: UnreadAnswersError
) -> str:
    """Return the message to an operator about answers that the code of an agent has not heeded."""
    steps = sorted({question.step for question, _ in unread if question.step})
    values = {"agent": repr(agent), "here": f"{about.framework} {about.version}"}
    values |= {"requests": _named(request for _, requests in unread for request in requests) or "–"}
    values |= {"started": ", ".join([*(f"step {step!r}" for step in steps), *error.started]) or "–"}
    values |= dict.fromkeys(("tool", "step"), repr(error.place))
    match error.cause:
        case "ungated":
            return reason_of("gate_missing", **values)
        case "changed":
            return reason_of("call_changed", **values)
        case "skipped":
            return reason_of("review_skipped", **values)
    return reason_of("answer_unread", **values)


def answers_read_by_agent(
    answers: Sequence[AskedQuestion], questions: Container[str] | None = None, receipts: Container[str] = ()
) -> dict[str, Request]:
    """Return the requests by id whose answers the code of an agent has read.

    Args:
        answers: The answers that the run received.
        questions: The questions whose answers were read; None for all.
        receipts: The requests whose approved calls have begun.
    """
    return {
        request.id: request
        for question, requests in answers
        for request in requests
        if questions is None or question.id in questions or request.id in receipts
    }


def answers_unread_by_agent(requests: Iterable[Request], read: Container[str]) -> list[Request]:
    """Return the requests that people have answered, and whose answers the code of an agent has not read."""
    return [each for each in requests if each.response and not each.acknowledged_at and each.id not in read]


def _named(requests: Iterable[Request]) -> str:
    return ", ".join(f"“{request.title}” ({request.id})" for request in requests)


MAX_ATTEMPTS = 5
"""The number of workers that may die in one stretch before the run is given up."""
MAX_OUTAGES = 50
"""The number of store outages allowed in one stretch: the run itself may cause them."""
FIRST_FENCE = 1
"""The fence of the first worker that holds a thread; an erasure keeps the thread and its fence."""
MAX_SWALLOWED = 10


async def advance_leased_thread(
    runner: Runner, inbox: StoreInbox, lease: Lease, job: Job, memory: ImageMemory, unsettled: Sequence[Request] | None
) -> bool | None:
    """Execute the next stretch of a leased thread; see `JobHandler` for the result.

    Args:
        runner: Knows the agents and the backend.
        inbox: The inbox of the thread's tenant.
        lease: The lease on the thread.
        job: The job of the stretch.
        memory: The images of recent runs.
        unsettled: The thread's open or unacknowledged requests, read after the version before the lease; None if they
            must be read.
    """
    leased_run, thread = LeasedRun(runner.backend, inbox, lease, job), lease.thread
    try:
        if thread.agent not in runner.agents:
            await leased_run.fail_unstarted(reason_of("agent_missing", agent=repr(thread.agent)))
        elif thread.attempts > MAX_ATTEMPTS:
            await leased_run.fail_unstarted(reason_of("worker_died", times=MAX_ATTEMPTS))
        elif (thread.outages or 0) > MAX_OUTAGES:
            await leased_run.fail_unstarted(reason_of("store_outages", times=MAX_OUTAGES))
        else:
            inbox.metrics.retried.inc(thread.attempts > 1)
            with tracing.within(leased_run.run.traceparent), lease.guarding(runner.backend.another_store):
                await RunExecutor(leased_run, runner, memory, unsettled).execute()
    except (asyncio.CancelledError, UnavailableError) as error:
        is_outage = isinstance(error, UnavailableError) and not isinstance(error, PausedError)
        await asyncio.shield(leased_run.release(is_outage=is_outage))
        raise
    except FenceError:
        await leased_run.withdraw_after_loss()
        raise
    finally:
        leased_run.emitter.stop()
    return leased_run.has_more


class RunExecutor:
    """Executes one thread's run under one lease."""

    def __init__(
        self, leased_run: LeasedRun, runner: Runner, memory: ImageMemory, unsettled: Sequence[Request] | None
    ) -> None:
        self._leased_run, self._lease, self._run = leased_run, leased_run.lease, leased_run.run
        self._emitter, self._inbox, self._backend = leased_run.emitter, leased_run.inbox, leased_run.backend
        self._by = leased_run.run.by or leased_run.lease.thread.started_by
        thread, usage = leased_run.thread, UsageSums(leased_run.thread.usage)
        agent = runner.agents[thread.agent]
        self._runtime, self._about = agent.served
        saver = leased_run.backend.savers(thread) if self._about.has_checkpoints else None
        self._images = RunImages(leased_run.backend.stream, saver, memory)
        host = RunContext(runner, leased_run.inbox, thread, self._run.id, self._by)
        host.keep_lease = self._lease.check
        leased_run.outcomes = host.outcomes
        self._view = ExecutedRun(
            agent=agent,
            host=host,
            key=thread.key,
            id=self._run.id,
            by=self._by,
            checkpoints=saver,
            max_fields=leased_run.inbox.limits.max_fields,
            is_first=thread.fence == FIRST_FENCE,
            images=self._images,
            raw_input=self._run.input,
            count_usage=usage.count,
            prune_checkpoints=self._prune,
        )
        self._states = RunStates(leased_run.backend.stream, thread.key, thread.fence)
        leased_run.lease.usage = usage.total
        # Before its first worker a thread has no run that could have asked.
        known = () if leased_run.lease.fence == FIRST_FENCE else unsettled
        self._unsettled = None if known is None else {request.id: request for request in known}
        """The open or unacknowledged requests by id. Only this worker adds some; people may end them meanwhile. None
        if they must be read.
        """
        self._open: OpenRun | None = None
        self._is_state_lost = False  # While the run has gone on, and its state is not stored.
        self._has_run = False
        """Whether this worker has run the graph: it has ended each step, or a step has asked."""
        self._delivered: set[str] = set()
        self._read: dict[str, Request] = {}
        """The requests whose answers the agent's code has read."""
        self._asked: Sequence[AskedQuestion] = ()
        """The questions of the position from which the run goes on."""
        self._last_answers: tuple[str | None, Sequence[AskedQuestion]] = None, ()
        """The answers delivered to the agent since its last pause, and the checkpoint of that pause."""

    async def execute(self) -> None:
        """Continue the run until it asks, ends or fails.

        Raises `FenceError` if another worker or a cancel took the thread.
        Raises `UnavailableError` for a store outage: it does not fail the run, and the next worker continues it.
        """
        if self._lease.fence > FIRST_FENCE:  # Before its first worker a thread has no output.
            await self._emitter.take_over(has_fence=True)
        try:
            # Images are loaded even if the agent no longer accepts them: the history contains them.
            async with self._images.loaded(self._leased_run.thread):
                await self._go_on()
        except Exception as error:
            # A store has no `limit`: another server refused a call of the agent's own code.
            if isinstance(error, FenceError | UnavailableError) and error.code != "limit":
                raise
            if isinstance(error, RingiError) and not isinstance(error, ConflictError):
                log.warning("run %s failed: %s", self._run.id, error)
            else:
                log.exception("run %s failed", self._run.id)
            await self._fail(error)

    async def _fail(self, error: Exception) -> None:
        failure = run_failure_of_error(error.error if isinstance(error, AgentServiceError) else error)
        failed: frozenset[str] = self._open.failed if self._open is not None else frozenset()
        asked_at, last_answers = self._last_answers
        found = [requests for question, requests in last_answers if question.id in failed]
        # Calls that ran may run again if their answers are delivered again.
        refused = found or [requests for _, requests in last_answers if failed or self._is_state_lost]
        answers = [request for requests in refused or [each for _, each in last_answers] for request in requests]
        for request in answers if refused else ():
            await self._mark_request(request, reason_of("answer_failed", why=failure.message))
        taken = self._open.read if self._open is not None and not self._is_state_lost else None
        self._read |= answers_read_by_agent(last_answers, taken, self._leased_run.outcomes.receipts)
        if refused or answers_unread_by_agent([*answers, *(await self._unsettled_requests()).values()], self._read):
            await self._leased_run.mark(reason_of("answer_failed", why=failure.message))
        details = {"answers": tuple(request.id for request in answers), "asked_at": None if refused else asked_at}
        await self._leased_run.fail(failure.model_copy(update=details), self._read.values())

    async def _go_on(self) -> None:
        """Continue until the run asks or ends."""
        if not self._about.has_checkpoints and not await self._load_state():
            return
        run = self._open = self._runtime.open(self._view)
        if self._run.back_to:
            await run.rewind(self._run.back_to)
            await self._lease.change(lambda t: t.went_back(self._inbox.clock()))
            self._run = self._run.model_copy(update={"back_to": None})
        standing: Standing | None = await run.look()
        while standing:
            await self._report_swallowed(standing.swallowed)
            try:
                standing = await self._step(run, standing)
            except UnreadAnswersError as error:
                return await self._fail_unread(error)
            failpoint("run.between_steps")

    async def _load_state(self) -> bool:
        """Load the state of the thread, and whether its run asks; False if this agent cannot read it."""
        state = self._view.state = await self._states.take_over() if self._lease.fence > FIRST_FENCE else None
        # Fixed at the start of a run: a rejected call would run if questions were disabled before the run resumes.
        self._view.asks = state.asks if state and state.run_id == self._run.id else hitl_enabled()
        if state is None or (state.framework == self._about.framework and state.schema_number in self._about.reads):
            return True
        wrote, here = f"{state.framework} {state.version}", f"{self._about.framework} {self._about.version}"
        await self._mark_stuck(reason_of("state_unknown", wrote=wrote, here=here))
        return False

    async def _step(self, run: OpenRun, standing: Standing) -> Standing | None:
        """Ask, or continue the run; return its next position, or None once it waits or has ended."""
        if standing.status == "new":
            return await self._advance(run, {})
        # The steps that asked, and that the deployed agent does not have.
        steps = await cleanup.steps_that_asked(self._backend, self._lease.thread, standing.lost)
        if missing := {step: steps[step] for step in sorted(steps.keys() - self._about.steps)}:
            why = missing_steps_message(self._view.agent.name, self._about, missing)
            return await self._mark_stuck(why, standing, missing)
        asked = self._asked = [
            (question, [await self._ask(question, position) for position in question.positions])
            for question in standing.questions
        ]
        requests = [request for _, each in asked for request in each]
        await self._recover(requests)
        await self._close_others({request.id for request in requests})
        if ended := self._answerable(asked):
            return await self._resume(run, ended, standing.position)
        values = dict(standing.values or {})
        if requests and (self._has_run or not standing.is_interrupted):
            return None if await self._park(values, requests) else standing
        if standing.status != "done":
            return await self._advance(run, {})
        return None if await self._finish(values) else standing

    async def _advance(self, run: OpenRun, answers: Mapping[str, Sequence[Request]]) -> Standing:
        await self._leased_run.save_changes()
        self._emitter.open()
        # A step that blocks the event loop must hide neither this nor, on SQLite, the end of this transaction.
        await self._emitter.flush()
        failpoint("run.before_go")
        with tracing.running(self._lease.thread, self._run):
            state = await run.advance(answers, self._emitter)
        self._has_run = True
        await self._emitter.flush()
        if state:
            self._is_state_lost = True
            about = {"run_id": self._run.id, "asks": self._view.asks}
            self._view.state = await self._states.write(state.model_copy(update=about))
            self._is_state_lost = False
        self._read |= answers_read_by_agent(self._last_answers[1])
        # What fails from here on is no fault of the answers.
        self._last_answers = None, ()
        failpoint("run.after_go")
        return await run.look()

    async def _resume(self, run: OpenRun, ended: Sequence[AskedQuestion], asked_at: str | None) -> Standing:
        answers = await self._view.recheck(ended)
        if repeated := self._delivered & answers.keys():
            what = f"the agent repeats the answered questions {', '.join(sorted(repeated))}"
            raise RingiError(f"{what}: {self._about.repeats}")
        self._delivered |= answers.keys()
        self._last_answers = asked_at, ended
        try:
            standing = await self._advance(run, answers)
            self._view.host.outcomes.take_up(request for requests in answers.values() for request in requests)
            return standing
        except AnswerRefusedError as error:
            log.warning("run %s refused an answer to %s: asking again", self._run.id, error.id)
            refused = [request for question, requests in ended if question.id == error.id for request in requests]
        self._delivered -= answers.keys()
        for request in refused:
            await self._mark_request(request, ANSWER_REFUSED)
        return await self._advance(run, {})

    async def _fail_unread(self, error: UnreadAnswersError) -> None:
        """End the run for an operator: the deployed agent has not read an answer, so a rejected call could run."""
        unread = [each for each in self._asked if each[0].id in error.ids]
        why = unread_answers_message(self._view.agent.name, self._about, unread, error)
        log.error("run %s: %s", self._run.id, why)
        requests = [request for _, requests in unread for request in requests]
        for request in requests:
            await self._mark_request(request, why)
        self._read |= answers_read_by_agent(self._asked, self._delivered - error.ids)
        await self._leased_run.stop(why, tuple(request.id for request in requests), self._read.values())

    def _answerable(self, asked: Sequence[AskedQuestion]) -> Sequence[AskedQuestion]:
        """Return the questions that can be answered now, with their requests."""
        ended = [each for each in asked if all(request.is_final for request in each[1])]
        if self._about.needs == "all" and len(ended) < len(asked):
            return ()
        # If one of several answers is refused, it stops the others midway and their effects would be repeated.
        return [each for each in ended if each[0].may_refuse][:1] or ended

    async def _prune(self) -> None:
        await cleanup.prune_checkpoints(self._backend, self._lease.thread)

    async def _ask(self, question: Question, position: int) -> Request:
        refusals, request = count(), None
        while request is None or is_outcome_void(request, question, self._run, self._delivered):
            id = question_request_id(self._lease.key, self._run.id, question, position, next(refusals))
            request = await self._find_or_submit(question, position, id)
        return request

    async def _find_or_submit(self, question: Question, position: int, id: str) -> Request:
        if self._run.attempt:
            # Only an earlier attempt may have closed it without showing it.
            with suppress(NotFoundError):
                return await self._known_request(id)
        elif id in await self._unsettled_requests():
            return await self._known_request(id)
        key = self._lease.key
        recipients = {} if question.has_recipients else self._view.agent.ask_defaults
        about = {"id": id, "thread_id": key.id, "run_id": self._run.id, **recipients}
        asked = question.asks[position].model_copy(update=about)
        ask = await self._view.question(asked, must_ask=question.must_ask)
        if isinstance(ask, Request):
            return ask
        args: dict[str, Any] = {"interrupt_id": question.id, "node": question.step}
        args |= {ATTEMPT: self._run.attempt} if self._run.attempt else {}
        continuation = Continuation(runner=RUNNER, target=self._view.agent.name, key=key.id, args=args)
        asker: dict[str, Any] = {"by": self._view.host.asker, "continuation": continuation}
        asker |= {"starter": await self._view.host.starter()} if ask.exclude else {}

        async def submit(*, is_known: bool = False) -> Request:
            try:
                return await self._inbox.submit(ask, **asker, is_known=is_known)
            except ConflictError as error:
                # A deploy may have changed the tool's schema or the policy since: it is the same question.
                is_same = request_content_digest(question.asks[position]) == question.digests[position]
                if error.code != "different" or (is_same and not self._view.agent.policy):
                    raise
                return await self._inbox.get(id)

        if self._emitter.has_shown(id):
            request = await submit(is_known=True)
        else:
            new = await self._inbox.prepare(ask, **asker)
            if approved := await self._inbox.use_grant(new):
                return approved
            request = new.request
            announce = partial(self._inbox.announce_new, new)
            self._leased_run.changes.append(RequestChange((request, new.event), announce, submit))
        if request.is_unsettled:
            (await self._unsettled_requests())[id] = request
        return request

    async def _known_request(self, id: str) -> Request:
        known = (await self._unsettled_requests()).get(id)
        # An open one may have been answered while the run went on after another answer.
        return known if known and known.is_final else await self._inbox.get(id)

    async def _unsettled_requests(self) -> dict[str, Request]:
        if self._unsettled is None:
            found = await cleanup.requests_of_thread(self._backend, self._lease.thread, unsettled=True)
            self._unsettled = {request.id: request for request in found}
        return self._unsettled

    async def _close_others(self, asked: Container[str]) -> None:
        """Cancel the open requests of the thread and acknowledge all, except those that its run still asks."""
        unsettled = await self._unsettled_requests()
        others = [request for request in unsettled.values() if request.id not in asked]
        for request in others:
            if request.is_unacknowledged:
                self._read[request.id] = request  # It is not asked any more.
                self._leased_run.acknowledge(request)
            else:
                await cleanup.close_requests(self._inbox, [request], reason_of("superseded"))
            del unsettled[request.id]

    async def _settle(self, step: Callable[[Thread], tuple[Thread, Event]], *, prunes: bool = False) -> bool:
        is_settled = await self._leased_run.settle(step, is_last=True, prunes=prunes)
        if not is_settled:
            self._unsettled = None
        return is_settled

    async def _mark_request(self, request: Request, why: str) -> None:
        await self._inbox.mark_attention(request.id, why)
        self._unsettled = None

    async def _recover(self, requests: Sequence[Request]) -> None:
        """Remove the stuck marks: a later deploy has restored the missing steps."""
        for request in requests:
            if request.needs_attention:
                await self._inbox.retry(request.id, SYSTEM)
                self._unsettled = None
        if self._lease.thread.attention:
            await self._leased_run.mark(None)

    async def _report_swallowed(self, titles: Sequence[str]) -> None:
        if not titles:
            return
        log.error("run %s: %s", self._run.id, swallowed_questions_message(titles))
        known = self._lease.thread.missed or ()
        combined = tuple(dict.fromkeys((*known, *titles)))[:MAX_SWALLOWED]
        if combined != known:
            await self._lease.change(lambda t: t.missing(combined, self._inbox.clock()))

    async def _mark_stuck(
        self, why: str, standing: Standing | None = None, missing: Container[str] | None = None
    ) -> Standing | None:
        """Mark the run and its requests for an operator; `missing` are the steps that it lacks, or None for all."""
        # Resuming would commit a state in which the lost step never asked, and would silently drop its request.
        pending = await cleanup.open_requests(self._backend, self._lease.thread)
        stuck = [
            r for r in pending if missing is None or (r.continuation and r.continuation.args.get("node") in missing)
        ]
        ended = [request for request in (await self._unsettled_requests()).values() if request.is_unacknowledged]
        for request in [*stuck, *ended]:
            await self._mark_request(request, why)
        if not pending:
            await self._leased_run.stop(why)
            return None
        await self._leased_run.mark(why)
        values = dict(standing.values or {}) if standing else dict(self._lease.thread.values or {})
        return None if await self._park(values, pending) else standing

    async def _park(self, values: dict[str, Any], requests: Sequence[Request]) -> bool:
        for request in requests:
            if request.is_unacknowledged:
                # Its interrupt also waits for other requests; unacknowledged, it would be delivered repeatedly until
                # then.
                self._leased_run.acknowledge(request)
        self._emitter.pause(values, [request_as_agui_interrupt(each) for each in requests if not each.is_final])
        failpoint("run.before_park")
        usage = self._lease.usage()
        return await self._settle(lambda t: t.parked(self._lease.thread, self._inbox.clock(), values, usage))

    async def _finish(self, values: dict[str, Any]) -> bool:
        if titles := self._lease.thread.missed:
            # Not earlier: a run that waits for people needs no operator.
            await self._leased_run.mark(swallowed_questions_message(titles))
        self._emitter.finish(values)
        failpoint("run.before_finish")
        usage, prunes = self._lease.usage(), self._about.has_checkpoints and not self._view.agent.history
        finish = lambda t: t.finished(self._lease.thread, self._inbox.clock(), values, usage)  # noqa: E731
        if not await self._settle(finish, prunes=prunes):
            return False
        if prunes and self._leased_run.has_more is None:  # Else it has happened, in the same transaction.
            await self._prune()
        return True
