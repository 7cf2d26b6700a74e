"""What was erased is nowhere any more, what stays proves what happened, and whoever is late changes nothing."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from redis.asyncio import Redis
from tests.raising import raises_code
from tests.runs.world import World, opened, working
from tests.server.world import until

from ringi import Action, Attachment, Form, Text
from ringi.audit.seals import Sealer, compare_events_with_seals, read_seals
from ringi.audit.verify import verify_store
from ringi.base.canonical_json import sha256_of_text
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.backend import JobNotDueError
from ringi.contracts.store import Store, read_record_history
from ringi.delivery.attempt_log import AttemptLog, DeliveryTarget
from ringi.delivery.deliveries import Deliveries, DeliveryTask, finish_waiting_erasures, upkeep_jobs
from ringi.delivery.settings import DeliverySettings
from ringi.domain.ask import Answer, Ask
from ringi.domain.events import delivery_stream_key
from ringi.domain.journal import Journal, entries_in
from ringi.domain.record import ERASED_PERSON, Event, Key, Query, Record, UnreadableError, WaitingErasure
from ringi.domain.request import Request, review_id
from ringi.domain.request_data import Status
from ringi.domain.voting import Decider, Person
from ringi.errors import ConflictError, InvalidError, NotAuthorizedError, NotFoundError, RingiError, UnavailableError
from ringi.files.attachments import Attachments, file_key
from ringi.inbox.api import Seen
from ringi.inbox.legal_holds import lift_hold, set_hold
from ringi.privacy import erasure
from ringi.privacy.candidates import Sweep
from ringi.privacy.erasure import Eraser
from ringi.server.serialize import request_json
from ringi.testing.clock import NOON, ManualClock

PLANTED = "zwetschge4711"
TIME_LIMIT = 15.0
THREADED = ("memory", "sqlite", "postgres")


class Place:
    """A store, its inbox, and all bytes that it holds."""

    def __init__(self, url: str, world: World, clock: ManualClock) -> None:
        self.url, self.world, self.inbox, self.clock = url, world, world.inbox, clock
        self.store, self.stream = world.backend.store, world.backend.stream

    async def everything(self) -> str:
        """Return all that the store holds, as text."""
        if self.url.startswith("sqlite"):
            path = Path(self.url.removeprefix("sqlite:///"))
            files = [each for each in path.parent.iterdir() if each.name.startswith(path.name)]
            return "".join(each.read_bytes().decode("latin-1") for each in files)
        if self.url.startswith("postgresql"):
            return await dumped_tables(self.url)
        return await dumped_keys(self.url)

    async def answered(self, id: str = "r1", by: str = "ann", **ask: Any) -> Request:
        """Return a request that somebody has answered with the planted words."""
        asked = await self.inbox.ask(f"May {PLANTED} go?", id=id, form=Form([Text("why")]), **ask)
        data = {"why": f"because {PLANTED}"}
        by_person = Person(by, asked.groups)
        return await self.inbox.respond(asked, "approve", data, by=by_person, message=PLANTED)

    async def verified(self) -> None:
        assert (await verify_store(self.store))[1] == []


async def dumped_tables(url: str) -> str:
    """Return all rows of a schema; what no row shows any more is VACUUM's to reuse."""
    server, _, schema = url.partition("?schema=")
    connection = await asyncpg.connect(server)
    try:
        sql = "SELECT table_name FROM information_schema.tables WHERE table_schema = $1 AND table_type = 'BASE TABLE'"
        tables = [name for (name,) in await connection.fetch(sql, schema)]
        assert {"requests", "events", "texts", "stream_items"} <= set(tables)
        rows = [
            row for name in tables for row in await connection.fetch(f'SELECT t.*, t::text FROM {schema}."{name}" t')
        ]
        return "\n".join(repr(tuple(row.values())) for row in rows)
    finally:
        await connection.close()


async def dumped_keys(url: str) -> str:
    """Return all that is under the keys of a store."""
    server, _, prefix = url.partition("?prefix=")
    async with Redis.from_url(server, decode_responses=True) as redis:
        keys = [key async for key in redis.scan_iter(f"{{{prefix}}}*")]
        read: dict[Any, Any] = {
            "string": redis.get,
            "list": lambda key: redis.lrange(key, 0, -1),
            "hash": redis.hgetall,
            "zset": lambda key: redis.zrange(key, 0, -1),
            "stream": redis.xrange,
        }
        return "\n".join([f"{key} {await read[await redis.type(key)](key)}" for key in keys])


@asynccontextmanager
async def placed(url: str) -> AsyncIterator[Place]:
    clock = ManualClock()
    async with opened(url, clock=clock) as world:
        yield Place(url, world, clock)


@pytest.fixture
async def place(url: str) -> AsyncIterator[Place]:
    async with placed(url) as place:
        yield place


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[Place]:
    """SQLite alone: what is the same everywhere is tested once."""
    async with placed(f"sqlite:///{tmp_path / 'ringi.db'}") as place:
        yield place


async def test_nothing_of_an_erased_request_is_left_in_the_store(place: Place) -> None:
    other = await place.inbox.ask("Another?", id="r0", context={"note": "a plain one"})
    context = {"note": PLANTED}
    request = await place.answered(assignee="ann", context=context, description=PLANTED, fallback={"why": PLANTED})
    await place.stream.append(delivery_stream_key("default", "r1"), [], fence=0)
    if place.url != "memory://":
        assert PLANTED in await place.everything()

    erased = await place.inbox.erase(request.id, by="root")

    if place.url != "memory://":
        assert PLANTED not in (await place.everything()).casefold()
        assert "a plain one" in await place.everything()
    assert (erased.title, erased.response and erased.response.responder) == ("erased", ERASED_PERSON)
    assert erased.erased
    assert (erased.erased.by, erased.erased.rule) == ("root", "request")
    assert await place.inbox.get("r0") == other
    await place.verified()


async def test_what_tells_that_it_happened_stays(place: Place) -> None:
    request = await place.answered(groups=("boss",))

    erased = await place.inbox.erase("r1", by="root")

    stays = ("id", "kind", "status", "digest", "allowed", "created_at", "ended_at", "groups")
    assert [getattr(erased, name) for name in stays] == [getattr(request, name) for name in stays]
    was, left = request.response, erased.response
    assert was
    assert left
    assert (left.decision, left.at, left.authorised_digest) == (was.decision, was.at, was.authorised_digest)
    assert (left.data, left.args, left.message) == (None, None, None)
    events = await place.inbox.events(request_id="r1")
    assert [(event.type, event.actor) for event in events] == [
        ("request.created", "system"),
        ("request.completed", ERASED_PERSON),
        ("request.erased", "root"),
    ]


@pytest.mark.parametrize("person", [None, "root"])
async def test_an_erased_override_keeps_its_fact_the_digest_of_its_reason_and_its_time(
    place: Place, person: str | None
) -> None:
    asked = await place.inbox.ask("Go?", id="r1")
    answer = Answer(decision="respond", message=PLANTED, digest=asked.digest, override=PLANTED)
    before = await place.inbox.answer("r1", answer, by=Decider("root", is_admin=True), channel="test")
    await decide(place, review_id("r1"))
    for _ in range(2):
        if person:
            await place.inbox.trail.erase_some(Sweep(person=person), by="boss")
        await place.inbox.erase("r1", by="boss")

    erased = (await place.inbox.get("r1")).response
    assert before.response
    assert erased
    assert (erased.responder, erased.message, erased.at) == (ERASED_PERSON, None, before.response.at)
    assert erased.override == sha256_of_text(PLANTED.encode())
    await place.verified()


async def test_erasing_twice_is_erasing_once(place: Place) -> None:
    await place.answered()
    once = await place.inbox.erase("r1", by="root")

    assert await place.inbox.erase("r1", by="somebody else") == once
    assert len(await place.inbox.events(request_id="r1")) == 3


async def test_what_is_open_is_refused_with_the_remedy(place: Place) -> None:
    asked = await place.inbox.ask("Go?", id="r1")

    with raises_code("pending", match="'r1' is pending: cancel it"):
        await place.inbox.erase("r1", by="root")

    assert await place.inbox.get("r1") == asked


async def test_a_late_answer_to_what_was_erased_is_refused_as_ever(place: Place) -> None:
    request = await place.answered()
    await place.inbox.erase("r1", by="root")

    with raises_code("final", match=ERASED_PERSON):
        await place.inbox.respond(Seen("r1", request.digest), "approve", {"why": "x"}, by="ann")
    with raises_code("final"):
        await place.inbox.claim("r1", by="ann")
    assert (await place.inbox.ask(f"May {PLANTED} go?", id="r1", form=Form([Text("why")]))).erased


async def test_erasures_answers_and_claims_at_once_leave_a_whole_trail(place: Place) -> None:
    asked = [await place.inbox.ask(f"May {PLANTED} go?", id=f"r{n}", action=Action("go", {})) for n in range(8)]

    async def attempt(work: Any) -> None:
        try:
            await work
        except RingiError:
            return

    await asyncio.gather(
        *(
            attempt(work)
            for each in asked
            for work in (
                place.inbox.claim(each.id, by="bob"),
                place.inbox.respond(each, "approve", by="ann", message=PLANTED),
                place.inbox.erase(each.id, by="root"),
                place.inbox.erase(each.id, by="root"),
            )
        )
    )

    for each in asked:
        if not (await place.inbox.get(each.id)).is_final:
            await place.inbox.cancel(each.id, by="root")
        await place.inbox.erase(each.id, by="root")
    assert await place.inbox.search(Query(text=PLANTED)) == []
    await place.verified()


async def test_an_erased_call_can_never_run(file: Place) -> None:
    asked = await file.inbox.ask("Go?", id="r1", action=Action("pay", {"amount": 40}))
    answered = await file.inbox.respond(Seen("r1", asked.digest), "edit", by="ann", args={"amount": 10})
    assert answered.granted
    done = await file.inbox.trail.erase(person="ann", by="root")

    left = await file.inbox.get("r1")
    assert done.requests == ("r1",)
    assert left.action == Action("pay", {"amount": 40})
    assert left.granted is None
    with pytest.raises(NotAuthorizedError, match="erased"):
        left.authorize("pay", {"amount": 40})


async def test_all_that_is_a_persons_goes_and_the_rest_stays(place: Place) -> None:
    inbox = place.inbox
    await place.answered("answered", by="annzwetschge", context={"by": "the agent"})
    await place.answered("other", by="bob")
    assigned = await inbox.ask("Assigned?", id="assigned", assignee="annzwetschge", groups=["ops"])
    await inbox.respond(assigned, "respond", by=Person("bob", ["ops"]), message="bob's words")
    await inbox.ask("Passed on?", id="passed", assignee="annzwetschge", kind="question")
    await inbox.claim("passed", by="annzwetschge")
    await inbox.reassign("passed", assignee="bob", by="annzwetschge")
    await inbox.cancel("passed", "bob's reason", by="bob")
    await inbox.ask("Cancelled?", id="cancelled")
    await inbox.cancel("cancelled", "words of hers", by="annzwetschge")
    await inbox.ask("Open?", id="open", assignee="annzwetschge")

    looked = await inbox.trail.erase(person="annzwetschge", dry_run=True, by="root")
    assert set(looked.requests) == {"answered", "assigned", "passed", "cancelled"}
    assert list(looked.left) == ["open"]
    assert "cancel it" in looked.left["open"]
    done = await inbox.trail.erase(person="annzwetschge", by="root")
    assert (set(done.requests), done.left) == (set(looked.requests), looked.left)
    await inbox.cancel("open", by="root")
    await inbox.trail.erase(person="annzwetschge", by="root")

    if place.url != "memory://":
        assert "annzwetschge" not in await place.everything()
        assert "words of hers" not in await place.everything()
    answered, assigned = await inbox.get("answered"), await inbox.get("assigned")
    assert answered.title == f"May {PLANTED} go?"
    assert answered.response
    assert (answered.response.data, answered.response.message) == (None, None)
    assert (assigned.assignee, assigned.response and assigned.response.message) == (ERASED_PERSON, "bob's words")
    assert (await inbox.get("passed")).reason == "bob's reason"
    assert (await inbox.get("cancelled")).reason is None
    assert (await inbox.get("other")).erased is None
    await place.verified()


async def test_who_is_erased_after_they_erased_is_gone_too(file: Place) -> None:
    await file.answered()
    await file.inbox.erase("r1", by="rootzwetschge")

    done = await file.inbox.trail.erase(person="rootzwetschge", by="second")

    left = await file.inbox.get("r1")
    assert done.requests == ("r1",)
    assert left.erased
    assert (left.erased.by, left.erased.rule) == ("second", "request")
    assert "rootzwetschge" not in await file.everything()
    await file.verified()


@pytest.mark.parametrize("person", ["", "system", "agent:bot", ERASED_PERSON, "root"])
async def test_who_is_no_person_or_oneself_is_refused(file: Place, person: str) -> None:
    with pytest.raises(InvalidError, match="person"):
        await file.inbox.trail.erase(person=person, by="root")


async def test_one_rule_is_needed_and_no_more(file: Place) -> None:
    with pytest.raises(InvalidError, match="give either a person"):
        await file.inbox.trail.erase(by="root")
    with pytest.raises(InvalidError, match="give either a person"):
        await file.inbox.trail.erase(person="ann", before=NOON, by="root")


async def test_what_ended_long_ago_is_erased_and_the_younger_stays(place: Place) -> None:
    await place.answered("old")
    await place.inbox.ask("Still open?", id="open")
    place.clock.advance(10 * 86_400)
    await place.answered("young")

    assert await place.inbox.retain(9) == 1
    assert await place.inbox.retain(9) == 0

    erased = {id: (await place.inbox.get(id)).erased for id in ("old", "young", "open")}
    assert [id for id, each in erased.items() if each] == ["old"]
    assert erased["old"]
    assert (erased["old"].by, erased["old"].rule) == ("system", "age")
    place.clock.advance(86_400)
    await place.inbox.cancel("open", by="root")
    place.clock.advance(10 * 86_400)
    assert await place.inbox.retain(9) == 2
    await place.verified()


async def test_a_sweep_in_parts_erases_all(file: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ringi.privacy.erasure.BATCH", 7)
    for n in range(12):
        await file.answered(f"r{n}")
    file.clock.advance(60)
    counts = list[int]()

    done = await file.inbox.trail.erase(
        before=file.clock(), progress=lambda done: counts.append(len(done.requests)), by="root"
    )

    assert set(done.requests) == {f"r{n}" for n in range(12)}
    assert len(counts) > 2
    assert PLANTED not in await file.everything()
    await file.verified()


@pytest.mark.parametrize("name", THREADED)
async def test_nothing_of_a_run_is_left_beside_its_request(
    request: pytest.FixtureRequest, tmp_path: Path, name: str
) -> None:
    schema = f"?schema=t{uuid.uuid4().hex}"
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'ringi.db'}"}.get(name)
    url = url or request.getfixturevalue("postgres_url") + schema
    async with placed(url) as place:
        world = place.world
        async with working(world):
            await world.run("preferences", {})
            asked = await world.one()
            await world.respond(asked, "approve", {"sport": "running", "notes": f"{PLANTED} of hers"})
            thread = await world.rest()
        assert PLANTED in json.dumps(thread.values)
        if name != "memory":
            assert PLANTED in await place.everything()

        await place.inbox.erase(asked.id, by="root")

        thread = await world.thread()
        assert (thread.status, thread.values, thread.erased and thread.erased.by) == ("done", {}, "root")
        assert [item.event["name"] for item in await world.items()] == ["erased"]
        saver = world.backend.savers(thread)
        assert [item async for item in saver.alist(None)] == []
        if name != "memory":
            assert PLANTED not in await place.everything()
        await place.verified()
        async with working(world):
            await world.run("preferences", {})
            assert (await world.one()).id != asked.id
            assert (await world.thread()).erased is None


async def test_while_its_run_goes_on_nothing_is_erased(file: Place) -> None:
    async with working(file.world):
        await file.world.run("two_questions", {})
        first, _ = await file.world.pending()
        await file.world.respond(first, "approve", {"name": "x"}) if first.form else await file.world.respond(
            first, first.allowed[0], message="yes"
        )
        await file.world.rest()
    items = await file.world.items()

    with raises_code("busy", match="answer its requests or cancel it"):
        await file.inbox.erase(first.id, by="root")

    assert (await file.inbox.get(first.id)).erased is None
    assert await file.world.items() == items


async def test_the_tries_of_its_deliveries_are_forgotten(file: Place) -> None:
    await file.answered()
    log = AttemptLog(file.stream)
    assert await log.of_target("default", DeliveryTarget("ask-0", 1, "r1")) == []
    task = DeliveryTask(
        tenant="default", request_id="r1", version=2, event="e", type="request.completed",
        happened_at=NOON, endpoint="crm",
    )  # fmt: skip
    await log.add("default", "r1", task.attempt("mail to ann", NOON, "waiting", error=f"550 <{PLANTED}@example.com>"))
    assert len(await log.of_request("default", "r1")) == 1

    await file.inbox.erase("r1", by="root")

    assert await log.of_request("default", "r1") == []
    assert PLANTED not in await file.everything()


async def test_seals_from_before_an_erasure_still_hold(file: Place, tmp_path: Path) -> None:
    await file.answered()
    path = tmp_path / "seals.jsonl"
    await Sealer(file.store, path, "key", ManualClock()).seal()

    await file.inbox.erase("r1", by="root")

    verdict = await compare_events_with_seals(file.store, read_seals(path), "key")
    assert (verdict.findings, verdict.sealed, verdict.later) == ([], 2, 1)


EMPTIED = "its payload was emptied, and no erasure accounts for it"


@pytest.mark.parametrize("left", ['{"actor":"ann"}', '{"actor":"erased:person"}', '{"actor":"system"}'])
async def test_a_payload_emptied_behind_our_back_is_found(file: Place, left: str) -> None:
    await file.answered()
    with sqlite3.connect(file.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET payload = ? WHERE position = 2", [left])

    _, findings = await verify_store(file.store)

    assert EMPTIED in [finding.what for finding in findings]


async def test_what_is_left_of_a_payload_cannot_be_changed_either(file: Place) -> None:
    await file.answered()
    await file.inbox.erase("r1", by="root")
    with sqlite3.connect(file.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET payload = ? WHERE position = 2", ['{"actor":"bob"}'])

    assert [finding.what for finding in (await verify_store(file.store))[1]] == [EMPTIED]


async def test_an_erasure_covers_no_event_after_it_and_of_no_other(file: Place) -> None:
    await file.answered("r1")
    await file.inbox.erase("r1", by="root")
    await file.answered("r2")
    with sqlite3.connect(file.url.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE events SET payload = ? WHERE record_id = 'r2'", ['{"actor":"system"}'])

    whats = [(finding.key.id, finding.what) for finding in (await verify_store(file.store))[1]]

    assert whats.count(("r2", EMPTIED)) == 2
    assert not [what for id, what in whats if id == "r1"]


@pytest.mark.parametrize("person", [None, "ann"])
async def test_what_was_tampered_with_is_not_erased_and_still_found(file: Place, person: str | None) -> None:
    asked = await file.inbox.submit(Ask(title="Pay?", action=Action("pay", {"amount": 1}), id="r1"), by="ann")
    await file.inbox.respond(asked, "reject", by="bob")
    with sqlite3.connect(file.url.removeprefix("sqlite:///")) as connection:
        connection.execute("""UPDATE requests SET body = replace(body, '"reject"', '"approve"') WHERE version > 1""")
        connection.execute("""UPDATE events SET payload = '{"actor":"system"}' WHERE version = 2""")
    before = (await verify_store(file.store))[1]

    if person is None:
        with pytest.raises(ConflictError, match="ringi verify"):
            await file.inbox.erase("r1", by="root")
    else:
        assert "ringi verify" in (await file.inbox.trail.erase(person=person, by="root")).left["r1"]

    assert before
    assert (await verify_store(file.store))[1] == before


async def test_what_a_clock_ahead_has_dated_stops_no_sweep(file: Place) -> None:
    await file.answered("r1")
    file.clock.advance(400 * 86_400)
    await file.answered("r2")
    file.clock.advance(-400 * 86_400)
    await file.answered("r3")
    file.clock.advance(3 * 86_400)

    assert await file.inbox.retain(1) == 2
    assert [(await file.inbox.get(id)).erased is None for id in ("r1", "r2", "r3")] == [False, True, False]


async def test_a_record_that_cannot_be_read_stops_no_sweep(file: Place) -> None:
    for id in ("r1", "r2", "r3"):
        await file.answered(id)
    with sqlite3.connect(file.url.removeprefix("sqlite:///")) as connection:
        connection.execute("""UPDATE requests SET body = replace(body, '"form"', '"of_next"') WHERE id = 'r2'""")
    file.clock.advance(3 * 86_400)

    assert await file.inbox.retain(1) == 2


async def test_a_persons_part_is_not_erased_where_a_newer_version_may_have_said_more_of_them(place: Place) -> None:
    newer = Ask.parse_stored({"title": f"May {PLANTED} go?", "id": "r1", "of_next": {"told": "ann"}})
    asked = await place.inbox.submit(newer, by="agent:bot")
    answered = await place.inbox.respond(Seen("r1", asked.digest), "respond", by="ann", message=PLANTED)

    looked = await place.inbox.trail.erase(person="ann", dry_run=True, by="root")
    done = await place.inbox.trail.erase(person="ann", by="root")

    assert (looked.requests, done.requests) == ((), ())
    assert looked.left == done.left
    assert "of_next" in done.left["r1"]
    assert "newer" in done.left["r1"]
    assert await place.inbox.get("r1") == answered
    await place.verified()
    await place.inbox.erase("r1", by="root")
    if place.url != "memory://":
        assert PLANTED not in await place.everything()
    await place.verified()


async def test_what_a_newer_version_left_empty_stands_in_the_way_of_nothing(file: Place) -> None:
    asked = await file.inbox.submit(Ask.parse_stored({"title": "Go?", "id": "r1", "of_next": None}), by="agent:bot")
    await file.inbox.respond(Seen("r1", asked.digest), "respond", by="ann", message="yes")

    assert (await file.inbox.trail.erase(person="ann", by="root")).requests == ("r1",)
    await file.verified()


async def test_who_erased_a_thread_is_gone_too_when_they_are_erased(file: Place) -> None:
    async with working(file.world):
        await file.world.run("preferences", {})
        asked = await file.world.one()
        await file.world.respond(asked, "approve", {"sport": "running", "notes": "none"})
        await file.world.rest()
    await file.inbox.erase(asked.id, by="rootzwetschge")
    thread = await file.world.thread()
    assert "rootzwetschge" in await file.everything()

    done = await file.inbox.trail.erase(person="rootzwetschge", by="second")

    assert done.threads == (thread.id,)
    left = (await file.world.thread()).erased
    assert left
    assert (left.by, left.rule) == ("second", "request")
    assert "rootzwetschge" not in await file.everything()
    await file.verified()
    assert (await file.inbox.trail.erase(person="rootzwetschge", by="second")).threads == ()


async def test_who_had_something_delivered_again_is_gone_when_they_are_erased(place: Place) -> None:
    await place.inbox.ask("Go?", id="r1")
    await place.inbox.cancel("r1", "bob's reason", by="bob")
    await redelivered(place, by="annzwetschge")
    if place.url != "memory://":
        assert "annzwetschge" in await place.everything()

    looked = await place.inbox.trail.erase(person="annzwetschge", dry_run=True, by="root")
    done = await place.inbox.trail.erase(person="annzwetschge", by="root")

    assert looked.requests == done.requests == ("r1",)
    assert await AttemptLog(place.stream).of_request("default", "r1") == []
    if place.url != "memory://":
        assert "annzwetschge" not in await place.everything()
    assert (await place.inbox.get("r1")).reason == "bob's reason"
    await place.verified()
    assert (await place.inbox.trail.erase(person="annzwetschge", by="root")).requests == ()


async def redelivered(place: Place, by: str) -> None:
    """Keep that somebody had an event of `r1` delivered again."""
    task = DeliveryTask(
        tenant="default", request_id="r1", version=2, event="e", type="request.cancelled",
        happened_at=NOON, endpoint="crm",
    )  # fmt: skip
    tried = task.attempt("https://crm.example.com", NOON, "queued")
    await AttemptLog(place.stream).add("default", "r1", tried.model_copy(update={"by": by}))


async def test_who_wrote_in_a_journal_is_gone_when_they_are_erased_and_what_they_entered_adds_up(place: Place) -> None:
    journal, event = Journal.begun("playbook", "test", {"sum": 0}, by="system", now=NOON)
    await place.store.put(journal, event)
    for number, (by, words) in enumerate([("annzwetschge", "zwetschge said so"), ("bob", "bob's"), ("ann", "a's")], 1):
        entry = {"add": number, "reason": words}
        journal, event = journal.written(entry, {"sum": journal.state["sum"] + number}, by=by, now=NOON)
        await place.store.put(journal, event)
    if place.url != "memory://":
        assert "zwetschge" in await place.everything()

    looked = await place.inbox.trail.erase(person="annzwetschge", dry_run=True, by="root")
    done = await place.inbox.trail.erase(person="annzwetschge", by="root")

    assert looked.journals == done.journals == ("playbook",)
    if place.url != "memory://":
        assert "zwetschge" not in await place.everything()
    await place.verified()
    assert (await place.inbox.trail.erase(person="annzwetschge", by="root")).journals == ()
    left = await place.store.get(Journal, "default", "playbook")
    assert (left.state, left.entry, left.is_sound) == ({"sum": 6}, {"add": 3, "reason": "a's"}, True)
    noted = entries_in(await place.store.events(record_id="playbook"))
    assert [each.version for each in noted] == [2, 3, 4]
    assert [(each.by, each.entry["add"], each.entry["reason"]) for each in noted] == [
        (ERASED_PERSON, 1, None),
        ("bob", 2, "bob's"),
        ("ann", 3, "a's"),
    ]


async def test_a_journal_of_which_much_was_erased_goes_on_and_keeps_what_is_left(file: Place) -> None:
    journal, event = Journal.begun("playbook", "test", {"sum": 0}, by="system", now=NOON)
    await file.store.put(journal, event)
    for by in ("ann", "bob", "ann"):
        journal, event = journal.written({"add": 1, "reason": by}, {"sum": journal.version}, by=by, now=NOON)
        await file.store.put(journal, event)

    await file.inbox.trail.erase(person="ann", by="first")
    await file.inbox.trail.erase(person="bob", by="second")
    await file.inbox.trail.erase(person="first", by="third")
    journal = await file.store.get(Journal, "default", "playbook")
    await file.store.put(*journal.written({"add": 4, "reason": "cat"}, {"sum": 7}, by="cat", now=NOON))

    noted = entries_in(await file.store.events(record_id="playbook"))
    assert [(each.version, each.by, each.entry) for each in noted] == [
        (2, ERASED_PERSON, {"add": 1, "reason": None}),
        (3, ERASED_PERSON, {"add": 1, "reason": None}),
        (4, ERASED_PERSON, {"add": 1, "reason": None}),
        (5, "cat", {"add": 4, "reason": "cat"}),
    ]
    await file.verified()


async def test_a_journal_is_never_too_old(file: Place) -> None:
    await file.store.put(*Journal.begun("playbook", "test", {"sum": 0}, by="ann", now=NOON))
    await file.answered()
    file.clock.advance(days=400)

    done = await file.inbox.trail.erase(before=file.clock(), by="root")

    assert (done.requests, done.journals) == (("r1",), ())
    assert (await file.store.get(Journal, "default", "playbook")).erased is None
    await file.verified()


async def overridden(place: Place, **ask: Any) -> tuple[Request, str]:
    """Return a request with the planted words that an administrator has overridden, and the id of its open review."""
    asked = await place.inbox.submit(Ask(title=f"May {PLANTED} go?", id="r1", **ask), by="annzwetschge")
    answer = Answer(decision="respond", message=PLANTED, digest=asked.digest, override=f"{PLANTED} burns")
    done = await place.inbox.answer("r1", answer, by=Decider("rootzwetschge", is_admin=True), channel="test")
    return done, review_id("r1")


async def decide(place: Place, review: str, message: str = "right") -> Request:
    digest = (await place.inbox.get(review)).digest
    return await place.inbox.respond(
        Seen(review, digest), "approve", by=Person("cat", ("administrators",)), message=message
    )


async def erased_by(place: Place, id: str) -> tuple[str, str] | None:
    erased = (await place.inbox.get(id)).erased
    return (erased.by, erased.rule) if erased else None


async def test_an_overridden_request_waits_for_its_review_and_is_erased_with_it(place: Place) -> None:
    _, review = await overridden(place)
    await place.answered("r0", by="bob")
    await redelivered(place, by="bob")

    for _ in range(2):
        with raises_code("under_review", match=f"'r1' is erased when the review '{review}' ends: another admin"):
            await place.inbox.erase("r1", by="boss")
    assert await AttemptLog(place.stream).of_request("default", "r1") == []
    waiting = await place.inbox.get(review)
    assert PLANTED in waiting.title
    assert [(each.request, each.by, each.person) for each in waiting.waiting_erasures] == [("r1", "boss", None)]
    assert "waiting" not in request_json(waiting).decode()
    await place.verified()
    place.clock.advance(60)
    await decide(place, review, PLANTED)

    if place.url != "memory://":
        left = await place.everything()
        assert "burns" not in left
        assert "rootzwetschge" not in left
    assert [await erased_by(place, id) for id in ("r0", "r1", review)] == [None, *[("boss", "request")] * 2]
    after = await place.inbox.get(review)
    assert (after.title, after.waiting_erasures) == ("erased", ())
    assert after.response
    assert after.response.decision == "approve"
    assert after.erased
    assert after.erased.at == place.clock()
    assert await place.inbox.search(Query(text="burns")) == []
    await place.verified()
    assert (await place.inbox.erase("r1", by="boss")) == await place.inbox.get("r1")


async def test_a_request_whose_review_has_ended_is_erased_with_it_at_once(place: Place) -> None:
    _, review = await overridden(place)
    await decide(place, review, PLANTED)

    await place.inbox.erase("r1", by="boss")

    if place.url != "memory://":
        assert PLANTED not in (await place.everything()).casefold()
    assert [await erased_by(place, id) for id in ("r1", review)] == [("boss", "request")] * 2
    await place.verified()


@pytest.mark.parametrize("person", ["annzwetschge", "rootzwetschge", "dan"])
async def test_a_persons_part_waits_for_the_review_and_everything_else_is_erased(place: Place, person: str) -> None:
    """Ann asked, so the title is hers; root overrode, so the reason is theirs; Dan has only claimed it before."""
    asked = await place.inbox.submit(Ask(title=f"May {PLANTED} go?", id="r1"), by="annzwetschge")
    await place.inbox.claim("r1", by="dan")
    await place.inbox.release("r1", by="dan")
    answer = Answer(decision="respond", message=PLANTED, digest=asked.digest, override="it burns")
    await place.inbox.answer("r1", answer, by=Decider("rootzwetschge", is_admin=True), channel="test")
    review = review_id("r1")
    await place.answered("r0", by=person)

    looked = await place.inbox.trail.erase(person=person, dry_run=True, by="boss")
    assert (await place.inbox.get(review)).waiting_erasures == ()
    done = await place.inbox.trail.erase(person=person, by="boss")
    assert (looked.requests, looked.left) == (done.requests, done.left)
    assert (done.requests, done.left) == (("r0",), {"r1": str(ConflictError.under_review("r1", review))})
    await place.verified()
    await decide(place, review)

    if place.url != "memory://":
        assert person not in await place.everything()
    after = await place.inbox.get(review)
    assert (PLANTED in after.title, after.waiting_erasures) == (person == "dan", ())
    assert after.response
    assert after.response.message == ("right" if person == "dan" else None)
    assert (await place.inbox.trail.erase(person=person, by="boss")).requests == ()
    await place.verified()


async def test_who_has_seen_an_open_review_is_erased_from_it_when_it_ends(file: Place) -> None:
    _, review = await overridden(file)
    await file.inbox.record_seen(review, "danzwetschge")

    looked = await file.inbox.trail.erase(person="danzwetschge", dry_run=True, by="boss")
    done = await file.inbox.trail.erase(person="danzwetschge", by="boss")
    assert looked.left == done.left == {review: str(ConflictError.under_review(review, review))}
    await decide(file, review)

    assert "danzwetschge" not in await file.everything()
    assert (await file.inbox.get("r1")).erased is None
    await file.verified()


async def test_who_ordered_an_erasure_that_waits_can_be_erased_too(file: Place) -> None:
    _, review = await overridden(file)
    with raises_code("under_review"):
        await file.inbox.erase("r1", by="bosszwetschge")

    done = await file.inbox.trail.erase(person="bosszwetschge", by="second")
    assert list(done.left) == [review]
    await decide(file, review)

    assert await erased_by(file, "r1") == ("second", "request")
    assert "bosszwetschge" not in await file.everything()
    await file.verified()


async def test_the_retention_erases_an_overridden_request_when_its_review_ends(place: Place) -> None:
    _, review = await overridden(place)
    place.clock.advance(days=10)
    before = place.clock() - timedelta(days=9)

    looked = await place.inbox.trail.erase(before=before, dry_run=True, by="boss")
    assert looked.left == {"r1": str(ConflictError.under_review("r1", review))}
    assert await place.inbox.retain(9) == 0
    await decide(place, review)

    assert [await erased_by(place, id) for id in ("r1", review)] == [("system", "age")] * 2
    await place.verified()


async def test_a_hold_on_the_review_holds_the_request_and_what_waits_for_it(file: Place) -> None:
    _, review = await overridden(file)
    with raises_code("under_review"):
        await file.inbox.erase("r1", by="boss")
    await set_hold(file.inbox, review, "boss", "Case 7")
    await decide(file, review)
    with raises_code("legal_hold", match=review):
        await file.inbox.erase("r1", by="boss")
    for selected in ({"person": "rootzwetschge"}, {"before": file.clock() + timedelta(days=1)}):
        for is_dry in (True, False):
            done = await file.inbox.trail.erase(dry_run=is_dry, by="boss", **selected)
            assert done.left == dict.fromkeys(("r1", review), str(ConflictError.legal_hold(review)))
    assert [await erased_by(file, id) for id in ("r1", review)] == [None, None]

    await lift_hold(file.inbox, review, "boss")

    assert [await erased_by(file, id) for id in ("r1", review)] == [("boss", "request")] * 2
    await file.verified()


async def test_a_change_between_the_reads_of_an_erasure_is_no_tampering(
    file: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    await file.answered()
    others = list[str]()

    async def read_late(store: Store, record: Record) -> list[Event]:
        if isinstance(record, Request) and record.erasing and not others:
            others.append("other")
            await file.inbox.erase("r1", by="other")
        return await read_record_history(store, record)

    monkeypatch.setattr(erasure, "read_record_history", read_late)

    assert (await file.inbox.erase("r1", by="root")).erased
    await file.verified()


async def test_no_hold_is_set_on_an_open_review_while_its_request_is_erased(
    file: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, review = await overridden(file)
    forget, refused = file.inbox.eraser._forget_tries, list[str]()

    async def forget_late(key: Key) -> None:
        for id in ("r1", review):
            with pytest.raises(ConflictError, match="is being erased"):
                await set_hold(file.inbox, id, "boss", "Case 7")
            refused.append(id)
        await forget(key)

    monkeypatch.setattr(file.inbox.eraser, "_forget_tries", forget_late)
    with raises_code("under_review"):
        await file.inbox.erase("r1", by="boss")

    assert refused == ["r1", review]
    assert (await set_hold(file.inbox, review, "boss", "Case 7")).legal_hold


@pytest.mark.parametrize("held", ["r1", "review"])
async def test_what_a_hold_kept_from_the_retention_is_erased_after_it_is_lifted(file: Place, held: str) -> None:
    _, review = await overridden(file)
    await decide(file, review)
    await set_hold(file.inbox, held if held == "r1" else review, "boss", "Case 7")
    file.clock.advance(days=10)
    assert await file.inbox.retain(9) == int(held == "r1")
    await lift_hold(file.inbox, held if held == "r1" else review, "boss")
    file.clock.advance(days=10)

    await file.inbox.retain(9)

    assert [await erased_by(file, id) for id in ("r1", review)] == [("system", "age")] * 2
    await file.verified()


async def test_a_hold_that_begins_while_the_request_waits_is_kept_after_the_review(file: Place) -> None:
    _, review = await overridden(file)
    with raises_code("under_review"):
        await file.inbox.erase("r1", by="boss")
    await set_hold(file.inbox, "r1", "boss", "Case 7")

    await decide(file, review)
    assert [await erased_by(file, id) for id in ("r1", review)] == [None, None]
    await lift_hold(file.inbox, "r1", "boss")

    assert [await erased_by(file, id) for id in ("r1", review)] == [("boss", "request")] * 2


async def test_the_thread_of_an_overridden_request_is_erased_although_its_review_is_open(file: Place) -> None:
    async with working(file.world):
        await file.world.run("preferences", {})
        asked = await file.world.one()
        data = {"sport": "running", "notes": f"{PLANTED} of hers"}
        answer = Answer(decision="approve", data=data, digest=asked.digest, override="it burns")
        await file.inbox.answer(asked.id, answer, by=Decider("root", is_admin=True), channel="test")
        assert PLANTED in json.dumps((await file.world.rest()).values)

    with raises_code("under_review"):
        await file.inbox.erase(asked.id, by="boss")

    assert (await file.world.thread()).values == {}
    assert (await file.inbox.get(asked.id)).erased is None
    await decide(file, review_id(asked.id))
    assert await erased_by(file, asked.id) == ("boss", "request")
    assert PLANTED not in await file.everything()


@pytest.mark.parametrize("error", [UnavailableError("gone for a moment"), OSError("no space left on device")])
async def test_a_waiting_erasure_that_fails_does_not_stop_those_after_it(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    tried: list[str | None] = []

    async def fail(eraser: Eraser, key: Key, erased: Any, check: Any, person: str | None = None) -> None:
        tried.append(person)
        raise NotFoundError("request", key.id) if person is None else error

    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        asked = await inbox.submit(Ask(title="Go?", id="r1"), by="bot")
        answer = Answer(decision="respond", message="yes", digest=asked.digest, override="it burns")
        await inbox.answer("r1", answer, by=Decider("root", is_admin=True), channel="test")
        review = await inbox.get(review_id("r1"))
        waiting = tuple(
            WaitingErasure(at=NOON, request="r1", by="boss", rule="request", person=who) for who in (None, "a", "b")
        )
        ended, _ = review.ended("cancelled", "system", inbox.clock())
        ended = ended.model_copy(update={"waiting_erasures": waiting})
        monkeypatch.setattr(Eraser, "request", fail)
        eraser = Eraser(backend.store)
        with pytest.raises(type(error)):
            await eraser.finish(ended, inbox.clock())
        assert tried == [None, "a", "b"]

        async def fail_files(attachments: Attachments, request: Request) -> None:
            raise error

        monkeypatch.setattr(Attachments, "end", fail_files)
        with pytest.raises(type(error)):
            await eraser.finish(ended, inbox.clock())
    assert tried == 2 * [None, "a", "b"]


@pytest.mark.parametrize("end", ["cancelled", "expired"])
async def test_a_review_that_ends_without_a_decision_ends_the_wait(file: Place, end: Status) -> None:
    """Nobody can cancel a review today; a newer or older version may."""
    _, review = await overridden(file)
    with raises_code("under_review"):
        await file.inbox.erase("r1", by="boss")

    await file.inbox.change(review, lambda each: each.ended(end, "system", file.clock()))

    assert [await erased_by(file, id) for id in ("r1", review)] == [("boss", "request")] * 2


async def test_reviews_that_end_while_erasures_begin_leave_none_behind(place: Place) -> None:
    for n in range(6):
        asked = await place.inbox.ask(f"May {PLANTED} go?", id=f"r{n}")
        answer = Answer(decision="respond", message="yes", digest=asked.digest, override="it burns")
        await place.inbox.answer(f"r{n}", answer, by=Decider("root", is_admin=True), channel="test")

    async def erase(id: str) -> None:
        try:
            await place.inbox.erase(id, by="boss")
        except ConflictError as error:
            if error.code != "under_review":
                raise

    reviews = [review_id(f"r{n}") for n in range(6)]
    await asyncio.gather(*(work for n in range(6) for work in (erase(f"r{n}"), decide(place, reviews[n]))))

    for n in range(6):
        assert await erased_by(place, f"r{n}") == await erased_by(place, reviews[n]) == ("boss", "request")
        assert (await place.inbox.get(reviews[n])).waiting_erasures == ()
    await place.verified()


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.mark.parametrize("point", ["change.after_commit", "erase.after_review", "erase.before_commit"])
async def test_an_erasure_that_waited_is_finished_although_the_process_of_the_review_was_killed(
    place: Place, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    _, review = await overridden(place)
    with raises_code("under_review"):
        await place.inbox.erase("r1", by="boss")
    follower = Deliveries(place.world.backend, place.inbox, DeliverySettings())

    def killed(name: str) -> None:
        if name == point:
            raise KilledError

    with monkeypatch.context() as patched:
        for module in ("ringi.inbox.core", "ringi.privacy.erasure"):
            patched.setattr(f"{module}.failpoint", killed)
        with pytest.raises(KilledError):
            await decide(place, review)
    assert await erased_by(place, "r1") is None
    await place.verified()
    stop = asyncio.Event()
    work = asyncio.create_task(follower.work(stop))

    async def is_finished() -> bool:
        return not (await place.inbox.get(review)).waiting_erasures

    await until(is_finished)
    stop.set()
    await work

    assert [await erased_by(place, id) for id in ("r1", review)] == [("boss", "request")] * 2
    if place.url != "memory://":
        assert PLANTED not in (await place.everything()).casefold()
    await place.verified()


@pytest.mark.parametrize("end", ["its database was away", "it was killed"])
async def test_a_file_never_sent_is_deleted_although_the_process_that_ended_its_request_could_not(
    place: Place, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    asked = await place.inbox.ask("File?", id="r1", form=Form([Attachment("file")]))
    await place.inbox.attach("r1", "file", "a.txt", PLANTED.encode(), by="ann")

    async def fail(attachments: Attachments, request: Request) -> None:
        raise UnavailableError("gone for a moment") if end.startswith("its") else KilledError

    with monkeypatch.context() as patched:
        patched.setattr(Attachments, "end", fail)
        with suppress(KilledError):
            await place.inbox.respond(asked, "reject", by="ann")
    assert (await place.inbox.get("r1")).is_final
    assert await place.stream.read(file_key(asked.key, 1))
    stop = asyncio.Event()
    work = asyncio.create_task(Deliveries(place.world.backend, place.inbox, DeliverySettings()).work(stop))

    async def is_deleted() -> bool:
        return not await place.stream.read(file_key(asked.key, 1))

    await until(is_deleted)
    stop.set()
    await work
    await place.verified()


async def test_a_file_never_sent_stays_while_its_request_is_on_hold(place: Place) -> None:
    asked = await place.inbox.ask("File?", id="r1", form=Form([Attachment("file")]))
    await place.inbox.attach("r1", "file", "a.txt", PLANTED.encode(), by="ann")
    await set_hold(place.inbox, "r1", "boss", "Case 7")
    await place.inbox.respond(asked, "reject", by="ann")
    with raises_code("legal_hold"):
        await place.inbox.finish_erasures("r1")
    assert await place.stream.read(file_key(asked.key, 1))

    await lift_hold(place.inbox, "r1", "boss")

    assert not await place.stream.read(file_key(asked.key, 1))


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (UnavailableError("gone for a moment"), UnavailableError),
        (UnreadableError("thread", "t1", "damaged"), UnreadableError),
        (OSError("no space left on device"), OSError),
        (ConflictError.pending("r1"), JobNotDueError),
        (NotFoundError("thread", "t1"), None),
    ],
)
async def test_an_erasure_that_waited_is_tried_again_after_any_error(
    monkeypatch: pytest.MonkeyPatch, error: Exception, raised: type[Exception] | None
) -> None:
    """A job whose handler raises stays, see the conformance of jobs; a request that is gone needs no erasure."""
    fails = True

    async def fail(eraser: Eraser, key: Key, erased: Any, check: Any, person: str | None = None) -> None:
        if fails:
            raise error

    async with open_backend("memory://") as backend, open_inbox_on_backend(backend) as inbox:
        asked = await inbox.submit(Ask(title="Go?", id="r1"), by="bot")
        answer = Answer(decision="respond", message="yes", digest=asked.digest, override="it burns")
        await inbox.answer("r1", answer, by=Decider("root", is_admin=True), channel="test")
        review = await inbox.get(review_id("r1"))
        with raises_code("under_review"):
            await inbox.erase("r1", by="boss")
        monkeypatch.setattr(Eraser, "request", fail)
        await inbox.change(review.id, lambda each: each.ended("cancelled", "system", inbox.clock()))
        ended = await inbox.get(review.id)
        (job,) = upkeep_jobs((await backend.store.events(record_id=review.id))[-1], ended)
        with nullcontext() if raised is None else pytest.raises(raised):
            await finish_waiting_erasures(inbox, job)
        fails = False
        await finish_waiting_erasures(inbox, job)
