"""Assistants that talk with people and execute only plans that a person approved; with a demo of an office."""

from ringi_apps.assistant.assistant import Assistant
from ringi_apps.assistant.declarations import (
    ANY,
    ActionDefinition,
    Choices,
    Info,
    InfoHandler,
    LocalizedText,
    Needs,
    WorkflowNeeds,
    in_language,
)
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.jobs import CallJob, PlanJob, StepJob
from ringi_apps.assistant.model_context import person_text
from ringi_apps.assistant.sentences import detect_language

__all__ = [
    "ANY",
    "ActionDefinition",
    "Assistant",
    "CallJob",
    "Choices",
    "Definitions",
    "Info",
    "InfoHandler",
    "LocalizedText",
    "Needs",
    "PlanJob",
    "StepJob",
    "WorkflowNeeds",
    "detect_language",
    "in_language",
    "person_text",
]
