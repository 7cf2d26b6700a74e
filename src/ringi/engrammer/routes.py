"""The routes of Engrammers: conversations, and the same by the names of the first design."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain import Answer, Request, Thread, parse_body
from ringi.engrammer import models, playbook_models
from ringi.engrammer.access import Conversation, ConversationAccess
from ringi.engrammer.models import EngrammerContinue
from ringi.engrammer.notes import PLAYBOOK, Note, NoteNotFoundError, SourceNotFoundError
from ringi.engrammer.persistence import read, when
from ringi.engrammer.playbook_routes import PlaybookRoutes
from ringi.engrammer.refusals import NotForAgentsError, NothingWaitsError
from ringi.engrammer.shown import Shown
from ringi.engrammer.thread_ids import base_of
from ringi.engrammer.views import continued_view, conversation_view, note_of, note_view, state_view
from ringi.errors import ConflictError, DigestMismatchError, InvalidError
from ringi.server import (
    AskLimits,
    Authenticator,
    Extension,
    Platform,
    Principal,
    channel_of,
    dump_json,
    inbox_for,
    is_theirs_to_answer,
    json_body,
    json_response,
    require_answerable,
    require_person,
    route_docs,
)


class EngrammerRoutes:
    """Engrammers over HTTP; who may know of a conversation's first thread may know of it."""

    def __init__(self, platform: Platform, door: Authenticator, limits: AskLimits) -> None:
        self._platform, self._door, self._limits = platform, door, limits
        self._playbooks, self._shown = PlaybookRoutes(platform, door), Shown()

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["engrammer"]), "/v1/engrammer/{id}"
        add("/engrammerFlow_start", self.start, methods=["POST"], **told("EngrammerStarted", "EngrammerStart"))
        add("/getEngrammerState", self.state, methods=["POST"], **told("EngrammerState", "EngrammerAsked"))
        add("/engrammerFlow_continue", self.go_on, methods=["POST"], **told("EngrammerContinued", "EngrammerContinue"))
        add("/engrammerFlow_getNote", self.note, methods=["POST"], **told("EngrammerNote", "NoteAsked"))
        add(at, self.get, methods=["GET"], **route_docs("EngrammerConversation"))
        add(f"{at}/questions", self.ask, methods=["POST"], **route_docs("EngrammerRun", 202, body="EngrammerQuestion"))
        add(f"{at}/feedback", self.tell, methods=["POST"], **route_docs("EngrammerRun", 202, body="TurnFeedback"))
        self._playbooks.add_to(api)

    async def start(self, http: HttpRequest) -> HttpResponse:
        """Ask a question and return at once; the answer, and what it may teach, come in the background."""
        who, given = self._door.caller(http.scope), parse_body(models.EngrammerStart, await self._body(http))
        id = given.thread_id or f"engrammer-thread-{uuid.uuid4()}"
        thread = await self._begin(who, id, given)
        return shown(models.EngrammerStarted(thread_id=base_of(thread.id)))

    async def state(self, http: HttpRequest) -> HttpResponse:
        """Return where a conversation stands: the newest answer, and all that waits to be learned."""
        who, given = self._door.caller(http.scope), parse_body(models.EngrammerAsked, await self._body(http))
        conversation = await ConversationAccess(self._platform, who).conversation(given.thread_id)
        self._shown.note(who, conversation)
        return shown(state_view(conversation))

    async def go_on(self, http: HttpRequest) -> HttpResponse:
        """Decide on the insights that are named, or on all that the caller was shown, and wait until the runs go on.

        Of two who decide at once, the first decides all of them.
        """
        who = self._door.caller(http.scope)
        require_person(who)
        given, reach = parse_body(EngrammerContinue, await self._body(http)), self._reach(http)
        conversation = await reach.conversation(given.thread_id)
        digests = self._chosen(who, conversation, given)
        decided, lost = await self._decide(http, who, digests, given)
        is_settled = await reach.settled(decided, self._platform.settings.max_wait)
        return shown(continued_view(await reach.conversation(conversation.id), decided, lost, is_settled=is_settled))

    async def note(self, http: HttpRequest) -> HttpResponse:
        """Return a note: of a source of the Engrammers that run here, or a bullet of a playbook."""
        who, given = self._door.caller(http.scope), parse_body(models.NoteAsked, await self._body(http))
        return json_response(dump_json(note_view(await self._note(who, given))))

    async def get(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return a conversation: its questions, their answers, and what became of what they taught."""
        who = self._door.caller(http.scope)
        conversation = await ConversationAccess(self._platform, who).conversation(id)
        self._shown.note(who, conversation)
        return shown(conversation_view(conversation))

    async def ask(self, http: HttpRequest, id: str) -> HttpResponse:
        """Ask a question, also while insights of an earlier one wait; it goes on in the background."""
        who, given = self._door.caller(http.scope), parse_body(models.EngrammerQuestion, await self._body(http))
        return begun(await self._begin(who, id, given))

    async def tell(self, http: HttpRequest, id: str) -> HttpResponse:
        """Say what one thinks of an answer: the agent looks back at it once more, with that."""
        who = self._door.caller(http.scope)
        if who.role == "agent":
            raise NotForAgentsError.to_say()
        given = parse_body(models.TurnFeedback, await self._body(http))
        conversation = await self._reach(http).conversation(id)
        input = {
            "feedback": given.model_dump(include={"verdict", "text"}),
            "turn": answered_in(conversation, given.turn),
        }
        return begun(await self._run(who, conversation.id, None, input))

    def _chosen(self, who: Principal, conversation: Conversation, given: EngrammerContinue) -> dict[str, str]:
        waiting = chosen(who, conversation, given)
        is_named = given.insights is not None or given.user_input == "reject_learning"
        return waiting if is_named else self._shown.seen(who, conversation, waiting)

    async def _begin(self, who: Principal, id: str, given: models.EngrammerStart | models.EngrammerQuestion) -> Thread:
        expected = {} if given.expected is None else {"expected": given.expected}
        return await self._run(who, id, given.agent, {"query": given.query, **expected})

    async def _run(self, who: Principal, id: str, agent: str | None, input: dict[str, Any]) -> Thread:
        if who.role == "agent":
            await self._limits.check(self._platform.inbox.of(who.tenant), who)
        return await ConversationAccess(self._platform, who).begin(id, agent, input)

    async def _decide(
        self, http: HttpRequest, who: Principal, digests: dict[str, str], given: EngrammerContinue
    ) -> tuple[list[Request], list[ConflictError]]:
        inbox = inbox_for(self._platform.inbox, who, require_answerable)
        decision = "approve" if given.user_input == "approve_learning" else "reject"
        decided, lost = list[Request](), list[ConflictError]()
        for id, digest in digests.items():
            answer = Answer(decision=decision, digest=digest, message=given.reason)
            try:
                decided.append(await inbox.answer(id, answer, by=who.name, channel=channel_of(http.scope)))
            except ConflictError as error:
                if not decided:
                    # Whoever has the first has all: of two who decide at once none gets only a part.
                    raise
                lost.append(error)
        return decided, lost

    async def _note(self, who: Principal, given: models.NoteAsked) -> Note:
        engrammers = ConversationAccess(self._platform, who).engrammers(given.agent)
        sources = dict.fromkeys(name for each in engrammers for name in each.notes.names)
        if given.source == PLAYBOOK:
            names = dict.fromkeys(each.playbook_name for each in engrammers)
            found = [await self._bullet(who, name, given.note_id) for name in names]
            note = next(filter(None, found), None)
            if note is None:
                raise NoteNotFoundError(PLAYBOOK, given.note_id)
            return note
        for each in engrammers:
            if given.source in each.notes.names:
                return await each.notes.get(given.source, given.note_id)
        raise SourceNotFoundError(given.source, (*sources, PLAYBOOK))

    async def _bullet(self, who: Principal, playbook: str, id: str) -> Note | None:
        store = self._platform.backend.store
        bullet = (await read(store, who.tenant, playbook)).bullets.get(id)
        if bullet is None:
            return None
        first = bullet.created_at or await when(store, who.tenant, playbook, bullet.created)
        return note_of(bullet, first, PLAYBOOK)

    def _reach(self, http: HttpRequest) -> ConversationAccess:
        return ConversationAccess(self._platform, self._door.caller(http.scope))

    async def _body(self, http: HttpRequest) -> Any:
        return await json_body(http, max_depth=self._platform.settings.max_depth)


def told(model: str, body: str) -> dict[str, Any]:
    """Return what a route of the first design says of itself."""
    return route_docs(model, body=body)


def shown(shape: BaseModel) -> HttpResponse:
    """Return the reply that shows it."""
    return json_response(dump_json(shape.model_dump(mode="json")))


def begun(thread: Thread) -> HttpResponse:
    """Return the reply that tells of a run."""
    run = models.EngrammerRun(thread_id=thread.id, run_id=str(thread.run_id), id=base_of(thread.id))
    return json_response(dump_json(run.model_dump(mode="json")), 202)


def chosen(who: Principal, conversation: Conversation, given: EngrammerContinue) -> dict[str, str]:
    """Return what is decided on, each with the digest that was shown; without that, as it is now."""
    theirs = [each for each in conversation.waiting if who.role == "admin" or is_theirs_to_answer(who, each)]
    waiting = {request.id: request.digest for request in theirs}
    if not waiting:
        raise NothingWaitsError.in_conversation(conversation.id)
    if given.insights is None:
        return waiting
    if unknown := [each.id for each in given.insights if each.id not in waiting]:
        raise NothingWaitsError.of(conversation.id, unknown)
    for each in given.insights:
        if each.digest != waiting[each.id]:
            raise DigestMismatchError(each.id, each.digest)
    named = {each.id for each in given.insights}
    return {id: digest for id, digest in waiting.items() if id in named}


def answered_in(conversation: Conversation, run_id: str | None) -> str:
    """Return the run of an answer of a conversation, the newest unless one is named."""
    answered: Sequence[str] = [turn["run_id"] for turn in conversation.turns if turn["response"]]
    found = [each for each in answered if run_id in (None, each)]
    if not found:
        what = f"{run_id!r} is no run of an answer" if run_id else "nothing is answered"
        raise InvalidError.of(
            "turn", f"{what} in conversation {conversation.id!r}: take it from a turn with a response"
        )
    return found[-1]


EXTENSION = Extension(
    EngrammerRoutes,
    inputs=models.INPUTS + playbook_models.INPUTS,
    outputs=models.OUTPUTS + playbook_models.OUTPUTS,
)
"""What a server of Engrammers is made with."""
