"""The routes of playbooks: read a playbook and its history, and change it as a person."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import Annotated

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi import Request
from ringi.domain import Key, parse_body
from ringi.errors import FieldError, ForbiddenError, InvalidError, NotFoundError
from ringi.runs import record_pages, resumes_run
from ringi.server import (
    Cursor,
    Principal,
    RouteContext,
    RunStarted,
    json_body,
    parse_cursor,
    reply,
    route_docs,
    visible_query,
)
from ringi_apps.engrammer.access import REQUESTS_PER_PAGE, CallerConversations
from ringi_apps.engrammer.cautions import learning_context_of
from ringi_apps.engrammer.engrammer import Engrammer
from ringi_apps.engrammer.entries import Entry, VersionedEntry
from ringi_apps.engrammer.errors import OutdatedReadError, PlaybookError
from ringi_apps.engrammer.history import blame
from ringi_apps.engrammer.persistence import Precheck, append_entry, read_entries, read_playbook
from ringi_apps.engrammer.playbook import EMPTY_PLAYBOOK, Playbook, fold
from ringi_apps.engrammer.playbook_models import (
    BulletHistory,
    PlaybookChange,
    PlaybookEntry,
    PlaybookHistory,
    PlaybookPage,
    PlaybookSummary,
)
from ringi_apps.engrammer.rendering import playbook_tokens, require_budget
from ringi_apps.engrammer.views import bullet_json, diff_view, entry_view, playbook_view

Version = Annotated[int | None, Query(ge=1, description="Version to read; by default the newest")]
CHANGE_FIELDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "add": (("section", "text"), ("applies_when",)),
    "edit": (("bullet",), ("section", "text", "applies_when", "base")),
    "retire": (("bullet",), ("base",)),
    "restore": (("bullet",), ("base",)),
    "merge": (("bullet", "sources"), ("section", "text", "applies_when", "base")),
    "undo": (("version",), ()),
}
"""The required and optional fields of each change."""
UNDO_ATTEMPTS = 5
"""Number of retries of an undo after concurrent changes."""


class PlaybookRoutes:
    """Playbooks over HTTP; agents may read the current bullets but change nothing."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._components = context, context.components
        self._store, self._settings = context.components.backend.store, context.components.settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["playbooks"]), "/v1/playbooks/{id}"
        add("/v1/playbooks", self.find, methods=["GET"], **route_docs("PlaybookPage"))
        add(at, self.get, methods=["GET"], **route_docs("PlaybookView"))
        add(f"{at}/history", self.history, methods=["GET"], **route_docs("PlaybookHistory"))
        add(f"{at}/diff", self.diff, methods=["GET"], **route_docs("PlaybookDiffView"))
        add(f"{at}/bullets/{{bullet}}", self.bullet, methods=["GET"], **route_docs("BulletHistory"))
        add(f"{at}/changes", self.change, methods=["POST"], **route_docs("PlaybookEntry", body="PlaybookChange"))
        add(f"{at}/tidy", self.tidy, methods=["POST"], **route_docs("RunStarted", 202))

    async def find(self, http: HttpRequest) -> HttpResponse:
        """List the playbooks of the Engrammers on this server."""
        who = self._context.caller(http.scope)
        items = [await self._summary(who, each) for each in self._served(who).values()]
        return reply(PlaybookPage(items=items, next=None))

    async def get(self, http: HttpRequest, id: str, version: Version = None) -> HttpResponse:
        """Return a playbook, now or at a version: its bullets and the text in the agent's prompt."""
        who, engrammer = self._authorize(http, id)
        history = await self._history(who, id)
        playbook = await self._at_version(who, id, history, version)
        pending = await self._pending_count(who, id) if version is None else 0
        identity = {"id": id, "agent": engrammer.name, "budget": engrammer.budget}
        # Why, a person said to people.
        rejections = [] if who.role == "agent" else playbook.rejected
        requests = await self._requests(who, [each.request_id for each in rejections])
        return reply(playbook_view(identity, playbook, history, pending, requests))

    async def history(
        self, http: HttpRequest, id: str, limit: Annotated[int, Query(ge=1)] = 50, cursor: Cursor = None
    ) -> HttpResponse:
        """List the entries of a playbook, newest first, with who approved each; people only."""
        who, _ = self._authorize(http, id)
        refuse_agent_read(who)
        size, before = min(limit, self._settings.max_list), parse_cursor(cursor)
        history = [each for each in await self._history(who, id) if before is None or each.version < before]
        page = history[: -size - 1 : -1]
        next = str(page[-1].version) if len(history) > size else None
        views = await self._entry_views(who, page)
        return reply(PlaybookHistory(items=views, next=next))

    async def diff(
        self,
        http: HttpRequest,
        id: str,
        since: Annotated[int, Query(alias="from", ge=1)],
        to: Annotated[int, Query(ge=1)],
    ) -> HttpResponse:
        """Return the bullets added, removed and changed between two versions."""
        who, _ = self._authorize(http, id)
        history = await self._history(who, id)
        older = await self._at_version(who, id, history, since)
        newer = await self._at_version(who, id, history, to, older if since <= to else EMPTY_PLAYBOOK)
        return reply(diff_view(older, newer))

    async def bullet(self, http: HttpRequest, id: str, bullet: str) -> HttpResponse:
        """Return a bullet with its history, oldest first; people only."""
        who, _ = self._authorize(http, id)
        refuse_agent_read(who)
        bullet_record = (await read_playbook(self._store, who.tenant, id)).bullet(bullet)
        entries = await self._entry_views(who, blame(bullet, await self._history(who, id)))
        return reply(BulletHistory.model_validate({**bullet_json(bullet_record), "history": entries}))

    async def change(self, http: HttpRequest, id: str) -> HttpResponse:
        """Change a playbook as a person; return the new entry."""
        who, engrammer = self._authorize(http, id)
        refuse_agent_change(who)
        if not may_decide(who, engrammer):
            deciders = ", ".join([*engrammer.groups, *filter(None, [engrammer.assignee])])
            raise ForbiddenError(f"only {deciders} may change the playbook of {engrammer.name!r}: ask one of them")
        change = parse_body(PlaybookChange, await json_body(http, max_depth=self._settings.max_depth))
        check_fields(change)
        views = await self._entry_views(who, [await self._apply_change(who, engrammer, change)])
        return reply(views[0])

    async def tidy(self, http: HttpRequest, id: str) -> HttpResponse:
        """Find similar bullets and ask people whether to merge or retire them."""
        who, engrammer = self._authorize(http, id)
        refuse_agent_change(who)
        runner = self._components.runner
        assert runner
        # One at a time: of two, both would ask the same.
        thread_id = f"tidy-{hashlib.sha256(id.encode()).hexdigest()[:16]}"
        thread = await runner.start(who.tenant, thread_id, engrammer.deduplicator_name, {}, by=who.asker)
        return reply(RunStarted(thread_id=thread.id, run_id=str(thread.run_id)), 202)

    async def _apply_change(self, who: Principal, engrammer: Engrammer, change: PlaybookChange) -> VersionedEntry:
        """Apply a change and return its entry; an undo is retried after concurrent changes."""
        now, history, made_entries = self._components.inbox.clock(), list[VersionedEntry](), list[Entry]()
        backend, name = self._components.backend, engrammer.playbook_name

        async def refresh() -> None:
            history[:] = await self._history(who, name)

        def make(playbook: Playbook) -> Entry:
            made_entries.append(build_entry(change, playbook, history))
            after = playbook.apply(made_entries[-1], now)
            require_budget(playbook_tokens(after), playbook, engrammer.budget)
            return made_entries[-1]

        async def append(first: Precheck = None) -> VersionedEntry:
            after = await append_entry(backend, who.tenant, name, make, by=who.actor, now=now, precheck=first)
            return VersionedEntry(after.version, now, who.actor, made_entries[-1])

        if change.op != "undo":
            return await append()
        # What has come until now is read before others have to wait for it.
        await refresh()
        for _ in range(UNDO_ATTEMPTS):
            with suppress(OutdatedReadError):
                return await append(refresh)
        return await append(refresh)

    async def _summary(self, who: Principal, engrammer: Engrammer) -> PlaybookSummary:
        playbook = await read_playbook(self._store, who.tenant, engrammer.playbook_name)
        return PlaybookSummary(
            id=engrammer.playbook_name,
            agent=engrammer.name,
            version=playbook.version,
            bullets=len(playbook.active),
            tokens=playbook_tokens(playbook),
            budget=engrammer.budget,
            waiting=await self._pending_count(who, engrammer.playbook_name),
        )

    async def _pending_count(self, who: Principal, id: str) -> int:
        """Return the number of pending insights for a playbook that the caller may see."""
        query = visible_query(who).model_copy(
            update={"kind": "learning", "statuses": ("pending",), "limit": REQUESTS_PER_PAGE}
        )
        requests = [request async for page in record_pages(self._store, Request, query) for request in page]
        # Anybody may post a request that only looks like one.
        return sum(resumes_run(request) and learning_context_of(request).get("playbook") == id for request in requests)

    async def _history(self, who: Principal, id: str) -> list[VersionedEntry]:
        return await read_entries(self._store, who.tenant, id)

    async def _at_version(
        self,
        who: Principal,
        id: str,
        history: list[VersionedEntry],
        version: int | None,
        base: Playbook = EMPTY_PLAYBOOK,
    ) -> Playbook:
        """Return a playbook at a version, computed from a known earlier version."""
        if version is None:
            return await read_playbook(self._store, who.tenant, id)
        head = history[-1].version if history else 1
        if version > head:
            raise InvalidError.of("version", f"there is no version {version} yet: the newest is {head}")
        later = [(each.entry, each.at) for each in history if base.version < each.version <= version]
        return await asyncio.to_thread(fold, later, base)

    async def _entry_views(self, who: Principal, history: Iterable[VersionedEntry]) -> list[PlaybookEntry]:
        page = list(history)
        requests = await self._requests(who, [each.entry.request_id for each in page])
        return [entry_view(each, requests.get(each.entry.request_id or "")) for each in page]

    async def _requests(self, who: Principal, ids: Iterable[str | None]) -> dict[str, Request]:
        found = await self._store.get_many(Request, [Key(who.tenant, id) for id in ids if id])
        return {request.id: request for request in found}

    def _authorize(self, http: HttpRequest, id: str) -> tuple[Principal, Engrammer]:
        who = self._context.caller(http.scope)
        engrammer = self._served(who).get(id)
        if engrammer is None:
            raise NotFoundError("playbook", id)
        return who, engrammer

    def _served(self, who: Principal) -> dict[str, Engrammer]:
        """Return the first Engrammer of each playbook on this server, by the name of the playbook."""
        served: dict[str, Engrammer] = {}
        for agent in CallerConversations(self._components, who).agents.values():
            served.setdefault(agent.engrammer.playbook_name, agent.engrammer)
        return served


def may_decide(who: Principal, engrammer: Engrammer) -> bool:
    """Return whether a caller may decide on proposals for the playbook of an Engrammer."""
    is_free = not engrammer.assignee and not engrammer.groups
    is_theirs = who.name == engrammer.assignee or bool(set(engrammer.groups) & set(who.groups))
    return who.role == "admin" or is_free or is_theirs


def refuse_agent_change(who: Principal) -> None:
    """Raise `ForbiddenError` for an agent, because people decide what it learns."""
    if who.role == "agent":
        raise ForbiddenError("an agent's token cannot change a playbook: ask a person")


def refuse_agent_read(who: Principal) -> None:
    """Raise `ForbiddenError` for an agent, because evidence quotes other people's conversations."""
    if who.role == "agent":
        what = "an agent's token cannot read this, because it quotes other people's conversations"
        raise ForbiddenError(f"{what}: use a person's token")


def check_fields(change: PlaybookChange) -> None:
    """Raise `InvalidError` if required fields are missing or unexpected fields are present."""
    required, optional = CHANGE_FIELDS[change.op]
    present = {name for name in PlaybookChange.model_fields if getattr(change, name) not in (None, ())}
    missing = [FieldError(name, f"required for {change.op!r}", "required") for name in required if name not in present]
    accepted = {*required, *optional, "op", "reason"}
    unexpected = [
        FieldError(name, f"not allowed for {change.op!r}: leave it out", "unexpected")
        for name in sorted(present - accepted)
    ]
    if change.op == "edit" and not present & {"text", "section", "applies_when"}:
        missing.append(FieldError("text", "enter a new text, section or scope", "required"))
    if missing or unexpected:
        raise InvalidError([*missing, *unexpected])


def build_entry(change: PlaybookChange, playbook: Playbook, history: list[VersionedEntry]) -> Entry:
    """Return the entry of a change, or raise `PlaybookError` if it cannot be applied."""
    bullet, reason = change.bullet or "", change.reason
    if change.base is not None and playbook.bullet(bullet).hash != change.base:
        version = playbook.bullet(bullet).changed
        what = f"bullet {bullet!r} was changed by version {version}: read it again before you change it"
        raise PlaybookError("stale", what, bullet=bullet, version=version)
    if change.op == "undo":
        return playbook.undo_entry(change.version or 0, history, reason=reason)
    content = (change.text, change.section, change.applies_when)
    return playbook.change_entry(change.op, bullet, change.sources, *content, reason=reason)
