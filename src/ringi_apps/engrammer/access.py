"""Access of a server's caller to conversations, which may have several threads."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from ringi import Request
from ringi.base import jsonable
from ringi.contracts import Backend, Store
from ringi.domain import Key, Query, Thread, ThreadStatus, parse_body, record_topic
from ringi.errors import ConflictError, InvalidError, NotFoundError
from ringi.runs import is_asked_by, record_pages
from ringi.server import (
    LongPoll,
    Principal,
    RefusalError,
    ServerComponents,
    ThreadName,
    may_read,
    may_read_thread,
    require_readable_thread,
)
from ringi_apps.engrammer.cautions import InsightCaution, find_cautions, learning_context_of
from ringi_apps.engrammer.engrammer import EngrammerAgent
from ringi_apps.engrammer.persistence import read_entries, read_playbook, turns_in_newest_checkpoint
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.thread_ids import MAX_THREADS, belongs_to, conversation_of, thread_ids_of
from ringi_apps.engrammer.turns import Turn, new_turn

if TYPE_CHECKING:
    from ringi_apps.engrammer.engrammer import Engrammer

MAX_ID_LENGTH = 190
REQUESTS_PER_PAGE = 200
DEFAULT_AGENT = "engrammer"
"""Name of the Engrammer that is used if several run and none is named."""


@dataclass(frozen=True)
class EngrammerSnapshot:
    """The current state of a conversation, with all its threads."""

    id: str
    engrammer: Engrammer
    threads: tuple[Thread, ...]
    """The first thread of the conversation comes first."""
    turns: tuple[Turn, ...]
    """Oldest first."""
    requests: tuple[Request, ...]
    """All learning requests, answered or not, oldest first."""
    seen: frozenset[str]
    """Ids of the requests that the caller may see."""
    refused: Mapping[str, str | None]
    """Reasons of earlier rejections by request id, if the caller may see them; similar insights are not proposed."""
    applied: Mapping[str, int]
    """The playbook version that applied each request."""
    playbook: Playbook

    @cached_property
    def cautions(self) -> dict[str, InsightCaution]:
        """The caution of each pending request that the caller may see."""
        return find_cautions(self.pending, self.approved, self.playbook)

    @property
    def pending(self) -> list[Request]:
        """The pending requests that the caller may see."""
        return [request for request in self.requests if not request.is_final and request.id in self.seen]

    @property
    def approved(self) -> list[Request]:
        """The approved requests that their runs have still to learn."""
        runs = {turn["run_id"] for turn in self.turns if turn["phase"] != "done"}
        asked_again = {learning_context_of(each).get("insight") for each in self.requests if not each.is_final}
        taken = (each for each in self.requests if each.granted and each.run_id in runs and each.id not in self.applied)
        return [each for each in taken if learning_context_of(each).get("insight") not in asked_again]

    @property
    def newest(self) -> Thread:
        """The thread that was updated last."""
        return max(self.threads, key=lambda thread: thread.updated_at)

    @property
    def status(self) -> ThreadStatus:
        """The status of the conversation; pending insights take precedence over finished runs."""
        if any(self._is_busy(thread) for thread in self.threads):
            return "running"
        return "interrupted" if any(thread.is_live for thread in self.threads) else self.newest.status

    @property
    def error(self) -> str | None:
        """The error of the newest thread, if it failed or cannot continue."""
        thread = self.newest
        return thread.error.message if thread.error else thread.attention

    def _is_busy(self, thread: Thread) -> bool:
        """Return whether a thread is running or about to resume because all its requests are closed."""
        if thread.status != "interrupted" or thread.attention:
            return thread.status == "running"
        return all(request.is_final for request in self.requests if request.thread_id == thread.id)


class CallerConversations:
    """Gives one caller access to the conversations that they may read."""

    def __init__(self, components: ServerComponents, who: Principal) -> None:
        self._components, self._who = components, who

    @property
    def agents(self) -> dict[str, EngrammerAgent]:
        """The agents of the Engrammers on this server, by name."""
        runner = self._components.runner
        offered = runner.startable if runner else {}
        return {name: agent for name, agent in offered.items() if isinstance(agent, EngrammerAgent)}

    def engrammer(self, agent: str | None) -> Engrammer:
        """Return the Engrammer with a name, or the default one."""
        agents = self.agents
        name = agent or (DEFAULT_AGENT if DEFAULT_AGENT in agents or not agents else "")
        if not name and len(agents) > 1:
            raise InvalidError.of("agent", f"name one of {', '.join(sorted(agents))}")
        found = agents.get(name or next(iter(agents)))
        if found is None:
            raise NotFoundError("agent", name)
        return found.engrammer

    def engrammers(self, agent: str | None) -> list[Engrammer]:
        """Return the Engrammer with a name, or all of them, default first."""
        if agent or not self.agents:
            return [self.engrammer(agent)]
        return sorted((each.engrammer for each in self.agents.values()), key=lambda each: each.name != DEFAULT_AGENT)

    async def conversation(self, id: str) -> EngrammerSnapshot:
        """Return a conversation by the id of any of its threads.

        Raises `NotFoundError` if the caller may not read it or it belongs to another agent.
        """
        id = conversation_of(id)
        threads = self._own(await self._threads(id), id)
        if not threads:
            raise NotFoundError("conversation", id)
        engrammer, backend = self.agents[threads[0].agent].engrammer, self._components.backend
        turns = [
            turn
            for thread in threads
            for turn in with_current_turn(thread, await turns_in_newest_checkpoint(backend, thread))
        ]
        requests = [request for thread in threads for request in await learning_requests(backend, thread, turns)]
        rejected_ids = {each["request_id"] for turn in turns for each in turn["suppressed"] if each["request_id"]}
        keys = [Key(self._who.tenant, id) for id in sorted(rejected_ids)]
        refusals = [each for each in await backend.store.get_many(Request, keys) if may_read(self._who, each)]
        finished = {each["request_id"] for turn in turns for each in turn["outcomes"].values()}
        unfinished = [each for each in requests if each.id not in finished]
        # After the requests: one that shows as answered, and not here, is still on its way.
        store, tenant, name = backend.store, self._who.tenant, engrammer.playbook_name
        playbook = await read_playbook(store, tenant, name)
        return EngrammerSnapshot(
            id,
            engrammer,
            tuple(threads),
            tuple(sorted(turns, key=lambda turn: str(turn["at"]))),
            tuple(sorted(requests, key=lambda each: (each.created_at, each.id))),
            frozenset(each.id for each in requests if may_read(self._who, each)),
            {each.id: answer_message(each) for each in refusals},
            await applied_versions(store, tenant, name, playbook, unfinished),
            playbook,
        )

    async def begin(self, id: str, agent: str | None, input: dict[str, Any]) -> Thread:
        """Start a run in the first idle thread of a conversation."""
        id, runner = check_conversation_id(id), self._components.runner
        assert runner
        threads = await self._threads(id)
        if id in threads:
            require_readable_thread(self._who, threads[id])
        name = self._agent_for(threads.get(id), id, agent)
        readable = {thread.id for thread in self._own(threads, id)}
        free = [
            each
            for each in thread_ids_of(id)
            if each not in threads or (each in readable and not threads[each].is_live)
        ]

        def check(thread: Thread) -> None:
            require_readable_thread(self._who, thread)
            if id in threads and not belongs_to(threads[id], thread):  # Somebody else has just taken its name.
                raise ConflictError.busy(thread.id, thread.status)

        for each in free:
            try:
                return await runner.start(self._who.tenant, each, name, input, by=self._who.asker, check=check)
            except ConflictError as error:
                # Another question has just come into it.
                if error.code != "busy":
                    raise
        what = f"{MAX_THREADS} questions of conversation {id!r} are running or have pending insights"
        raise RefusalError(409, "busy", f"{what}: decide on some first")

    async def wait_until_settled(self, requests: Sequence[Request], patience: float, poll: LongPoll) -> bool:
        """Wait until the runs of these requests have processed the answers; return False if it may wait no longer."""
        until, notifier = time.monotonic() + patience, self._components.backend.notifier
        for id in sorted({request.thread_id or "" for request in requests}):
            key, left = Key(self._who.tenant, id), until - time.monotonic()
            settled = partial(self._is_settled, key, [request for request in requests if request.thread_id == id])
            # The decisions are stored, and are learned even if this call may wait no longer.
            if not await poll.until(settled, notifier, record_topic(Thread.record, key), left):
                return False
        return True

    async def _is_settled(self, key: Key, requests: Sequence[Request]) -> bool:
        store = self._components.backend.store
        # In this order: a run that has taken them up is at rest only when it stands so after that.
        now = await store.get_many(Request, [request.key for request in requests])
        thread = await store.get(Thread, *key)
        if not thread.is_live or thread.run_id != requests[0].run_id or thread.attention:
            return True
        return thread.status != "running" and all(request.acknowledged_at for request in now)

    def _agent_for(self, thread: Thread | None, id: str, agent: str | None) -> str:
        if thread is None:
            return self.engrammer(agent).name
        if thread.agent not in self.agents:
            raise NotFoundError("conversation", id)
        if agent and agent != thread.agent:
            raise InvalidError.of("agent", f"conversation {id!r} is with {thread.agent!r}: begin another")
        return thread.agent

    def _own(self, threads: dict[str, Thread], id: str) -> list[Thread]:
        """Return the threads of a conversation that the caller may read, or none if the first is not readable."""
        first = threads.get(id)
        if first is None or first.agent not in self.agents or not may_read_thread(self._who, first):
            return []
        members = (threads[each] for each in thread_ids_of(id) if each in threads)
        return [each for each in members if belongs_to(first, each) and may_read_thread(self._who, each)]

    async def _threads(self, id: str) -> dict[str, Thread]:
        keys = [Key(self._who.tenant, each) for each in thread_ids_of(id)]
        return {thread.id: thread for thread in await self._components.backend.store.get_many(Thread, keys)}


def check_conversation_id(id: str) -> str:
    """Return the conversation id, or raise `InvalidError` if ids of further threads would be ambiguous."""
    base = conversation_of(parse_body(ThreadName, {"thread_id": id}).thread_id)
    if len(base) > MAX_ID_LENGTH or conversation_of(base) != base:
        why = f"give at most {MAX_ID_LENGTH} characters, not ending with `~q` and a number"
        raise InvalidError.of("threadId", f"ids of further threads of {base!r} would be ambiguous: {why}")
    return base


def answer_message(request: Request | None) -> str | None:
    """Return the message of the person who decided."""
    return request.response.message if request and request.response else None


def with_current_turn(thread: Thread, turns: Sequence[Turn]) -> list[Turn]:
    """Return the turns of a thread, including one for a run that has not stored its turn yet."""
    run = thread.run
    ended = [end_if_stopped(thread, turn) for turn in turns]
    if run is None or thread.erased or any(turn["run_id"] == run.id for turn in turns):
        return ended
    turn = new_turn(run.id, thread.id, str(run.input.get("query", "")), jsonable(thread.updated_at))
    return [*ended, end_if_stopped(thread, {**turn, "parent": run.input.get("turn")})]


def end_if_stopped(thread: Thread, turn: Turn) -> Turn:
    """Return a turn as ended if its run failed or was stopped."""
    is_newest = turn["run_id"] == thread.run_id
    if is_newest and thread.is_live:
        return turn
    return {**turn, "phase": "done", "error": thread.error.message if is_newest and thread.error else None}


async def applied_versions(
    store: Store, tenant: str, name: str, playbook: Playbook, requests: Sequence[Request]
) -> Mapping[str, int]:
    """Return the version of a playbook in which the answer to each of these requests is, and that of others."""
    if not playbook.has_dropped_requests or all(each.id in playbook.applied for each in requests if each.response):
        return playbook.applied
    history = await read_entries(store, tenant, name)
    return {each.entry.request_id: each.version for each in history if each.entry.request_id}


async def learning_requests(backend: Backend, thread: Thread, turns: Sequence[Turn]) -> list[Request]:
    """Return the learning requests of a thread's turns."""
    own = [turn for turn in turns if turn["thread_id"] == thread.id]
    answered_ids = [outcome["request_id"] for turn in own for outcome in turn["outcomes"].values()]
    requests = await backend.store.get_many(Request, [Key(thread.tenant, id) for id in answered_ids if id])
    # The outcomes of a run are with its turn only once it has them all.
    open_runs = {turn["run_id"] for turn in own if len(turn["outcomes"]) < len(turn["insights"])}
    if open_runs:
        query = Query(tenant=thread.tenant, thread_id=thread.id, limit=REQUESTS_PER_PAGE)
        known = {request.id for request in requests}
        async for page in record_pages(backend.store, Request, query):
            requests += [each for each in page if each.run_id in open_runs and each.id not in known]
    # Anybody may post a request that only names the thread.
    return [request for request in requests if request.kind == "learning" and is_asked_by(thread, request)]
