"""Three assistants that share the database of a small company: for projects, for sales, and for quick questions."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ringi.demo.assistant import helper, projects, sales
from ringi.demo.assistant.office import Office
from ringi.runs import Agent

SPEAKERS = (projects.SPEAKER, sales.SPEAKER, helper.SPEAKER)


def agents(model: BaseChatModel, office: Office | None = None) -> list[Agent]:
    """Return the agents of the three assistants.

    Args:
        model: The model of the assistants.
        office: The database; by default `office.db` in the home folder.
    """
    office = office or Office()
    made = (projects.assistant(model, office), sales.assistant(model, office), helper.assistant(model, office))
    return [agent for assistant in made for agent in assistant.agents()]
