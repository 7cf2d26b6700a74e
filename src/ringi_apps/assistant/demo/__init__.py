"""Three assistants that share the database of a small company: for projects, for sales, and for quick questions."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from ringi import Agent
from ringi.demo.data import DELAY
from ringi.testing import ScriptedModel
from ringi_apps.assistant.demo import drafts, helper, projects, sales
from ringi_apps.assistant.demo.office import Office

SPEAKERS = (projects.SPEAKER, sales.SPEAKER, helper.SPEAKER)


def say(messages: Sequence[BaseMessage]) -> str | AIMessage:
    """Return the next message of the scripted model; it depends only on the messages."""
    if drafts.is_planning(messages):
        return drafts.draft(messages)
    return next(speaker for speaker in SPEAKERS if speaker.is_asked(messages)).reply(messages)


def agents(model: BaseChatModel | None = None, office: Office | None = None) -> list[Agent]:
    """Return the agents of the three assistants.

    Args:
        model: The model of the assistants; by default a scripted one.
        office: The database; by default `office.db` in the home folder.
    """
    model, office = model or ScriptedModel(script=say, delay=DELAY), office or Office()
    made = (projects.assistant(model, office), sales.assistant(model, office), helper.assistant(model, office))
    return [agent for assistant in made for agent in assistant.agents()]
