"""What workers say of their agents, so that a server without agents can list and start them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import Field, TypeAdapter, ValidationError

from ringi.domain.record import Frozen
from ringi.domain.thread import is_empty
from ringi.forms import form as forms
from ringi.runs.agent import Agent

ANNOUNCED_SECONDS = 60.0
"""How long the agents of a killed worker stay on the list; a worker that ends takes them off.

It is renewed three times as often: on SQLite each time is a flush of the disk, and wakes the other processes.
"""
MISSING_SECONDS = 60.0
"""How long the runs of an agent that no worker announces any more wait for one: workers restart one after another."""


class Offer(Frozen):
    """An agent as its worker describes it."""

    name: str
    title: str = ""
    description: str = ""
    input_schema: dict[str, Any]
    is_internal: bool = False
    images: bool = Field(default=False, exclude_if=is_empty)
    """Only said where it is so: a server of a version before this would not read the announcement."""

    @classmethod
    def of(cls, agent: Agent) -> Offer:
        """Return the description of an agent."""
        return cls(**{name: getattr(agent, name) for name in cls.model_fields})

    def check_input(self, input: dict[str, Any]) -> None:
        """Raise `InvalidError` with a field of `input` unless the schema allows it."""
        forms.check_instance(self.input_schema, input, field="input")


OFFERS: TypeAdapter[list[Offer]] = TypeAdapter(list[Offer])


def written(agents: Mapping[str, Agent]) -> str:
    """Return the announcement of a worker."""
    return OFFERS.dump_json([Offer.of(agent) for agent in agents.values()]).decode()


def read(announcements: Iterable[str]) -> Mapping[str, Sequence[Offer]]:
    """Return the different descriptions of each agent by name, in the order of the announcements.

    What a newer version announces and this one cannot read is left out.
    """
    found: dict[str, list[Offer]] = {}
    for announcement in announcements:
        try:
            offers = OFFERS.validate_json(announcement)
        except ValidationError:
            continue
        for offer in offers:
            known = found.setdefault(offer.name, [])
            if offer not in known:
                known.append(offer)
    return found
