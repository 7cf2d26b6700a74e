"""An assistant whose workflows use a model; each answer stops in the middle until a file beside it lets it go on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk

from ringi import ask
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.assistant import ActionDefinition, Assistant, CallJob, Definitions, Info, PlanJob, StepJob, person_text

STOP = "lamps "
"""The word at which an answer stops."""
ANSWERS = {
    "plan": "First I count the lamps and then I order new ones.",
    "order": "I order two lamps from the shop in Kyoto.",
    "count": "There are seven lamps in the house.",
}


def until_there(file: Path) -> None:
    """Return once there is a file."""
    pace = threading.Event()
    while not file.exists():
        pace.wait(0.02)


class Writer(ScriptedModel):
    """Says the first half of an answer, and the other half once a file with the name of its subject is there."""

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for chunk in self._chunks(messages):
            yield chunk
            if chunk.text == STOP:
                await asyncio.to_thread(until_there, Path(f"go-{messages[-1].text}"))


WRITER = Writer(script=lambda messages: ANSWERS[messages[-1].text])


def front(messages: Sequence[BaseMessage]) -> AIMessage | str:
    """Take what is said of a plan, and repeat all else."""
    words = person_text(messages[-1])
    return tool_call("declare", ops=[{"op": "feedback", "text": words}]) if "please" in words else f"You said: {words}"


async def plan(job: PlanJob) -> dict[str, Any]:
    """Plan in the model's words; ask a person first where somebody wishes so."""
    if "please ask me" in job.new_feedback:
        ask("How many lamps?")
    text = (await WRITER.ainvoke("plan")).text
    return {"plan": {"text": text}, "steps": [{"id": "order", "title": "Order lamps"}]}


async def order(job: StepJob) -> None:
    """Tell what is being ordered."""
    await WRITER.ainvoke("order")


async def count(job: CallJob) -> str:
    """Answer in the model's words."""
    return (await WRITER.ainvoke("count")).text


definitions = Definitions(
    infos=(Info("shop", "Shop", value="Kyoto"),),
    actions=(
        ActionDefinition("plan", "plan", "Plan the orders", workflow="plan", requires=("shop",)),
        ActionDefinition("order", "apply", "Order", workflow="order", depends_on=("plan",)),
        ActionDefinition("count", "immediate", "Count", workflow="count"),
    ),
)
agents = Assistant(
    "stock", definitions, ScriptedModel(script=front), {"plan": plan, "order": order, "count": count}, title="Stock"
).agents()
