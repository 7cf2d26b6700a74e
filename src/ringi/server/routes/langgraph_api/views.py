"""Threads, states and assistants in the formats of LangGraph's API."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from ringi.base.canonical_json import jsonable
from ringi.domain.request import Request
from ringi.domain.thread import Thread, ThreadStatus
from ringi.runs.announcements import AgentDescription
from ringi.server.routes.langgraph_api.interrupts import human_interrupt, interrupt, review_request

Json = dict[str, Any]
ALL_REQUESTS = "ringi"
"""The assistant whose threads are requests: each request that the caller may answer is a thread."""
REQUEST_PREFIX = "request:"
"""The prefix of the ids of such threads."""
NAMES = uuid.UUID("6ba7b821-9dad-11d1-80b4-00c04fd430c8")
STATUSES: dict[ThreadStatus, str] = {"running": "busy", "interrupted": "busy", "error": "error"}
"""A thread that waits for people other than the caller is busy."""


def assistant_id(graph_id: str) -> str:
    """Return the UUID of an assistant: LangGraph's tools accept name or UUID."""
    return str(uuid.uuid5(NAMES, graph_id))


def assistant_json(graph_id: str, title: str, description: str, at: str) -> Json:
    """Return one assistant."""
    return {
        **{"assistant_id": assistant_id(graph_id), "graph_id": graph_id, "name": title or graph_id},
        **{"description": description or None, "config": {}, "context": {}, "metadata": {"created_by": "system"}},
        **{"version": 1, "created_at": at, "updated_at": at},
    }


def assistants(agents: Mapping[str, AgentDescription], at: str) -> list[Json]:
    """Return the assistants of a server: its agents, and the assistant of all requests."""
    description = "All requests that you may answer, each as its own thread"
    agents_json = [assistant_json(agent.name, agent.title, agent.description, at) for agent in agents.values()]
    return [
        assistant_json(ALL_REQUESTS, "Ringi", description, at),
        *(each for each in agents_json if each["graph_id"] != ALL_REQUESTS),
    ]


def thread_view(thread: Thread, waiting: Request | None) -> Json:
    """Return a thread of an agent, with the caller's current request."""
    messages = [human_message(f"{thread.id}-title", thread.title)] if thread.title else []
    values = {**thread.values, "messages": messages} if messages else dict(thread.values)
    status = "interrupted" if waiting else STATUSES.get(thread.status, "idle")
    error = {"error": thread.error.message} if thread.error else {}
    times = {"created_at": thread.created_at, "updated_at": thread.updated_at}
    return {**thread_json(thread.id, thread.agent, status, values, waiting, **times), **error}


def request_view(request: Request) -> Json:
    """Return a request as a thread of its own."""
    times = {"created_at": request.created_at, "updated_at": request.ended_at or request.created_at}
    status = "idle" if request.is_final else "interrupted"
    waiting = None if request.is_final else request
    return thread_json(f"{REQUEST_PREFIX}{request.id}", ALL_REQUESTS, status, request_values(request), waiting, **times)


def request_values(request: Request) -> Json:
    """Return the values of a request besides the question."""
    about = {"request_id": request.id, "status": request.status, "thread_id": request.thread_id}
    values = {**about, "asked_by": request.asked_by, "expires_at": jsonable(request.expires_at)}
    response = request.response.model_dump(mode="json", exclude_none=True) if request.response else None
    return {name: value for name, value in {**values, "response": response}.items() if value is not None}


def thread_json(id: str, graph_id: str, status: str, values: Json, waiting: Request | None, **times: object) -> Json:
    """Return a thread in LangGraph's shape."""
    interrupts = {waiting.id: [interrupt(waiting, human_interrupt(waiting))]} if waiting else {}
    at = {name: jsonable(time) for name, time in times.items()}
    metadata = {"graph_id": graph_id, "assistant_id": assistant_id(graph_id)}
    head = {"thread_id": id, **at, "state_updated_at": at["updated_at"], "metadata": metadata, "config": {}}
    return {**head, "status": status, "values": values, "interrupts": interrupts}


def state_view(id: str, values: Json, checkpoint: str, at: object, waiting: Request | None) -> Json:
    """Return the state of a thread; the waiting request is in LangChain's format."""
    asked = [interrupt(waiting, review_request(waiting))] if waiting else []
    task = {"id": checkpoint, "name": "ask", "path": ["__pregel_pull", "ask"], "error": None, "interrupts": asked}
    head = {"thread_id": id, "checkpoint_ns": "", "checkpoint_id": checkpoint}
    return {
        **{"values": values, "next": ["ask"] if waiting else [], "checkpoint": head, "metadata": {}},
        **{"created_at": jsonable(at), "parent_checkpoint": None},
        "tasks": [{**task, "checkpoint": None, "state": None, "result": None}] if waiting else [],
    }


def langchain_messages(messages: Sequence[Json]) -> list[Json]:
    """Return AG-UI's messages as LangChain's."""
    return [langchain_message(message) for message in messages]


def langchain_message(message: Json) -> Json:
    """Return one message."""
    if message["role"] == "user":
        return human_message(message["id"], message["content"])
    bare = {"id": message["id"], "content": message.get("content", ""), "additional_kwargs": {}}
    if message["role"] == "tool":
        return {**bare, "type": "tool", "tool_call_id": message["toolCallId"], "status": "success"}
    calls = [{**call["function"], "id": call["id"]} for call in message.get("toolCalls", ())]
    tool_calls = [
        {"name": each["name"], "args": arguments(each["arguments"]), "id": each["id"], "type": "tool_call"}
        for each in calls
    ]
    return {**bare, "type": "ai", "tool_calls": tool_calls, "invalid_tool_calls": [], "response_metadata": {}}


def human_message(id: str, content: str | list[Json]) -> Json:
    """Return a user message."""
    blocks = content if isinstance(content, str) else [content_block(part) for part in content]
    return {"type": "human", "id": id, "content": blocks, "additional_kwargs": {}, "response_metadata": {}}


def content_block(part: Json) -> Json:
    """Return a part of AG-UI as LangChain's content block."""
    if part["type"] != "image":
        return part
    return {"type": "image", "url": part["source"]["value"], "mime_type": part["source"]["mimeType"]}


def arguments(text: str) -> Json:
    """Return the arguments of a call; empty while they are incomplete."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
