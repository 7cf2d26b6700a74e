"""The calls of models in a run: how many, their tokens and seconds, and how each ended."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook

from ringi.base.canonical_json import clean_text
from ringi.domain.thread import ModelCalls
from ringi.inbox import tracing

WRAPPER_MODEL = "ringi_wrapper_model"
"""The tag of a chat model that only forwards to another one: the calls of the other one are counted."""
UNKNOWN = "unknown"
MAX_NAME = 200
MAX_TOKENS = 10**9
"""A provider that reports more tokens for one call reports nonsense, and numbers above 2**53 cannot be stored."""
STOP_REASON_KEYS = ("finish_reason", "stop_reason", "done_reason", "stopReason")
"""Metadata names in which providers give the stop reason."""
# A reason that came with two parts of a streamed answer is joined to itself.
LENGTH = re.compile("(length)+|(max_tokens)+|(model_length)+|(max_output_tokens)+", re.IGNORECASE)
"""The stop reasons of an answer that was cut off at the provider's limit."""
REFUSAL_STATUSES = (400, 404, 422)
"""HTTP statuses with which providers refuse a forced call or a strict schema."""


class UsageMeter(BaseCallbackHandler):
    """Counts the model calls within a block of one run.

    LangChain's `UsageMetadataCallbackHandler` counts no calls and no seconds, and omits calls without tokens.

    Args:
        count: Counts the use of a model by one call.
        thread_id: The id of the run's thread, for spans.
    """

    run_inline = True

    def __init__(self, count: Callable[[ModelCalls], None], thread_id: str) -> None:
        self._count, self._thread_id = count, thread_id
        self._lock = threading.Lock()
        self._started = dict[UUID, tuple[tracing.ModelCall, int]]()
        """The calls that have not ended, with the value of a timer at their start."""

    def on_chat_model_start(self, serialized: Any, messages: Any, *, run_id: UUID, **about: Any) -> None:
        """Record the start of a call of a chat model."""
        self.on_llm_start(serialized, messages, run_id=run_id, **about)

    def on_llm_start(self, serialized: Any, prompts: Any, *, run_id: UUID, **about: Any) -> None:
        """Record the start of a call of a model."""
        if WRAPPER_MODEL in (about.get("tags") or ()):
            return
        of = about.get("metadata") or {}
        requested, provider = (storable_model_name(of.get(name)) for name in ("ls_model_name", "ls_provider"))
        call = tracing.ModelCall(self._thread_id, time.time_ns(), requested=requested, provider=provider)
        with self._lock:
            self._started[run_id] = call, time.perf_counter_ns()

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **_: Any) -> None:
        """Count a call."""
        self._end(run_id, response)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, response: LLMResult | None = None, **_: Any) -> None:
        """Count a failed call, with the tokens of its partial answer."""
        self._end(run_id, response, error)

    def _end(self, run_id: UUID, response: LLMResult | None, error: BaseException | None = None) -> None:
        with self._lock:
            started = self._started.pop(run_id, None)
        if started is None:
            return
        seconds, message = round((time.perf_counter_ns() - started[1]) / 1e9, 3), model_response_message(response)
        call = replace(started[0], reported=reported_model_name(message))
        # A local server reports a path, and a provider a version that changes: prices are set for the requested name.
        usage = model_call_usage(message, call.requested or call.reported or call.provider or UNKNOWN, seconds)
        tracing.record_model_call(call, usage, error)
        self._count(usage)


METER: ContextVar[UsageMeter | None] = ContextVar("ringi_usage_meter", default=None)
"""Counts the calls in a block that sets it, and in the tasks and threads that the block starts."""
register_configure_hook(METER, inheritable=True)


def model_response_message(response: LLMResult | None) -> AIMessage | None:
    """Return the first message of a model's response, if there is one."""
    generation = next((each for group in response.generations for each in group), None) if response else None
    message = generation.message if isinstance(generation, ChatGeneration) else None
    return message if isinstance(message, AIMessage) else None


def reported_model_name(message: AIMessage | None) -> str | None:
    """Return the name of the model in its message, if there is one."""
    about = message.response_metadata if message else {}
    return storable_model_name(about.get("model_name")) or storable_model_name(about.get("model"))


def model_call_usage(message: AIMessage | None, model: str, seconds: float) -> ModelCalls:
    """Return the use of a model by one call."""
    reported: dict[str, Any] = dict(message.usage_metadata or {}) if message else {}
    read, written = (plausible_token_count(reported.get(name)) for name in ("input_tokens", "output_tokens"))
    if read is None or written is None:
        return ModelCalls(model=model, calls=1, unreported_calls=1, seconds=seconds)
    cached = plausible_token_count((reported.get("input_token_details") or {}).get("cache_read"))
    cached = None if cached is None else min(cached, read)
    tokens = {"input_tokens": read, "cached_tokens": cached, "output_tokens": written}
    return ModelCalls(model=model, calls=1, seconds=seconds, **tokens)


def plausible_token_count(value: object) -> int | None:
    """Return a plausible number of tokens, or None."""
    return value if isinstance(value, int) and 0 <= value <= MAX_TOKENS else None


def storable_model_name(value: object) -> str | None:
    """Return a name that can be stored and shown, or None."""
    return (clean_text(value).strip()[:MAX_NAME] or None) if isinstance(value, str) else None


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
