"""The AG-UI events that Ringi makes itself, as JSON data: https://docs.ag-ui.com/concepts/events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ringi.domain.request import Request

AguiEvent = dict[str, Any]
SUCCESS, CANCELLED = {"type": "success"}, {"type": "cancelled"}
"""The outcomes of runs that ended by themselves, or were stopped."""
REASONS = {"approval": "tool_call", "form": "input_required", "choice": "input_required", "question": "input_required"}
"""The reason of an interrupt by the kind of its request."""
TOOL_CALL_ID = "tool_call_id"
"""The key in the context of a request that names the tool call it gates."""


def run_started_event(thread_id: str, run_id: str, messages: Sequence[AguiEvent] = ()) -> AguiEvent:
    """Return the beginning of a run, with the messages that began it."""
    ids = {"threadId": thread_id, "runId": run_id}
    event = {"type": "RUN_STARTED", **ids, "protocolVersion": "1.0"}
    if not messages:
        return event
    # AG-UI before 1.0 refuses an input without these; CopilotKit 1.75 still ships such a client.
    rest: AguiEvent = {"tools": [], "context": [], "forwardedProps": {}}
    return {**event, "input": {**ids, "state": {}, "messages": list(messages), **rest}}


def run_finished_event(thread_id: str, run_id: str, outcome: AguiEvent) -> AguiEvent:
    """Return the end of a run, or its pause."""
    return {"type": "RUN_FINISHED", "threadId": thread_id, "runId": run_id, "outcome": outcome}


def run_error_event(message: str, code: str) -> AguiEvent:
    """Return the end of a run that failed."""
    return {"type": "RUN_ERROR", "message": message, "code": code}


def state_snapshot_event(values: dict[str, Any]) -> AguiEvent:
    """Return the state of an agent."""
    return {"type": "STATE_SNAPSHOT", "snapshot": values}


def message_of_person(id: str, content: str, metadata: dict[str, Any] | None) -> AguiEvent:
    """Return a message of a person."""
    return {"id": id, "role": "user", **({"metadata": metadata} if metadata else {}), "content": content}


def request_as_agui_interrupt(request: Request) -> AguiEvent:
    """Return a request as an interrupt."""
    gated = request.context.get(TOOL_CALL_ID)
    schema = request.form.json_schema() if request.form else request.data_schema
    known = {
        "toolCallId": gated if isinstance(gated, str) else None,
        "responseSchema": schema,
        "expiresAt": request.expires_at.isoformat() if request.expires_at else None,
    }
    return {
        "id": request.id,
        "reason": REASONS.get(request.kind, "confirmation"),
        "message": request.title,
        **{name: value for name, value in known.items() if value is not None},
        "metadata": {"kind": request.kind, "digest": request.digest, "allowed": list(request.allowed)},
    }
