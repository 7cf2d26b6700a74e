"""The verbs on requests, shared by the inbox on a store and the one behind a server's URL."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Unpack

from ringi.domain.absence import Absence, Away
from ringi.domain.ask import Ask, AskOptions, Decision, Outcome
from ringi.domain.checks import CheckRecipe, CheckReport
from ringi.domain.events import Webhook
from ringi.domain.filters import FindOptions
from ringi.domain.grants import GrantView, NewGrant
from ringi.domain.memories import Memory
from ringi.domain.pauses import Pause
from ringi.domain.record import START, Event, Page, Position
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.domain.voting import Caller
from ringi.errors import InvalidError
from ringi.forms.field_parts import AttachedFile
from ringi.inbox.lifetime import Lifetime
from ringi.privacy.candidates import Erasure, Sweep


def ignore_progress(done: Erasure) -> None:
    """Ignore the progress."""


class Seen(NamedTuple):
    """The version of a request that a person saw."""

    id: str
    digest: str


class Grants(ABC):
    """The calls that people have approved in advance; an answer with a `grant` makes one."""

    @abstractmethod
    async def list(self) -> Page[GrantView]:
        """Return the grants that have not ended by time, oldest first; also revoked and used-up ones."""

    @abstractmethod
    async def revoke(self, id: str, *, by: Caller = None) -> None:
        """Revoke a grant: from now on people are asked again.

        Args:
            id: The id of the grant, which is that of the request whose answer has it.
            by: The person.

        Raises:
            NotFoundError: There is no such grant.
        """


class Suggestions(ABC):
    """The rules that the decisions of people suggest."""

    @abstractmethod
    async def list(self) -> Page[Suggestion]:
        """Return the rules that the decisions of people suggest, and that none in force covers.

        A tool needs 200 decisions with 98 % approvals by the same people on calls of the same agent. A rule has a
        condition on each argument, and lets none of the tool's newest 500 requests through that people have not
        approved.
        """

    @abstractmethod
    async def accept(
        self, id: str, *, until: datetime | None = None, max_uses: int = 1_000, one_in: int = 20, by: Caller = None
    ) -> Request:
        """Switch on a suggested rule: it is a grant, and the request returned is its record; see `grants`.

        One in `one_in` of its calls still asks, at random. The first call that it covers and that people do not approve
        ends the rule; so does one that is withdrawn or expires.

        Args:
            id: The id of the suggestion as the person saw it.
            until: The end, at most 30 days from now; None for 30 days.
            max_uses: The number of calls that it approves.
            one_in: One in so many of its calls still asks people, 2 to 100.
            by: The person.

        Raises:
            NotFoundError: The suggestion has changed since, or the person may not decide such calls.
            ForbiddenError: Such calls are assigned to other people, the person may decide them only as a deputy, or a
                rule of the request excludes the person.
            InvalidError: A limit is out of range.
        """


class Pauses(ABC):
    """The pauses of agents."""

    @abstractmethod
    async def begin(
        self, reason: str, *, agent: str | None = None, until: datetime | None = None, by: Caller = None
    ) -> Pause:
        """Pause an agent, or all agents: their runs wait, and no call that people approved begins.

        Answers are still accepted, and requests still expire. A call that has begun is not stopped. Repeating the same
        call returns the same pause.

        Args:
            reason: The reason, for people and for the audit trail.
            agent: The name of the agent; None pauses all agents of the tenant.
            until: The time at which the pause ends by itself; None for no end.
            by: The administrator.

        Raises:
            InvalidError: A value is invalid, or `until` is in the past.
        """

    @abstractmethod
    async def list(self) -> Page[Pause]:
        """Return the pauses in force, oldest first."""

    @abstractmethod
    async def end(self, id: str, *, by: Caller = None) -> None:
        """End a pause: its waiting runs go on.

        Args:
            id: The id of the pause.
            by: The administrator.

        Raises:
            NotFoundError: No pause in force has this id.
        """

    @abstractmethod
    async def check(self, agent: str | None = None) -> None:
        """Read the pauses; call it right before an action of your own code.

        Args:
            agent: The name of your agent; None checks for a pause of all agents. A client with an agent's token also
                checks for a pause of that agent.

        Raises:
            UnavailableError: The agent, or all agents, are paused (`paused`).
        """


class People(ABC):
    """The people who are away, and their deputies."""

    @abstractmethod
    async def leave(self, deputy: str, until: datetime, *, unknown: bool = False, by: Caller = None) -> Away:
        """Name a deputy, who may see and answer until a time what is open to you.

        The record of an answer names both people. A deputy has no deputy, and cannot decide what you started.

        Args:
            deputy: The name of the deputy.
            until: The end of the absence, within a year.
            unknown: True to take the name of a deputy that nobody here has.
            by: The person who is away; the deputy may answer the requests of the person's groups too.

        Returns:
            The absence, and those in which the person is the deputy.

        Raises:
            InvalidError: The deputy is the person, no person or unknown, or the end is invalid.
        """

    @abstractmethod
    async def come_back(self, *, by: Caller = None) -> None:
        """End an absence now; nothing changes for a person who is not away.

        Args:
            by: The person who was away.
        """

    @abstractmethod
    async def away(self, *, by: Caller = None) -> Away:
        """Return a person's absence, if there is one, and those in which the person is the deputy.

        Args:
            by: The person.
        """

    @abstractmethod
    async def absences(self) -> Page[Absence]:
        """Return who is away and who stands for whom, the first absence to end first.

        On a server only auditors and administrators may call it.
        """

    @abstractmethod
    async def end_absence(self, person: str, *, by: Caller = None) -> None:
        """End the absence of another person; their deputy can no longer answer in their place.

        On a server only administrators may call it.

        Args:
            person: The name of the person who is away.
            by: The administrator.

        Raises:
            NotFoundError: The person is not away.
        """


class Checks(ABC):
    """Requests that can never run, to measure the attention of people."""

    @abstractmethod
    async def plant(
        self, checks: Sequence[CheckRecipe | Mapping[str, Any]], *, share: float | None = None, by: Caller = None
    ) -> list[str]:
        """Plant requests that can never run, to measure whether people notice what is wrong with them.

        Each looks like a recent real request of its tool until it has ended.

        Args:
            checks: How each check is made; see `CheckRecipe`.
            share: Plant one check of each tool only while fewer than this share of its requests are checks; None plants
                all.
            by: The administrator.

        Returns:
            The ids of the planted requests.

        Raises:
            ConflictError: Checks are off: the setting `RINGI_CHECKS` is not 1.
            InvalidError: A recipe is invalid, or no recent request of its tool can be copied.
        """

    @abstractmethod
    async def report(self) -> CheckReport:
        """Return the newest 1,000 checks, and the shares of the answered ones that people noticed."""


class Memories(ABC):
    """What people have answered for their later conversations."""

    @abstractmethod
    async def list(self, person: str | None = None, *, limit: int = 50, cursor: str | None = None) -> Page[Memory]:
        """Return a person's memories, newest question first.

        Args:
            person: The name of the person; over HTTP it is that of the token.
            limit: The maximum number of memories.
            cursor: `next` of the page before; None for the first page.
        """

    @abstractmethod
    async def get(self, id: str, person: str | None = None) -> Memory:
        """Return the person's memory in one request.

        Args:
            id: The id of the request.
            person: The name of the person; over HTTP it is that of the token.

        Raises:
            NotFoundError: There is no such memory.
        """

    @abstractmethod
    async def edit(
        self, id: str, data: dict[str, Any], *, told_at: datetime | None = None, by: Caller = None
    ) -> Memory:
        """Edit a memory; the answer itself is unchanged.

        Args:
            id: The id of the request.
            data: The new data of the memory.
            told_at: The `updated_at` of the memory that the caller saw; None skips the check for
                concurrent edits.
            by: The person whose memory it is.

        Raises:
            ConflictError: The memory was changed since.
            InvalidError: The data does not fit the form.
            NotFoundError: This person has no such memory.
        """

    @abstractmethod
    async def delete(self, id: str, *, by: Caller = None) -> None:
        """Delete a memory permanently; the answer itself is unchanged.

        Args:
            id: The id of the request.
            by: The person whose memory it is.

        Raises:
            NotFoundError: This person has no such memory.
        """


class Trail(ABC):
    """The record of what happened, and its erasure."""

    async def erase(
        self,
        *,
        person: str | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
        progress: Callable[[Erasure], None] = ignore_progress,
        by: Caller = None,
    ) -> Erasure:
        """Erase one person's data, or all requests that ended before a time and their threads.

        If others asked a request, only the person's part is erased: names, answers and words; the question stays. An
        interrupted call can be repeated.

        Args:
            person: The person whose data to erase; another one than `by`. Give this or `before`, not both.
            before: Erase requests that ended before this time.
            dry_run: Only report the candidates; erase nothing.
            progress: Receives the result so far after each part.
            by: The person who erases.

        Returns:
            The erased records, and those that cannot be erased now.
        """
        done, sweep = Erasure(), Sweep(person=person, before=before, dry_run=dry_run)
        while True:
            done = done.and_then(await self.erase_some(sweep, by=by))
            progress(done)
            if done.next is None:
                return done
            sweep = sweep.model_copy(update={"after": done.next})

    @abstractmethod
    async def erase_some(self, sweep: Sweep, *, by: Caller = None) -> Erasure:
        """Erase the candidates in one part of the feed; see `erase`.

        Args:
            sweep: The candidates, and the position at which to continue.
            by: The person who erases.

        Returns:
            The erased records; `next` is the position of the next part, None at the end.

        Raises:
            InvalidError: `person` and `before` are both set or both missing, or `person` is `by` or not a person.
        """


class Inbox(ABC):
    """One tenant's questions to people, and the answers.

    `ringi.open` opens one, on a store or behind the URL of a server. On a store `by` names who acts, by name or as a
    `Person`; over HTTP the token says it, and a `by` is refused.
    """

    _closing: Callable[[], Awaitable[None]] | None = None

    @property
    @abstractmethod
    def lifetime(self) -> Lifetime:
        """The lifetime of the inbox."""

    @abstractmethod
    async def close(self) -> None:
        """Close the inbox and all that it opened; waiters get `ClosedError`. Idempotent."""

    @property
    @abstractmethod
    def grants(self) -> Grants:
        """What people have approved in advance."""

    @property
    @abstractmethod
    def suggestions(self) -> Suggestions:
        """The rules that decisions of people suggest."""

    @property
    @abstractmethod
    def pauses(self) -> Pauses:
        """The pauses of agents."""

    @property
    @abstractmethod
    def people(self) -> People:
        """The people who are away."""

    @property
    @abstractmethod
    def checks(self) -> Checks:
        """The requests that measure attention."""

    @property
    @abstractmethod
    def memories(self) -> Memories:
        """What people have answered for later."""

    @property
    @abstractmethod
    def trail(self) -> Trail:
        """The record, and its erasure."""

    async def ask(
        self,
        title: str,
        *,
        id: str | None = None,
        thread_id: str | None = None,
        run_id: str | None = None,
        webhooks: Sequence[Webhook] = (),
        **options: Unpack[AskOptions],
    ) -> Request:
        """Ask people a question and return it, durably stored and pending.

        Asking again with the same `id` and content returns the stored request, answered or not.

        Args:
            title: The question, in one line.
            id: The id of the request; None generates one.
            thread_id: The id of the agent's thread.
            run_id: The id of the thread's run.
            webhooks: Receivers of this request's events.
            **options: The content of the question and who may answer it.

        Raises:
            InvalidError: The content breaks a rule.
            ConflictError: The id exists with other content (`different`).
        """
        own = {"title": title, "id": id, "thread_id": thread_id, "run_id": run_id, "webhooks": webhooks}
        return await self.submit(Ask.parse({**own, **options}))

    @abstractmethod
    async def submit(self, ask: Ask) -> Request:
        """Store an ask, or return the stored request if its id exists with the same content.

        Args:
            ask: The question.

        Raises:
            InvalidError: The ask breaks a rule.
            ConflictError: The id exists with other content (`different`).
        """

    @abstractmethod
    async def get(self, id: str) -> Request:
        """Return a request.

        Args:
            id: The id of the request.

        Raises:
            NotFoundError: There is no such request for this tenant.
        """

    @abstractmethod
    async def find(
        self, *, limit: int = 50, cursor: str | None = None, **conditions: Unpack[FindOptions]
    ) -> Page[Request]:
        """Return the matching requests: a list with `next`, the cursor of the next page.

        Args:
            limit: The maximum number of requests.
            cursor: `next` of the page before; None for the first page.
            **conditions: What must match, and the order; see `FindOptions`.

        Raises:
            InvalidError: A condition is unknown or invalid; the error names the right one.
        """

    @abstractmethod
    async def events(self, after: Position = START, limit: int = 100, *, request_id: str | None = None) -> list[Event]:
        """Return this tenant's events after a position, in order.

        Args:
            after: The position to read from, exclusive.
            limit: The maximum number of events.
            request_id: Only events of this request; None for all.

        Raises:
            InvalidError: `after` is not a position of this store.
        """

    @abstractmethod
    def follow(self, after: Position | None = None, *, request_id: str | None = None) -> AsyncGenerator[Event, None]:
        """Yield this tenant's events after a position in order, then each new event, without end.

        No event is missing or repeated. After an interruption, continue with the `position` of the last event.

        Args:
            after: The position to read from, exclusive. None starts with the next new event, `""` with the first of
                all.
            request_id: Only events of this request; None for all.
        """

    @abstractmethod
    async def respond(
        self,
        seen: Request | Seen,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        by: Caller = None,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        grant: NewGrant | Mapping[str, Any] | None = None,
        override: str | None = None,
    ) -> Request:
        """Decide a request and return it; the first answer wins.

        It is completed, unless it needs the votes of more people or holds the answer for some seconds: then it is
        pending, and has the vote or the held answer.

        Repeating the same answer as the same responder returns the same request. After `UnavailableError` the answer
        may have been saved: repeat it. A refused answer changes nothing.

        Args:
            seen: The request as the person saw it, or its id and digest.
            decision: One of the request's allowed decisions.
            data: The answers to the form by field name, or the edited data.
            by: The person.
            args: The whole edited arguments, for the decision `edit` on an action.
            message: The person's text.
            grant: With `approve`: the later calls of the same tool that are approved too, such as
                `{"until": …, "where": {"amount": {"at_most": 20}}, "max_uses": 10}`; see `NewGrant`.
            override: The reason for a decision past the rules of the request; another administrator must review it.

        Raises:
            ConflictError: The request has ended (`final`, with the winner), another answer is held
                (`held`), the request has another digest than the one that was seen (`digest_mismatch`), or another
                person holds the claim (`claimed`).
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            InvalidError: The answer is invalid; there is one error for each field.
            NotFoundError: There is no such request.
            UnavailableError: The store or the server did not acknowledge the answer.
        """

    @abstractmethod
    async def undo(self, request: Request | str, *, by: Caller = None) -> Request:
        """Undo your held answer, or take back your reassignment as long as nobody has acted on the request since.

        Args:
            request: The request or its id.
            by: The name of the person who gave the answer, or reassigned the request.

        Returns:
            The request, open again, or assigned as before.

        Raises:
            ForbiddenError: Another person gave the answer.
            ConflictError: No answer is held and no reassignment can be taken back, or the answer has taken effect.
            NotFoundError: There is no such request.
        """

    @abstractmethod
    async def attach(
        self, request: Request | str, field: str, name: str, content: bytes, *, by: Caller = None
    ) -> AttachedFile:
        """Store a file for a field of a pending request, and return its reference for the answer's data.

        It replaces the person's earlier file in this field. Only an answer of the same person can name the file.

        Args:
            request: The request or its id.
            field: The name of the form field.
            name: The name of the file.
            content: The bytes of the file.
            by: The person who attaches the file.

        Raises:
            InvalidError: The field rejects the file.
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            ConflictError: The request has ended (`final`), or another person holds the claim (`claimed`).
        """

    @abstractmethod
    async def attachment(self, request: Request | str, number: int) -> bytes:
        """Return the bytes of a file that was attached to a request.

        Args:
            request: The request or its id.
            number: The number of the file within the request.

        Raises:
            NotFoundError: There is no such request or file.
        """

    @abstractmethod
    async def claim(self, request: Request | str, *, by: Caller = None) -> Request:
        """Reserve a request for one person for a limited time; claiming it again renews the claim.

        Args:
            request: The request or its id.
            by: The name of the person.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            ConflictError: Another person holds the claim (`claimed`), or the request has ended (`final`).
        """

    @abstractmethod
    async def release(self, request: Request | str, *, by: Caller = None) -> Request:
        """Release a claim.

        Args:
            request: The request or its id.
            by: The person who holds the claim.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            ConflictError: Another person holds the claim (`claimed`), or the request has ended (`final`).
        """

    @abstractmethod
    async def reassign(
        self,
        request: Request | str,
        *,
        assignee: str | None = None,
        groups: Sequence[str] = (),
        unknown: bool = False,
        by: Caller = None,
    ) -> Request:
        """Assign a request to another person or to groups; a claim ends.

        A known name is that of a person who has a token, has signed in, or is named by a setting, or of a group of
        these people. While nobody is known, every name is taken.

        Args:
            request: The request or its id.
            assignee: The person who may answer.
            groups: The groups whose members may answer.
            unknown: True to take names that nobody here has.
            by: The person who reassigns it.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            InvalidError: A name is invalid or unknown; the error has the nearest known name.
            ConflictError: Another person holds the claim (`claimed`), or the request has ended (`final`).
        """

    @abstractmethod
    async def cancel(self, request: Request | str, reason: str | None = None, *, by: Caller = None) -> Request:
        """Cancel a request; its gated action will not run.

        Args:
            request: The request or its id.
            reason: The reason, for people.
            by: The person or agent that cancels it.

        Raises:
            ConflictError: The request has already ended (`final`).
        """

    @abstractmethod
    async def report_outcome(
        self,
        request: Request | str,
        outcome: Outcome,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
        by: Caller = None,
    ) -> Request:
        """Record what became of an approved call; repeating the same report changes nothing.

        Gates of functions and runs of Ringi do it themselves. Report it after a call that your own code ran.

        Args:
            request: The request or its id.
            outcome: `committed` if the call returned, `failed` if it raised an error, `unknown` if you cannot say.
            result_digest: The digest of the result, as `sha256:` and the hex digest of its canonical JSON (RFC 8785).
            attempt: Identifies the attempt to run the call. Report `unknown` with it right before the call: only one
                attempt can, so that no approval is used twice. The same attempt then reports `committed` or `failed`.
            by: The asker, for the audit trail.

        Raises:
            ConflictError: The request is pending, no call was approved, another outcome or attempt is on record, the
                grant that approved the call is over, or a run of Ringi records the outcome itself.
            InvalidError: The outcome or the digest is invalid.
        """

    @abstractmethod
    async def erase(self, request: Request | str, *, by: Caller = None) -> Request:
        """Erase the content of an ended request and of its thread; idempotent.

        Ids, digests, the decision, times and the hash chain stay.

        Args:
            request: The request or its id.
            by: The person who erases.

        Raises:
            ConflictError: The request has not ended (`pending`), or the run of its thread is in progress (`busy`).
        """

    @abstractmethod
    async def wait(self, request: Request | str, timeout: float | None = None) -> Request:
        """Wait until a request has ended (completed, cancelled or expired) and return it.

        Only a completed request has a `response`.

        Args:
            request: The request or its id.
            timeout: Seconds to wait; None waits without a limit.

        Raises:
            WaitTimeoutError: The request did not end in time; it stays open.
        """


def digest_of(seen: Request | Seen) -> str:
    """Return the digest of what a person saw; raise `InvalidError` for a bare id."""
    digest: str | None = getattr(seen, "digest", None)
    if digest is None:
        why = "is only an id: give the Request that the person saw, or ringi.inbox.Seen(id, digest)"
        raise InvalidError.of("seen", why)
    return digest


def id_of(request: Request | str) -> str:
    """Return the id of a request, from the request or its id."""
    return request if isinstance(request, str) else request.id


def refuse_name(by: Caller) -> None:
    """Raise `InvalidError` if a call over HTTP names who acts."""
    if by is not None:
        raise InvalidError.of("by", "the token says who acts: omit it, or use that person's token")
