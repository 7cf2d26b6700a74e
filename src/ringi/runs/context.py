"""The context of a run: its thread, the ids of its requests, and calls of tools as questions to people."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Container, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from contextvars import ContextVar
from typing import Any, NamedTuple, TypeVar, get_args

from ringi.base.canonical_json import canonical, clean_text, digest, jsonable, short_json_hash
from ringi.base.loops import running_loop
from ringi.base.outages import OutageError, report_outages
from ringi.base.texts import reason_of
from ringi.contracts.runtime import Question
from ringi.domain.ask import Ask, Decision, Outcome, Receipt, parse_body, request_content_digest
from ringi.domain.pauses import paused_error
from ringi.domain.record import POLICY, THREAD, Key
from ringi.domain.request import Request
from ringi.domain.thread import Run, Thread, checkpoint_thread
from ringi.domain.voting import Decider
from ringi.errors import ConflictError, InvalidError, RingiError, UnavailableError
from ringi.forms.arguments import Schema, is_schema_usable
from ringi.inbox.inbox import StoreInbox
from ringi.policy.question import FACTS
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.runner import Runner

DECISIONS: tuple[Decision, ...] = get_args(Decision)
REFUSING_DECISIONS: tuple[Decision, ...] = ("reject", "respond")
UNAPPROVABLE = "**This call can only be refused:** {why}. What is shown as text here may be no text in the call.\n\n"


class UndecidedError(RingiError):
    """A question ended without an answer, and its agent cannot continue without one."""

    def __init__(self, id: str, status: str) -> None:
        what = f"request {id!r} is {status}, and its agent cannot continue without an answer"
        super().__init__(f"{what}: retry the run to ask again")


class CallDecision(NamedTuple):
    """The decision on a call."""

    decision: Decision
    name: str
    args: dict[str, Any]
    """The arguments with which an allowed call runs."""
    message: str | None


def decision_on_call(request: Request) -> CallDecision:
    """Return the decision on a call; silence is a rejection.

    Raises `NotAuthorizedError` unless the call that may run is the authorized call. Raises `UndecidedError` if there
    is no decision and the graph accepts no rejection.
    """
    action, response = request.action, request.response
    assert action
    if response and not request.erased:
        if granted := request.granted:
            request.authorize(action.name, granted.args)
        return CallDecision(response.decision, action.name, granted.args if granted else {}, response.message)
    if "reject" not in request.allowed:
        raise UndecidedError(request.id, request.status)
    return CallDecision("reject", action.name, {}, f"nobody decided: the request was {request.status}")


def approval_question(
    name: str,
    title: str,
    args: dict[str, Any],
    allowed: Collection[str],
    description: str | None,
    args_schema: Schema | None = None,
) -> Ask:
    """Return the question that asks for approval of a call."""
    storable, why = storable_call_arguments(jsonable(args))
    # Consent covers exactly the arguments shown: a call without a digest can only be rejected.
    offered = REFUSING_DECISIONS if why else DECISIONS
    decisions = tuple(decision for decision in offered if decision in allowed)
    if not decisions:
        problem = f"it cannot be approved ({why})" if why else "nothing can be decided about it"
        raise InvalidError.of("allowed", f"{name!r}: {problem}: allow one of {', '.join(offered)}")
    action = {"name": name, "args": storable, "schema": None if why else checkable_arguments_schema(args_schema)}
    text = clean_text((UNAPPROVABLE.format(why=why) if why else "") + (description or ""))[:20_000] or None
    return parse_body(Ask, {"title": title[:500], "description": text, "action": action, "allowed": decisions})


def storable_call_arguments(args: dict[str, Any]) -> tuple[dict[str, Any], str | None]:
    """Return storable arguments, and the reason if some were converted to text; None if all are unchanged."""
    try:
        canonical(args)
    except InvalidError as error:
        return {clean_text(name): storable_value_as_text(each) for name, each in args.items()}, error.errors[0].message
    return args, None


def storable_value_as_text(value: Any) -> Any:
    """Return a value, with parts that have no digest converted to text."""
    if isinstance(value, dict):
        return {clean_text(str(name)): storable_value_as_text(each) for name, each in value.items()}
    if isinstance(value, list):
        return [storable_value_as_text(each) for each in value]
    try:
        canonical(value)
    except InvalidError:
        return clean_text(str(value))
    return value


def checkable_arguments_schema(schema: Schema | None) -> Schema | None:
    """Return a schema that can check arguments here; the graph's own check follows."""
    return schema if schema and is_schema_usable(schema) else None


T = TypeVar("T")
log = logging.getLogger(__name__)
RUN_CONTEXT = "ringi_host"
"""The key of the RunContext in a run's configuration; absent if Ringi does not run the graph."""
MAX_DEPTH = 20
"""The number of runs that may have started each other."""
LOOP_BLOCKED = UnavailableError("the event loop is blocked", part="the record of pauses")
LOOP_SECONDS = 5.0
"""Seconds for which code without await waits for the event loop, before the loop counts as blocked."""
ANSWER_REFUSED = reason_of("answer_refused")
ATTEMPT = "attempt"
"""The key in the continuation of a request with the attempt of the run that asked; absent for the first one."""
APPROVAL: ContextVar[Request | None] = ContextVar("ringi_approval", default=None)
"""The request that approves the call that runs; None for a call without approval."""


class RunContext:
    """The context of one run: its audit records, and the threads that it starts.

    Args:
        runner: The runner that executes the run.
        inbox: The inbox of the run's tenant.
        thread: The thread, leased by this worker.
        run_id: The id of the run.
        by: The name of the person who started the run; None if it is no longer known.
    """

    def __init__(self, runner: Runner, inbox: StoreInbox, thread: Thread, run_id: str, by: str | None) -> None:
        self.runner = runner
        """The runner that starts and stops other threads.

        A step is repeated if its worker died: a thread that it starts needs a deterministic id. The repetition raises
        `ConflictError` if the thread has already been started.
        """
        self.inbox = inbox
        """The inbox of the run's tenant."""
        self.run_id = run_id
        """The id of the run. It is unique, even after the thread was erased and started again."""
        self.by = by
        """The name of the person who started the run; None if it is no longer known."""
        self._thread = thread
        self.keep_lease: Callable[[], Awaitable[None]] | None = None
        """Raises `UnavailableError` if another worker has taken the run; the worker that executes it sets this."""
        self._open_calls: dict[tuple[str, str], dict[str, Any]] = {}
        self._paused: dict[str, tuple[str, str]] = {}
        self.outcomes = CallOutcomes()
        """What became of the approved calls of the run."""
        self.refused_calls = set[str]()
        """The calls that a gate has refused without reading the answers about them: each id, or the digest without one.
        """
        self._loop, self._tasks = running_loop(), set[asyncio.Task[Any]]()

    @property
    def key(self) -> Key:
        """The tenant and the id of the run's thread."""
        return self._thread.key

    @property
    def agent(self) -> str:
        """The name of the run's agent."""
        return self._thread.agent

    @property
    def asker(self) -> Decider | None:
        """The starter of the run; None if it is no longer known."""
        return run_starter(self._thread, self.by)

    async def starter(self) -> Decider | None:
        """Return the starter of the run, or of the first run of those that started each other."""
        by, thread = self.asker, self._thread
        for _ in range(MAX_DEPTH):
            if thread.parent is None or by is None or not by.name.startswith(THREAD):
                return by
            thread = await self.runner.backend.store.get(Thread, *thread.parent)
            by = run_starter(thread, (thread.run and thread.run.by) or thread.started_by)
        return by

    async def check_lease(self) -> None:
        """Check that this worker still holds the run; call it right before a lasting effect.

        A stop between this check and the effect does not prevent the effect.

        Raises:
            FenceError: The run was stopped, or another worker holds it.
        """
        with report_outages():
            current = await self.runner.backend.store.get(Thread, *self.key)
        current.refuse_old(self._thread)

    async def check_pauses(self, *, is_gated: bool = True) -> None:
        """Check that this worker holds the run and nobody has paused its agent; call it right before a call.

        Args:
            is_gated: Whether people or a rule approved the call: then the pauses are read from the store. Else they are
                what this process follows, which costs nothing.

        Raises:
            PausedError: The agent is paused: the run stops here, and goes on after the pause.
            OutageError: The pauses cannot be read, or another worker has taken the run over: the call must not run.
        """
        with report_outages():
            if self.keep_lease:
                await self.keep_lease()
            pause = await self.runner.pauses.find(self.key.tenant, self.agent, is_fresh=is_gated)
        if pause:
            raise paused_error(pause, self.inbox.clock)

    def check_pauses_without_await(self, *, is_gated: bool = True) -> None:
        """Do the same as `check_pauses` for code that cannot await; code that blocks the event loop reads no store."""
        if running_loop() or self._loop is None:
            # The worker has read them before it continued this run, and blocks here without a chance to read again.
            with closing(self.check_pauses(is_gated=False)) as check, suppress(StopIteration):
                check.send(None)
                raise OutageError(LOOP_BLOCKED)
            return
        reading = asyncio.run_coroutine_threadsafe(self.check_pauses(is_gated=is_gated), self._loop)
        try:
            reading.result(LOOP_SECONDS)
        except TimeoutError:
            reading.cancel()
            raise OutageError(LOOP_BLOCKED) from None

    def record_pause(self, position: str, digest: str, title: str) -> None:
        """Record that a step stops to ask.

        Args:
            position: The checkpoint namespace of the step, such as `step:task-id|inner:task-id`.
            digest: The digest of the question.
            title: The title of the question.
        """
        self._paused[digest] = (position, title)

    def swallowed_questions(self, open_digests: Container[str], tasks: Container[str]) -> list[str]:
        """Return the titles of questions asked since the last call that neither wait nor belong to a waiting step.

        Args:
            open_digests: The digests of the questions that wait.
            tasks: The ids of the tasks whose steps wait.
        """
        paused, self._paused = self._paused, {}
        # A step asks one question at a time: its other questions follow after the answer.
        outer = {digest: place.partition("|")[0].rpartition(":")[2] for digest, (place, _) in paused.items()}
        return [
            title for digest, (_, title) in paused.items() if digest not in open_digests and outer[digest] not in tasks
        ]

    def set_open_questions(self, asks: list[Ask]) -> None:
        """Record the questions that currently wait for a person.

        Args:
            asks: All questions that wait, in any order.

        Raises:
            InvalidError: The arguments of a call are not JSON.
        """
        calls = [(ask, ask.action) for ask in asks if ask.action]
        self._open_calls = {
            (str(ask.context.get(TOOL_CALL_ID)), call_digest(action.name, action.args)): (
                facts if isinstance(facts := ask.context.get(FACTS), dict) else {}
            )
            for ask, action in calls
        }

    def facts_of(self, tool_call_id: str, call: str) -> dict[str, Any] | None:
        """Return the facts that people are shown with exactly this call; None if nobody is asked about it.

        If somebody is asked, they decide, even if the policy has changed.

        Args:
            tool_call_id: The id that the model gave to the call.
            call: The digest of the tool's name and arguments.
        """
        return self._open_calls.get((tool_call_id, call))

    async def approve(self, ask: Ask, rule: str, place: str) -> Request:
        """Record that a rule approves a question; idempotent.

        Args:
            ask: The question.
            rule: The name of the rule.
            place: The place of the question in the run, which a run that a restored store repeats has again.

        Returns:
            The approved request.
        """
        # A rule of another name, after a deploy, approves the same call: its effect keeps the key.
        id = f"p-{short_json_hash(checkpoint_thread(self.key), self.run_id, place, question_content_digest(ask))}"
        complete = ask.model_copy(update={"id": id, "thread_id": self.key.id, "run_id": self.run_id})
        with report_outages():
            try:
                return await self.inbox.submit_approved(complete, rule=rule, by=self.by)
            except ConflictError as error:
                if error.code != "different":
                    raise
                # A repeated model draws another id for the call; all else must be as it is stored.
                stored = await self.inbox.get(id)
                complete = question_with_call_id(complete, stored.context.get(TOOL_CALL_ID))
                return await self.inbox.submit_approved(complete, rule=rule, by=self.by)

    async def deny(self, ask: Ask, rule: str, reason: str) -> Request:
        """Record that a rule denies a call, once for each call in the thread; idempotent.

        Args:
            ask: The question about the call.
            rule: The name of the rule.
            reason: The reason, as the message of the response.

        Returns:
            The rejected request.
        """
        self._refuse(ask)
        call = (ask.action.name, ask.action.args) if ask.action else ()
        id = f"p-{short_json_hash(checkpoint_thread(self.key), 'deny', rule, *call)}"
        complete = ask.model_copy(update={"id": id, "thread_id": self.key.id, "run_id": self.run_id})
        with report_outages():
            return await self.inbox.submit_denied(complete, rule=rule, reason=reason, by=self.by)

    def deny_without_await(self, ask: Ask, rule: str, reason: str) -> None:
        """Do the same as `deny` for code that cannot await; if it blocks the event loop, the record follows later."""
        self._refuse(ask)
        loop = running_loop()
        if loop is None and self._loop:
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(self.deny(ask, rule, reason), self._loop).result(LOOP_SECONDS)
            return
        task = asyncio.ensure_future(self.deny(ask, rule, reason), loop=loop)
        self._tasks.add(task)
        task.add_done_callback(self._end_denial)

    def _refuse(self, ask: Ask) -> None:
        if key := call_key(ask):
            self.refused_calls.add(key)

    def _end_denial(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            log.error("a denied call did not run, but is not on record: %s", error)

    def approve_without_await(self, ask: Ask, rule: str, place: str) -> Request | None:
        """Do the same as `approve` for code that cannot await; None if it blocks the event loop."""
        if running_loop() or self._loop is None:
            return None
        approved = asyncio.run_coroutine_threadsafe(self.approve(ask, rule, place), self._loop)
        try:
            return approved.result(LOOP_SECONDS)
        except TimeoutError:
            approved.cancel()
            return None


def run_starter(thread: Thread, name: str | None) -> Decider | None:
    """Return the starter of the newest run of a thread; None without a name."""
    return Decider(name, subject=thread.run.subject if thread.run else "") if name else None


def call_digest(tool: str, args: dict[str, Any]) -> str:
    """Return the digest of exactly this call; raise `InvalidError` if the arguments are not JSON."""
    return digest([tool, args])


def call_key(ask: Ask) -> str | None:
    """Return the id that the model gave to a call, or the call's digest without one; None for another question."""
    if ask.action is None:
        return None
    id = ask.context.get(TOOL_CALL_ID)
    return id if isinstance(id, str) else call_digest(ask.action.name, ask.action.args)


def find_run_context(config: Any) -> RunContext | None:
    """Return the RunContext in the configuration of a run; None if there is none."""
    context = ((config or {}).get("configurable") or {}).get(RUN_CONTEXT)
    return context if isinstance(context, RunContext) else None


def run_context(config: Any) -> RunContext:
    """Return the RunContext in the configuration of a run.

    Args:
        config: The `RunnableConfig` of a node.

    Raises:
        RingiError: Ringi does not run the graph.
    """
    if (context := find_run_context(config)) is None:
        raise RingiError("this graph needs a run of Ringi; serve its agent with `ringi serve --agents`")
    return context


def question_request_id(key: Key, run_id: str, question: Question, position: int, refusals: int = 0) -> str:
    """Return the id of a question's request: the same in each attempt of the run, even after a restore of the store.

    Args:
        key: The tenant and the id of the thread.
        run_id: The id of the run.
        question: The question.
        position: The position in the asks of the question.
        refusals: How many answers to it do not count.
    """
    where = [run_id, question.place] if question.place else [question.id]
    more = [{"position": position, "refusals": refusals}] if position or refusals else []
    return f"q-{short_json_hash(checkpoint_thread(key), *where, question.digests[position], *more)}"


def question_content_digest(ask: Ask) -> str:
    """Return the digest of a question without the id of its call, which a repeated model draws anew."""
    return request_content_digest(question_with_call_id(ask, None))


def question_with_call_id(ask: Ask, id: Any) -> Ask:
    """Return a question with another id of its call; None for a question without one."""
    context = {name: value for name, value in ask.context.items() if name != TOOL_CALL_ID}
    context |= {} if id is None else {TOOL_CALL_ID: id}
    return ask.model_copy(update={"context": context})


def is_outcome_void(request: Request, question: Question, run: Run, delivered: Collection[str]) -> bool:
    """Return whether the outcome of a request does not count for a question of a run, so that people are asked again.

    A person's decision counts in all attempts of a run; a withdrawal or an expiry only until the run is retried.

    Args:
        request: The request at the place of the question.
        question: The question.
        run: The run.
        delivered: The ids of the questions whose answers this worker has given to the run.
    """
    if request.attention == ANSWER_REFUSED or request.id in run.anew:
        return True
    args = request.continuation.args if request.continuation else {}
    asked_as = args.get("interrupt_id", question.id)
    if request.is_final and asked_as != question.id and (not request.is_unacknowledged or asked_as in delivered):
        # A run has read the answer elsewhere: if two questions ever had one place, it would decide both.
        return True
    return request.is_final and request.response is None and args.get(ATTEMPT, 0) < run.attempt


def idempotency_key() -> str | None:
    """Return the idempotency key of the call that runs; None if neither a person nor a rule had to approve it.

    It is the id of the request that approves the call: a repeated call has the same one, after a crash of the worker
    and after a restore of the store. Pass it to the service that you call in a gated tool or function, and add a name
    to it if the call has several effects.
    """
    request = APPROVAL.get()
    return request.id if request else None


@contextmanager
def set_context_variable(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Set a context variable in the body of the `with` statement."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


class CallOutcomes:
    """The outcomes of approved calls, until the worker saves them with its other changes."""

    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self.receipts: dict[str, Receipt] = {}
        """The outcomes by the ids of the requests that approve the calls."""

    def record(self, request: Request | None, outcome: Outcome) -> None:
        """Record what became of an approved call; the newest known outcome of a call counts.

        Args:
            request: The request that approves the call; None for a call that nobody was asked about.
            outcome: What became of it.
        """
        if request and (outcome != "unknown" or request.id not in self.receipts):
            self._requests[request.id], self.receipts[request.id] = request, Receipt(outcome=outcome)

    def take_up(self, answered: Iterable[Request]) -> None:
        """Record that a run has taken up answers: of calls that rules approved it may never report the outcome.

        Args:
            answered: The requests.
        """
        for request in answered:
            if request.granted and request.response and request.response.responder.startswith(POLICY):
                self.record(request, "unknown")

    @contextmanager
    def executing(self, request: Request | None, suspensions: tuple[type[Exception], ...] = ()) -> Iterator[None]:
        """Record what becomes of an approved call, which runs in the body of the `with` statement.

        Args:
            request: The request that approves the call; None for a call that nobody was asked about.
            suspensions: The errors by which the framework pauses the call: then its outcome is open.
        """
        try:
            with set_context_variable(APPROVAL, request):
                yield
        except suspensions:
            raise
        except Exception:
            self.record(request, "failed")
            raise
        self.record(request, "committed")

    def take(self, id: str) -> Receipt | None:
        """Return the outcome of a call and forget it; None if it is unknown.

        Args:
            id: The id of the request that approves the call.
        """
        self._requests.pop(id, None)
        return self.receipts.pop(id, None)

    def approved_by_rules(self) -> list[Request]:
        """Return the requests that a rule approved, and that nobody has acknowledged: no question waits for them."""
        requests = [each for each in list(self._requests.values()) if not each.acknowledged_at]
        return [each for each in requests if each.response and each.response.responder.startswith(POLICY)]
