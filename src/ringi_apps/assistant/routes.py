"""The HTTP routes of assistants: the memory of a conversation and its actions."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi import Agent, Request
from ringi.domain import Answer, parse_body
from ringi.errors import InvalidError
from ringi.server import (
    Cursor,
    Extension,
    Principal,
    RefusalError,
    RouteContext,
    RunStarted,
    channel_of,
    inbox_for,
    json_body,
    language_for,
    parse_cursor,
    public_request,
    reply,
    require_answerable,
    require_person,
    route_docs,
    schema_reference,
)
from ringi_apps.assistant import models
from ringi_apps.assistant.access import ConversationAccess, ConversationSnapshot
from ringi_apps.assistant.action_commands import ActionCommands, not_possible
from ringi_apps.assistant.declarations import ActionDefinition
from ringi_apps.assistant.models import ActionPress
from ringi_apps.assistant.views import actions_view, history_view, memory_view

AgentName = Annotated[str | None, Query(description="The assistant, for a conversation that nobody has begun")]


class AssistantRoutes:
    """The HTTP routes of assistants. A caller who may read a thread may read its memory."""

    def __init__(self, context: RouteContext) -> None:
        self._context, self._components = context, context.components
        self._settings = context.components.settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes to the API."""
        add, at = partial(api.add_api_route, tags=["assistants"]), "/v1/assistants/{id}"
        add(f"{at}/memory", self.memory, methods=["GET"], **route_docs("AssistantMemory"))
        add(f"{at}/memory", self.clear, methods=["DELETE"], **route_docs("AssistantMemory"))
        add(f"{at}/memory/history", self.history, methods=["GET"], **route_docs("MemoryChangePage"))
        add(f"{at}/actions", self.actions, methods=["GET"], **route_docs("AssistantActionPage"))
        add(f"{at}/actions/{{action_id}}", self.press, methods=["POST"], **action_responses())

    async def memory(self, http: HttpRequest, id: str, agent: AgentName = None) -> HttpResponse:
        """Return the values, plans and actions of a conversation."""
        access = self._access(http)
        return await self._memory_reply(http, access, await access.load(id, agent or None))

    async def actions(self, http: HttpRequest, id: str, agent: AgentName = None) -> HttpResponse:
        """List all actions, with the reasons for those that are not possible now."""
        conversation = await self._access(http).load(id, agent or None)
        return reply(models.AssistantActionPage(items=self._action_items(http, conversation), next=None))

    async def history(
        self, http: HttpRequest, id: str, limit: Annotated[int, Query(ge=1)] = 50, cursor: Cursor = None
    ) -> HttpResponse:
        """List the changes of a conversation's memory, newest first, each with its origin."""
        conversation = await self._access(http).load(id)
        size, before = min(limit, self._settings.max_list), parse_cursor(cursor)
        changes = [each for each in conversation.memory.history if before is None or each.number < before]
        page = changes[: -size - 1 : -1]
        next = str(page[-1].number) if len(changes) > size else None
        view = history_view(conversation.assistant.definitions, page, language_for(http.scope))
        return reply(models.MemoryChangePage(items=view, next=next))

    async def press(self, http: HttpRequest, id: str, action_id: str) -> HttpResponse:
        """Run an action. For an `apply` this is the caller's approval, and needs the digest of the plan's request.

        Other commands are `ask:<info>`, `any:<info>`, `refresh:<info>`, `again:<plan action>` and
        `unchanged:<plan action>`. `any` says that any value is fine, and `unchanged` asks to approve an obsolete plan.
        """
        principal = self._context.caller(http.scope)
        body = parse_body(ActionPress, await json_body(http, max_depth=self._settings.max_depth))
        access = self._access(http)
        conversation = await access.load(id, body.agent)
        action = conversation.assistant.definitions.actions_by_id.get(action_id)
        if action and action.kind == "apply":
            require_person(principal)
            plan = conversation.plan_of(action)
            is_asked = plan is not None and await access.open_approval(plan) is not None
            # Without a request, a confirmed action asks for its approval.
            if is_asked or body.digest is not None or not action.confirmed:
                return await self._approve(http, principal, conversation, action, body)
        if principal.role == "agent":
            await self._context.count_run(principal)
        # Without a message, this is the only hint of the language.
        context = {"language": language_for(http.scope)}
        build_event = lambda now: {**self._commands(http, now).build_event(action_id, body.args), **context}  # noqa: E731
        run = await access.send(id, body.agent, build_event)
        return reply(RunStarted(thread_id=run.id, run_id=str(run.run_id)), 202)

    async def clear(self, http: HttpRequest, id: str) -> HttpResponse:
        """Clear the context: values that people gave, plans and open questions. Running executions continue."""
        access = self._access(http)
        run = await access.send(id, None, lambda _: {"type": "cancel"})
        thread = await access.wait_for_end(run)
        if thread is None:
            why = "no worker has handled the request yet; read the memory again later"
        elif thread.run_id == run.run_id and thread.error:
            why = f"the run failed ({thread.error.message}); see the operations"
        else:
            return await self._memory_reply(http, access, await access.load(id))
        raise RefusalError(409, "uncleared", f"the context of conversation {id!r} is not cleared: {why}")

    async def _approve(
        self,
        http: HttpRequest,
        principal: Principal,
        conversation: ConversationSnapshot,
        action: ActionDefinition,
        body: ActionPress,
    ) -> HttpResponse:
        if body.args:
            raise InvalidError.of(
                "args", f"action {action.id!r} takes no arguments: to change the plan, edit its request"
            )
        plan = conversation.plan_of(action)
        request = await self._access(http).approval_request(plan) if plan else None
        if request is None or not request.response:
            self._commands(http, conversation).require_possible(action.id)
        if request is None:
            remedy = "reload the memory, or request approval with `unchanged:<plan action>`"
            raise not_possible(f"action {action.id!r}", f"there is no approval request for its plan: {remedy}")
        if body.digest is None:
            raise InvalidError.of("digest", "give the digest of the plan's approval request, as it was shown")
        answer = Answer(decision="approve", digest=body.digest)
        inbox = inbox_for(self._components.inbox, principal, require_answerable)
        answered = await inbox.answer(request.id, answer, by=principal.decider, channel=channel_of(http.scope))
        return reply(public_request(answered))

    async def _memory_reply(
        self, http: HttpRequest, access: ConversationAccess, conversation: ConversationSnapshot
    ) -> HttpResponse:
        definitions, memory = conversation.assistant.definitions, conversation.memory
        now, language = self._components.inbox.clock(), language_for(http.scope)
        view = memory_view(definitions, memory, now, language)
        for plan in view.plans:
            plan.request = request_summary(await access.open_approval(memory.plans[plan.workflow]))
        for ask in view.asks:
            ask.request = request_summary(await access.open_question(ask.thread_id))
        return reply(models.AssistantMemory(id=conversation.id, agent=conversation.assistant.name, **dict(view)))

    def _action_items(self, http: HttpRequest, now: ConversationSnapshot) -> list[models.AssistantAction]:
        at, language = self._components.inbox.clock(), language_for(http.scope)
        return actions_view(now.assistant.definitions, now.memory, at, language)

    def _commands(self, http: HttpRequest, now: ConversationSnapshot) -> ActionCommands:
        return ActionCommands(now.assistant.definitions, now.memory, self._action_items(http, now))

    def _access(self, http: HttpRequest) -> ConversationAccess:
        return ConversationAccess(self._components, self._context.long_poll(http.scope))


def request_summary(request: Request | None) -> models.PlanRequest | None:
    """Return the summary of an open request; the page reads the rest from the inbox."""
    return models.PlanRequest.model_validate(request) if request else None


def action_responses() -> dict[str, Any]:
    """Return the OpenAPI description of the route that runs an action."""
    context = route_docs("RunStarted", 202, body="ActionPress")
    context["responses"] |= {
        200: {"description": "Approved", "content": {"application/json": {"schema": schema_reference("Request")}}},
        409: {
            "description": "Refused",
            "content": {"application/problem+json": {"schema": schema_reference("NotPossible")}},
        },
    }
    return context


def example_agents(model: Any) -> list[Agent]:
    """Return the agents of the example assistants."""
    from ringi_apps.assistant.demo import agents

    return agents(model)


EXTENSION = Extension(AssistantRoutes, inputs=models.INPUTS, outputs=models.OUTPUTS, agents=example_agents)
"""The extension that adds assistants to a server."""
