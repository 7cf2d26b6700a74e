"""The operations on requests, shared by the local inbox and the HTTP client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Unpack

from ringi.domain.absence import Absence, Away
from ringi.domain.ask import Ask, AskOptions, Decision, Outcome
from ringi.domain.checks import CheckRecipe, CheckReport
from ringi.domain.events import Webhook
from ringi.domain.grants import GrantView, NewGrant
from ringi.domain.memories import Memory
from ringi.domain.pauses import Pause
from ringi.domain.record import START, Event, Position, Query
from ringi.domain.request import Request
from ringi.domain.suggestions import Suggestion
from ringi.forms.field_parts import AttachedFile
from ringi.privacy.candidates import Erasure, Sweep


def ignore_progress(done: Erasure) -> None:
    """Ignore the progress."""


class InboxAPI(ABC):
    """The operations on one tenant's questions to people.

    `Inbox` performs them on a store, `Client` over HTTP: a function that takes an `InboxAPI` works with both.
    """

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
            DifferentAskError: The id exists with other content.
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
            DifferentAskError: The id exists with other content.
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
    async def find(self, query: Query | None = None) -> list[Request]:
        """Return this tenant's matching requests, newest first, unless the query has another order.

        Args:
            query: The conditions and the limit; None uses the defaults of `Query`.
        """

    @abstractmethod
    async def count(self, query: Query) -> int:
        """Return the number of this tenant's matching requests.

        Args:
            query: The conditions; counting stops at `limit`.
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
        id: str,
        decision: Decision,
        data: dict[str, Any] | None = None,
        *,
        digest: str,
        responder: str,
        args: dict[str, Any] | None = None,
        message: str | None = None,
        groups: Sequence[str] = (),
        grant: NewGrant | Mapping[str, Any] | None = None,
        override: str | None = None,
    ) -> Request:
        """Decide a request and return it; the first answer wins.

        It is completed, unless it needs the votes of more people or holds the answer for some seconds: then it is
        pending, and has the vote or the held answer.

        Repeating the same answer as the same responder returns the same request. After `UnavailableError` the answer
        may have been saved: repeat it. A refused answer changes nothing.

        Args:
            id: The id of the request.
            decision: One of the request's allowed decisions.
            data: The answers to the form by field name, or the edited data.
            digest: The digest of the request as the person saw it.
            responder: The name of the person.
            args: The whole edited arguments, for the decision `edit` on an action.
            message: The person's text.
            groups: The groups of the person, for requests that are open to groups; a client's token has them.
            grant: With `approve`: the later calls of the same tool that are approved too, such as
                `{"until": …, "where": {"amount": {"at_most": 20}}, "max_uses": 10}`; see `NewGrant`.
            override: The reason for a decision past the rules of the request; another administrator must review it. A
                client needs the token of an administrator.

        Raises:
            RequestEndedError: The request has ended; the error contains the winner.
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            HeldError: Another answer is held.
            DigestMismatchError: `digest` differs from the stored digest.
            ClaimedError: Another person holds the claim.
            InvalidError: The answer is invalid; there is one error for each field.
            NotFoundError: There is no such request.
            UnavailableError: The store or the server did not acknowledge the answer.
        """

    @abstractmethod
    async def undo(self, id: str, by: str) -> Request:
        """Undo your held answer, or take back your reassignment as long as nobody has acted on the request since.

        Args:
            id: The id of the request.
            by: The name of the person who gave the answer, or reassigned the request.

        Returns:
            The request, open again, or assigned as before.

        Raises:
            ForbiddenError: Another person gave the answer.
            ConflictError: No answer is held and no reassignment can be taken back, or the answer has taken effect.
            NotFoundError: There is no such request.
        """

    @abstractmethod
    async def leave(
        self, deputy: str, until: datetime, *, by: str, groups: Sequence[str] = (), unknown: bool = False
    ) -> Absence:
        """Name a deputy, who may see and answer until a time what is open to you.

        The record of an answer names both people. A deputy has no deputy, and cannot decide what you started.

        Args:
            deputy: The name of the deputy.
            until: The end of the absence, within a year.
            by: The person who is away.
            groups: The groups of this person, whose requests the deputy may answer too.
            unknown: True to take the name of a deputy that nobody here has.

        Raises:
            InvalidError: The deputy is the person, no person or unknown, or the end is invalid.
        """

    @abstractmethod
    async def come_back(self, by: str) -> None:
        """End an absence now; nothing changes for a person who is not away.

        Args:
            by: The person who was away.
        """

    @abstractmethod
    async def away(self, by: str) -> Away:
        """Return a person's absence, if there is one, and those in which the person is the deputy.

        Args:
            by: The name of the person.
        """

    @abstractmethod
    async def find_absences(self) -> list[Absence]:
        """Return who is away and who stands for whom, the first absence to end first.

        On a server only auditors and administrators may call it.
        """

    @abstractmethod
    async def end_absence(self, name: str, by: str) -> None:
        """End the absence of another person; their deputy can no longer answer in their place.

        On a server only administrators may call it.

        Args:
            name: The person who is away.
            by: The administrator.

        Raises:
            NotFoundError: The person is not away.
        """

    @abstractmethod
    async def attach(
        self, id: str, field: str, name: str, content: bytes, *, by: str, groups: Sequence[str] = ()
    ) -> AttachedFile:
        """Store a file for a field of a pending request, and return its reference for the answer's data.

        It replaces the person's earlier file in this field. Only an answer of the same person can name the file.

        Args:
            id: The id of the request.
            field: The name of the form field.
            name: The name of the file.
            content: The bytes of the file.
            by: The person who attaches the file.
            groups: The groups of the person, for requests that are open to groups; a client's token has them.

        Raises:
            InvalidError: The field rejects the file.
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            RequestEndedError: The request has ended.
            ClaimedError: Another person holds the claim.
        """

    @abstractmethod
    async def attachment(self, id: str, number: int) -> bytes:
        """Return the bytes of a file that was attached to a request.

        Args:
            id: The id of the request.
            number: The number of the file within the request.

        Raises:
            NotFoundError: There is no such request or file.
        """

    @abstractmethod
    async def claim(self, id: str, by: str, *, groups: Sequence[str] = ()) -> Request:
        """Reserve a request for one person for a limited time; claiming it again renews the claim.

        Args:
            id: The id of the request.
            by: The name of the person.
            groups: The groups of the person, for requests that are open to groups; a client's token has them.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            ClaimedError: Another person holds the claim.
            RequestEndedError: The request has ended.
        """

    @abstractmethod
    async def release(self, id: str, by: str, *, groups: Sequence[str] = ()) -> Request:
        """Release a claim.

        Args:
            id: The id of the request.
            by: The person who holds the claim.
            groups: The groups of the person, for requests that are open to groups; a client's token has them.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            ClaimedError: Another person holds the claim.
            RequestEndedError: The request has ended.
        """

    @abstractmethod
    async def reassign(
        self,
        id: str,
        by: str,
        *,
        assignee: str | None = None,
        groups: Sequence[str] = (),
        unknown: bool = False,
        by_groups: Sequence[str] = (),
    ) -> Request:
        """Assign a request to another person or to groups; a claim ends.

        A known name is that of a person who has a token, has signed in, or is named by a setting, or of a group of
        these people. While nobody is known, every name is taken.

        Args:
            id: The id of the request.
            by: The person who reassigns it.
            assignee: The person who may answer.
            groups: The groups whose members may answer.
            unknown: True to take names that nobody here has.
            by_groups: The groups of the person who reassigns it; a client's token has them.

        Raises:
            ForbiddenError: The request is assigned to other people, or a rule of it excludes the person.
            InvalidError: A name is invalid or unknown; the error has the nearest known name.
            ClaimedError: Another person holds the claim.
            RequestEndedError: The request has ended.
        """

    @abstractmethod
    async def cancel(self, id: str, by: str, reason: str | None = None) -> Request:
        """Cancel a request; its gated action will not run.

        Args:
            id: The id of the request.
            by: The person or agent that cancels it.
            reason: The reason, for people.

        Raises:
            RequestEndedError: The request has already ended.
        """

    @abstractmethod
    async def report_outcome(
        self,
        id: str,
        outcome: Outcome,
        by: str | None = None,
        *,
        result_digest: str | None = None,
        attempt: str | None = None,
    ) -> Request:
        """Record what became of an approved call; repeating the same report changes nothing.

        Gates of functions and runs of Ringi do it themselves. Report it after a call that your own code ran.

        Args:
            id: The id of the request.
            outcome: `committed` if the call returned, `failed` if it raised an error, `unknown` if you cannot say.
            by: The name of the asker, for the audit trail.
            result_digest: The digest of the result, as `sha256:` and the hex digest of its canonical JSON (RFC 8785).
            attempt: Identifies the attempt to run the call. Report `unknown` with it right before the call: only one
                attempt can, so that no approval is used twice. The same attempt then reports `committed` or `failed`.

        Raises:
            ConflictError: The request is pending, no call was approved, another outcome or attempt is on record, the
                grant that approved the call is over, or a run of Ringi records the outcome itself.
            InvalidError: The outcome or the digest is invalid.
        """

    @abstractmethod
    async def erase(self, id: str, by: str) -> Request:
        """Erase the content of an ended request and of its thread; idempotent.

        Ids, digests, the decision, times and the hash chain stay.

        Args:
            id: The id of the request.
            by: The person who erases.

        Raises:
            PendingError: The request has not ended.
            ThreadBusyError: The run of its thread is in progress.
        """

    async def erase_all(
        self,
        by: str,
        *,
        person: str | None = None,
        before: datetime | None = None,
        dry_run: bool = False,
        progress: Callable[[Erasure], None] = ignore_progress,
    ) -> Erasure:
        """Erase one person's data, or all requests that ended before a time and their threads.

        If others asked a request, only the person's part is erased: names, answers and words; the question stays. An
        interrupted call can be repeated.

        Args:
            by: The person who erases.
            person: The person whose data to erase; another person than `by`. Give this or `before`, not both.
            before: Erase requests that ended before this time.
            dry_run: Only report the candidates; erase nothing.
            progress: Receives the result so far after each part.

        Returns:
            The erased records, and those that cannot be erased now.
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
        """Erase the candidates in one part of the feed; see `erase_all`.

        Args:
            sweep: The candidates, and the position at which to continue.
            by: The person who erases.

        Returns:
            The erased records; `next` is the position of the next part, None at the end.

        Raises:
            InvalidError: `person` and `before` are both set or both missing, or `person` is `by` or not a person.
        """

    @abstractmethod
    async def memories(self, person: str, *, limit: int = 50, before: str | None = None) -> list[Memory]:
        """Return a person's memories, newest question first.

        Args:
            person: The name of the person.
            limit: The maximum number of memories.
            before: The `place` of the last memory of the previous page.
        """

    @abstractmethod
    async def memory(self, id: str, person: str) -> Memory:
        """Return the person's memory in one request.

        Args:
            id: The id of the request.
            person: The name of the person.

        Raises:
            NotFoundError: There is no such memory.
        """

    @abstractmethod
    async def edit_memory(
        self, id: str, data: dict[str, Any], *, by: str, expected_updated_at: datetime | None = None
    ) -> Memory:
        """Edit a memory; the answer itself is unchanged.

        Args:
            id: The id of the request.
            data: The new data of the memory.
            by: The person whose memory it is.
            expected_updated_at: The `updated_at` of the memory that the caller saw; None skips the check for
                concurrent edits.

        Raises:
            ConflictError: The memory was changed since.
            InvalidError: The data does not fit the form.
            NotFoundError: This person has no such memory.
        """

    @abstractmethod
    async def delete_memory(self, id: str, *, by: str) -> None:
        """Delete a memory permanently; the answer itself is unchanged.

        Args:
            id: The id of the request.
            by: The person whose memory it is.

        Raises:
            NotFoundError: This person has no such memory.
        """

    @abstractmethod
    async def pause(self, reason: str, *, by: str, agent: str | None = None, until: datetime | None = None) -> Pause:
        """Pause an agent, or all agents: their runs wait, and no call that people approved begins.

        Answers are still accepted, and requests still expire. A call that has begun is not stopped. Repeating the same
        call returns the same pause.

        Args:
            reason: The reason, for people and for the audit trail.
            by: The name of the administrator.
            agent: The name of the agent; None pauses all agents of the tenant.
            until: The time at which the pause ends by itself; None for no end.

        Raises:
            InvalidError: A value is invalid, or `until` is in the past.
        """

    @abstractmethod
    async def pauses(self) -> list[Pause]:
        """Return the pauses in force, oldest first."""

    @abstractmethod
    async def resume(self, id: str, *, by: str) -> None:
        """End a pause: its waiting runs go on.

        Args:
            id: The id of the pause.
            by: The name of the administrator.

        Raises:
            NotFoundError: No pause in force has this id.
        """

    @abstractmethod
    async def grants(self) -> list[GrantView]:
        """Return the grants that have not ended by time, oldest first; also revoked and used-up ones."""

    @abstractmethod
    async def revoke_grant(self, id: str, *, by: str) -> None:
        """Revoke a grant: from now on people are asked again.

        Args:
            id: The id of the grant, which is that of the request whose answer has it.
            by: The name of the person.

        Raises:
            NotFoundError: There is no such grant.
        """

    @abstractmethod
    async def suggestions(self) -> list[Suggestion]:
        """Return the rules that the decisions of people suggest, and that none in force covers.

        A tool needs 200 decisions with 98 % approvals by the same people on calls of the same agent. A rule has a
        condition on each argument, and lets none of the tool's newest 500 requests through that people have not
        approved.
        """

    @abstractmethod
    async def accept_suggestion(
        self,
        id: str,
        *,
        by: str,
        until: datetime | None = None,
        max_uses: int = 1_000,
        one_in: int = 20,
        groups: Sequence[str] = (),
    ) -> Request:
        """Switch on a suggested rule: it is a grant, and the request returned is its record; see `grants`.

        One in `one_in` of its calls still asks, at random. The first call that it covers and that people do not approve
        ends the rule; so does one that is withdrawn or expires.

        Args:
            id: The id of the suggestion as the person saw it.
            by: The name of the person.
            until: The end, at most 30 days from now; None for 30 days.
            max_uses: The number of calls that it approves.
            one_in: One in so many of its calls still asks people, 2 to 100.
            groups: The groups of the person; a client's token has them.

        Raises:
            NotFoundError: The suggestion has changed since, or the person may not decide such calls.
            ForbiddenError: Such calls are assigned to other people, the person may decide them only as a deputy, or a
                rule of the request excludes the person.
            InvalidError: A limit is out of range.
        """

    @abstractmethod
    async def plant_checks(
        self, checks: Sequence[CheckRecipe | Mapping[str, Any]], *, by: str, share: float | None = None
    ) -> list[str]:
        """Plant requests that can never run, to measure whether people notice what is wrong with them.

        Each looks like a recent real request of its tool until it has ended.

        Args:
            checks: How each check is made; see `CheckRecipe`.
            by: The name of the administrator.
            share: Plant one check of each tool only while fewer than this share of its requests are checks; None plants
                all.

        Returns:
            The ids of the planted requests.

        Raises:
            ConflictError: Checks are off: the setting `RINGI_CHECKS` is not 1.
            InvalidError: A recipe is invalid, or no recent request of its tool can be copied.
        """

    @abstractmethod
    async def checks(self) -> CheckReport:
        """Return the newest 1,000 checks, and the shares of the answered ones that people noticed."""

    @abstractmethod
    async def check_pauses(self, agent: str | None = None) -> None:
        """Read the pauses; call it right before an action of your own code.

        Args:
            agent: The name of your agent; None checks for a pause of all agents. A client with an agent's token also
                checks for a pause of that agent.

        Raises:
            PausedError: The agent, or all agents, are paused.
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


def id_of(request: Request | str) -> str:
    """Return the id of a request, from the request or its id."""
    return request if isinstance(request, str) else request.id
