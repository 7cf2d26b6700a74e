"""What the routes of Engrammers answer, by role and owner: rows for the matrix of all routes."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
Key = tuple[str, str]
HIDDEN = "hidden"


def owned(own: int, other: int | str, elsewhere: int | str = HIDDEN, random: int = 404) -> Json:
    return {"own": own, "other": other, "elsewhere": elsewhere, "random": random}


DECIDE = {"threadId": "{id}", "userInput": "approve_learning"}
ADD = {"op": "retire", "bullet": "b-00009"}
READ = owned(200, 200)
NOTHING_WAITS = owned(409, 409)
CONVERSATIONS: dict[Key, tuple[Any, ...]] = {
    ("GET", "/v1/engrammer/{id}"): (owned(200, HIDDEN), READ, READ),
    ("POST", "/v1/engrammer/{id}/questions"): (
        owned(202, 404, 202, 202), owned(202, 202, 202, 202), owned(202, 202, 202, 202), {"query": "Hm?"},
    ),
    ("POST", "/v1/engrammer/{id}/feedback"): (
        owned(403, 403, 403, 403), owned(202, 202), owned(202, 202), {"verdict": "wrong"},
    ),
    ("POST", "/engrammerFlow_start"): (
        owned(200, 404, 200, 200), owned(200, 200, 200, 200), owned(200, 200, 200, 200),
        {"query": "Hm?", "threadId": "{id}"},
    ),
    ("POST", "/getEngrammerState"): (owned(200, HIDDEN), READ, READ, {"threadId": "{id}"}),
    ("POST", "/engrammerFlow_continue"): (owned(403, 403, 403, 403), NOTHING_WAITS, NOTHING_WAITS, DECIDE),
}  # fmt: skip
"""Of conversations in which nothing waits; for each role, to each owner."""
PLAYBOOKS: dict[Key, tuple[Any, ...]] = {
    ("GET", "/v1/playbooks"): (200, 200, 200),
    ("GET", "/v1/playbooks/{id}"): (200, 200, 200),
    ("GET", "/v1/playbooks/{id}/history"): (403, 200, 200),
    ("GET", "/v1/playbooks/{id}/diff?from=1&to=1"): (200, 200, 200),
    ("GET", "/v1/playbooks/{id}/bullets/{bullet}"): (403, 404, 404),
    ("POST", "/v1/playbooks/{id}/changes"): (403, 404, 404, ADD),
    ("POST", "/v1/playbooks/{id}/tidy"): (403, 202, 202),
    ("POST", "/engrammerFlow_getNote"): (404, 404, 404, {"source": "playbook", "noteId": "b-00009"}),
}
"""Of a playbook without bullets, for each role."""
