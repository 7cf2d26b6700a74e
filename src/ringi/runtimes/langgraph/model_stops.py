"""The end of a call of a model, as providers report it: a stop reason or an error."""

from __future__ import annotations

import re

from langchain_core.messages import AIMessage

STOP_REASON_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""Metadata names in which providers give the stop reason."""
# A reason that came with two parts of a streamed answer is joined to itself.
LENGTH = re.compile("(length)+|(max_tokens)+|(model_length)+|(max_output_tokens)+", re.IGNORECASE)
"""The stop reasons of an answer that was cut off at the provider's limit."""
REFUSAL_STATUSES = (400, 404, 422)
"""HTTP statuses with which providers refuse a forced call or a strict schema."""


def stop_reason(answer: AIMessage) -> str | None:
    """Return the stop reason of an answer in the words of its provider; None if it gives none.

    Args:
        answer: The answer of a model.
    """
    metadata = answer.response_metadata
    reasons = [metadata.get(name) for name in STOP_REASON_KEYS]
    incomplete = metadata.get("incomplete_details")  # OpenAI's Responses API.
    reasons += [incomplete.get("reason")] if isinstance(incomplete, dict) else []
    return next((str(reason) for reason in reasons if reason is not None), None)


def is_cut_off(answer: AIMessage) -> bool:
    """Return whether an answer ended at the provider's limit.

    Only the stop reason tells: LangChain completes half a tool call of a streamed answer, so that half a value looks
    whole. Without a reason, a tool call that is no JSON counts as cut off.

    Args:
        answer: The answer of a model.
    """
    reason = stop_reason(answer)
    return bool(answer.invalid_tool_calls) if reason is None else bool(LENGTH.fullmatch(reason))


def is_refusal(error: Exception) -> bool:
    """Return whether a provider refuses a request as it is, such as a forced call or a strict schema.

    Args:
        error: The error of the call of a model.
    """
    status = getattr(error, "status_code", None) or getattr(getattr(error, "response", None), "status_code", None)
    return status in REFUSAL_STATUSES
