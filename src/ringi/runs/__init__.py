"""Run agents on threads: start them, park them on questions and resume them."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports
from ringi.runs.agent import State, no_output

if TYPE_CHECKING:
    from ringi.base.canonical_json import clean_text
    from ringi.contracts.backend import resumes_run
    from ringi.runs.cleanup import is_asked_by, open_requests, requests_of_run
    from ringi.runs.context import RunContext, idempotency_key, run_context
    from ringi.runs.operations import abandon
    from ringi.runs.reconciler import record_pages
    from ringi.runs.run import clean_json, graph_state
    from ringi.runs.runner import Runner

__all__ = [
    "RunContext",
    "Runner",
    "State",
    "abandon",
    "clean_json",
    "clean_text",
    "graph_state",
    "idempotency_key",
    "is_asked_by",
    "no_output",
    "open_requests",
    "record_pages",
    "requests_of_run",
    "resumes_run",
    "run_context",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "cleanup": "is_asked_by open_requests requests_of_run resumes_run",
        "context": "RunContext idempotency_key run_context",
        "run": "clean_json graph_state",
        "model_form": "clean_text",
        "operations": "abandon",
        "reconciler": "record_pages",
        "runner": "Runner",
    },
)
