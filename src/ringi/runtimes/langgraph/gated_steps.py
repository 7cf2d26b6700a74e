"""The steps in which gated functions ask or have begun: a step runs again from its beginning after an answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.errors import GraphInterrupt, is_invalid_resume

from ringi.errors import RingiError

GATED_STEPS = "ringi_gated_steps"
"""The key of the GatedSteps in a run's configuration."""


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


def gated_steps(config: Any) -> GatedSteps:
    """Return the GatedSteps in the configuration of a step that Ringi runs."""
    steps: GatedSteps = config["configurable"][GATED_STEPS]
    return steps


def is_within(place: str, step: str) -> bool:
    """Return whether a place is a step or inside it, such as `step:id|inner:id` inside `step:id`."""
    return place == step or place.startswith(f"{step}|")
