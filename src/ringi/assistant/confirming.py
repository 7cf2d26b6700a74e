"""Approval on a channel that has words only: by a sentence that names one plan, one version, one content.

Off unless an assistant turns it on: `Assistant(confirms_in_words=True)`. No model reads it, and no other words count.
"""

from __future__ import annotations

import re

from ringi.assistant.memory import ContextMemory
from ringi.assistant.plans import Plan
from ringi.domain import Answer, is_person
from ringi.errors import NotFoundError
from ringi.runs import RunContext

WORDS = {"en": "approve", "ja": "承認", "zh": "批准"}
CODE = 8
"""How many characters of a plan's hash a person repeats."""
CONFIRMED = re.compile(rf"^\s*(?:{'|'.join(WORDS.values())})\s+([0-9a-f]{{{CODE}}})\s*$", re.IGNORECASE)


def code_of(plan: Plan) -> str:
    """Return what stands for exactly this content of this version."""
    return plan.hash.rpartition(":")[2][:CODE]


def phrases(plan: Plan) -> dict[str, str]:
    """Return what a person writes to approve a plan, by language."""
    return {language: f"{word} {code_of(plan)}" for language, word in WORDS.items()}


def confirmed(memory: ContextMemory, text: str) -> Plan | None:
    """Return the plan that words approve; of any other words, none."""
    found = CONFIRMED.match(text)
    waiting = [plan for plan in memory.plans.values() if plan.status == "planned"]
    return next((plan for plan in waiting if found and code_of(plan) == found[1].lower()), None)


async def approve(host: RunContext, plan: Plan) -> bool:
    """Approve a plan's request as the person who speaks; False where nobody can, or nothing is asked."""
    if not is_person(host.by) or plan.thread_id is None:
        return False
    try:
        thread = await host.runner.get(host.key.tenant, plan.thread_id)
    except NotFoundError:
        return False
    # What somebody merely posted with this thread's id is not among them.
    found = await host.runner.pending(thread)
    for request in found[:1]:
        answer = Answer(decision="approve", digest=request.digest)
        await host.inbox.answer(request.id, answer, by=str(host.by), channel="chat")
    return bool(found)
