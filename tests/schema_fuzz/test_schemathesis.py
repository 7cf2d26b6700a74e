"""Every call of `openapi.json` under made-up input, by every role: no crash, and replies as they are described."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import ignored_auth, negative_data_rejection, positive_data_acceptance
from scripts.reference import description
from tests.acceptance.demo_server import DemoServer

ROLES = ("agent", "person", "admin")
STREAMS = "streams do not end; they have tests of their own"
UNFIT: dict[str, str] = {
    "GET /v1/events": STREAMS,
    "GET /v1/requests/{id}/events": STREAMS,
    "GET /v1/threads/{id}/stream": STREAMS,
    "GET /v1/chat/{id}/stream": STREAMS,
    "POST /v1/chat": STREAMS,
    "POST /agui/{agent}": STREAMS,
    "POST /agui/{agent}/connect": STREAMS,
    "DELETE /v1/session": "`everywhere` revokes the tokens of this very test",
}
"""Calls that are not made, and why."""
CURSOR = "a cursor is opaque: only what `next` said is one"
LATER = "the end must be in the future"
LOOSE: dict[str, str] = {
    "GET /v1/requests": f"{CURSOR}; the order urgent is for pending requests",
    "GET /v1/requests/totals": "totals are of pending requests",
    "GET /v1/threads": CURSOR,
    "GET /v1/memories": CURSOR,
    "GET /v1/operations": CURSOR,
    "GET /v1/audit": CURSOR,
    "GET /v1/access-log": CURSOR,
    "GET /v1/deliveries": CURSOR,
    "GET /v1/playbooks/{id}": "only versions that exist",
    "GET /v1/playbooks/{id}/diff": "only versions that exist",
    "GET /v1/playbooks/{id}/history": CURSOR,
    "GET /v1/statistics": "at most 366 days",
    "GET /v1/report": "at most 366 days",
    "POST /v1/pauses": LATER,
    "PUT /v1/away": LATER,
    "POST /v1/checks": "each check gives one of set, times and args",
    "POST /v1/playbooks/{id}/changes": "each `op` needs fields of its own",
    "POST /engrammerFlow_start": "a conversation keeps its agent",
    "POST /engrammerFlow_getNote": "a source has no control characters",
    "POST /v1/engrammer/{id}/questions": "a conversation keeps its agent",
    "POST /v1/engrammer/{id}/feedback": "only turns that exist",
    "POST /v1/erasures": "a person or a time, one of them",
    "POST /v1/requests": "fields exclude each other, a webhook's address must be one, arguments fit their schema",
    "POST /v1/requests/{id}/reassign": "a person or groups",
    "POST /v1/threads/{id}/runs": "each agent has an input schema of its own, in `GET /v1/agents`",
    "POST /v1/session": "a token must be one of this server",
}
"""Calls that may refuse with 422 what is valid in each field, and why: JSON Schema does not say it here."""
LENIENT: dict[str, str] = {
    "POST /v1/requests": "an explicit null stands for an absent field",
    "GET /v1/requests/counts": "a filter that a form sends empty is none",
    "GET /v1/requests": "a filter that a form sends empty is none",
    "GET /v1/requests/totals": "a filter that a form sends empty is none",
    "GET /v1/threads": "a filter that a form sends empty is none",
    "GET /v1/statistics": "a time that a form sends empty is none",
    "GET /v1/report": "a time that a form sends empty is none",
    "POST /v1/requests/respond": "each answer of several is refused on its own, with its own status",
}
"""Calls that take what their description does not, and why."""
described = schemathesis.openapi.from_dict(asyncio.run(description()))
described.config.seed = 7
schema = described.exclude(lambda context: context.operation.label in UNFIT)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoServer]:
    """A demo with its agents."""
    with DemoServer(tmp_path_factory.mktemp("demo")) as server:
        yield server


@schema.parametrize()
@settings(max_examples=4, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
def test_every_call_keeps_to_its_description(case: schemathesis.Case[Any], server: DemoServer) -> None:
    label = case.operation.label
    checks = ((positive_data_acceptance, LOOSE), (negative_data_rejection, LENIENT))
    excused = [check for check, calls in checks if label in calls]
    for role in ROLES:  # Which calls need a token is the test of `tests/server/test_every_route.py`.
        headers = {"authorization": f"Bearer {server.tokens[role]}"}
        response = case.call(base_url=server.url, headers=headers, timeout=20)
        case.validate_response(response, excluded_checks=[ignored_auth, *excused], headers=headers)


def test_nothing_is_excused_that_does_not_exist() -> None:
    paths = described.raw_schema["paths"]
    labels = {f"{method.upper()} {path}" for path, of in paths.items() for method in of}
    assert {*UNFIT, *LOOSE, *LENIENT} - labels == set()
