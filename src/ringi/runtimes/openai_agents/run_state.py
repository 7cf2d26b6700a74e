"""What is stored of a run of the SDK: a pause with its questions, or the history for the thread's next run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, NamedTuple

from agents import FunctionTool, ToolOriginType
from agents.items import ToolApprovalItem
from agents.run_state import CURRENT_SCHEMA_VERSION, SUPPORTED_SCHEMA_VERSIONS, RunState

from ringi.base.canonical_json import jsonable
from ringi.contracts.runtime import FrameworkState
from ringi.domain.display import Code
from ringi.errors import InvalidError
from ringi.runtimes.tool_calls import ToolCall, ids_made_unique, parse_call_arguments

FRAMEWORK = "openai-agents"
VERSION_KEY = "$schemaVersion"
NO_CONTEXT = {"original_type": None, "serialized_via": "none", "requires_deserializer": False, "omitted": False}
"""The SDK's own description of a run without a context."""


def state_version_number(schema_version: str) -> int:
    """Return the version of a state as a number: 121 for 1.21."""
    major, _, minor = schema_version.partition(".")
    return 100 * int(major) + int(minor or 0)


def readable_state_versions() -> range:
    """Return the numbers of the states that the installed SDK reads."""
    numbers = [state_version_number(each) for each in SUPPORTED_SCHEMA_VERSIONS]
    return range(min(numbers), max(numbers) + 1)


def openai_state_with_data(data: dict[str, Any]) -> FrameworkState:
    """Return the state with this data."""
    number = state_version_number(data.get("run_state", {}).get(VERSION_KEY, CURRENT_SCHEMA_VERSION))
    return FrameworkState(framework=FRAMEWORK, version=version(FRAMEWORK), schema_number=number, data=data)


def openai_state_as_json(state: RunState[Any, Any]) -> dict[str, Any]:
    """Return the state of the SDK as JSON, without the context: it is made again for each stretch."""
    dumped: dict[str, Any] = jsonable(state.to_json(context_serializer=lambda context: {}))
    remove_state_contexts(dumped)
    return dumped


def remove_state_contexts(data: Any) -> None:
    """Remove the contexts from a state and from the states of agents that are tools."""
    if isinstance(data, dict) and VERSION_KEY in data and isinstance(data.get("context"), dict):
        data["context"] |= {"context": None, "context_meta": NO_CONTEXT}
    parts = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    for part in parts:
        remove_state_contexts(part)


def openai_waiting_calls(
    items: Sequence[ToolApprovalItem], run_state: Mapping[str, Any], run_id: str, agent: str
) -> list[tuple[ToolCall, ToolApprovalItem]]:
    """Return the calls that wait for approval.

    Args:
        items: The items of a pause.
        run_state: The state of that pause as JSON.
        run_id: The id of the run: in another run of the thread, the same call is another question.
        agent: The name of the run's agent.
    """
    paths = openai_call_paths(run_state, OpenAICallPath(f"{run_id}/", ""))
    calls = [openai_call_of_item(item, paths, agent) for item in items]
    ids, places = ids_made_unique([call.id for call in calls]), ids_made_unique([call.place for call in calls])
    return [
        (call._replace(id=id, place=place), item)
        for id, place, call, item in zip(ids, places, calls, items, strict=True)
    ]


class OpenAICallPath(NamedTuple):
    """The place of a call in a run: turns, agents, and calls of agents that are tools."""

    id: str
    """The path by the ids of the calls."""
    place: str
    """The path by the positions of the calls in the answers of their models, which a repeated model gives again."""


def openai_call_paths(run_state: Mapping[str, Any], before: OpenAICallPath) -> dict[tuple[str, str], OpenAICallPath]:
    """Return the place of each waiting call in the run.

    Some models use the id of a call again in a later turn; the turn makes it another question.
    """
    turn, paths = run_state.get("current_turn"), dict[tuple[str, str], OpenAICallPath]()
    step, response = run_state.get("current_step") or {}, run_state.get("last_processed_response") or {}
    answer = [
        openai_waiting_call_key(item) for item in (run_state.get("last_model_response") or {}).get("output") or ()
    ]

    def path(raw: Mapping[str, Any], agent: str = "") -> OpenAICallPath:
        id, key = openai_call_id(raw), openai_waiting_call_key(raw)
        position = answer.index(key) if key in answer else id
        if isinstance(position, int) and (others := sum(each[0] == id for each in answer[:position])):
            # One answer may give the same id to several calls.
            id = f"{id}#{others + 1}"
        return OpenAICallPath(f"{before.id}{turn}/{agent}{id}", f"{before.place}{turn}/{agent}{position}")

    for item in (step.get("data") or {}).get("interruptions", ()):
        paths[openai_waiting_call_key(item["raw_item"])] = path(item["raw_item"], f"{item['agent']['name']}/")
    for function in response.get("functions", ()):
        if nested := function.get("agent_run_state"):
            # The run of an agent that is a tool lists its calls too: its own list has their whole path.
            outer = path(function["tool_call"])
            paths |= openai_call_paths(nested, OpenAICallPath(f"{outer.id}/", f"{outer.place}/"))
    return paths


def openai_waiting_call_key(raw: Mapping[str, Any]) -> tuple[str, str]:
    """Return what tells a waiting call from the others: the SDK approves none of two that are equal."""
    return openai_call_id(raw), str(raw.get("arguments") or "")


def openai_call_id(raw: Mapping[str, Any]) -> str:
    """Return the id of a call, or of the call that an output belongs to."""
    return str(raw.get("call_id") or raw.get("id") or "")


def openai_call_of_item(
    item: ToolApprovalItem, paths: Mapping[tuple[str, str], OpenAICallPath], agent: str
) -> ToolCall:
    """Return the call of an item."""
    raw, owner = jsonable(item.raw_item), item.agent.name
    args = openai_call_arguments(item)
    name = (item.qualified_name or item.name or raw.get("type", "tool"))[:200]
    unreadable = {"arguments": item.arguments}
    own = "" if owner == agent else owner
    path = paths[openai_waiting_call_key(raw)]
    return ToolCall(path.id, openai_call_id(raw), name, unreadable if args is None else args, own, path.place)


def openai_call_arguments(item: ToolApprovalItem) -> dict[str, Any] | None:
    """Return the arguments of a call; None if they are no JSON object: such a call can only be rejected."""
    raw = jsonable(item.raw_item)
    if raw.get("type") == "custom_tool_call":
        return {"input": raw.get("input")}
    return openai_hosted_call_details(raw) if item.arguments is None else parse_call_arguments(item.arguments)


def openai_hosted_call_details(raw: dict[str, Any]) -> dict[str, Any]:
    """Return what a call without arguments is about: the commands of a shell, or the operation of a patch."""
    details = raw.get("action") or raw.get("operation")
    if isinstance(details, dict):
        return {name: each for name, each in details.items() if each is not None}
    return {name: raw[name] for name in ("operations", "input") if raw.get(name) is not None}


def mcp_server_of_call(item: ToolApprovalItem) -> str | None:
    """Return the name of the MCP server that has the tool of a call."""
    label = jsonable(item.raw_item).get("server_label")
    return label or (item.tool_origin.mcp_server_name if item.tool_origin else None)


def shell_or_patch_text(item: ToolApprovalItem) -> Code | None:
    """Return the commands of a shell or the text of a patch, for people to read; None if no block can show it."""
    type, args = jsonable(item.raw_item).get("type"), openai_call_arguments(item) or {}
    if type == "shell_call":
        text, language = "\n".join(args.get("commands", ())), "bash"
    elif type == "apply_patch_call":
        text, language = args.get("diff") or "", "diff"
    else:
        return None
    try:
        return Code(text=text, language=language) if text.strip() else None
    except InvalidError:
        return None


def called_function_tool(item: ToolApprovalItem) -> FunctionTool | None:
    """Return the function tool that a call names, if its agent holds it: its arguments can be changed.

    Other tools run elsewhere, such as those of the provider, or are made in each turn, such as those of MCP servers.
    """
    origin = item.tool_origin.type if item.tool_origin else None
    if jsonable(item.raw_item).get("type") != "function_call" or origin == ToolOriginType.MCP:
        return None
    tools = (tool for tool in item.agent.tools if isinstance(tool, FunctionTool))
    return next((tool for tool in tools if tool.qualified_name == item.qualified_name), None)


def conversation_of_ended_calls(items: list[Any]) -> list[Any]:
    """Return a conversation without the calls that have no result."""
    results = {item.get("call_id") for item in items if str(item.get("type")).endswith("_output")}
    results |= {item.get("approval_request_id") for item in items if item.get("type") == "mcp_approval_response"}

    def waits_for(item: dict[str, Any]) -> Any:
        return item.get("id") if item.get("type") == "mcp_approval_request" else item.get("call_id")

    return [item for item in items if waits_for(item) is None or waits_for(item) in results]
