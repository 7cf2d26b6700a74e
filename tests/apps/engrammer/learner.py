"""A worker of an Engrammer, to be killed."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from langchain_core.messages import BaseMessage

from ringi.backends import claimed_jobs as jobs
from ringi.base import failpoints
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.runs import lease
from ringi.runs.agent import agents_by_name
from ringi.runs.worker import Worker
from ringi.testing.model import ModelOutput, ScriptedModel
from ringi_apps.engrammer import Engrammer
from ringi_apps.engrammer.roles import REFLECTOR_PROMPT_START, BulletTag, RawInsight, Reflection

KNOWN = "Let it rest."
TEACHES = "Learn: "
LESSONS = ("Clamp it for thirty minutes.", "Never sand across the grain.")


def say(messages: Sequence[BaseMessage]) -> ModelOutput:
    """Answer with what is known, and propose both lessons for every question, or what a question says to learn."""
    if REFLECTOR_PROMPT_START not in messages[0].text:
        return "As I learned [b-00001]." if "[b-00001]" in messages[0].text.partition("# Playbook")[2] else "I guess."
    question = messages[1].text.partition("## Question\n> ")[2].partition("\n")[0]
    texts = [question.removeprefix(TEACHES)] if question.startswith(TEACHES) else LESSONS
    quotes = ["learned", question]
    insights = [RawInsight(type="new_strategy", description=text, quotes=quotes) for text in texts]
    return Reflection(insights=insights, bullet_tags=[BulletTag(id="b-00001", tag="helpful")])


def engrammer() -> Engrammer:
    """Return what the worker serves."""
    return Engrammer(ScriptedModel(script=say))


def work(url: str, seconds: float, armed: str) -> None:
    """Work until killed: `armed` names a fail-point, `seconds` is the length of leases and claims."""
    lease.LEASE_SECONDS = jobs.CLAIM_SECONDS = seconds
    name, _, nth = armed.partition(":")
    failpoints.ARMED.update({name: f"kill9@{nth or 1}"})
    asyncio.run(main(url))


async def main(url: str) -> None:
    """Run threads for ever."""
    async with open_backend(url, poll_interval=0.1) as backend, open_inbox_on_backend(backend) as inbox:
        await Worker(backend, inbox, agents_by_name(engrammer().agents())).work(asyncio.Event())
