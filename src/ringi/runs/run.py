"""One run as its runtime sees it: the policy for its calls, the sums of its models, and its states, stored as JSON."""

from __future__ import annotations

import asyncio
import json
import math
import threading
import traceback
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic_core import to_json

from ringi.base.canonical_json import clean_text
from ringi.base.texts import reason_of
from ringi.contracts.backend import Backend, Stream, StreamItem, read_whole_stream
from ringi.contracts.runtime import FrameworkState, Question
from ringi.domain.ask import AGREEING, Action, Ask
from ringi.domain.conditions import Args
from ringi.domain.grants import OVER
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Failure, ModelCalls, Thread, checkpoint_thread, thread_state_streams
from ringi.errors import InvalidError, NotFoundError
from ringi.policy.question import find_call_facts, policy_edit_denial, question_about_call, rule_decider_fields
from ringi.policy.rules import OTHERWISE, PolicyDenial
from ringi.runs.agent import Agent
from ringi.runs.context import RunContext
from ringi.runs.messages import RunImages, saver_with_images

OF_RULE = ("title", "priority", "expires_in")
"""The parts of a question that a rule can set, besides its people and decisions."""
MAX_MODELS = 20
"""The number of models that are listed; the calls of others are added up."""
OTHERS = "other models"


@dataclass(kw_only=True)
class GatedRun:
    """A run whose calls the policy of its agent decides about; without a policy, people are asked about each."""

    agent: Agent
    host: RunContext
    """The context of the run, which records what rules decide."""
    asks: bool = True
    """Whether people are asked; if not, calls that no rule denies run."""

    async def must_pause(self, tool: str, args: Mapping[str, Any]) -> bool:
        """Return whether the run must pause at a call, at which its framework would not pause.

        Args:
            tool: The name of the tool.
            args: The arguments by name; a condition on a missing one is unknown.
        """
        await self.host.check_pauses(is_gated=False)
        if self.agent.policy is None:
            return False
        needed = self.agent.policy.facts_of(tool, args) if self.asks else self.agent.policy.facts_of_denial(tool, args)
        effect = self.agent.policy.decide(tool, args, await self._find(needed, tool, args)).effect
        return effect == "deny" or (self.asks and effect == "ask")

    async def question(self, ask: Ask, *, must_ask: bool = False) -> Ask | Request:
        """Return the question to people, or the ended request of a call that needs none, recorded at once.

        Args:
            ask: The question of the agent, with its id.
            must_ask: Whether people decide even if a rule allows the call.
        """
        if ask.action is None or (self.agent.policy is None and self.asks):
            return ask
        with suppress(NotFoundError):
            # What was decided counts, even if the policy or a fact has changed since.
            known = await self.host.inbox.get(str(ask.id))
            if known.is_final:
                return known
        tool, args = ask.action.name, ask.action.args
        facts = await self._find(self.agent.policy.facts_of(tool, args), tool, args) if self.agent.policy else {}
        if self.agent.policy and (denial := self.agent.policy.denial(tool, args, facts)):
            return await self.host.deny(self._with_source(ask), *denial)
        if not (must_ask and self.asks) and (approver := self._approver(ask, facts)):
            # The setting that asks nobody is no rule of the policy.
            decided = self._with_source(ask) if self.asks else ask
            return await self.host.inbox.submit_approved(decided, rule=approver, by=self.host.by)
        return self._with_rule(ask, facts) if self.asks else ask

    async def recheck(self, questions: Sequence[tuple[Question, Sequence[Request]]]) -> dict[str, Sequence[Request]]:
        """Return the ended requests by question, each with a rejection if the policy denies its call by now.

        Args:
            questions: The questions, each with its requests.

        Raises:
            PausedError: The agent is paused, and an answer would let a call run.
        """
        answered = [request for _, requests in questions for request in requests]
        if any(request.granted for request in answered):
            await self.host.check_pauses()
            self.host.inbox.refresh_grants(answered)
        return {question.id: [await self._recheck(each) for each in requests] for question, requests in questions}

    async def _recheck(self, request: Request) -> Request:
        granted = request.granted
        denial = await self._denial(request, granted) if granted else None
        if denial is None:
            return request
        ask = Ask(title=request.title, action=granted, allowed=("reject",))
        denied = await self.host.deny(self._with_source(ask), *denial)
        return request.model_copy(update={"response": denied.response})

    async def _denial(self, request: Request, granted: Action) -> PolicyDenial | None:
        if await self.host.inbox.granted.is_over(request):
            return PolicyDenial("grant", OVER)
        denial = await current_policy_denial(self.agent, granted.name, granted.args)
        return denial or (policy_edit_denial(self.agent.policy, request) if self.agent.policy else None)

    async def _find(self, names: frozenset[str], tool: str, args: Args) -> dict[str, Any]:
        return await find_call_facts(self.agent.facts, names, tool, dict(args))

    def _approver(self, ask: Ask, facts: Args) -> str | None:
        """Return the name of the rule or setting that lets a call run; None if people decide."""
        if self.agent.policy is None or not self.asks:
            return "RINGI_ENABLED=0" if "approve" in ask.resolved_allowed else None
        assert ask.action
        effect, rule, approver = self.agent.policy.decide(ask.action.name, ask.action.args, facts)
        if effect == "ask":
            return approver
        return (rule.name if rule else None) or OTHERWISE

    def _with_source(self, ask: Ask) -> Ask:
        """Return the question with the policy, for the record of what a rule decides."""
        return ask.model_copy(update={"policy": self.agent.policy.source_of(None)}) if self.agent.policy else ask

    def _with_rule(self, ask: Ask, facts: Args) -> Ask:
        """Return the question with what its rule says about it."""
        assert self.agent.policy
        assert ask.action
        call = ask.action.name, ask.action.args
        effect, rule, _ = self.agent.policy.decide(*call, facts)
        rule = rule if effect == "ask" else None
        question = question_about_call(self.agent.policy, rule, *call, facts=facts, context=ask.context)
        # If the policy allows the call, the agent asks.
        changes: dict[str, Any] = {"context": question.context, "policy": question.policy if effect == "ask" else None}
        if rule:
            changes |= {name: value for name in OF_RULE if (value := getattr(rule, name)) is not None}
            if rule.assignee or rule.groups:
                changes |= {"assignee": rule.assignee, "groups": rule.groups}
            # A framework may offer less than the rule allows, such as no edit.
            both = tuple(each for each in ask.resolved_allowed if each in rule.allowed) or ("reject",)
            changes |= rule_decider_fields(self.agent.policy, rule, ask.action.name) | {"allowed": both}
            if set(AGREEING).isdisjoint(both):
                # People vote only on what may run.
                changes.pop("quorum", None)
        return ask.model_copy(update=changes)


@dataclass(kw_only=True)
class ExecutedRun(GatedRun):
    """A run on the worker that holds its thread; see `ringi.contracts.runtime.WorkerRun`."""

    key: Key
    id: str
    by: str | None
    checkpoints: Any
    max_fields: int
    is_first: bool
    images: RunImages
    raw_input: dict[str, Any]
    """The input, with the names of its images."""
    count_usage: Callable[[ModelCalls], None]
    prune_checkpoints: Callable[[], Coroutine[Any, Any, None]]
    state: FrameworkState | None = None

    @property
    def input(self) -> dict[str, Any]:
        """The input of the run. Images of its messages are content blocks."""
        return self.images.resolve_input(self.raw_input)


async def current_policy_denial(agent: Agent, tool: str, args: Args) -> PolicyDenial | None:
    """Return why the policy of an agent denies a call, with current facts; None if it does not."""
    if agent.policy is None:
        return None
    facts = await find_call_facts(agent.facts, agent.policy.facts_of_denial(tool, args), tool, dict(args))
    return agent.policy.denial(tool, args, facts)


class UsageSums:
    """The use of models by one run; threads may count at the same time.

    Args:
        earlier: The use of models by the run before this worker.
    """

    def __init__(self, earlier: Sequence[ModelCalls] | None) -> None:
        self._sums = {usage.model: usage for usage in earlier or ()}
        self._lock = threading.Lock()

    def count(self, usage: ModelCalls) -> None:
        """Add calls of a model."""
        with self._lock:
            if usage.model not in self._sums and len(self._sums) >= MAX_MODELS:
                usage = usage.model_copy(update={"model": OTHERS})
            known = self._sums.get(usage.model)
            self._sums[usage.model] = known.plus(usage) if known else usage

    def total(self) -> tuple[ModelCalls, ...]:
        """Return the use of models by the run so far, by model."""
        with self._lock:
            return tuple(self._sums.values())


CHUNK = 192 * 1024
"""Characters of one stream item."""
MAX_STATE = 16 * 1024 * 1024
"""Maximum characters of a state."""
PAGE = 8


class RunStates:
    """The newest state of one thread. Two streams take turns, so that the previous state is there until the next is.

    Args:
        stream: The streams of the store.
        key: The key of the thread.
        fence: The fence of the worker that holds the thread.
    """

    def __init__(self, stream: Stream, key: Key, fence: int) -> None:
        self._stream, self._streams, self._fence = stream, thread_state_streams(key), fence
        self._next, self._count = 0, 0

    async def take_over(self) -> FrameworkState | None:
        """Fence off older workers, and return the newest state; None if there is none."""
        await asyncio.gather(*(self._stream.append(key, (), fence=self._fence) for key in self._streams))
        found = await asyncio.gather(*map(self._read, self._streams))
        newest = max((each for each in found if each), default=None)
        if newest is None:
            return None
        _, self._count, text = newest
        self._next = 1 - found.index(newest)
        return FrameworkState.model_validate_json(text)

    async def write(self, state: FrameworkState) -> FrameworkState:
        """Store the next state durably, in place of all earlier ones, and return it as it is stored.

        Characters that a store refuses are replaced: they would be noticed only after the calls of the run.

        Raises:
            FenceError: Another worker holds the thread.
            InvalidError: The state is too large.
        """
        state = state.model_copy(update={"data": clean_json(state.data)})
        text = state.model_dump_json()
        if len(text) > MAX_STATE:
            why = f"the state of the run has {len(text)} characters: keep at most {MAX_STATE}"
            raise InvalidError.of("state", why, "too_large")
        key, order = self._streams[self._next], [self._fence, self._count + 1]
        parts = [text[start : start + CHUNK] for start in range(0, len(text), CHUNK)]
        head = {"type": "STATE", "order": order, "parts": len(parts)}
        await self._stream.delete(key, fence=self._fence)
        await self._stream.append(key, [StreamItem({**head, "text": part}) for part in parts], fence=self._fence)
        self._next, self._count = 1 - self._next, self._count + 1
        return state

    async def _read(self, key: Key) -> tuple[int, int, str] | None:
        """Return the fence and the number of the state in a stream, which give its place in the order, and its text."""
        items = await read_whole_stream(self._stream, key, PAGE)
        # The parts of a state are appended at once, so a part never stands alone.
        if not items:
            return None
        fence, number = items[0].event["order"]
        return fence, number, "".join(item.event["text"] for item in items)


def storable_json_text(value: Any) -> str:
    """Return a value of the agent as JSON, without characters that a store refuses."""
    with suppress(ValueError):
        return to_json(value, by_alias=True, inf_nan_mode="null", fallback=str).decode()
    return clean_text(json.dumps(value, default=str, ensure_ascii=False, skipkeys=True))


def clean_json(value: Any) -> Any:
    """Return JSON data without characters that a store refuses.

    Args:
        value: Text, a number, a list or an object; nested values are cleaned too. Infinite numbers become None.
    """
    if isinstance(value, dict):
        return {clean_text(name): clean_json(each) for name, each in value.items()}
    if isinstance(value, list):
        return [clean_json(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return clean_text(value) if isinstance(value, str) else value


async def graph_state(backend: Backend, thread: Thread) -> dict[str, Any]:
    """Return the state of a thread's graph as of its newest step.

    Args:
        backend: The services of the store.
        thread: The thread.

    Returns:
        The values by channel; empty if the thread was erased.
    """
    config = {"thread_id": checkpoint_thread(thread.key), "checkpoint_ns": ""}
    saver = await saver_with_images(backend, thread)
    saved = await saver.aget_tuple({"configurable": config})
    return saved.checkpoint["channel_values"] if saved else {}


MAX_TRACEBACK = 16_000
"""The number of characters stored of a traceback: its beginning and its end."""


def run_failure_of_error(error: Exception) -> Failure:
    """Return the message of an error for people, and its origin for operators."""
    name = type(error).__name__
    text = "".join(traceback.format_exception(error))
    if len(text) > MAX_TRACEBACK:
        text = f"{text[: MAX_TRACEBACK // 4]}\n…\n{text[-MAX_TRACEBACK * 3 // 4 :]}"
    message = f"{name}: {error}" if str(error) else reason_of("no_message", error=name)
    return Failure(message=message[:2000], code=name, traceback=clean_text(text))
