"""The assistant for quick questions: it answers at once and asks for no approval."""

from __future__ import annotations

from langchain_core.language_models import BaseChatModel

from ringi_apps.assistant import Assistant
from ringi_apps.assistant.demo.answers import Answers
from ringi_apps.assistant.demo.lookups import Lookups
from ringi_apps.assistant.demo.office import Office
from ringi_apps.assistant.demo.shared import Workflows, assistant_of
from ringi_apps.assistant.demo.speaker import ScriptedAssistant

PROMPT = "You answer quick questions of the people of a small company."
SPEAKER = ScriptedAssistant.of("helper", PROMPT)


def assistant(model: BaseChatModel, office: Office) -> Assistant:
    """Return the assistant for a model and a database."""
    answers = Answers(office)
    workflows: Workflows = {
        "faqWorkflow": answers.faq,
        "dataSearchWorkflow": answers.search,
        "calculationWorkflow": answers.calculate,
    }
    return assistant_of("helper", "helper", PROMPT, model, workflows, Lookups(office))
