"""The places of the interrupts of a graph, stored with them.

LangGraph draws an id for each checkpoint and derives those of tasks and interrupts from it, so a run that a restored
store repeats has other ones. Its steps have the same numbers and paths.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from langgraph.checkpoint.serde.types import INTERRUPT, RESUME
from langgraph.types import Interrupt

PLACE = "ringi_place"
"""The key in the schema of a stored interrupt with its place."""


class Place(NamedTuple):
    """The place of an interrupt, as the graphs around it have written it so far."""

    depth: int
    """The depth of the outermost graph that has written it; 0 for the outermost graph of the run."""
    text: str
    """For each graph the number of the step, the path of the task, and the number of the answers that it has."""


class InterruptPlaces:
    """The places of the interrupts of one run."""

    def __init__(self) -> None:
        self._steps: dict[str, Any] = {}
        self._places: dict[str, Place] = {}

    def note_step(self, checkpoint_id: str, metadata: Mapping[str, Any]) -> None:
        """Note the step of a checkpoint that was read or is being written."""
        self._steps[checkpoint_id] = metadata.get("step", checkpoint_id)

    def end_step(self) -> None:
        """Forget the steps so far: a step of the outermost graph has ended, and all graphs within it."""
        self._steps.clear()
        self._places.clear()

    def placed(
        self, place: Mapping[str, Any], writes: Sequence[tuple[str, Any]], task_path: str
    ) -> Sequence[tuple[str, Any]]:
        """Return the writes of a task with the places of its interrupts.

        An inner graph writes an interrupt before the step around it does.

        Args:
            place: The configuration of the checkpoint of the task.
            writes: The writes of the task.
            task_path: The path of the task in its graph.
        """
        if not any(channel == INTERRUPT for channel, _ in writes):
            return writes
        id, space = str(place.get("checkpoint_id")), str(place.get("checkpoint_ns") or "").split("|")
        depth = sum(":" in each for each in space)
        # A number without a name tells several graphs apart that one task calls.
        graph = "" if ":" in space[-1] else space[-1]
        answers = sum(len(value) for channel, value in writes if channel == RESUME and isinstance(value, list))
        own = Place(depth, f"{graph}:{self._steps.get(id, id)}:{task_path}:{answers}")
        return [
            (channel, tuple(self._with_place(each, own) for each in value) if channel == INTERRUPT else value)
            for channel, value in writes
        ]

    def _with_place(self, interrupt: Interrupt[Any], own: Place) -> Interrupt[Any]:
        inner = self._places.get(interrupt.id, own)
        if inner.depth > own.depth:
            own = own._replace(text=f"{own.text}/{inner.text}")
        elif inner.depth == own.depth:
            own = max(inner, own, key=specificity)
        self._places[interrupt.id] = own
        schema = interrupt.response_schema if isinstance(interrupt.response_schema, dict) else {}
        return Interrupt(interrupt.value, interrupt.id, response_schema={**schema, PLACE: own.text})


def specificity(place: Place) -> int:
    """Return how specific a place is: a task and the one that called it write one interrupt in the same graph."""
    return len(place.text)


def places_of(pending_writes: Sequence[tuple[str, str, Any]]) -> dict[str, str]:
    """Return the most specific places of the interrupts in the writes of a checkpoint, by their ids."""
    places = dict[str, str]()
    for _, channel, interrupts in pending_writes:
        for interrupt in interrupts if channel == INTERRUPT else ():
            place = (interrupt.response_schema or {}).get(PLACE, "")
            places[interrupt.id] = max(place, places.get(interrupt.id, ""), key=len)
    return places


def without_place(schema: Any) -> dict[str, Any] | None:
    """Return the schema of a stored interrupt as the graph gave it; None for none."""
    return {name: each for name, each in schema.items() if name != PLACE} or None if isinstance(schema, dict) else None
