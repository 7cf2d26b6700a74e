"""Deferred calls of Pydantic AI as questions to people, and the answers as results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from pydantic_ai import DeferredToolRequests, DeferredToolResults, ToolApproved, ToolDenied
from pydantic_ai.messages import ModelMessage, ModelResponse, ToolCallPart

from ringi.base.canonical_json import clean_text, jsonable
from ringi.domain.ask import ANSWER, Ask, parse_body
from ringi.domain.request import Request
from ringi.errors import NotAuthorizedError
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.context import DECISIONS, REFUSING_DECISIONS
from ringi.runs.run import clean_json
from ringi.runtimes.tool_calls import REJECTED, ToolCall, parse_call_arguments

EDITED = (
    "A person changed the arguments of a call of {tool} before it ran, on purpose. Do not repeat the original call."
)
"""What the model reads about an edited call; its result says what ran."""
METADATA = "metadata"
"""The key in the context of a request with the metadata that the tool gives with its call."""
CALL = "call"
"""The key in the context of a question with the call whose result a person gives."""


class RewrittenArguments(NamedTuple):
    """What the agent's own capabilities or toolsets make of a call's arguments."""

    before: dict[str, Any]
    """The arguments that the framework gets."""
    after: dict[str, Any]
    """The arguments that the tool would get: people and the policy decide about these."""


Rewrites: TypeAlias = Mapping[str, RewrittenArguments]
"""Rewrites by the ids of the calls."""


class ApprovedToolCall(NamedTuple):
    """An approved call of one stretch of a run."""

    args: dict[str, Any]
    """The authorized arguments."""
    input_args: dict[str, Any]
    """The arguments that the framework gets."""
    is_rewritten: bool
    """Whether the agent makes the authorized arguments of them."""


def deferred_call_questions(
    requests: DeferredToolRequests,
    turn: str,
    words: str | None,
    schemas: Mapping[str, dict[str, Any]],
    rewrites: Rewrites,
) -> dict[str, Ask]:
    """Return the questions about the deferred calls of a turn, by id.

    Args:
        requests: The calls.
        turn: The place of the turn in the thread. Some models use the id of a call again in a later turn.
        words: The text with which the model explains the calls.
        schemas: The schemas of the arguments by tool.
        rewrites: What the agent makes of the arguments of calls.
    """
    asks = {}
    for part in requests.approvals:
        call, args = deferred_call_for_tool(part, turn, rewrites), parse_call_arguments(part.args)
        allowed = DECISIONS if args is not None else REFUSING_DECISIONS
        metadata = deferred_call_context(requests, part)
        schema = schemas.get(part.tool_name)
        asks[call.id] = call.question(allowed, description=words, schema=schema, context=metadata)
    for part in requests.calls:
        asks[deferred_question_id(part, turn)] = external_call_question(requests, part, turn, words)
    return asks


def external_call_question(requests: DeferredToolRequests, part: ToolCallPart, turn: str, words: str | None) -> Ask:
    """Return the question for the result of a call that runs outside of the agent; any JSON answers it."""
    call = deferred_call_for_tool(part, turn)
    # Older versions of Pydantic AI know no kinds of calls.
    kind = getattr(requests, "kind", None)
    text = call.args.get("question") if kind and kind(part.tool_call_id) == "question" else None
    title = text if isinstance(text, str) and text.strip() else f"What is the result of {part.tool_name}?"
    context: dict[str, Any] = {TOOL_CALL_ID: call.call_id, CALL: {"name": call.name, "args": call.args}}
    context |= deferred_call_context(requests, part)
    body = {
        "title": clean_text(title)[:500],
        "description": clean_text(words)[:20_000] if words else None,
        "answer_schema": {},
        "allowed": ("respond", "reject"),
        "context": clean_json(jsonable(context)),
    }
    return parse_body(Ask, body)


def deferred_call_context(requests: DeferredToolRequests, part: ToolCallPart) -> dict[str, Any]:
    """Return the metadata of a call as context."""
    metadata = requests.metadata.get(part.tool_call_id)
    return {METADATA: metadata} if metadata else {}


def deferred_question_id(part: ToolCallPart, turn: str) -> str:
    """Return the id of the question about a call."""
    return f"{turn}/{part.tool_call_id}"


def newest_call_places(turn: int, messages: Sequence[ModelMessage]) -> dict[str, str]:
    """Return the places of the calls in the newest answer of the model by their ids: its number, and theirs.

    Args:
        turn: The number of the answer in its run.
        messages: The messages, which the agent may have shortened.
    """
    return {part.tool_call_id: f"{turn}/{n}" for n, part in newest_calls(messages)}


def newest_calls(messages: Sequence[ModelMessage]) -> Iterator[tuple[int, ToolCallPart]]:
    """Yield the calls in the newest answer of the model, with their positions in it."""
    newest = next((message for message in reversed(messages) if isinstance(message, ModelResponse)), None)
    yield from ((n, part) for n, part in enumerate(newest.parts if newest else ()) if isinstance(part, ToolCallPart))


def deferred_call_for_tool(part: ToolCallPart, turn: str, rewrites: Rewrites | None = None) -> ToolCall:
    """Return a call, with the arguments that its tool would get."""
    rewrite = (rewrites or {}).get(part.tool_call_id)
    args = rewrite.after if rewrite else parse_call_arguments(part.args)
    args = {"arguments": part.args} if args is None else args
    return ToolCall(deferred_question_id(part, turn), part.tool_call_id, part.tool_name, args)


def deferred_call_results(
    requests: DeferredToolRequests, turn: str, answers: Mapping[str, Sequence[Request]], rewrites: Rewrites
) -> tuple[DeferredToolResults, dict[str, ApprovedToolCall], list[str]]:
    """Return the results of all deferred calls, the approved ones by id, and what the model reads about edited ones.

    An approved call always runs with the arguments of its request, and never with those in the history.

    Raises:
        NotAuthorizedError: An approval is about another call.
    """
    results, approvals, notes = DeferredToolResults(), dict[str, ApprovedToolCall](), list[str]()
    for part, request in calls_with_ended_requests(requests.approvals, turn, answers):
        id = part.tool_call_id
        rewrite, decided = rewrites.get(id), deferred_call_for_tool(part, turn, rewrites).decision(request)
        if decided.decision in REFUSING_DECISIONS:
            results.approvals[id] = ToolDenied(decided.message or REJECTED)
        else:
            is_rewritten = rewrite is not None and rewrite.after == decided.args
            input_args = rewrite.before if rewrite and is_rewritten else decided.args
            approvals[id] = ApprovedToolCall(decided.args, input_args, is_rewritten)
            results.approvals[id] = ToolApproved(override_args=input_args)
        if decided.decision == "edit" or (rewrite and rewrite.before != parse_call_arguments(part.args)):
            # Instructions name no values: the model chose some, and would read its own words as ours.
            notes.append(EDITED.format(tool=part.tool_name))
    for part, request in calls_with_ended_requests(requests.calls, turn, answers):
        results.calls[part.tool_call_id] = answer_as_tool_result(request)
    # Older versions of Pydantic AI do not record who answered.
    answered_by: dict[str, Any] = getattr(results, "answered_by", {})
    for part, request in calls_with_ended_requests([*requests.approvals, *requests.calls], turn, answers):
        if request.response:
            answered_by[part.tool_call_id] = request.response.responder
    return results, approvals, notes


def calls_with_ended_requests(
    parts: Sequence[ToolCallPart], turn: str, answers: Mapping[str, Sequence[Request]]
) -> Iterator[tuple[ToolCallPart, Request]]:
    """Yield each call with its ended request; raise `NotAuthorizedError` for a call without one."""
    for part in parts:
        id = deferred_question_id(part, turn)
        if id not in answers:
            raise NotAuthorizedError(id, "the call has no answer")
        yield part, answers[id][0]


def answer_as_tool_result(request: Request) -> Any:
    """Return a person's answer as the result of a tool: JSON, text, or why there is none."""
    response = request.response
    if request.erased or not response:
        return f"Nobody answered: the request was {request.status}."
    if response.decision == "reject":
        return f"A person refused to answer{': ' + response.message if response.message else '.'}"
    return response.data[ANSWER] if response.data and ANSWER in response.data else response.message
