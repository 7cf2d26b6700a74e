"""What can be done with requests, wherever they are: the verbs of the inbox and of the client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from pydantic import BaseModel

from ringi.domain.ask import Action, Ask, Button, Decision, Kind, Priority, parsed
from ringi.domain.display import Block
from ringi.domain.memories import Memory
from ringi.domain.record import START, Event, Position, Query
from ringi.domain.request import Request
from ringi.domain.webhook import Webhook
from ringi.forms.field_parts import AttachedFile
from ringi.forms.form import Form
from ringi.privacy.erasure import Erasure, Sweep


def untold(done: Erasure) -> None:
    """Tell nobody."""


class InboxAPI(ABC):
    """Questions to people, of one tenant."""

    async def ask(
        self,
        title: str,
        *,
        id: str | None = None,
        kind: Kind | None = None,
        description: str | None = None,
        action: Action | None = None,
        form: Form | type[BaseModel] | None = None,
        schema: dict[str, Any] | None = None,
        allowed: Sequence[Decision] | None = None,
        actions: dict[Decision, Button] | None = None,
        context: dict[str, Any] | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        assignee: str | None = None,
        candidate_groups: Sequence[str] = (),
        priority: Priority | None = None,
        due_at: datetime | None = None,
        expires_in: float | timedelta | None = None,
        expires_at: datetime | None = None,
        fallback: dict[str, Any] | None = None,
        webhooks: Sequence[Webhook] = (),
        display: Sequence[Block] | None = None,
    ) -> Request:
        """Put a question to people and return it, durable and pending.

        `form` is a `Form`, or a pydantic model class (see `Form.of`); `expires_in` is seconds or a timedelta;
        `display` shows tables, images, code, differences and links, which the digest covers. Asking again with the
        same `id` and content returns the stored request, answered or not.
        Raises `InvalidError` for content that breaks a rule, `DifferentAskError` for a taken id.
        """
        given = {name: value for name, value in locals().items() if name != "self" and value is not None}
        return await self.submit(parsed(Ask, given))

    @abstractmethod
    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request when its id exists with the same content."""

    @abstractmethod
    async def get(self, id: str) -> Request:
        """Return a request, or raise `NotFoundError`."""

    @abstractmethod
    async def find(self, query: Query | None = None) -> list[Request]:
        """Return this tenant's matching requests, newest first."""

    @abstractmethod
    async def count(self, query: Query) -> int:
        """Return how many of this tenant's requests match, up to the query's limit."""

    @abstractmethod
    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        """Return this tenant's events past a position, in order."""

    @abstractmethod
    def follow(self, after: Position | None = None, *, request_id: str | None = None) -> AsyncGenerator[Event, None]:
        """Yield this tenant's events past a position in order, then each as it happens, for ever.

        No event is left out or comes twice; who broke off goes on after the `position` of the last. By default it
        begins with the next event from the first step on, with `""` at the very first.
        """

    @abstractmethod
    async def respond(
        self,
        id: str,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        digest: str,
        responder: str,
        args: dict[str, Any] | None = None,
        message: str | None = None,
    ) -> Request:
        """Decide a request and return it completed; the first answer wins.

        The same answer from the same responder again returns the same. Raises `FinalError`
        (with the winner) when it has ended, `DigestMismatchError` when `digest` is not what is
        stored, `ClaimedError`, or `InvalidError` with an error per field: then it stays pending.
        """

    @abstractmethod
    async def attach(self, id: str, field: str, name: str, content: bytes, *, by: str) -> AttachedFile:
        """Keep a file for a field of a pending request, and return what the answer's data has to say of it.

        Only an answer of the same person can name it. Raises `InvalidError` for a file that the field does not take,
        `FinalError`, `ClaimedError`.
        """

    @abstractmethod
    async def attachment(self, id: str, number: int) -> bytes:
        """Return the bytes of a file that was attached to a request, or raise `NotFoundError`."""

    @abstractmethod
    async def claim(self, id: str, by: str) -> Request:
        """Keep others from answering for a while; claiming again renews."""

    @abstractmethod
    async def release(self, id: str, by: str) -> Request:
        """Give up a claim."""

    @abstractmethod
    async def reassign(self, id: str, by: str, *, assignee: str | None = None, groups: Sequence[str] = ()) -> Request:
        """Give a request to another person or to groups."""

    @abstractmethod
    async def cancel(self, id: str, by: str, reason: str | None = None) -> Request:
        """Withdraw a request; nothing that it gates will run."""

    @abstractmethod
    async def erase(self, id: str, by: str) -> Request:
        """Erase what an ended request says, and what its thread says; twice is once.

        Ids, digests, the decision, times and the chain stay. Raises `PendingError` for a request that
        has not ended, `ThreadBusyError` while its run goes on.
        """

    async def erase_all(
        self,
        by: str,
        *,
        person: str | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
        progress: Callable[[Erasure], None] = untold,
    ) -> Erasure:
        """Erase all that is one person's, or all that ended before a time with the threads that did; return what.

        Of a request that others asked, a person's part goes: names, answers and words; the question stays.
        With `dry_run` it only looks. `progress` is told what was done so far. Whoever is interrupted begins again.
        """
        done, sweep = Erasure(), Sweep(person=person, before=before, dry_run=dry_run)
        while True:
            done = done.and_then(await self.erase_some(sweep, by))
            progress(done)
            if done.next is None:
                return done
            sweep = sweep.model_copy(update={"after": done.next})

    @abstractmethod
    async def erase_some(self, sweep: Sweep, by: str) -> Erasure:
        """Erase what one part of the feed leads to; see `erase_all`."""

    @abstractmethod
    async def memories(self, person: str, *, limit: int = 50, before: str | None = None) -> list[Memory]:
        """Return what a person has told in approved answers, newest question first; `before` is a memory's place."""

    @abstractmethod
    async def memory(self, id: str, person: str) -> Memory:
        """Return what a person told in one request, or raise `NotFoundError`."""

    @abstractmethod
    async def edit_memory(self, id: str, data: dict[str, Any], *, by: str, told_at: datetime | None = None) -> Memory:
        """Change what is remembered of one's answer; the answer itself stays as it was given.

        With the `told_at` of the memory that the caller saw, raises `ConflictError` when it was changed since.
        """

    @abstractmethod
    async def delete_memory(self, id: str, *, by: str) -> None:
        """Remember one's answer no longer, ever; the answer itself stays as it was given."""

    @abstractmethod
    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        """Return the request, given itself or by its id, once it has ended: completed, cancelled or expired.

        Only a completed one has a `response`. Raises `WaitTimeoutError` after `timeout` seconds (None: never); the
        request stays open.
        """


def id_of(request: Request | str) -> str:
    """Return the id of a request that is given itself or by its id."""
    return request if isinstance(request, str) else request.id
