"""Cautions: why a pending insight needs a decision of its own, and is not approved together with others."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

from ringi import Request
from ringi_apps.engrammer.insights import PlaybookOperation, replaced_bullets
from ringi_apps.engrammer.playbook import Playbook
from ringi_apps.engrammer.similarity import may_contradict

JUDGES = ("ground_truth", "environment", "user")
"""The sources of feedback that are not the agent itself."""


class InsightCaution(NamedTuple):
    """What the approver of a pending insight must look at; falsy values if nothing."""

    contradicts: tuple[str, ...] = ()
    """Ids of the pending requests that it may contradict."""
    contradicts_playbook: bool = False
    """Whether it may contradict an active bullet that it does not change."""
    is_own_opinion: bool = False
    """Whether only the agent judged the answer that it comes from."""


def find_cautions(
    requests: Sequence[Request], approved: Sequence[Request], playbook: Playbook
) -> dict[str, InsightCaution]:
    """Return the caution of each pending learning request by its id.

    The approved requests are those that the playbook does not have yet.
    """
    operations = {each.id: PlaybookOperation.model_validate(each.action.args) for each in requests if each.action}
    coming = [PlaybookOperation.model_validate(each.granted.args) for each in approved if each.granted]
    conflicts: dict[str, list[str]] = {each.id: [] for each in requests}
    for (id, one), (other_id, other) in combinations(operations.items(), 2):
        if exclude_each_other(one, other):
            conflicts[id].append(other_id)
            conflicts[other_id].append(id)
    cautions = dict[str, InsightCaution]()
    for request in requests:
        context, operation = learning_context_of(request), operations.get(request.id)
        cautions[request.id] = InsightCaution(
            contradicts=tuple(conflicts[request.id]),
            contradicts_playbook=operation is not None
            and (
                any(exclude_each_other(operation, each) for each in coming)
                or contradicts_playbook(operation, context, playbook)
            ),
            # An unknown source counts as the least trusted one.
            is_own_opinion=(context.get("feedback") or {}).get("source") not in JUDGES,
        )
    return cautions


def exclude_each_other(one: PlaybookOperation, other: PlaybookOperation) -> bool:
    """Return whether one operation changes a bullet that the other relies on, or their texts may contradict."""
    if replaced_bullets(one) & other.base.keys() or replaced_bullets(other) & one.base.keys():
        return True
    return "retire" not in (one.op, other.op) and may_contradict(one.text, other.text)


def contradicts_playbook(operation: PlaybookOperation, context: dict[str, Any], playbook: Playbook) -> bool:
    """Return whether the text of an operation may contradict an active bullet that stays.

    The proposal names those of its version; later bullets are compared here.
    """
    if operation.op == "retire":
        return False
    if any(set(each["flags"]) - {"same"} for each in context.get("similar", ())):
        return True
    later = (each for each in playbook.active if each.changed > context.get("version", 0))
    others = (each for each in later if each.id not in replaced_bullets(operation))
    return any(may_contradict(operation.text, each.content.text) for each in others)


def learning_context_of(request: Request) -> dict[str, Any]:
    """Return the learning context of a request; empty after erasure."""
    return request.context.get("learning") or {}
