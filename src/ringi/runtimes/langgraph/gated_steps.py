"""The steps in which gated functions ask or have begun, and the places of calls: a repeated step has both again."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler
from langgraph.errors import GraphInterrupt, is_invalid_resume

from ringi.errors import RingiError

GATED_STEPS = "ringi_gated_steps"
"""The key of the GatedSteps in a run's configuration."""
CALL_PLACES = "ringi_call_places"
"""The key of the CallPlaces in a run's configuration."""
SCRATCHPAD = "__pregel_scratchpad"
"""LangGraph's own key of what one attempt of a task counts."""


class GatedSteps:
    """The steps of a graph between two pauses, so that no gated function runs twice with one consent.

    The tool calls of one `ToolNode` share a step, but each has its own copy of the configuration, and may have its own
    thread. The copies refer to one instance. Each stretch of a run needs a new one: a call that outlives its stretch
    must not begin.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun: set[str] = set()
        self._asking: set[str] = set()
        self._refused: dict[str, Exception] = {}
        """The steps in which a function was given the answer to another one's question."""

    @contextmanager
    def asking(self, place: str, name: str) -> Iterator[None]:
        """Let a function ask in the body of the `with` statement, which must not wait.

        Args:
            place: The checkpoint namespace of the step.
            name: The name of the function.

        Raises:
            RingiError: The answer would repeat a function that has begun in this step, or in one around it.
        """
        with self._lock:
            if any(is_within(place, each) for each in self._begun):
                raise RingiError(
                    f"{name} cannot ask in a step in which a gated function has already run, because that would run "
                    "again: call each in its own node or task; the tools of one ToolNode share its step"
                )
            if error := self._refused.get(place):
                # Its answer is taken: a question from here would wait at a place that LangGraph does not fill again.
                raise error
            try:
                yield
            except GraphInterrupt:
                self._asking.add(place)
                raise
            except Exception as error:
                if is_invalid_resume(error):
                    self._asking.add(place)
                    self._refused[place] = error
                raise

    def begin(self, place: str) -> None:
        """Record that a function begins.

        Args:
            place: The checkpoint namespace of the step.

        Raises:
            RingiError: Another function asks in this step, or inside it.
        """
        with self._lock:
            if any(is_within(each, place) for each in self._asking):
                raise RingiError(
                    "another gated function of this step asks, and the step runs again after the answer: call each in "
                    "its own node or task"
                )
            self._begun.add(place)


def is_within(place: str, step: str) -> bool:
    """Return whether a place is a step or inside it, such as `step:id|inner:id` inside `step:id`."""
    return place == step or place.startswith(f"{step}|")


class CallPlaces(BaseCallbackHandler):
    """The places of the calls of one stretch of a run.

    The namespace of a task has the ids that LangGraph draws; its step and its path are the same in a repetition.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks = dict[str, str]()
        self._calls = dict[tuple[str, str], tuple[object, list[object]]]()

    def on_chain_start(
        self, serialized: Any, inputs: Any, *, run_id: UUID, metadata: dict[str, Any] | None = None, **_: Any
    ) -> None:
        """Note the step and the path of a task."""
        if (namespace := (metadata or {}).get("langgraph_checkpoint_ns")) and metadata:
            self._tasks[namespace] = f"{metadata.get('langgraph_step')}:{metadata.get('langgraph_path')}"

    def place(self, configurable: Mapping[str, Any], call: str, id: str | None = None) -> str:
        """Return the place of a call: the steps and paths of its tasks, and its number among equal calls.

        Args:
            configurable: The configuration of the task.
            call: The digest of the call.
            id: The id that a model gave to the call, which has the same place each time; None if it has no id.
        """
        namespace = str(configurable.get("checkpoint_ns") or "")
        parts = namespace.split("|")
        places = (self._tasks.get("|".join(parts[: n + 1]), part) for n, part in enumerate(parts))
        # An attempt of a task counts its interrupts anew, and its calls.
        attempt = getattr(configurable.get(SCRATCHPAD), "interrupt_counter", None)
        with self._lock:
            known, ids = self._calls.get((namespace, call), (None, []))
            if known is not attempt:
                ids = []
            self._calls[namespace, call] = attempt, ids
            if id is None or id not in ids:
                ids.append(object() if id is None else id)
            number = len(ids) - 1 if id is None else ids.index(id)
        return f"{'/'.join(places)}:{number}"


def call_place_in_step(config: Any, call: str, id: str | None = None) -> str:
    """Return the place of a call in a step that Ringi runs; see `CallPlaces.place`."""
    configurable = config["configurable"]
    places: CallPlaces = configurable[CALL_PLACES]
    return places.place(configurable, call, id)
