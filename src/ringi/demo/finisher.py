"""An agent that ends only after a person confirms that its task is finished."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage

from ringi import Agent
from ringi.demo.data import TASK
from ringi.integrations.langchain import FinishGate
from ringi.runs import State

PROMPT = "Do the task in one go, and answer with the result itself."


def agent(model: BaseChatModel) -> Agent:
    """Return the agent on this model."""
    return Agent(
        "finisher",
        create_agent(model, system_prompt=PROMPT, middleware=[FinishGate()]),
        title="Finisher",
        description="Does a task, and asks whether it is finished.",
        input_schema=TASK,
        input=lambda input: {"messages": [HumanMessage(input["task"])]},
        output=visible_state,
    )


def visible_state(state: State) -> dict[str, Any]:
    """Return the visible part of the state."""
    messages = [{"role": message.type, "content": message.text} for message in state.get("messages", [])]
    return {"messages": messages, "task": state.get("task", ""), "outcome": state.get("finish_outcome", "")}
