"""The routes of assistants: what a conversation knows, and what can be done in it."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.assistant import models
from ringi.assistant.access import Conversation, ConversationAccess
from ringi.assistant.action_commands import Presses
from ringi.assistant.catalog import Action
from ringi.assistant.models import ActionPress
from ringi.assistant.refusals import NotPossibleError, UnclearedError
from ringi.assistant.views import actions_view, history_view, memory_view
from ringi.domain import Answer, Request, parse_body
from ringi.errors import InvalidError
from ringi.server import (
    AskLimits,
    Authenticator,
    Cursor,
    Extension,
    Platform,
    Principal,
    channel_of,
    dump_json,
    inbox_for,
    json_body,
    json_response,
    language_for,
    page_json,
    parse_cursor,
    request_json,
    require_answerable,
    require_person,
    route_docs,
    schema_reference,
)

Agent = Annotated[str | None, Query(description="The assistant, for a conversation that nobody has begun")]


class AssistantRoutes:
    """Assistants over HTTP; who may know of a conversation's thread may know of its memory."""

    def __init__(self, platform: Platform, door: Authenticator, limits: AskLimits) -> None:
        self._platform, self._door, self._limits = platform, door, limits
        self._settings = platform.settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add, at = partial(api.add_api_route, tags=["assistants"]), "/v1/assistants/{id}"
        add(f"{at}/memory", self.memory, methods=["GET"], **route_docs("AssistantMemory"))
        add(f"{at}/memory", self.clear, methods=["DELETE"], **route_docs("AssistantMemory"))
        add(f"{at}/memory/history", self.history, methods=["GET"], **route_docs("MemoryChangePage"))
        add(f"{at}/actions", self.actions, methods=["GET"], **route_docs("AssistantActionPage"))
        add(f"{at}/actions/{{action_id}}", self.press, methods=["POST"], **pressing())

    async def memory(self, http: HttpRequest, id: str, agent: Agent = None) -> HttpResponse:
        """Return what a conversation knows, plans and can do."""
        reach = self._reach(http)
        return await self._shown(http, reach, await reach.conversation(id, agent or None))

    async def actions(self, http: HttpRequest, id: str, agent: Agent = None) -> HttpResponse:
        """List all actions: which are possible now, and why the others are not."""
        conversation = await self._reach(http).conversation(id, agent or None)
        return json_response(page_json(map(dump_json, self._items(http, conversation)), None))

    async def history(
        self, http: HttpRequest, id: str, limit: Annotated[int, Query(ge=1)] = 50, cursor: Cursor = None
    ) -> HttpResponse:
        """List the changes of a conversation's memory, newest first, each with where it comes from."""
        conversation = await self._reach(http).conversation(id)
        size, before = min(limit, self._settings.max_list), parse_cursor(cursor)
        changes = [each for each in conversation.memory.history if before is None or each.number < before]
        page = changes[: -size - 1 : -1]
        next = str(page[-1].number) if len(changes) > size else None
        shown = history_view(conversation.assistant.definitions, page, language_for(http.scope))
        return json_response(page_json(map(dump_json, shown), next))

    async def press(self, http: HttpRequest, id: str, action_id: str) -> HttpResponse:
        """Set an action going; an `apply` is the caller's approval of its plan, and needs the digest of its request.

        Other things to press are `ask:<info>`, `refresh:<info>`, `again:<plan action>` and `unchanged:<plan action>`,
        which asks again to approve a plan that is out of date as it is.
        """
        who = self._door.caller(http.scope)
        given = parse_body(ActionPress, await json_body(http, max_depth=self._settings.max_depth))
        reach = ConversationAccess(self._platform, who)
        conversation = await reach.conversation(id, given.agent)
        action = conversation.assistant.definitions.actions_by_id.get(action_id)
        if action and action.kind == "apply":
            require_person(who)
            return await self._approve(http, who, conversation, action, given)
        if who.role == "agent":
            await self._limits.check(self._platform.inbox.of(who.tenant), who)
        # In a conversation in which nobody has said a word yet, nothing else tells how to speak.
        told = {"language": language_for(http.scope)}
        event_in = lambda now: {**self._presses(http, now).event(action_id, given.args), **told}  # noqa: E731
        run = await reach.send(id, given.agent, event_in)
        return json_response(dump_json({"thread_id": run.id, "run_id": run.run_id}), 202)

    async def clear(self, http: HttpRequest, id: str) -> HttpResponse:
        """Clear the context: what people gave, plans and open questions go; what is being carried out goes on."""
        reach = self._reach(http)
        run = await reach.send(id, None, lambda _: {"type": "cancel"})
        thread = await reach.ended(run)
        if thread is None:
            raise UnclearedError.not_yet(id)
        if thread.run_id == run.run_id and thread.error:
            raise UnclearedError.failed(id, thread.error.message)
        return await self._shown(http, reach, await reach.conversation(id))

    async def _approve(
        self, http: HttpRequest, who: Principal, conversation: Conversation, action: Action, given: ActionPress
    ) -> HttpResponse:
        if given.args:
            raise InvalidError.of("args", f"action {action.id!r} takes none: to change the plan, edit its request")
        plan = conversation.plan_of(action)
        request = await ConversationAccess(self._platform, who).approval(plan) if plan else None
        if request is None or not request.response:
            self._presses(http, conversation).possible(action.id)
        if request is None:
            raise NotPossibleError.without_request(action.id)
        if given.digest is None:
            raise InvalidError.of("digest", "give that of the request which asks to approve the plan, as it was shown")
        answer = Answer(decision="approve", digest=given.digest)
        inbox = inbox_for(self._platform.inbox, who, require_answerable)
        answered = await inbox.answer(request.id, answer, by=who.name, channel=channel_of(http.scope))
        return json_response(request_json(answered))

    async def _shown(self, http: HttpRequest, reach: ConversationAccess, conversation: Conversation) -> HttpResponse:
        definitions, memory = conversation.assistant.definitions, conversation.memory
        now, language = self._platform.inbox.clock(), language_for(http.scope)
        shown = memory_view(definitions, memory, now, language)
        for plan in shown["plans"]:
            plan["request"] = opened(await reach.open_approval(memory.plans[plan["workflow"]]))
        for asked in shown["asks"]:
            asked["request"] = opened(await reach.open_question(asked["threadId"]))
        return json_response(dump_json({"id": conversation.id, "agent": conversation.assistant.name, **shown}))

    def _items(self, http: HttpRequest, now: Conversation) -> list[dict[str, Any]]:
        at, language = self._platform.inbox.clock(), language_for(http.scope)
        return actions_view(now.assistant.definitions, now.memory, at, language)

    def _presses(self, http: HttpRequest, now: Conversation) -> Presses:
        return Presses(now.assistant.definitions, now.memory, self._items(http, now))

    def _reach(self, http: HttpRequest) -> ConversationAccess:
        return ConversationAccess(self._platform, self._door.caller(http.scope))


def opened(request: Request | None) -> dict[str, Any] | None:
    """Return what is shown of an open request: the page reads the rest where all requests are."""
    return {"id": request.id, "digest": request.digest, "status": request.status} if request else None


def pressing() -> dict[str, Any]:
    """Return what the route of actions says of itself."""
    told = route_docs("RunStarted", 202, body="ActionPress")
    told["responses"] |= {
        200: {"description": "Approved", "content": {"application/json": {"schema": schema_reference("Request")}}},
        409: {
            "description": "Refused",
            "content": {"application/problem+json": {"schema": schema_reference("NotPossible")}},
        },
    }
    return told


EXTENSION = Extension(AssistantRoutes, inputs=models.INPUTS, outputs=models.OUTPUTS)
"""What an assistant's server is made with."""
