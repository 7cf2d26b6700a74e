"""Elicitation: the client shows its person where to answer, or the form itself.

A client may make up what its person says, so a form is sent only on a connection that is signed in as a person, and
never for an approval.
"""

from __future__ import annotations

import logging
from typing import Any

import anyio
from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types import (
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitRequestParams,
    ElicitRequestURLParams,
    ElicitResult,
    InputRequiredResult,
    InputResponse,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from ringi.domain.ask import Answer
from ringi.domain.request import Request
from ringi.errors import InvalidError, RingiError, UnavailableError
from ringi.forms.form import Form
from ringi.gateways.mcp.requests import McpRequests

log = logging.getLogger(__name__)
SECONDS = 25.0
"""Seconds for which a tool waits for a person; many clients give up after 60."""
KEY = "answer"
"""The key of the elicitation in a result that requires input, and of the answer to a question without a form."""
ANSWERABLE = ("form", "choice", "question")
"""The kinds of requests that take data, and authorize nothing."""
WORDS = {"type": "object", "properties": {KEY: {"type": "string", "title": "Answer"}}, "required": [KEY]}
TYPES = ("string", "number", "integer", "boolean", "array")
KEYWORDS = (
    *("type", "title", "description", "default", "format"),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"),
)
"""The keywords of JSON Schema that a client must know in a form."""
WHERE = "A person must answer this in Ringi: {title}"


class Elicitation:
    """One elicitation about a request, in the way of the protocol version.

    Args:
        context: The context of the tool call.
        requests: The requests of the caller.
        request: The request, which is pending.
    """

    def __init__(self, context: Context[Any, Any], requests: McpRequests, request: Request) -> None:
        self._context, self._requests, self._request = context, requests, request
        self._params = self._choose()

    async def run(self) -> InputRequiredResult | Request:
        """Return the request after the elicitation, or the result that makes the client elicit and call again.

        Raises:
            RingiError: The answer of the person is refused; the request stays open.
        """
        if self._params is None:
            return self._request
        if self._context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            result: InputResponse | None = await self._ask_client(self._params)
        elif self._context.request_state == self._request.id:
            result = (self._context.input_responses or {}).get(KEY)
        else:
            asked = ElicitRequest(params=self._params)
            return InputRequiredResult(input_requests={KEY: asked}, request_state=self._request.id)
        if isinstance(self._params, ElicitRequestFormParams) and isinstance(result, ElicitResult):
            await self._answer(result)
        return await self._requests.get(self._request.id)

    def _choose(self) -> ElicitRequestParams | None:
        able = self._context.client_capabilities
        if able is None or able.elicitation is None:
            return None
        # A client that says nothing of modes has forms only.
        has_form = able.elicitation.form is not None or able.elicitation.url is None
        schema = elicitation_schema(self._request) if has_form and self._requests.may_answer(self._request) else None
        if schema is not None:
            message = "\n\n".join(filter(None, [self._request.title, self._request.description]))
            return ElicitRequestFormParams(message=message, requested_schema=schema)
        address = self._requests.address(self._request.id)
        if able.elicitation.url is None or address is None:
            return None
        message = WHERE.format(title=self._request.title)
        is_modern = self._context.protocol_version in MODERN_PROTOCOL_VERSIONS
        id = None if is_modern else self._request.id
        return ElicitRequestURLParams(message=message, url=address, elicitation_id=id)

    async def _ask_client(self, params: ElicitRequestParams) -> ElicitResult | None:
        """Return the result of the client; None if the request or the caller's token ended first, or on timeout."""
        result = None
        with anyio.move_on_after(SECONDS):
            async with anyio.create_task_group() as group:

                async def watch() -> None:
                    try:
                        is_over = (await self._requests.wait(self._request.id, SECONDS)).is_final
                    except UnavailableError:
                        return  # The client may still show the form.
                    except RingiError:
                        is_over = True  # Such as a revoked token, whose answer would be refused.
                    if is_over:
                        group.cancel_scope.cancel()

                group.start_soon(watch)
                try:
                    about = ServerMessageMetadata(related_request_id=self._context.request_id)
                    asked = ElicitRequest(params=params)
                    result = await self._context.session.send_request(asked, ElicitResult, metadata=about)
                except (MCPError, ValidationError) as error:
                    log.info("the client did not elicit request %s: %s", self._request.id, error)
                group.cancel_scope.cancel()
        return result

    async def _answer(self, result: ElicitResult) -> None:
        # A person who declines the form in a client may still answer the request elsewhere.
        if result.action != "accept" or result.content is None:
            return
        body: dict[str, Any] = {"decision": "approve", "data": result.content}
        if self._request.kind == "question":
            body = {"decision": "respond", "message": result.content.get(KEY)}
        await self._requests.answer(self._request.id, Answer.parse({**body, "digest": self._request.digest}))


def elicitation_schema(request: Request) -> dict[str, Any] | None:
    """Return the schema of the data that a client may elicit; None if the person needs the page.

    Args:
        request: The request. One with an action, with display blocks or with a field for files needs the page.
    """
    if request.kind not in ANSWERABLE or request.action or request.display or request.answer_schema is not None:
        return None
    if request.form is None and request.data_schema is None:
        return WORDS if "respond" in request.allowed else None
    try:
        schema = (request.form or Form.from_json_schema(request.data_schema)).json_schema()
    except InvalidError:
        return None
    properties = {name: elicitation_property(each) for name, each in schema["properties"].items()}
    if None in properties.values():
        return None
    return {"type": "object", "properties": properties, "required": schema["required"]}


def elicitation_property(schema: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of one field with the keywords that clients know; None if they have no such field."""
    found = {name: schema[name] for name in KEYWORDS if name in schema}
    is_list = schema.get("type") == "array"
    choices = (schema.get("items", {}) if is_list else schema).get("oneOf")
    if schema.get("type") not in TYPES or (is_list and not choices):
        return None
    if not choices:
        return found
    values = [each["const"] for each in choices]
    if not all(isinstance(value, str) for value in values):
        return None
    is_titled = any(each["const"] != each["title"] for each in choices)
    if is_list:
        return {**found, "items": {"anyOf": choices} if is_titled else {"type": "string", "enum": values}}
    return {**found, "oneOf": choices} if is_titled else {**found, "enum": values}
