"""Approval on text-only channels, by a sentence that names one plan, one version and one content.

Off unless `Assistant(confirms_in_words=True)`. No model reads the sentence, and no other text approves a plan.
"""

from __future__ import annotations

import re
from typing import get_args

from ringi.base import fresh_sign_in
from ringi.domain import Answer, Tier, Viewer, is_name_of_person
from ringi.errors import NotFoundError
from ringi.runs import RunContext
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.plans import Plan

APPROVE_WORDS = {"en": "approve", "ja": "承認", "zh": "批准"}
CODE_LENGTH = 8
"""How many characters of a plan's hash a person repeats."""
APPROVAL_PATTERN = re.compile(
    rf"^\s*(?:{'|'.join(APPROVE_WORDS.values())})\s+([0-9a-f]{{{CODE_LENGTH}}})\s*$", re.IGNORECASE
)


def approval_code(plan: Plan) -> str:
    """Return the code of this content and version of a plan."""
    return plan.hash.rpartition(":")[2][:CODE_LENGTH]


def approval_phrases(plan: Plan) -> dict[str, str]:
    """Return the sentence that approves a plan, by language."""
    return {language: f"{word} {approval_code(plan)}" for language, word in APPROVE_WORDS.items()}


def find_approved_plan(memory: ContextMemory, text: str) -> Plan | None:
    """Return the plan that a text approves, or None."""
    match = APPROVAL_PATTERN.match(text)
    waiting = [plan for plan in memory.plans.values() if plan.status == "planned"]
    return next((plan for plan in waiting if match and approval_code(plan) == match[1].lower()), None)


async def approve(host: RunContext, plan: Plan) -> bool:
    """Approve a plan's request as the person who sent the message; False if that is not possible."""
    if not is_name_of_person(host.by) or plan.thread_id is None:
        return False
    try:
        thread = await host.runner.get(host.key.tenant, plan.thread_id)
    except NotFoundError:
        return False
    # Requests that others posted with this thread's id are not included.
    request = next(iter(await host.runner.pending(thread)), None)
    # A sentence shows neither the groups of its person nor when they signed in.
    if (
        request is None
        or not request.is_open_to(Viewer(name=str(host.by)))
        or request.tier in fresh_sign_in(get_args(Tier))
    ):
        return False
    answer = Answer(decision="approve", digest=request.digest)
    await host.inbox.answer(request.id, answer, by=str(host.by), channel="chat")
    return True
