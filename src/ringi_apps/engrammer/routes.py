"""The routes of Engrammers, including the four `engrammerFlow` routes for simple clients."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi import Agent, Request
from ringi.domain import Answer, Thread, parse_body
from ringi.errors import ConflictError, ForbiddenError, InvalidError
from ringi.server import (
    Extension,
    Principal,
    RefusalError,
    RouteContext,
    channel_of,
    inbox_for,
    is_theirs_to_answer,
    json_body,
    reply,
    require_answerable,
    require_person,
    route_docs,
)
from ringi_apps.engrammer import models, playbook_models
from ringi_apps.engrammer.access import CallerConversations, EngrammerSnapshot
from ringi_apps.engrammer.cautions import learning_context_of
from ringi_apps.engrammer.errors import NO_AGENT_FEEDBACK
from ringi_apps.engrammer.models import EngrammerContinue
from ringi_apps.engrammer.notes import PLAYBOOK, Note, NoteNotFoundError, source_not_found
from ringi_apps.engrammer.persistence import read_playbook
from ringi_apps.engrammer.playbook_routes import PlaybookRoutes
from ringi_apps.engrammer.thread_ids import conversation_of
from ringi_apps.engrammer.views import continued_view, conversation_view, note_of, note_view, state_view

MAX_TRACKED = 10_000
NAME_INSIGHTS = "to approve what is left out, name `insights` with their digests"


class ViewTracker:
    """Remembers in this process which pending insights each caller last saw in each conversation.

    An approval without ids covers only what the caller saw.
    """

    def __init__(self) -> None:
        self._pending_by_caller: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    def record(self, who: Principal, conversation: EngrammerSnapshot) -> None:
        """Record that a caller is shown the pending insights of a conversation."""
        key = (who.tenant, who.actor, conversation.id)
        self._pending_by_caller[key] = frozenset(request.id for request in conversation.pending)
        self._pending_by_caller.move_to_end(key)
        if len(self._pending_by_caller) > MAX_TRACKED:
            self._pending_by_caller.popitem(last=False)

    def select_seen(self, who: Principal, conversation: EngrammerSnapshot, pending: dict[str, str]) -> dict[str, str]:
        """Return the pending insights that the caller has seen; raise `RefusalError` if there are none.

        Without a record, the first proposals of a single run count as seen.
        """
        seen_ids = self._pending_by_caller.get((who.tenant, who.actor, conversation.id))
        if seen_ids is None:
            requests = [request for request in conversation.pending if request.id in pending]
            is_first = all(not learning_context_of(request).get("renewed") for request in requests)
            seen_ids = (
                frozenset(pending) if is_first and len({request.run_id for request in requests}) == 1 else frozenset()
            )
        seen = {id: digest for id, digest in pending.items() if id in seen_ids}
        if not seen:
            what = f"the pending insights of conversation {conversation.id!r} were not shown to you"
            remedy = "read its state again, or name `insights` with their digests"
            raise RefusalError(409, "unseen", f"{what}: {remedy}")
        return seen


class EngrammerRoutes:
    """Engrammers over HTTP; a caller who may read a conversation's first thread may read the conversation."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._components = context, context.components
        self._playbooks, self._views = PlaybookRoutes(context), ViewTracker()

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["engrammer"]), "/v1/engrammer/{id}"
        post = partial(add, methods=["POST"])
        post("/engrammerFlow_start", self.start, **route_docs("EngrammerStarted", body="EngrammerStart"))
        post("/getEngrammerState", self.state, **route_docs("EngrammerState", body="EngrammerStateQuery"))
        continue_docs = route_docs("EngrammerContinued", body="EngrammerContinue")
        post("/engrammerFlow_continue", self.continue_learning, **continue_docs)
        post("/engrammerFlow_getNote", self.note, **route_docs("EngrammerNote", body="NoteQuery"))
        add(at, self.get, methods=["GET"], **route_docs("EngrammerConversation"))
        post(f"{at}/questions", self.ask, **route_docs("EngrammerRun", 202, body="EngrammerQuestion"))
        post(f"{at}/feedback", self.give_feedback, **route_docs("EngrammerRun", 202, body="TurnFeedback"))
        self._playbooks.add_to(api)

    async def start(self, http: HttpRequest) -> HttpResponse:
        """Ask a question and return at once; the answer and its insights are produced in the background."""
        who, body = self._context.caller(http.scope), parse_body(models.EngrammerStart, await self._body(http))
        id = body.thread_id or f"engrammer-thread-{uuid.uuid4()}"
        thread = await self._begin(who, id, body)
        return reply(models.EngrammerStarted(thread_id=conversation_of(thread.id)))

    async def state(self, http: HttpRequest) -> HttpResponse:
        """Return the state of a conversation: the newest answer and all pending insights."""
        who = self._context.caller(http.scope)
        body = parse_body(models.EngrammerStateQuery, await self._body(http))
        conversation = await CallerConversations(self._components, who).conversation(body.thread_id)
        self._views.record(who, conversation)
        return reply(state_view(conversation))

    async def continue_learning(self, http: HttpRequest) -> HttpResponse:
        """Decide on the named insights, or on those that the caller was shown, and wait until the runs resume.

        Without names, an approval leaves out insights that may contradict one another.
        If two people decide at once, the first decision applies to all insights.
        """
        who = self._context.caller(http.scope)
        require_person(who)
        body, conversations = parse_body(EngrammerContinue, await self._body(http)), self._conversations(http)
        conversation = await conversations.conversation(body.thread_id)
        digests, left_out = self._select(who, conversation, body)
        decided, conflicts = await self._decide(http, who, digests, body)
        poll = self._context.long_poll(http.scope)
        is_settled = await conversations.wait_until_settled(decided, self._components.settings.max_wait, poll)
        after = await conversations.conversation(conversation.id)
        return reply(continued_view(after, decided, conflicts, left_out, is_settled=is_settled))

    async def note(self, http: HttpRequest) -> HttpResponse:
        """Return a note of a source, or a bullet of a playbook."""
        who, body = self._context.caller(http.scope), parse_body(models.NoteQuery, await self._body(http))
        return reply(note_view(await self._note(who, body)))

    async def get(self, http: HttpRequest, id: str) -> HttpResponse:
        """Return a conversation: its questions, answers and insights with their outcomes."""
        who = self._context.caller(http.scope)
        conversation = await CallerConversations(self._components, who).conversation(id)
        self._views.record(who, conversation)
        return reply(conversation_view(conversation))

    async def ask(self, http: HttpRequest, id: str) -> HttpResponse:
        """Ask a question, even while earlier insights are pending; the run continues in the background."""
        who, body = self._context.caller(http.scope), parse_body(models.EngrammerQuestion, await self._body(http))
        return run_reply(await self._begin(who, id, body))

    async def give_feedback(self, http: HttpRequest, id: str) -> HttpResponse:
        """Give feedback on an answer; the agent then reflects on it again."""
        who = self._context.caller(http.scope)
        if who.role == "agent":
            raise ForbiddenError(NO_AGENT_FEEDBACK)
        body = parse_body(models.TurnFeedback, await self._body(http))
        conversation = await self._conversations(http).conversation(id)
        input = {
            "feedback": body.model_dump(include={"verdict", "text"}),
            "turn": answered_run(conversation, body.turn),
        }
        return run_reply(await self._run(who, conversation.id, None, input))

    def _select(
        self, who: Principal, conversation: EngrammerSnapshot, body: EngrammerContinue
    ) -> tuple[dict[str, str], list[str]]:
        """Return the requests to decide with their digests, and what an approval leaves out, in words."""
        pending = select_pending(who, conversation, body)
        if body.insights is not None or body.user_input == "reject_learning":
            return pending, []
        return select_approvable(conversation, self._views.select_seen(who, conversation, pending))

    async def _begin(self, who: Principal, id: str, body: models.EngrammerStart | models.EngrammerQuestion) -> Thread:
        expected = {} if body.expected is None else {"expected": body.expected}
        return await self._run(who, id, body.agent, {"query": body.query, **expected})

    async def _run(self, who: Principal, id: str, agent: str | None, input: dict[str, Any]) -> Thread:
        if who.role == "agent":
            await self._context.count_run(who)
        return await CallerConversations(self._components, who).begin(id, agent, input)

    async def _decide(
        self, http: HttpRequest, who: Principal, digests: dict[str, str], body: EngrammerContinue
    ) -> tuple[list[Request], list[ConflictError]]:
        inbox = inbox_for(self._components.inbox, who, require_answerable)
        decision = "approve" if body.user_input == "approve_learning" else "reject"
        decided, conflicts = list[Request](), list[ConflictError]()
        for id, digest in digests.items():
            answer = Answer(decision=decision, digest=digest, message=body.reason)
            try:
                decided.append(await inbox.answer(id, answer, by=who.decider, channel=channel_of(http.scope)))
            except ConflictError as error:
                if not decided:
                    # Whoever has the first has all: of two who decide at once none gets only a part.
                    raise
                conflicts.append(error)
        return decided, conflicts

    async def _note(self, who: Principal, body: models.NoteQuery) -> Note:
        engrammers = CallerConversations(self._components, who).engrammers(body.agent)
        sources = dict.fromkeys(name for each in engrammers for name in each.notes.names)
        if body.source == PLAYBOOK:
            for name in dict.fromkeys(each.playbook_name for each in engrammers):
                playbook = await read_playbook(self._components.backend.store, who.tenant, name)
                if bullet := playbook.bullets.get(body.note_id):
                    return note_of(bullet, PLAYBOOK)
            raise NoteNotFoundError(PLAYBOOK, body.note_id)
        for each in engrammers:
            if body.source in each.notes.names:
                return await each.notes.get(body.source, body.note_id)
        raise source_not_found(body.source, (*sources, PLAYBOOK))

    def _conversations(self, http: HttpRequest) -> CallerConversations:
        return CallerConversations(self._components, self._context.caller(http.scope))

    async def _body(self, http: HttpRequest) -> Any:
        return await json_body(http, max_depth=self._components.settings.max_depth)


def run_reply(thread: Thread) -> HttpResponse:
    """Return the reply for a started run."""
    run = models.EngrammerRun(thread_id=thread.id, run_id=str(thread.run_id), id=conversation_of(thread.id))
    return reply(run, 202)


def nothing_pending(what: str, id: str) -> RefusalError:
    """Return the error for insights that await no decision of the caller."""
    return RefusalError(409, "nothing_waits", f"{what} pending in conversation {id!r}: read its state again")


def select_pending(who: Principal, conversation: EngrammerSnapshot, body: EngrammerContinue) -> dict[str, str]:
    """Return the requests to decide with their digests, checked against those that the caller saw."""
    answerable_requests = [
        each for each in conversation.pending if who.role == "admin" or is_theirs_to_answer(who, each)
    ]
    pending = {request.id: request.digest for request in answerable_requests}
    if not pending:
        raise nothing_pending("no insight is", conversation.id)
    if body.insights is None:
        return pending
    if unknown := [each.id for each in body.insights if each.id not in pending]:
        raise nothing_pending(f"{', '.join(map(repr, unknown))} is not", conversation.id)
    for each in body.insights:
        if each.digest != pending[each.id]:
            raise ConflictError.digest_mismatch(each.id, each.digest)
    ids = {each.id for each in body.insights}
    return {id: digest for id, digest in pending.items() if id in ids}


def select_approvable(conversation: EngrammerSnapshot, seen: dict[str, str]) -> tuple[dict[str, str], list[str]]:
    """Return the insights that an approval without names covers, with their digests, and what it leaves out, in words.

    Nobody can mean two insights that contradict each other. Raises `RefusalError` if nothing is left.
    """
    approvable = {id: digest for id, digest in seen.items() if not conversation.cautions[id].contradicts}
    titles = {request.id: request.title for request in conversation.pending}
    reason = "it may contradict another pending insight"
    left_out = [f"{titles[id]!r} ({id}) is left out: {reason}" for id in seen if id not in approvable]
    if left_out:
        left_out.append(NAME_INSIGHTS)
    if not approvable:
        raise RefusalError(409, "left_out", "; ".join(left_out))
    return approvable, left_out


def answered_run(conversation: EngrammerSnapshot, run_id: str | None) -> str:
    """Return the run of an answer: the named one, or the newest."""
    run_ids: Sequence[str] = [turn["run_id"] for turn in conversation.turns if turn["response"]]
    matches = [each for each in run_ids if run_id in (None, each)]
    if not matches:
        problem = f"{run_id!r} is not the run of an answer" if run_id else "there is no answer"
        raise InvalidError.of(
            "turn", f"{problem} in conversation {conversation.id!r}: take it from a turn with a response"
        )
    return matches[-1]


def example_agents(model: Any) -> list[Agent]:
    """Return the agents of the example Engrammer."""
    from ringi_apps.engrammer.demo import agents

    return agents(model)


EXTENSION = Extension(
    EngrammerRoutes,
    inputs=models.INPUTS + playbook_models.INPUTS,
    outputs=models.OUTPUTS + playbook_models.OUTPUTS,
    agents=example_agents,
)
"""The extension that adds Engrammers to a server."""
