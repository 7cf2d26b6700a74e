"""The tools with which a model asks people. None of them decides anything."""

from __future__ import annotations

import inspect
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

from mcp.server.context import ServerRequestContext
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.mcpserver.tools import Tool
from mcp_types import InputRequiredResult, ToolAnnotations
from pydantic import Field, WithJsonSchema

from ringi.domain.ask import Ask
from ringi.domain.request import Request
from ringi.domain.voting import Tier
from ringi.errors import InvalidError, RingiError
from ringi.forms.form import MODEL_FIELDS
from ringi.forms.json_schema import check_json
from ringi.gateways.call_views import call_view
from ringi.gateways.client_calls import NOT_IN_IDS, ClientSession
from ringi.gateways.mcp.elicitation import KEY, SECONDS, Elicitation
from ringi.gateways.mcp.requests import McpRequests, RequestState, mcp_request_state
from ringi.runs.model_form import FIELD

MAX_BYTES, MAX_DEPTH = 256 * 1024, 64
NO_CLIENT = "mcp"
"""The client of a call that does not name one."""
MAX_CLIENT = 60
Title = Annotated[str, Field(description="The question in one line. The person has not read this conversation.")]
Background = Annotated[str | None, Field(description="Background for the person, as Markdown.")]
Fields = Annotated[list[Any] | None, WithJsonSchema({"type": "array", "items": FIELD})]
Options = Annotated[list[str] | None, Field(description="In place of fields: the answers to choose one from.")]
AnswerSchema = Annotated[dict[str, Any] | None, Field(description="In place of fields: a JSON Schema of the answers.")]
OwnId = Annotated[
    str | None, Field(description="Your own id for this request. Repeating a call with the same id asks only once.")
]
Assignee = Annotated[str | None, Field(description="The person who must answer; by default anybody may.")]
Groups = Annotated[list[str] | None, Field(description="The groups whose members may answer.")]
ExpiresIn = Annotated[float | None, Field(description="Seconds until the request expires; by default never.")]
RequestId = Annotated[str, Field(description="The id that ask_human or request_approval returned.")]
WaitAtMost = Annotated[float, Field(description="Seconds to wait for the end of the request.", ge=0, le=SECONDS)]
RequestsOf = Callable[[ServerRequestContext[Any, Any]], McpRequests]
"""Returns the requests of the caller."""


class AskTools:
    """The tools of the MCP server.

    Args:
        requests_of: Returns the requests of the caller.
    """

    def __init__(self, requests_of: RequestsOf) -> None:
        self._requests_of = requests_of

    def tools(self) -> list[Tool]:
        """Return the tools."""
        asks = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False)
        reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True)
        ends = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)
        return [
            strict_mcp_tool(self.ask_human, "Ask a person", asks),
            strict_mcp_tool(self.request_approval, "Request an approval", asks),
            strict_mcp_tool(self.get_request, "Wait for an answer", reads),
            strict_mcp_tool(self.cancel_request, "Cancel a request", ends),
        ]

    async def ask_human(
        self,
        context: Context[Any, Any],
        title: Title,
        description: Background = None,
        fields: Fields = None,
        options: Options = None,
        schema: AnswerSchema = None,
        id: OwnId = None,
        assignee: Assignee = None,
        groups: Groups = None,
        expires_in: ExpiresIn = None,
    ) -> RequestState | InputRequiredResult:
        """Ask a person a question, in words or with a form.

        Without fields, options and schema, the answer is in words. Usually the answer comes later: call get_request.
        """
        if sum(each is not None for each in (fields, options, schema)) > 1:
            raise ToolError("give only one of fields, options and schema")
        if options is not None:
            fields = [{"name": KEY, "type": "radio", "label": "Answer", "required": True, "options": options}]
        if len(fields or ()) > MODEL_FIELDS:
            raise ToolError(f"fields: {len(fields or ())} are more than {MODEL_FIELDS}: ask in two steps")
        form = None if fields is None else {"fields": fields}
        body = {"title": title, "description": description, "form": form, "schema": schema, "id": id}
        more = {"assignee": assignee, "groups": groups, "expires_in": expires_in}
        return await self._ask(context, {**body, **more})

    async def request_approval(
        self,
        context: Context[Any, Any],
        title: Title,
        action: Annotated[str, Field(description="The name of the tool or action to approve.")],
        args: Annotated[dict[str, Any] | None, Field(description="All arguments of the action, exactly.")] = None,
        description: Background = None,
        args_schema: Annotated[dict[str, Any] | None, Field(description="The JSON Schema of the arguments.")] = None,
        folder: Annotated[str | None, Field(description="The folder in which the action would run.")] = None,
        tier: Annotated[Tier | None, Field(description="What is at stake; by default low.")] = None,
        id: OwnId = None,
        assignee: Assignee = None,
        groups: Groups = None,
        expires_in: ExpiresIn = None,
    ) -> RequestState | InputRequiredResult:
        """Ask a person to approve an action before you do it.

        Do it only after `approved` is true, with exactly the returned `args`, and once. Usually the answer comes later:
        call get_request.
        """
        call = {"name": action, "args": args or {}, "schema": args_schema}
        body = {"title": title, "description": description, "action": call, "id": id, "tier": tier}
        more = {"assignee": assignee, "groups": groups, "expires_in": expires_in}
        return await self._ask(context, {**body, **more}, folder)

    async def get_request(self, context: Context[Any, Any], id: RequestId, wait: WaitAtMost = SECONDS) -> RequestState:
        """Return a request that you asked; waits for its answer, at most 25 seconds.

        While the status is pending, call it again. Pending, rejected, cancelled and expired are no approval.
        """
        requests = self._requests_of(context.request_context)
        with errors_of_tool():
            return mcp_request_state(await requests.wait(id, wait), requests.address(id))

    async def cancel_request(
        self,
        context: Context[Any, Any],
        id: RequestId,
        reason: Annotated[str | None, Field(description="The reason, for people.")] = None,
    ) -> RequestState:
        """Cancel a request that you asked and no longer need."""
        requests = self._requests_of(context.request_context)
        with errors_of_tool():
            request = await requests.get(id)
            request = request if request.is_final else await requests.cancel(id, reason)
            return mcp_request_state(request, requests.address(id))

    async def _ask(
        self, context: Context[Any, Any], body: dict[str, Any], folder: str | None = None
    ) -> RequestState | InputRequiredResult:
        requests = self._requests_of(context.request_context)
        session = ClientSession(mcp_client_name(context), requests.session or "", folder)
        origin = {"context": session.context, "thread_id": session.thread_id if requests.session else None}
        with errors_of_tool():
            check_json(body, field="arguments", max_bytes=MAX_BYTES, max_depth=MAX_DEPTH)
            ask = Ask.parse({**body, **origin})
            if ask.action:
                # Without the folder: otherwise the files of this machine would be read for the view.
                display = call_view(ask.action.name, ask.action.args, None).display
                ask = ask.model_copy(update={"display": display or None})
            # A client that returns from an elicitation repeats the whole call: the state names its request.
            id = ask.id or context.request_state or uuid.uuid4().hex
            request = await requests.submit(ask.model_copy(update={"id": id}))
        return await state_after_elicitation(context, requests, request)


async def state_after_elicitation(
    context: Context[Any, Any], requests: McpRequests, request: Request
) -> RequestState | InputRequiredResult:
    """Return the state of a new request, after an elicitation if the client can."""
    address = requests.address(request.id)
    if request.is_final:
        return mcp_request_state(request, address)
    try:
        result = await Elicitation(context, requests, request).run()
    except RingiError as error:
        # The request is open all the same, and the model must know its id.
        return mcp_request_state(request, address, f"The answer was refused: {error}.")
    return result if isinstance(result, InputRequiredResult) else mcp_request_state(result, address)


def mcp_client_name(context: Context[Any, Any]) -> str:
    """Return the name of the client, in the characters of an id."""
    info = context.session.client_params
    name = NOT_IN_IDS.sub("-", info.client_info.name) if info else ""
    return name.replace(":", "-").strip("-._~@")[:MAX_CLIENT] or NO_CLIENT


@contextmanager
def errors_of_tool() -> Iterator[None]:
    """Raise errors of Ringi as errors of the tool, which tell a model what to correct."""
    try:
        yield
    except InvalidError as error:
        why = "; ".join(f"{each.field or 'arguments'}: {each.message}" for each in error.errors)
        raise ToolError(why) from error
    except RingiError as error:
        raise ToolError(str(error)) from error


def strict_mcp_tool(function: Callable[..., Awaitable[Any]], title: str, annotations: ToolAnnotations) -> Tool:
    """Return a tool that refuses arguments that it does not know: a misspelled one would change the question."""
    tool = Tool.from_function(function, title=title, description=inspect.getdoc(function), annotations=annotations)
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"
    model.model_rebuild(force=True)
    schema = model.model_json_schema(by_alias=True)
    schema["properties"] = {name: mcp_schema_without_null(each) for name, each in schema["properties"].items()}
    return tool.model_copy(update={"parameters": schema})


def mcp_schema_without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an argument without its null: many clients and models read only one type."""
    found = {name: value for name, value in schema.items() if name != "title" and (name, value) != ("default", None)}
    present = [each for each in found.pop("anyOf", []) if each != {"type": "null"}]
    return {**found, **(present[0] if len(present) == 1 else {})}
