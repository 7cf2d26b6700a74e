"""The proxy between an editor and its agent: everything passes, and permissions and forms are answered in the inbox."""

from __future__ import annotations

import asyncio
import json
import logging
from asyncio import StreamReader, StreamWriter, Task
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from acp import spawn_stdio_transport, stdio_streams
from acp.meta import AGENT_METHODS, CLIENT_METHODS
from acp.schema import ElicitationSchema, PermissionOption, RequestPermissionRequest

from ringi.base.canonical_json import JsonObject, refuse_repeated_json_keys
from ringi.base.loops import cancel_all
from ringi.client.client import Client
from ringi.connect import open
from ringi.domain.ask import Outcome
from ringi.domain.record import AGENT
from ringi.errors import NotAuthorizedError, RingiError
from ringi.gateways.client_calls import (
    ClientGate,
    ClientSession,
    FormResult,
    ask_client_form,
    gated_program_environment,
)
from ringi.inbox.api import Inbox
from ringi.integrations.functions import AuthorizedFunctionCall
from ringi.policy.rules import Policy, Rule

log = logging.getLogger(__name__)
LIMIT = 64 * 1024 * 1024
"""The longest message in bytes."""
MAX_NAME = 60
PERMISSION, UPDATE = CLIENT_METHODS["session_request_permission"], CLIENT_METHODS["session_update"]
ELICITATION = CLIENT_METHODS["elicitation_create"]
INITIALIZE, CANCEL = AGENT_METHODS["initialize"], AGENT_METHODS["session_cancel"]
OUTCOMES: dict[str, Outcome] = {"completed": "committed", "failed": "failed"}
CANCELLED = {"outcome": {"outcome": "cancelled"}}
STOPPED = "the editor has stopped this turn"
ASK = Policy(rules=(Rule(tools=("execute",)),), otherwise="ask")
"""The policy without a file: people are asked about every call for which the agent wants permission."""
DESCRIBING = ("title", "kind", "content", "rawInput")
"""The fields of a tool call that say what it does."""


async def serve_acp_proxy(command: Sequence[str], policy: Callable[[], Policy], url: str | None) -> int:
    """Serve an editor on standard input and output with an agent, and return the exit code of the agent.

    Args:
        command: The command of the agent.
        policy: Returns the current policy.
        url: The server or the store to ask in; None for the default.
    """
    async with open(url) as inbox:
        reader, writer = await stdio_streams(LIMIT)
        spawned = spawn_stdio_transport(*command, env=gated_program_environment(), stderr=None, limit=LIMIT)
        async with spawned as (from_agent, to_agent, process):
            proxy = AcpProxy(inbox, policy, Path(command[0]).stem, to_agent, writer)
            try:
                await proxy.run(reader, from_agent)
            finally:
                await proxy.close()
        return process.returncode or 0


def acp_message_params(message: JsonObject) -> JsonObject:
    """Return the parameters of a message; empty ones if they are no object."""
    params = message.get("params")
    return params if isinstance(params, dict) else {}


def acp_message_line(message: JsonObject) -> bytes:
    """Return a message as it is sent."""
    return json.dumps(message).encode() + b"\n"


class AcpProxy:
    """The messages between an editor and its agent.

    Args:
        inbox: The inbox to ask in.
        policy: Returns the current policy; the name of a tool call is its kind, such as `execute`.
        agent: The name of the agent, if it does not name itself.
        to_agent: Writes to the agent.
        to_editor: Writes to the editor.
    """

    def __init__(
        self, inbox: Inbox, policy: Callable[[], Policy], agent: str, to_agent: StreamWriter, to_editor: StreamWriter
    ) -> None:
        self._inbox, self._policy, self._agent = inbox, policy, agent
        self._to_agent, self._to_editor = to_agent, to_editor
        self._calls: dict[tuple[str, str], JsonObject] = {}
        """All that is known of each tool call; an update may leave out what an earlier one said."""
        self._gates: dict[str, ClientGate] = {}
        self._folders: dict[str, str] = {}
        self._new: dict[str, str] = {}
        """The folders of sessions that the agent has not named yet, by the id of the editor's request."""
        self._held: dict[Task[None], str] = {}
        self._running: dict[tuple[str, str], AuthorizedFunctionCall] = {}
        self._reports = set[Task[None]]()

    async def run(self, from_editor: StreamReader, from_agent: StreamReader) -> None:
        """Pass messages until the editor or the agent ends."""
        pumps = [
            asyncio.create_task(self._pump(from_editor, self._to_agent, self._taken_from_editor)),
            asyncio.create_task(self._pump(from_agent, self._to_editor, self._taken_from_agent)),
        ]
        done, pending = await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for pump in pending:
            pump.cancel()
        for pump in done:
            pump.result()

    async def close(self) -> None:
        """Cancel the requests that wait: the agent that would go on after them has ended."""
        for session in set(self._held.values()):
            await self._stop(session)
        await asyncio.gather(*self._reports)

    async def _pump(self, reader: StreamReader, writer: StreamWriter, takes: Callable[[JsonObject], Any]) -> None:
        while line := await reader.readline():
            try:
                message = json.loads(line, object_pairs_hook=refuse_repeated_json_keys)
            except (ValueError, RecursionError) as error:
                # The other side might still read it, and find a request for permission in it.
                log.warning("a line that is not a message is dropped: %s", error)
                continue
            if not isinstance(message, dict) or await takes(message):
                continue
            writer.write(line)
            with suppress(ConnectionError):
                await writer.drain()

    async def _taken_from_editor(self, message: JsonObject) -> bool:
        """Note what the editor says of sessions, and return True for a message that is sent on changed."""
        method, params = message.get("method"), acp_message_params(message)
        session, folder = params.get("sessionId"), params.get("cwd")
        if method == INITIALIZE:
            # Forms are answered in the inbox, also if the editor has none.
            capabilities = params.setdefault("clientCapabilities", {})
            capabilities["elicitation"] = {"form": {}, **(capabilities.get("elicitation") or {})}
            self._to_agent.write(acp_message_line(message))
            return True
        if method == CANCEL and isinstance(session, str):
            await self._stop(session)
        elif isinstance(folder, str) and isinstance(session, str):
            self._folders[session] = folder
        elif isinstance(folder, str) and "id" in message:
            self._new[json.dumps(message["id"])] = folder
        return False

    async def _taken_from_agent(self, message: JsonObject) -> bool:
        """Note what the agent says, and return True for a message that is answered here."""
        method, params = message.get("method"), acp_message_params(message)
        session = str(params.get("sessionId") or "")
        if method == UPDATE:
            await self._note(session, params.get("update"))
        elif method is None and isinstance(result := message.get("result"), dict):
            key = json.dumps(message.get("id"))
            if key in self._new:
                self._folders[str(result.get("sessionId"))] = self._new.pop(key)
            elif isinstance(info := result.get("agentInfo"), dict) and not self._gates:
                self._agent = str(info.get("name") or self._agent)[:MAX_NAME]
        elif "id" in message and method == PERMISSION:
            self._hold(session, message["id"], self._permission(params), CANCELLED)
            return True
        elif "id" in message and method == ELICITATION and params.get("mode") == "form":
            self._hold(session, message["id"], self._form(session, params), FormResult("cancel").json)
            return True
        return False

    def _hold(self, session: str, id: object, answer: Coroutine[Any, Any, JsonObject], refused: JsonObject) -> None:
        task = asyncio.create_task(self._answer(id, answer, refused))
        self._held[task] = session
        task.add_done_callback(self._held.pop)

    async def _note(self, session: str, update: object) -> None:
        if not isinstance(update, dict) or update.get("sessionUpdate") not in ("tool_call", "tool_call_update"):
            return
        self._updated(session, update)
        if outcome := OUTCOMES.get(str(update.get("status"))):
            call = str(update.get("toolCallId"))
            self._calls.pop((session, call), None)
            if granted := self._running.pop((session, call), None):
                self._in_background(granted.report(outcome))

    async def _answer(self, id: object, answer: Coroutine[Any, Any, JsonObject], refused: JsonObject) -> None:
        result = refused
        try:
            result = await answer
        except Exception as error:
            # Whatever fails, nothing is allowed.
            log.warning("a request of %s is refused: %s", self._agent, error)
        finally:
            answer.close()  # One that is cancelled before it begins.
            self._to_agent.write(acp_message_line({"jsonrpc": "2.0", "id": id, "result": result}))

    async def _permission(self, params: object) -> JsonObject:
        request = RequestPermissionRequest.model_validate(params)
        option = acp_permission_option(request, "allow_once" if await self._is_allowed(request) else "reject_once")
        return {"outcome": {"outcome": "selected", "optionId": option.option_id}} if option else CANCELLED

    async def _form(self, session: str, params: JsonObject) -> JsonObject:
        # The SDK of agents sends null for what a schema leaves out.
        asked = ElicitationSchema.model_validate(params.get("requestedSchema"))
        message, schema = str(params.get("message")), asked.model_dump(mode="json", by_alias=True, exclude_none=True)
        about, place = self._gate(session).session, (uuid4().hex,)
        return (await ask_client_form(self._inbox, about, message, schema, source=self._agent, place=place)).json

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)

    async def _is_allowed(self, request: RequestPermissionRequest) -> bool:
        if acp_permission_option(request, "allow_once") is None:
            log.warning("a tool call of %s is refused: it cannot be allowed once", self._agent)
            return False
        session, update = request.session_id, request.tool_call.model_dump(mode="json", by_alias=True)
        name, args = acp_tool_call_action(self._updated(session, update))
        try:
            granted = await self._gate(session).authorize(name, args)
        except NotAuthorizedError as error:
            log.info("%s", error)
            return False
        self._running[session, request.tool_call.tool_call_id] = granted
        return True

    def _gate(self, session: str) -> ClientGate:
        if session not in self._gates:
            about = ClientSession(self._agent, session, self._folders.get(session))
            self._gates[session] = ClientGate(self._policy, self._inbox, about, can_edit=False)
        return self._gates[session]

    async def _stop(self, session: str) -> None:
        """Answer the agent's requests of a session as cancelled, and cancel them in the inbox."""
        tasks = [task for task, of in self._held.items() if of == session]
        await cancel_all(*tasks)
        if tasks and session in self._gates:
            self._in_background(self._cancel_requests(session))

    async def _cancel_requests(self, session: str) -> None:
        try:
            by = None if isinstance(self._inbox, Client) else f"{AGENT}{self._agent}"
            for request in await self._inbox.find(thread_id=self._gates[session].session.thread_id, status="pending"):
                await self._inbox.cancel(request, STOPPED, by=by)
        except RingiError as error:
            log.warning("the requests of a stopped turn stay open: %s", error)

    def _updated(self, session: str, update: JsonObject) -> JsonObject:
        """Return all that is known of a tool call after an update."""
        call = self._calls.setdefault((session, str(update.get("toolCallId"))), {})
        call.update({name: update[name] for name in DESCRIBING if update.get(name) is not None})
        return call


def acp_tool_call_action(call: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the name and the arguments under which people and policies see a tool call.

    The name is the kind of the call, such as `execute` or `edit`: its title is free text. The arguments are the agent's
    own, if it sends them; otherwise its title and the changes of files.

    Args:
        call: All that is known of the tool call.
    """
    name, own = str(call.get("kind") or "other"), call.get("rawInput")
    if isinstance(own, dict) and own:
        return name, own
    args = {"title": str(call.get("title") or "")}
    changes = [each for each in call.get("content") or () if isinstance(each, dict) and each.get("type") == "diff"]
    if len(changes) == 1 and (path := changes[0].get("path")):
        edits = [{"oldText": changes[0].get("oldText") or "", "newText": changes[0].get("newText") or ""}]
        return name, {**args, "path": path, "edits": edits}
    return name, {**args, **({"changes": changes} if changes else {}), **({} if own is None else {"input": own})}


def acp_permission_option(request: RequestPermissionRequest, kind: str) -> PermissionOption | None:
    """Return the first option of this kind that the agent offers, such as `allow_once`; None without one."""
    return next((option for option in request.options if option.kind == kind), None)
