"""The places of gated calls in a run, which a run that a restored store repeats has again."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

CALL_PLACES = "ringi_call_places"
"""The key of the CallPlaces in a run's configuration."""
SCRATCHPAD = "__pregel_scratchpad"
"""LangGraph's own key of what one attempt of a task counts."""


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


def place_of(config: Any, call: str, id: str | None = None) -> str:
    """Return the place of a call in a step that Ringi runs; see `CallPlaces.place`."""
    configurable = config["configurable"]
    places: CallPlaces = configurable[CALL_PLACES]
    return places.place(configurable, call, id)
