"""Forms in a chat, in the format of third-party front ends: the event `hitl`, and `POST /hitl/respond`."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI
from pydantic import BaseModel
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.base.model import StrictModel
from ringi.domain.ask import Answer, Id, parse_body
from ringi.errors import NotFoundError
from ringi.server.auth.authenticator import channel_of
from ringi.server.auth.permissions import inbox_for, require_answerable
from ringi.server.callers import PersonCaller
from ringi.server.calls import http_status_after_answer, json_body, reply
from ringi.server.extension import Extension, RouteContext
from ringi.server.language import server_texts_for_caller
from ringi.server.openapi import route_docs


class HitlAnswer(StrictModel):
    """The answer to a form in a chat."""

    request_id: Id
    session_id: Id
    """The id of the thread."""
    action: Literal["approve", "edit", "reject"]
    data: dict[str, Any] | None = None


class HitlResult(BaseModel):
    """The result of an answer to a form."""

    success: Literal[True]
    next_action: Literal["continue", "complete"]
    """`continue` if a run continues with the answer."""
    message: str


class HitlRoutes:
    """The answer to a form of a chat."""

    def __init__(self, context: RouteContext) -> None:
        self._components = context.components

    def add_to(self, api: FastAPI) -> None:
        """Add the route."""
        metadata = route_docs("HitlResult", 200, 202, body="HitlAnswer")
        api.add_api_route(
            "/hitl/respond", self.respond, methods=["POST"], tags=["requests"], operation_id="hitl_respond", **metadata
        )

    async def respond(self, http: HttpRequest, caller: PersonCaller) -> HttpResponse:
        """Answer a request that a chat displayed; the first answer wins."""
        submitted = parse_body(HitlAnswer, await json_body(http, max_depth=self._components.settings.max_depth))
        inbox = inbox_for(self._components.inbox, caller, require_answerable)
        request = await inbox.get(submitted.request_id)
        if request.thread_id != submitted.session_id:
            raise NotFoundError("request", submitted.request_id)
        # A front end sends its form with every button; the data of a rejection is not stored.
        data = None if submitted.action == "reject" else submitted.data
        answer = Answer(decision=submitted.action, digest=request.digest, data=data)
        request = await inbox.answer(request.id, answer, by=caller.decider, channel=channel_of(http.scope))
        goes_on = request.is_final and request.continuation
        next: Literal["continue", "complete"] = "continue" if goes_on else "complete"
        texts = server_texts_for_caller(http.scope)
        decided = {"approve": "approved", "edit": "edited", "reject": "rejected"}[submitted.action]
        message = texts[decided if request.is_final else "held" if request.held else "voted"]
        return reply(HitlResult(success=True, next_action=next, message=message), http_status_after_answer(request))


EXTENSION = Extension(HitlRoutes, inputs=(HitlAnswer,), outputs=(HitlResult,))
