"""The calls of tools of one connection: each needs an authorization, and a client that gives up finds its result."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import math
import time
import uuid
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote, urlsplit

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED, INVALID_PARAMS, PROTOCOL_VERSION_META_KEY, REQUEST_TIMEOUT, RequestId

from ringi.base.bounded import Bounded
from ringi.base.loops import cancel_all
from ringi.connect import resolve_inbox_url
from ringi.domain.request import Request
from ringi.errors import NotAuthorizedError, RingiError
from ringi.gateways.client_calls import ClientGate
from ringi.gateways.mcp_gate.relay import Context, McpRelay, RpcParams, RpcResult, gate_request_metadata
from ringi.integrations.functions import AuthorizedFunctionCall

log = logging.getLogger(__name__)
RESOURCE = "ringi://requests/"
PROGRESS_SECONDS = 10.0
"""Seconds between two notifications that a call waits for a person."""
PROGRESS_STEP = 1e-6
"""What such a notification adds to the progress: hardly anything, for the server counts from 0."""
MAX_RESULTS = 100
"""Maximum results that wait for their client."""
MAX_RESULT = 1_000_000
"""Maximum characters of such a result."""
RESULT_SECONDS = 3_600.0
MAX_CONTINUATIONS = 1_000


class HeldCall:
    """A call on its way: it waits for its authorization, runs, or has ended."""

    def __init__(self, params: RpcParams, key: str, attempt: str | None) -> None:
        self.params, self.key, self.attempt = params, key, attempt or uuid.uuid4().hex
        self.name: str = params["name"]
        self.args: dict[str, Any] = params.get("arguments") or {}
        self.task: asyncio.Task[RpcResult]
        self.client: Context | None = None
        """The request of the client that waits for it now."""
        self.request_id: str | None = None
        """The id of the request that people answer."""
        self.has_begun = False
        self.ended_at = 0.0
        self._limit: anyio.CancelScope | None = None

    def begin(self) -> None:
        """Note that the call runs from now on, for as long as it takes."""
        self.has_begun = True
        if self._limit:
            self._limit.deadline = math.inf

    async def wait(self, seconds: float) -> bool:
        """Wait until the call has ended; return False if it has not begun after so many seconds."""
        with anyio.move_on_after(math.inf if self.has_begun else seconds) as self._limit:
            await asyncio.wait({self.task})
        return self.task.done()


class GatedCalls:
    """The calls of one connection.

    A call that a client no longer waits for goes on if people were asked about it: it runs once when they approve, and
    its result waits for the next call that is the same. One that runs is canceled at the server, as without a gate.

    Args:
        relay: The connection.
        open_gate: Returns the authorization of the calls of this connection.
        wait: Seconds for which a client waits for people.
    """

    def __init__(self, relay: McpRelay, open_gate: Callable[[], Awaitable[ClientGate]], *, wait: float) -> None:
        self._relay, self._open_gate, self._wait = relay, open_gate, wait
        self._tasks = set[asyncio.Task[RpcResult]]()
        self._left = list[HeldCall]()
        self._continuations = Bounded[str, str](MAX_CONTINUATIONS)

    async def call(self, context: Context, params: RpcParams) -> RpcResult:
        """Answer `tools/call`.

        Raises:
            MCPError: The call is malformed, or the server answered with an error.
        """
        if not isinstance(params.get("name"), str) or not isinstance(params.get("arguments") or {}, dict):
            raise MCPError(INVALID_PARAMS, "a call has a name and an object of arguments")
        held = self._held_for(params)
        held.client = context
        try:
            await self._attend(held, context)
        finally:
            held.client = None
            if held.request_id is None or (held.has_begun and not held.task.done()):
                held.task.cancel()
            else:
                self._left.append(held)
        if held.task.done():
            self._left = [each for each in self._left if each is not held]
            return held.task.result()
        if held.request_id is None:
            return gate_refusal_result(params, "Not run: the inbox did not answer in time. Call the tool again later.")
        waits = f"Not run yet: request {answer_link(held.request_id)} waits for a person."
        return gate_refusal_result(params, f"{waits} Call the tool again with the same arguments to go on waiting.")

    async def read(self, _: Context, params: RpcParams) -> RpcResult | None:
        """Answer `resources/read` for a request of this client; None for a resource of the server.

        Raises:
            MCPError: The client has no such request.
        """
        uri = params.get("uri")
        if not isinstance(uri, str) or not uri.startswith(RESOURCE):
            return None
        id = uri.removeprefix(RESOURCE)
        try:
            request = await (await self._open_gate()).request(id)
        except RingiError as error:
            raise MCPError(INVALID_PARAMS, str(error)) from error
        body: RpcResult = {"id": id, "status": request.status, "outcome": request.outcome}
        if request.response:
            body |= {"decision": request.response.decision, "message": request.response.message}
        held = next((each for each in self._left if each.request_id == id), None)
        if held and held.task.done() and not held.task.cancelled():
            failure = held.task.exception()
            body |= {"error": str(failure)} if failure else {"result": held.task.result()}
        text = json.dumps({name: value for name, value in body.items() if value is not None}, ensure_ascii=False)
        content = {"uri": uri, "mimeType": "application/json", "text": text}
        return {"contents": [content], **fields_of_newer_protocol(params, {"ttlMs": 0, "cacheScope": "private"})}

    async def close(self) -> None:
        """Cancel the calls; requests stay open, and a later connection of the client continues with them."""
        await cancel_all(*self._tasks)

    async def _attend(self, held: HeldCall, context: Context) -> None:
        ends_at = time.monotonic() + self._wait
        for count in itertools.count(1):
            seconds = min(PROGRESS_SECONDS, ends_at - time.monotonic())
            if await held.wait(max(0, seconds)) or (not held.has_begun and time.monotonic() >= ends_at):
                return
            await self._tell(held, context, count)

    async def _tell(self, held: HeldCall, context: Context, count: int = 0) -> None:
        if held.request_id and not held.has_begun:
            text = f"waiting for a person: {answer_link(held.request_id)}"
            await context.progress((count + 1) * PROGRESS_STEP, None, text)

    def _held_for(self, params: RpcParams) -> HeldCall:
        """Return the call that the client left and now repeats, or a new one."""
        now = time.monotonic()
        ended = [held for held in self._left if held.ended_at]
        fresh = [held for held in ended[-MAX_RESULTS:] if now - held.ended_at <= RESULT_SECONDS]
        self._left = [held for held in self._left if not held.ended_at or held in fresh]
        continues = params.get("requestState") is not None or params.get("inputResponses") is not None
        key = gated_call_key(params, params.get("requestState"))
        left = next((held for held in self._left if held.key == key and not continues), None)
        if left:
            self._left.remove(left)
            left.params = params
            return left
        held = HeldCall(params, key, self._continuations.pop(key, None) if continues else None)
        held.task = asyncio.create_task(self._authorized(held))
        self._tasks.add(held.task)
        held.task.add_done_callback(partial(self._end, held))
        return held

    def _end(self, held: HeldCall, task: asyncio.Task[RpcResult]) -> None:
        held.ended_at = time.monotonic()
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Otherwise Python reports it as never retrieved, if the client does not come again.

    async def _authorized(self, held: HeldCall) -> RpcResult:
        async def on_wait(request: Request) -> None:
            held.request_id = request.id
            if held.client:
                await self._tell(held, held.client)

        schema: dict[str, Any] | None = None
        with suppress(MCPError):  # Then the server itself says what is wrong with the call.
            schema = await self._relay.schema(held.name, held.params)
        try:
            gate = await self._open_gate()
            granted = await gate.authorize(held.name, held.args, schema=schema, attempt=held.attempt, on_wait=on_wait)
        except NotAuthorizedError as error:
            return gate_refusal_result(held.params, f"Not run: {error}")
        except Exception as error:  # Whatever it is, the call must not run.
            log.warning("the call of %s cannot be authorized: %s", held.name, error)
            log.debug("cannot be authorized", exc_info=True)
            return gate_refusal_result(held.params, f"Not run: {error}")
        held.begin()
        return await self._execute(held, granted)

    async def _execute(self, held: HeldCall, granted: AuthorizedFunctionCall) -> RpcResult:
        params: dict[str, Any] = {**held.params}
        if granted.args or "arguments" in params:
            params["arguments"] = granted.args
        id: RequestId | None = held.client.request_id if held.client else None
        if id is None:  # Nobody waits, so the token of the progress is no longer valid.
            params["_meta"] = gate_request_metadata(params)
        try:
            result = await self._relay.forward("tools/call", params, id)
        except MCPError as error:
            if error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT):  # Then nobody knows what became of it.
                await granted.report("failed")
            raise
        if result.get("resultType") == "input_required":
            # The client repeats the call with what the server asks it for.
            self._continuations[gated_call_key(held.params, result.get("requestState"))] = held.attempt
        elif "task" not in result:  # A task of the server still runs.
            await granted.report("failed" if result.get("isError") else "committed")
        if not held.client and len(json.dumps(result)) > MAX_RESULT:
            lost = "It ran, but its result is too large to wait for its client."
            return gate_result(params, lost)
        return result


def gated_call_key(params: RpcParams, state: Any) -> str:
    """Return what identifies a call, and the point from which the client continues it."""
    return json.dumps([params["name"], params.get("arguments") or {}, state], sort_keys=True)


def answer_link(id: str) -> str:
    """Return the address where people answer a request; its id without a server."""
    url = resolve_inbox_url(None)
    return f"{url.rstrip('/')}/r/{quote(id, safe='')}" if urlsplit(url).scheme in ("http", "https") else id


def gate_result(params: RpcParams, text: str) -> RpcResult:
    """Return a result with a text for the model."""
    return {"content": [{"type": "text", "text": text}], **fields_of_newer_protocol(params)}


def gate_refusal_result(params: RpcParams, text: str) -> RpcResult:
    """Return the result of a call that did not run, as a text for the model."""
    return {**gate_result(params, text), "isError": True}


def fields_of_newer_protocol(params: RpcParams, more: RpcResult | None = None) -> RpcResult:
    """Return the fields of a result that only the protocol of 2026 has."""
    is_modern = PROTOCOL_VERSION_META_KEY in (params.get("_meta") or {})
    return {"resultType": "complete", **(more or {})} if is_modern else {}
