"""Announcements of agents by workers, so that a server without agents can list and start them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ringi.base.model import StrictModel
from ringi.forms import json_schema
from ringi.runs.agent import Agent

ANNOUNCED_SECONDS = 60.0
"""Seconds for which the agents of a killed worker stay listed; a worker that shuts down removes its own.

It is renewed three times as often. On SQLite each renewal flushes to disk and wakes the other processes.
"""
MISSING_SECONDS = 60.0
"""Seconds for which runs wait for an agent that no worker announces: workers restart one after another."""


class AgentDescription(StrictModel):
    """The description of an agent, as announced by its worker."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    is_internal: bool = False
    images: bool = False

    @classmethod
    def of(cls, agent: Agent) -> AgentDescription:
        """Return the description of an agent."""
        return cls(**{name: getattr(agent, name) for name in cls.model_fields})

    def check_input(self, input: dict[str, Any]) -> None:
        """Raise `InvalidError` with a field of `input` if the schema does not allow the input."""
        json_schema.check_instance(self.input_schema, input, field="input")


DESCRIPTIONS: TypeAdapter[list[AgentDescription]] = TypeAdapter(list[AgentDescription])


def serialize_announcement(agents: Mapping[str, Agent]) -> str:
    """Serialize the announcement of a worker."""
    return DESCRIPTIONS.dump_json([AgentDescription.of(agent) for agent in agents.values()]).decode()


def parse_announcements(announcements: Iterable[str]) -> Mapping[str, Sequence[AgentDescription]]:
    """Return the distinct descriptions of each agent by name, in the order of the announcements.

    Announcements of a newer version that this version cannot read are skipped.
    """
    by_name: dict[str, list[AgentDescription]] = {}
    for announcement in announcements:
        try:
            descriptions = DESCRIPTIONS.validate_json(announcement)
        except ValidationError:
            continue
        for description in descriptions:
            versions = by_name.setdefault(description.name, [])
            if description not in versions:
                versions.append(description)
    return by_name
