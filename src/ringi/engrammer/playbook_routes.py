"""The routes of playbooks: what agents have learned, how that came about, and what people change in it themselves."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Annotated, NamedTuple

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain import Key, Request, parse_body
from ringi.engrammer.access import REQUESTS_PER_PAGE, ConversationAccess
from ringi.engrammer.entries import Entry, Written
from ringi.engrammer.errors import BehindError, BudgetError
from ringi.engrammer.persistence import First, enter, entries, nothing, read
from ringi.engrammer.playbook import EMPTY, Playbook, blame, diff, folded
from ringi.engrammer.playbook_models import BulletHistory, PlaybookChange, PlaybookEntry, PlaybookSummary
from ringi.engrammer.refusals import NotForAgentsError, NotTheirPlaybookError, StaleError
from ringi.engrammer.rendering import size
from ringi.engrammer.views import bullet_json, diff_view, entry_view, learning_in, playbook_view
from ringi.errors import FieldError, InvalidError, NotFoundError
from ringi.runs import record_pages, resumes_run
from ringi.server import (
    Authenticator,
    Cursor,
    Platform,
    Principal,
    dump_json,
    json_body,
    json_response,
    page_json,
    parse_cursor,
    route_docs,
    visible_query,
)

Version = Annotated[int | None, Query(ge=1, description="As it stood then; without it, as it stands")]
FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add": (("section", "text"), ()),
    "edit": (("bullet",), ("section", "text", "base")),
    "retire": (("bullet",), ("base",)),
    "restore": (("bullet",), ("base",)),
    "merge": (("bullet", "sources"), ("section", "text", "base")),
    "undo": (("version",), ()),
}
"""What each change needs, and what else it takes."""
TRIES = 5
"""How often an undo is tried again because another process has just changed a bullet."""


class Place(NamedTuple):
    """A playbook that some Engrammer here learns into."""

    id: str
    agent: str
    budget: int
    tidier: str
    assignee: str | None
    candidate_groups: tuple[str, ...]

    def is_decided_by(self, who: Principal) -> bool:
        """Whether a caller is one of those who decide on what is learned."""
        is_free = not self.assignee and not self.candidate_groups
        is_theirs = who.name == self.assignee or bool(set(self.candidate_groups) & set(who.groups))
        return who.role == "admin" or is_free or is_theirs


class PlaybookRoutes:
    """Playbooks over HTTP: agents may read what they are told, and change nothing."""

    def __init__(self, platform: Platform, door: Authenticator) -> None:
        self._platform, self._door = platform, door
        self._store, self._settings = platform.backend.store, platform.settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["playbooks"]), "/v1/playbooks/{id}"
        add("/v1/playbooks", self.find, methods=["GET"], **route_docs("PlaybookPage"))
        add(at, self.get, methods=["GET"], **route_docs("Playbook"))
        add(f"{at}/history", self.history, methods=["GET"], **route_docs("PlaybookHistory"))
        add(f"{at}/diff", self.diff, methods=["GET"], **route_docs("PlaybookDiff"))
        add(f"{at}/bullets/{{bullet}}", self.bullet, methods=["GET"], **route_docs("BulletHistory"))
        add(f"{at}/changes", self.change, methods=["POST"], **route_docs("PlaybookEntry", body="PlaybookChange"))
        add(f"{at}/tidy", self.tidy, methods=["POST"], **route_docs("RunStarted", 202))

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the playbooks of the Engrammers that run here."""
        who = self._door.caller(http.scope)
        items = [await self._summary(who, place) for place in self._places(who).values()]
        return json_response(page_json([dump_json(each.model_dump(mode="json")) for each in items], None))

    async def get(self, http: HttpRequest, id: str, version: Version = None) -> HttpResponse:
        """Return a playbook as it stands, or stood: its bullets, and the text that the agent is told."""
        who, place = self._place(http, id)
        written = await self._written(who, id)
        playbook = await self._at(who, id, written, version)
        waiting = await self._waiting(who, id) if version is None else 0
        of = {"id": place.id, "agent": place.agent, "budget": place.budget}
        # Why, a person said to people.
        refused = [] if who.role == "agent" else playbook.rejected
        requests = await self._requests(who, [each.request_id for each in refused])
        return json_response(dump_json(playbook_view(of, playbook, written, waiting, requests).model_dump(mode="json")))

    async def history(
        self, http: HttpRequest, id: str, limit: Annotated[int, Query(ge=1)] = 50, cursor: Cursor = None
    ) -> HttpResponse:
        """List what happened to a playbook, newest first, each with who let it; persons only."""
        who, _ = self._place(http, id)
        refuse_to_read(who)
        size, before = min(limit, self._settings.max_list), parse_cursor(cursor)
        written = [each for each in await self._written(who, id) if before is None or each.version < before]
        page = written[: -size - 1 : -1]
        next = str(page[-1].version) if len(written) > size else None
        shown = await self._shown(who, page)
        return json_response(page_json([dump_json(each.model_dump(mode="json")) for each in shown], next))

    async def diff(
        self,
        http: HttpRequest,
        id: str,
        since: Annotated[int, Query(alias="from", ge=1)],
        to: Annotated[int, Query(ge=1)],
    ) -> HttpResponse:
        """Return what the agent is told more, no more and otherwise, from one version to another."""
        who, _ = self._place(http, id)
        written = await self._written(who, id)
        older = await self._at(who, id, written, since)
        newer = await self._at(who, id, written, to, older if since <= to else EMPTY)
        return json_response(dump_json(diff_view(older, newer, diff(older, newer)).model_dump(mode="json")))

    async def bullet(self, http: HttpRequest, id: str, bullet: str) -> HttpResponse:
        """Return a bullet, and all that was ever done to it, oldest first; persons only."""
        who, _ = self._place(http, id)
        refuse_to_read(who)
        found = (await read(self._store, who.tenant, id)).bullet(bullet)
        history = await self._shown(who, blame(bullet, await self._written(who, id)))
        shown = BulletHistory.model_validate({**bullet_json(found), "history": history})
        return json_response(dump_json(shown.model_dump(mode="json")))

    async def change(self, http: HttpRequest, id: str) -> HttpResponse:
        """Change a playbook as a person; return the entry that this made."""
        who, place = self._place(http, id)
        refuse_to_change(who)
        if not place.is_decided_by(who):
            raise NotTheirPlaybookError(place.agent, [*place.candidate_groups, *filter(None, [place.assignee])])
        given = parse_body(PlaybookChange, await json_body(http, max_depth=self._settings.max_depth))
        check_fields(given)
        shown = await self._shown(who, [await self._changed(who, place, given)])
        return json_response(dump_json(shown[0].model_dump(mode="json")))

    async def tidy(self, http: HttpRequest, id: str) -> HttpResponse:
        """Look for bullets that say the same, and ask people whether to merge them."""
        who, place = self._place(http, id)
        refuse_to_change(who)
        runner = self._platform.runner
        assert runner
        # One at a time: of two, both would ask the same.
        thread_id = f"tidy-{hashlib.sha256(id.encode()).hexdigest()[:16]}"
        thread = await runner.start(who.tenant, thread_id, place.tidier, {}, by=who.actor)
        return json_response(dump_json({"thread_id": thread.id, "run_id": thread.run_id}), 202)

    async def _changed(self, who: Principal, place: Place, given: PlaybookChange) -> Written:
        """Make a change, and return its entry; what needs all entries is tried again when another process adds one."""
        now, known, entered = self._platform.inbox.clock(), list[Written](), list[Entry]()

        async def read_on() -> None:
            known[:] = await self._written(who, place.id)

        def make(playbook: Playbook) -> Entry:
            entered.append(checked(made(given, playbook, known), playbook, place.budget, now))
            return entered[-1]

        async def once(first: First) -> Written:
            after = await enter(self._platform.backend, who.tenant, place.id, make, by=who.actor, now=now, first=first)
            return Written(after.version, now, who.actor, entered[-1])

        if given.op != "undo":
            return await once(nothing)
        # What has come until now is read before others have to wait for it.
        await read_on()
        for _ in range(TRIES):
            with suppress(BehindError):
                return await once(read_on)
        return await once(read_on)

    async def _summary(self, who: Principal, place: Place) -> PlaybookSummary:
        playbook = await read(self._store, who.tenant, place.id)
        return PlaybookSummary(
            id=place.id,
            agent=place.agent,
            version=playbook.version,
            bullets=len(playbook.active),
            tokens=size(playbook),
            budget=place.budget,
            waiting=await self._waiting(who, place.id),
        )

    async def _waiting(self, who: Principal, id: str) -> int:
        """Return how many insights for a playbook wait that the caller may see."""
        query = visible_query(who).model_copy(
            update={"kind": "learning", "statuses": ("pending",), "limit": REQUESTS_PER_PAGE}
        )
        found = [request async for page in record_pages(self._store, Request, query) for request in page]
        # Anybody may post a request that only looks like one.
        return sum(resumes_run(request) and learning_in(request).get("playbook") == id for request in found)

    async def _written(self, who: Principal, id: str) -> list[Written]:
        return await entries(self._store, who.tenant, id)

    async def _at(
        self, who: Principal, id: str, written: list[Written], version: int | None, known: Playbook = EMPTY
    ) -> Playbook:
        """Return a playbook as it stood, summed up from a version of it that is known."""
        if version is None:
            return await read(self._store, who.tenant, id)
        head = written[-1].version if written else 1
        if version > head:
            raise InvalidError.of("version", f"{version} has not come yet: the newest is {head}")
        entered = [(each.entry, each.at) for each in written if known.version < each.version <= version]
        return await asyncio.to_thread(folded, entered, known)

    async def _shown(self, who: Principal, written: Iterable[Written]) -> list[PlaybookEntry]:
        page = list(written)
        requests = await self._requests(who, [each.entry.request_id for each in page])
        return [entry_view(each, requests.get(each.entry.request_id or "")) for each in page]

    async def _requests(self, who: Principal, ids: Iterable[str | None]) -> dict[str, Request]:
        found = await self._store.get_many(Request, [Key(who.tenant, id) for id in ids if id])
        return {request.id: request for request in found}

    def _place(self, http: HttpRequest, id: str) -> tuple[Principal, Place]:
        who = self._door.caller(http.scope)
        place = self._places(who).get(id)
        if place is None:
            raise NotFoundError("playbook", id)
        return who, place

    def _places(self, who: Principal) -> dict[str, Place]:
        found: dict[str, Place] = {}
        for agent in ConversationAccess(self._platform, who).agents.values():
            each = agent.engrammer
            assert each
            whom = (each.assignee, each.candidate_groups)
            place = Place(each.playbook_name, each.name, each.budget, each.tidier, *whom)
            found.setdefault(each.playbook_name, place)
        return found


def refuse_to_change(who: Principal) -> None:
    """Raise for an agent: what it learns, a person decides."""
    if who.role == "agent":
        raise NotForAgentsError.to_change()


def refuse_to_read(who: Principal) -> None:
    """Raise for an agent: the evidence quotes what others asked."""
    if who.role == "agent":
        raise NotForAgentsError.to_read()


def check_fields(given: PlaybookChange) -> None:
    """Raise `InvalidError` for each field that this change needs and lacks, or has and does not take."""
    needed, also = FIELDS[given.op]
    said = {name for name in PlaybookChange.model_fields if getattr(given, name) not in (None, ())}
    missing = [FieldError(name, f"{given.op!r} needs it") for name in needed if name not in said]
    known = {*needed, *also, "op", "reason"}
    odd = [FieldError(name, f"{given.op!r} takes none: leave it out") for name in sorted(said - known)]
    if given.op == "edit" and not said & {"text", "section"}:
        missing.append(FieldError("text", "say what changes: a text, a section or both"))
    if missing or odd:
        raise InvalidError([*missing, *odd])


def made(given: PlaybookChange, playbook: Playbook, written: list[Written]) -> Entry:
    """Return the entry of a change, or raise what stands in its way."""
    bullet, why = given.bullet or "", given.reason
    if given.base is not None and playbook.bullet(bullet).hash != given.base:
        raise StaleError(bullet, playbook.bullet(bullet).changed)
    match given.op:
        case "add":
            return playbook.added(given.section or "", given.text or "", reason=why)
        case "edit":
            return playbook.edited(bullet, given.text, given.section, reason=why)
        case "retire":
            return playbook.retired(bullet, reason=why)
        case "restore":
            return playbook.restored(bullet, reason=why)
        case "merge":
            return playbook.merged(bullet, given.sources, given.text, given.section, reason=why)
        case "undo":
            return playbook.undone(given.version or 0, written, reason=why)


def checked(entry: Entry, playbook: Playbook, budget: int, now: datetime) -> Entry:
    """Return the entry, or raise `BudgetError` where the playbook would grow past its budget."""
    after = size(playbook.entered(entry, now))
    if after > max(budget, size(playbook)):
        raise BudgetError(after, budget)
    return entry
