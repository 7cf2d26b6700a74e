"""The reason why a model ended its answer, as providers give it."""

from __future__ import annotations

from langchain_core.messages import AIMessage

STOP_REASON_KEYS = ("finish_reason", "stop_reason", "done_reason")
"""Metadata names in which providers give the stop reason."""
LENGTH = frozenset(("length", "max_tokens", "model_length", "max_output_tokens"))
"""The stop reasons of an answer that was cut off at the provider's limit, in small letters."""


def stop_reason(answer: AIMessage) -> str | None:
    """Return the stop reason of an answer in the words of its provider; None if it gives none.

    Args:
        answer: The answer of a model.
    """
    metadata = answer.response_metadata
    return next((str(metadata[name]) for name in STOP_REASON_KEYS if metadata.get(name) is not None), None)


def is_cut_off(answer: AIMessage) -> bool:
    """Return whether an answer ended at the provider's limit, or within a tool call.

    Args:
        answer: The answer of a model.
    """
    return bool(answer.invalid_tool_calls) or (stop_reason(answer) or "").lower() in LENGTH
