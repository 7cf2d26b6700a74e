"""A workflow that asks with a form, in LangGraph's functional API."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models import BaseChatModel
from langgraph.config import get_store
from langgraph.func import entrypoint, task

from ringi import Agent, Form, Select, TextArea, ask
from ringi.domain import Button
from ringi.forms import Option

SPORTS = {"basketball": "Basketball", "football": "Football", "swimming": "Swimming", "running": "Running"}
OFTEN = {"daily": "Every day", "weekly": "Every week", "monthly": "Every month"}


def options(labels: dict[str, str]) -> list[Option]:
    """Return options with labels."""
    return [Option(value=value, label=label) for value, label in labels.items()]


FORM = Form(
    [
        Select("sport", label="Your favorite sport", required=True, options=options(SPORTS)),
        Select("frequency", label="How often", options=options(OFTEN)),
        TextArea("notes", label="Anything else", placeholder="Optional"),
    ]
)


def agent(model: BaseChatModel) -> Agent:
    """Return the workflow on this model."""

    # A task, so that a resumed run does not read again: it would find the new answer.
    @task
    async def recall() -> str | None:
        memories = await get_store().asearch(("memories",), filter={"category": "preference"}, limit=1)
        return SPORTS.get(str(memories[0].value["answer"].get("sport"))) if memories else None

    @task
    async def greet(sport: str | None) -> str:
        if sport:
            return (await model.ainvoke(f"Welcome the person back, who likes {sport.lower()}.")).text
        return (await model.ainvoke("Greet the person and say that you would like to know their preferences.")).text

    @task
    async def thank(sport: str) -> str:
        return (await model.ainvoke(f"Thank the person for telling you that they like {sport}.")).text

    @entrypoint()
    async def preferences(input: dict[str, Any]) -> dict[str, Any]:
        await greet(await recall())
        request = ask(
            "Which sport do you like?",
            description="This helps me to know you better.",
            form=FORM,
            actions={
                "approve": Button(label="Confirm", style="primary"),
                "edit": Button(label="Submit changes", style="default"),
                "reject": Button(label="Skip", style="secondary"),
            },
            context={"intent": "collect_preference", "memory_category": "preference"},
        )
        answer = request.response.data if request.response else None
        if answer:
            await thank(SPORTS[answer["sport"]].lower())
        return {"answer": answer}

    return Agent(
        "preferences",
        preferences,
        title="Preferences",
        description="Asks for your favorite sport.",
        input_schema={"type": "object", "properties": {}, "additionalProperties": False},
        output=dict,
        memories=True,
    )
