"""Threads and requests in the formats of LangGraph's clients."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ringi.base.canonical_json import JsonObject, jsonable
from ringi.domain.display import display_block_summary
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus
from ringi.errors import InvalidError
from ringi.forms.fields import Field
from ringi.runs.announcements import AgentDescription
from ringi.runtimes.tool_calls import parse_call_arguments as args_of_call

ALL_REQUESTS = "ringi"
"""The assistant whose threads are requests: each request that the caller may answer is a thread."""
REQUEST_PREFIX = "request:"
"""The prefix of the ids of such threads."""
NAMES = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
STATUSES: dict[ThreadStatus, str] = {"running": "busy", "interrupted": "busy", "error": "error"}
"""A thread that waits for people other than the caller is busy."""
ANSWER = "answer"
"""The argument that holds the answer to a question in tools that can only edit arguments."""
TASK = "task"


def assistant_id(graph_id: str) -> str:
    """Return the UUID of an assistant: LangGraph's tools accept name or UUID."""
    return str(uuid.uuid5(NAMES, graph_id))


def assistant_json(graph_id: str, title: str, description: str, at: str) -> JsonObject:
    """Return one assistant."""
    return {
        **{"assistant_id": assistant_id(graph_id), "graph_id": graph_id, "name": title or graph_id},
        **{"description": description or None, "config": {}, "context": {}, "metadata": {"created_by": "system"}},
        **{"version": 1, "created_at": at, "updated_at": at},
    }


def list_assistants(agents: Mapping[str, AgentDescription], at: str) -> list[JsonObject]:
    """Return the assistants of a server: its agents, and the assistant of all requests."""
    description = "All requests that you may answer, each as its own thread"
    others = [agent for agent in agents.values() if agent.name != ALL_REQUESTS]
    others_json = [assistant_json(agent.name, agent.title, agent.description, at) for agent in others]
    return [assistant_json(ALL_REQUESTS, "Ringi", description, at), *others_json]


def langgraph_agent_thread(thread: Thread, waiting: Request | None) -> JsonObject:
    """Return a thread of an agent, with the caller's current request."""
    messages = [langchain_user_message(f"{thread.id}-title", thread.title)] if thread.title else []
    values = {**thread.values, "messages": messages} if messages else dict(thread.values)
    status = "interrupted" if waiting else STATUSES.get(thread.status, "idle")
    error = {"error": thread.error.message} if thread.error else {}
    times = {"created_at": thread.created_at, "updated_at": thread.updated_at}
    return {**langgraph_thread_json(thread.id, thread.agent, status, values, waiting, **times), **error}


def request_as_langgraph_thread(request: Request) -> JsonObject:
    """Return a request as a thread of its own."""
    times = {"created_at": request.created_at, "updated_at": request.ended_at or request.created_at}
    status = "idle" if request.is_final else "interrupted"
    waiting = None if request.is_final else request
    id, values = f"{REQUEST_PREFIX}{request.id}", langgraph_request_values(request)
    return langgraph_thread_json(id, ALL_REQUESTS, status, values, waiting, **times)


def langgraph_request_values(request: Request) -> JsonObject:
    """Return the values of a request besides the question."""
    about = {"request_id": request.id, "status": request.status, "thread_id": request.thread_id}
    values = {**about, "asked_by": request.asked_by, "expires_at": jsonable(request.expires_at)}
    response = request.response.model_dump(mode="json", exclude_none=True) if request.response else None
    return {name: value for name, value in {**values, "response": response}.items() if value is not None}


def langgraph_thread_json(
    id: str, graph_id: str, status: str, values: JsonObject, waiting: Request | None, **times: object
) -> JsonObject:
    """Return a thread in LangGraph's shape."""
    interrupts = {waiting.id: [langgraph_interrupt(waiting, agent_inbox_interrupt(waiting))]} if waiting else {}
    at = {name: jsonable(time) for name, time in times.items()}
    metadata = {"graph_id": graph_id, "assistant_id": assistant_id(graph_id)}
    head = {"thread_id": id, **at, "state_updated_at": at["updated_at"], "metadata": metadata, "config": {}}
    return {**head, "status": status, "values": values, "interrupts": interrupts}


def langgraph_thread_state(
    id: str, values: JsonObject, checkpoint: str, at: object, waiting: Request | None
) -> JsonObject:
    """Return the state of a thread; the waiting request is in LangChain's format."""
    asked = [langgraph_interrupt(waiting, langchain_review_request(waiting))] if waiting else []
    task = {"id": checkpoint, "name": "ask", "path": ["__pregel_pull", "ask"], "error": None, "interrupts": asked}
    head = {"thread_id": id, "checkpoint_ns": "", "checkpoint_id": checkpoint}
    return {
        **{"values": values, "next": ["ask"] if waiting else [], "checkpoint": head, "metadata": {}},
        **{"created_at": jsonable(at), "parent_checkpoint": None},
        "tasks": [{**task, "checkpoint": None, "state": None, "result": None}] if waiting else [],
    }


def langchain_message(message: JsonObject) -> JsonObject:
    """Return a message of AG-UI as one of LangChain."""
    if message["role"] == "user":
        return langchain_user_message(message["id"], message["content"])
    bare = {"id": message["id"], "content": message.get("content", ""), "additional_kwargs": {}}
    if message["role"] == "tool":
        return {**bare, "type": "tool", "tool_call_id": message["toolCallId"], "status": "success"}
    tool_calls = [langchain_tool_call(call["id"], **call["function"]) for call in message.get("toolCalls", ())]
    return {**bare, "type": "ai", "tool_calls": tool_calls, "invalid_tool_calls": [], "response_metadata": {}}


def langchain_tool_call(id: str, name: str, arguments: str) -> JsonObject:
    """Return a tool call."""
    return {"name": name, "args": args_of_call(arguments) or {}, "id": id, "type": "tool_call"}


def langchain_user_message(id: str, content: str | list[JsonObject]) -> JsonObject:
    """Return a user message."""
    blocks = content if isinstance(content, str) else [langchain_content_block(part) for part in content]
    return {"type": "human", "id": id, "content": blocks, "additional_kwargs": {}, "response_metadata": {}}


def langchain_content_block(part: JsonObject) -> JsonObject:
    """Return a part of AG-UI as LangChain's content block."""
    if part["type"] != "image":
        return part
    return {"type": "image", "url": part["source"]["value"], "mime_type": part["source"]["mimeType"]}


class InterruptContent(NamedTuple):
    """The content of a request for a person."""

    action: str
    args: JsonObject
    """In the form that the tools can display: Agent Inbox fails on null."""
    description: str
    config: dict[str, bool]
    """The available actions, under Agent Inbox's names."""


def request_as_interrupt_content(request: Request) -> InterruptContent:
    """Return a request as an action with arguments; the arguments of a form are its fields with their defaults."""
    allowed, is_gated = set(request.allowed), request.action is not None
    args = interrupt_arguments(request)
    has_fields = bool(args) and not is_gated
    is_finish = request.kind == "finish" and not is_gated
    submits = "approve" in allowed or "edit" in allowed
    config = {
        "allow_accept": "approve" in allowed and (is_gated or is_finish or form_accepts_defaults(request)),
        "allow_edit": bool(args) and (submits if has_fields and not is_finish else "edit" in allowed),
        "allow_ignore": "reject" in allowed,
        # The text for a refused call is the reason; for a form it must not be taken for the answer.
        "allow_respond": "respond" in allowed or (is_gated and "reject" in allowed),
    }
    args = {name: "" if value is None else value for name, value in args.items()}
    title, description = request.action.name if request.action else request.title, interrupt_description_parts(request)
    return InterruptContent(title, args, "\n\n".join(description), config)


def agent_inbox_interrupt(request: Request) -> JsonObject:
    """Return the request in Agent Inbox's format."""
    content = request_as_interrupt_content(request)
    action = {"action": content.action, "args": content.args}
    return {"action_request": action, "config": content.config, "description": content.description}


def langchain_review_request(request: Request) -> JsonObject:
    """Return the request in the format of LangChain's human-in-the-loop middleware, which agent-chat-ui displays."""
    content = request_as_interrupt_content(request)
    is_question = not content.args and "respond" in request.allowed
    args = {ANSWER: ""} if is_question else content.args
    names = {"approve": "allow_accept", "edit": "allow_edit", "reject": "allow_ignore"}
    decisions = [
        decision for decision, name in names.items() if content.config[name] or (decision == "edit" and is_question)
    ]
    action = {"name": content.action, "args": args, "description": content.description}
    config = {"action_name": content.action, "allowed_decisions": decisions}
    return {"action_requests": [action], "review_configs": [config]}


def langgraph_interrupt(request: Request, value: JsonObject) -> JsonObject:
    """Return an interrupt in LangGraph's list format."""
    return {"id": request.id, "value": value, "when": "during", "resumable": True, "ns": []}


def interrupt_arguments(request: Request) -> JsonObject:
    """Return the arguments of a call, the fields of a form with their defaults, or the task of a finish."""
    if request.action:
        return dict(request.action.args)
    if request.form:
        return {field.name: form_field_default(field) for field in request.form.fields}
    if request.data_schema is not None:
        properties = request.data_schema.get("properties") or {}
        known = {name: part for name, part in properties.items() if isinstance(part, dict)}
        return {name: part.get("default") for name, part in known.items()}
    return {TASK: str(request.context.get(TASK) or "")} if request.kind == "finish" else {}


def form_field_default(field: Field) -> Any:
    """Return the initial value of a form field."""
    default = getattr(field, "default", None)
    return list(default) if isinstance(default, tuple) else default


def form_accepts_defaults(request: Request) -> bool:
    """Return whether a form can be submitted unchanged; false without a form."""
    if request.form is None:
        return request.data_schema is None
    try:
        request.form.check(interrupt_arguments(request))
    except InvalidError:
        return False
    return True


def display_blocks_as_text(request: Request) -> Iterator[str]:
    """Yield the display blocks as text, and the URLs of images."""
    for each in request.display or ():
        content = each.model_dump(mode="json", exclude={"data"}, exclude_none=True)
        yield titled_json_block(display_block_summary(each), content)
    if any(each.type == "image" for each in request.display or ()):
        yield f"Images are displayed only on Ringi's own page: /r/{request.id}"


def interrupt_description_parts(request: Request) -> Iterator[str]:
    """Yield the parts of the description: all content under the digest that the tools cannot display otherwise."""
    if request.action:
        yield request.title  # For all other kinds the title is shown as the action.
    if request.description:
        yield request.description
    if request.form:
        yield "\n".join(f"- {form_field_description(field)}" for field in request.form.fields)
    if request.data_schema is not None:
        yield titled_json_block("The answer must match", request.data_schema)
    yield from display_blocks_as_text(request)
    values = {decision: button.value for decision, button in request.actions.items() if button.value is not None}
    if values:
        yield titled_json_block("What the agent receives", values)
    labels = {decision: button.label for decision, button in request.actions.items() if button.label}
    for name, value in (("Context", request.context), ("Labels", labels), ("If nobody answers", request.fallback)):
        if value:
            yield titled_json_block(name, value)
    if request.priority:
        yield f"Priority: {request.priority}"


def form_field_description(field: Field) -> str:
    """Return a field with everything that a person has to know about it."""
    parts = field.model_dump(mode="json", exclude_none=True)
    options = ", ".join(f"{each['value']} ({each['label']})" for each in parts.pop("options", ()))
    name, label, type, help = (parts.pop(each, "") for each in ("name", "label", "type", "help"))
    is_required = parts.pop("required", False)
    rules = [f"{rule}: {value}" for rule, value in parts.items()]
    columns = [f"`{name}` {label}", type, "required" if is_required else "", options, *rules, help]
    return "; ".join(str(part) for part in columns if part)


def titled_json_block(title: str, value: object) -> str:
    """Return JSON under a title."""
    return f"{title}:\n\n```json\n{json.dumps(value, ensure_ascii=False, indent=2, default=str)}\n```"
