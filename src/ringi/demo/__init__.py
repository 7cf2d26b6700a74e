"""Example agents to copy: each asks people and continues with their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi import Agent
from ringi.demo import frameworks

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel


def agents(model: BaseChatModel | None = None) -> list[Agent]:
    """Return the demo agents, and those of the installed applications.

    Args:
        model: The model of the agents; by default scripted ones.
    """
    # The agents of other frameworks run without the extra that these need.
    from ringi.demo import chat, desk, finisher, preferences, refund, two_questions
    from ringi.demo.script import scripted_model
    from ringi.server import installed_extensions

    of_applications = [agent for each in installed_extensions() for agent in each.agents(model)]
    at_the_desk, model = desk.agent(model), model or scripted_model()
    talking = [chat.agent(model), finisher.agent(model)]
    asking = [refund.agent(model), preferences.agent(model), two_questions.agent(), at_the_desk]
    return [*asking, *frameworks.agents(), *talking, *of_applications]
