"""What the code of a run reaches of the thread that it runs on."""

from __future__ import annotations

import hashlib
from collections.abc import Container
from typing import Any

from langgraph.store.base import BaseStore

from ringi.backends.fenced_saver import outages
from ringi.base.canonical_json import canonical, digest
from ringi.domain.ask import Ask, digest_of
from ringi.domain.record import Key
from ringi.domain.request import Request
from ringi.domain.thread import Thread, checkpoint_thread
from ringi.errors import RingiError
from ringi.inbox.inbox import Inbox
from ringi.runs.agent import Agent
from ringi.runs.memories import Memories
from ringi.runs.runner import Runner

HOST = "ringi_host"
"""Under which name a run's configuration has its host; a graph that Ringi does not run has none."""
CALL = "tool_call_id"
"""Under which name the context of a question has the tool call that it is about."""


class RunContext:
    """The trail of one run, and the threads beside its own."""

    def __init__(self, runner: Runner, held: Thread, run_id: str, by: str | None) -> None:
        self._runner, self._inbox, self._held, self._run_id, self._by = runner, runner.inbox, held, run_id, by
        self.memories = Memories(runner.inbox, by)
        self._asked: frozenset[tuple[str, str]] = frozenset()
        self._pauses: dict[str, tuple[str, str]] = {}

    @property
    def runner(self) -> Runner:
        """What begins and stops other threads.

        A step that a worker died of is done again: what it begins needs an id that is the same then, and finds
        `ThreadBusyError` where it has begun already.
        """
        return self._runner

    @property
    def inbox(self) -> Inbox:
        """The inbox of the run's tenant."""
        return self._inbox

    @property
    def key(self) -> Key:
        """The tenant and the id of the run's thread."""
        return self._held.key

    @property
    def agent(self) -> str:
        """The name of the agent whose run it is."""
        return self._held.agent

    @property
    def run_id(self) -> str:
        """The id of the run: no other run's, also of a thread that was erased and begun anew."""
        return self._run_id

    @property
    def by(self) -> str | None:
        """Who started the run; None when nobody knows any more."""
        return self._by

    def store_of(self, agent: Agent) -> BaseStore | None:
        """Return what `runtime.store` is: the person's memories, or what the agent keeps beyond its threads."""
        stores = self._runner.backend.agent_stores
        if agent.memories:
            return self.memories
        return stores(self.key.tenant, agent.name) if stores else None

    async def check_held(self) -> None:
        """Raise `FenceError` once the run was stopped, or another worker has it: asked right before a lasting effect.

        What is stopped between this and the effect is not held back.
        """
        with outages():
            thread = await self._runner.backend.store.get(Thread, *self.key)
        thread.refuse_old(self._held)

    def pauses(self, place: str, shown: str, title: str) -> None:
        """Take note that a step stops to ask."""
        self._pauses[shown] = (place, title)

    def swallowed_questions(self, shown: Container[str], tasks: Container[str]) -> list[str]:
        """Return the titles of what was asked since the last call, and neither waits nor has a step that does."""
        pauses, self._pauses = self._pauses, {}
        # A step asks one thing after the other: the rest of it is asked once that is answered.
        outer = {digest: place.partition("|")[0].rpartition(":")[2] for digest, (place, _) in pauses.items()}
        return [title for digest, (_, title) in pauses.items() if digest not in shown and outer[digest] not in tasks]

    def set_open_questions(self, asks: list[Ask]) -> None:
        """Take note of what waits for a person where the run stands."""
        asked = [(ask.context.get(CALL), ask.action) for ask in asks]
        self._asked = frozenset((str(id), call_digest(action.name, action.args)) for id, action in asked if action)

    def has_asked(self, tool_call_id: str, call: str) -> bool:
        """Whether people are asked about exactly this call: then it is theirs, whatever a policy says by now."""
        return (tool_call_id, call) in self._asked

    async def approve(self, ask: Ask, rule: str, place: str) -> Request:
        """Record that a rule approves what is asked at this place of the run; twice is once."""
        told = canonical([checkpoint_thread(self.key), place, rule, digest_of(ask)])
        id = f"p-{hashlib.sha256(told).hexdigest()[:32]}"
        complete = ask.model_copy(update={"id": id, "thread_id": self.key.id, "run_id": self._run_id})
        with outages():
            return await self._inbox.submit_approved(complete, rule=rule, by=self._by)


def call_digest(tool: str, args: dict[str, Any]) -> str:
    """Return the digest of exactly this call; raise `InvalidError` for arguments that are no JSON."""
    return digest([tool, args])


def host_of(config: Any) -> RunContext | None:
    """Return the host in the configuration of a run, None where there is none."""
    host = ((config or {}).get("configurable") or {}).get(HOST)
    return host if isinstance(host, RunContext) else None


class NoHostError(RingiError):
    """The graph is run by something else than Ringi."""

    def __init__(self) -> None:
        super().__init__("this graph runs on threads of Ringi: serve its agent")


def host_in(config: Any) -> RunContext:
    """Return the host in the configuration of a run, or raise `NoHostError`."""
    host = host_of(config)
    if host is None:
        raise NoHostError
    return host
