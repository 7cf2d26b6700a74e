"""An assistant that talks, gathers what is missing, plans, takes criticism, and applies what a person approved."""

from ringi.assistant.assistant import Assistant
from ringi.assistant.definitions import Action, Choices, Definitions, Info, InfoHandler, Needs, WorkflowNeeds
from ringi.assistant.jobs import CallJob, PlanJob, StepJob

__all__ = [
    "Action",
    "Assistant",
    "CallJob",
    "Choices",
    "Definitions",
    "Info",
    "InfoHandler",
    "Needs",
    "PlanJob",
    "StepJob",
    "WorkflowNeeds",
]
