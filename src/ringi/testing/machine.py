"""Model-based test: any sequence of inbox operations has the same result on a store as on the memory store."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from datetime import timedelta
from typing import Any, get_args

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ringi.audit.verify import verify_store
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier
from ringi.contracts.store import Store
from ringi.domain.ask import Action, Decision, Outcome
from ringi.domain.journal import Journal, entries_in
from ringi.domain.record import START, Event, Query, Viewer, cursor_after_record
from ringi.domain.request import Request
from ringi.domain.voting import Person
from ringi.errors import NotFoundError, RingiError
from ringi.forms.fields import Select
from ringi.forms.form import Form
from ringi.inbox.api import Seen
from ringi.inbox.inbox import Limits, StoreInbox
from ringi.privacy.candidates import Erasure
from ringi.testing.clock import NOON, ManualClock

IDS = st.sampled_from(["r1", "r2", "r3", "r4"])
TENANTS = st.sampled_from(["ours", "ours", "theirs"])
PEOPLE = st.sampled_from(["ann", "bob"])
PERSONS = {"ann": Person("ann", ("boss", "legal")), "bob": Person("bob", ("boss",)), "cem": Person("cem", ("legal",))}
VOTERS = st.sampled_from(sorted(PERSONS))
JOURNAL = "r0"
FORM = Form([Select("reason", options=["late", "damaged"])])
REASONS = st.sampled_from([None, {"reason": "late"}, {"reason": "damaged"}, {"reason": "none of these"}])
ARGS = st.sampled_from([None, None, {"amount": 10}])
GATED = {"action": Action("refund", {"amount": 40}), "form": FORM}
RULES = st.sampled_from(
    [
        *([{}] * 4),
        {"hold": 10.0},
        {"exclude": ["asker"], "escalation": [{"after": 8, "to": ["bob", "group:legal"]}]},
        {"quorum": [{"count": 2}], "exclude": ["asker"]},
        {"quorum": [{"groups": ["boss"], "count": 2}, {"groups": ["legal"]}], "hold": 5.0},
        {"quorum": [{"count": 2}], "escalation": [{"after": 8, "to": ["ann"]}]},
    ]
)
ASKS = st.builds(
    lambda more, rules, **asked: {**asked, **more, **(rules if "action" in more else {})},
    more=st.sampled_from([{}, {"action": GATED["action"]}, GATED]),
    rules=RULES,
    id=IDS,
    title=st.sampled_from(["返金しますか Refund?", "Go on?"]),
    expires_in=st.sampled_from([None, None, 5.0, 60.0]),
    assignee=st.none() | PEOPLE,
    groups=st.sampled_from([(), ("boss",), ("boss", "legal")]),
    priority=st.sampled_from([None, "normal", "high"]),
)
TEXTS = ("返金", "refund", "ｒ1", "しま go", "40", "nowhere")
FILTER_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "statuses": st.sampled_from([("pending",), ("completed", "expired"), ("cancelled",)]),
    "kind": st.sampled_from(["approval", "question"]),
    "priority": st.sampled_from(["normal", "high"]),
    "assignee": PEOPLE,
    "assigned_or_claimed_by": PEOPLE,
    "viewer": st.builds(
        Viewer,
        name=PEOPLE,
        groups=st.sampled_from([(), ("boss",), ("legal", "boss")]),
        deputy_for=st.sampled_from([(), (Viewer(name="ann", groups=("legal",)),)]),
    ),
    "text": st.sampled_from(TEXTS),
    "unexecuted": st.just(True),
    "ended_since": st.sampled_from([NOON, NOON + timedelta(seconds=20)]),
}
FILTERS = st.one_of(st.just({}), *(st.fixed_dictionaries({name: each}) for name, each in FILTER_VALUES.items()))
QUERIES = st.builds(
    lambda limit, one, other: Query(limit=limit, **{**one, **other}), st.integers(1, 4), FILTERS, FILTERS
)
InboxCall = Callable[[StoreInbox], Awaitable[Any]]


def without_positions(value: object) -> Any:
    """Return the comparable part of a value: positions are specific to each store."""
    if isinstance(value, list):
        return [without_positions(item) for item in value]
    if isinstance(value, Erasure):
        # A store may return records in any order.
        ids = {name: tuple(sorted(getattr(value, name))) for name in ("requests", "threads", "journals")}
        return value.model_copy(update={**ids, "upto": START})
    return value.model_copy(update={"position": START}) if isinstance(value, Event) else value


def response_facts(request: Request) -> Any:
    """Return the part of a response that remains after its erasure."""
    fields = {"decision", "channel", "at", "authorised_digest"}
    return request.response.model_dump(include=fields) if request.response else None


class InboxMachine(RuleBasedStateMachine):
    """Applies each operation to two inboxes and compares; derive one, override `open`, and run its `TestCase`."""

    def open(self) -> AbstractAsyncContextManager[Store]:
        """Override: open an empty store."""
        raise NotImplementedError

    def __init__(self) -> None:
        super().__init__()
        self.clock, self.ended = ManualClock(), dict[tuple[str, str], Request]()
        self.digests = dict[tuple[str, str], str]()
        self.runner = asyncio.Runner()
        self.opened = self.open()
        stores = [self.runner.run(self.opened.__aenter__()), MemoryStore()]
        limits = Limits(claim_seconds=30)
        self.inboxes = [StoreInbox(store, MemoryNotifier(1), clock=self.clock, limits=limits) for store in stores]

    def teardown(self) -> None:
        """Close the store."""
        self.runner.run(self.opened.__aexit__(None, None, None))
        self.runner.close()

    def run_on_both(self, tenant: str, operation: InboxCall) -> Any:
        """Apply an operation to both inboxes and return both results."""
        actual, expected = (
            self.runner.run(self._result_of(inbox.for_tenant(tenant), operation)) for inbox in self.inboxes
        )
        assert actual == expected
        return actual

    async def _result_of(self, inbox: StoreInbox, operation: InboxCall) -> Any:
        try:
            return without_positions(await operation(inbox))
        except RingiError as error:
            return type(error), str(error)

    @initialize(asks=st.lists(ASKS, min_size=3, max_size=6))
    def begin(self, asks: list[dict[str, Any]]) -> None:
        """Begin with some questions, so that answers are possible."""
        for asked in asks:
            self.ask("ours", asked)

    @rule(tenant=TENANTS, asked=ASKS)
    def ask(self, tenant: str, asked: dict[str, Any]) -> None:
        """Ask, possibly again or with different content."""
        self.run_on_both(tenant, lambda inbox: inbox.ask(**asked))

    @rule(
        tenant=TENANTS,
        id=IDS,
        by=PEOPLE,
        decision=st.sampled_from(get_args(Decision)),
        data=REASONS,
        args=ARGS,
        message=st.sampled_from([None, "so be it"]),
        stale=st.sampled_from([False, False, False, True]),
    )
    def respond(self, tenant: str, id: str, by: str, decision: Decision, stale: bool, **body: Any) -> None:
        """Answer, possibly late, with invalid data, or under a stale digest."""

        async def answer(inbox: StoreInbox) -> Request:
            digest = "sha256:stale" if stale else (await inbox.get(id)).digest
            return await inbox.respond(Seen(id, digest), decision, by=PERSONS[by], **body)

        self.run_on_both(tenant, answer)

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE)
    def agree_twice(self, tenant: str, id: str, by: str) -> None:
        """Approve and repeat the approval, like a client that lost the reply."""

        async def answer(inbox: StoreInbox) -> tuple[Request, Request]:
            asked = await inbox.get(id)
            body: dict[str, Any] = {"data": {"reason": "late"} if asked.form else None, "message": "go on"}
            first = await inbox.respond(asked, asked.allowed[0], by=PERSONS[by], **body)
            return first, await inbox.respond(asked, asked.allowed[0], by=PERSONS[by], **body)

        self.run_on_both(tenant, answer)

    @rule(tenant=TENANTS, id=IDS, by=VOTERS, args=ARGS)
    def vote(self, tenant: str, id: str, by: str, args: dict[str, Any] | None) -> None:
        """Agree, as one of the people who may have to, perhaps with other arguments."""

        async def answer(inbox: StoreInbox) -> Request:
            asked = await inbox.get(id)
            data = {"reason": "late"} if asked.form else None
            return await inbox.respond(asked, "edit" if args else "approve", data, by=PERSONS[by], args=args)

        self.run_on_both(tenant, answer)

    @rule(tenant=TENANTS, id=IDS, by=VOTERS)
    def undo(self, tenant: str, id: str, by: str) -> None:
        """Undo a held answer."""
        self.run_on_both(tenant, lambda inbox: inbox.undo(id, by=by))

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE)
    def claim(self, tenant: str, id: str, by: str) -> None:
        """Claim."""
        self.run_on_both(tenant, lambda inbox: inbox.claim(id, by=PERSONS[by]))

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE)
    def release(self, tenant: str, id: str, by: str) -> None:
        """Release."""
        self.run_on_both(tenant, lambda inbox: inbox.release(id, by=PERSONS[by]))

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE, to=st.none() | PEOPLE, groups=st.sampled_from([(), ("boss",)]))
    def reassign(self, tenant: str, id: str, by: str, to: str | None, groups: tuple[str, ...]) -> None:
        """Reassign a request."""
        self.run_on_both(tenant, lambda inbox: inbox.reassign(id, assignee=to, groups=groups, by=PERSONS[by]))

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE)
    def cancel(self, tenant: str, id: str, by: str) -> None:
        """Cancel."""
        self.run_on_both(tenant, lambda inbox: inbox.cancel(id, "no longer needed", by=by))

    @rule(tenant=TENANTS, id=IDS, by=PEOPLE, outcome=st.sampled_from(get_args(Outcome)))
    def report_outcome(self, tenant: str, id: str, by: str, outcome: Outcome) -> None:
        """Report what became of an approved call."""
        self.run_on_both(tenant, lambda inbox: inbox.report_outcome(id, outcome, by=by))

    @rule(tenant=TENANTS, by=PEOPLE, number=st.integers(1, 9))
    def note(self, tenant: str, by: str, number: int) -> None:
        """Add an entry to a journal; the first entry creates it."""

        async def write(inbox: StoreInbox) -> Journal:
            try:
                journal = await inbox.store.get(Journal, tenant, JOURNAL)
            except NotFoundError:
                journal, event = Journal.begun(JOURNAL, "test", {"sum": 0}, by=by, now=self.clock(), tenant=tenant)
                await inbox.store.put(journal, event)
            entry, state = {"add": number, "reason": f"{by} says so"}, {"sum": journal.state["sum"] + number}
            await inbox.store.put(*journal.written(entry, state, by=by, now=self.clock()))
            return await inbox.store.get(Journal, tenant, JOURNAL)

        self.run_on_both(tenant, write)

    @rule(tenant=TENANTS, id=IDS)
    def erase(self, tenant: str, id: str) -> None:
        """Erase the content of one request, and search for it."""

        async def erase(inbox: StoreInbox) -> tuple[Request, list[list[Request]]]:
            return await inbox.erase(id, by="root"), [await inbox.search(Query(text=text)) for text in TEXTS]

        self.run_on_both(tenant, erase)

    @rule(tenant=TENANTS, person=PEOPLE, dry_run=st.booleans())
    def erase_person(self, tenant: str, person: str, dry_run: bool) -> None:
        """Erase the data of a person; after a real erasure nothing is left to erase."""
        done = self.run_on_both(tenant, lambda inbox: inbox.trail.erase(person=person, dry_run=dry_run, by="root"))
        if not dry_run:
            again = self.run_on_both(tenant, lambda inbox: inbox.trail.erase(person=person, dry_run=True, by="root"))
            assert (again.requests, again.journals, again.left) == ((), (), done.left)

    @rule(tenant=TENANTS, seconds=st.sampled_from([0, 10, 45]))
    def erase_old(self, tenant: str, seconds: float) -> None:
        """Erase requests that ended long enough ago."""
        before = self.clock() - timedelta(seconds=seconds)
        self.run_on_both(tenant, lambda inbox: inbox.trail.erase(before=before, by="root"))

    @rule(tenant=TENANTS, seconds=st.sampled_from([1, 10, 45]), sweep=st.booleans())
    def pass_time(self, tenant: str, seconds: float, sweep: bool) -> None:
        """Advance the time, and optionally sweep overdue requests."""
        self.clock.advance(seconds)
        if sweep:
            self.run_on_both(tenant, lambda inbox: inbox.expire_due())

    @rule(tenant=TENANTS, query=QUERIES)
    def look(self, tenant: str, query: Query) -> None:
        """List and count, page by page."""
        self.run_on_both(tenant, lambda inbox: inbox.count(query))
        page = self.run_on_both(tenant, lambda inbox: inbox.search(query))
        if page:
            following = query.model_copy(update={"before": cursor_after_record(page[-1])})
            self.run_on_both(tenant, lambda inbox: inbox.search(following))

    @rule(tenant=TENANTS, id=st.none() | IDS, limit=st.integers(1, 5))
    def read_events(self, tenant: str, id: str | None, limit: int) -> None:
        """Read the events of one request or of all, page by page."""

        async def read(inbox: StoreInbox) -> list[Event]:
            events = await inbox.events(limit=limit, request_id=id)
            while page := await inbox.events(events[-1].position, limit, request_id=id) if events else []:
                events += page
            # A sweep ends requests in any order.
            return sorted(events, key=lambda event: (event.record, event.record_id, event.version))

        self.run_on_both(tenant, read)

    @invariant()
    def what_has_ended_stays_as_it_ended(self) -> None:
        """A final status, a decision or a digest never changes; content changes only by an erasure."""
        for request in self._all():
            key = (request.tenant, request.id)
            assert self.digests.setdefault(key, request.digest) == request.digest
            if request.is_final:
                ended = self.ended.setdefault(key, request)
                assert (request.status, response_facts(request)) == (ended.status, response_facts(ended))
                assert request.response == ended.response or request.erased
            else:
                assert key not in self.ended

    @invariant()
    def enough_people_agreed(self) -> None:
        """An approved call has the votes of enough different people for exactly its arguments."""
        for request in self._all():
            won = request.response
            if not request.quorum or request.erased or not won or won.decision not in ("approve", "edit"):
                continue
            agreed = [vote.subject for vote in request.votes if vote.authorised_digest == won.authorised_digest]
            assert len(agreed) == len(set(agreed)) == sum(stage.count for stage in request.quorum)
            assert "asker" not in request.exclude or request.asked_by not in agreed

    @invariant()
    def one_event_completes_a_request(self) -> None:
        """There is exactly one completion event for each completed request."""
        events = self.runner.run(self.inboxes[0].store.events(limit=10_000))
        completions = sorted((e.tenant, e.record_id) for e in events if e.type == "request.completed")
        assert completions == sorted((r.tenant, r.id) for r in self._all() if r.status == "completed")

    @invariant()
    def the_events_add_up_to_the_records(self) -> None:
        """The audit has no findings."""
        _, findings = self.runner.run(verify_store(self.inboxes[0].store))
        assert findings == []

    @invariant()
    def the_entries_add_up_to_the_journals(self) -> None:
        """This includes journals whose authors are erased."""
        for journal in self.runner.run(self.inboxes[0].store.find(Journal, Query(limit=100))):
            read = self.inboxes[0].store.events(limit=10_000, tenant=journal.tenant, record_id=journal.id)
            noted = entries_in(self.runner.run(read))
            assert sum(each.entry["add"] for each in noted) == journal.state["sum"]

    def _all(self) -> list[Request]:
        return self.runner.run(self.inboxes[0].store.find(Request, Query(limit=100)))
