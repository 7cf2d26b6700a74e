"""Computes which values of a memory can be used now: fresh, stale, missing, failed or not needed."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, TypeAlias

from ringi_apps.assistant.declarations import ActionDefinition, Info
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import ContextMemory, InfoEntry

FreshnessState: TypeAlias = Literal["fresh", "stale", "missing", "error", "not_needed"]


class Freshness:
    """The state of each info at one time. Each state is computed once."""

    def __init__(self, definitions: Definitions, memory: ContextMemory, now: datetime) -> None:
        self.definitions, self.memory, self.now = definitions, memory, now
        self._states: dict[str, FreshnessState] = dict.fromkeys(definitions.static_hashes, "fresh")
        self._observed: dict[str, datetime] = dict.fromkeys(definitions.static_hashes, now)

    def state(self, key: str) -> FreshnessState:
        """Return the state of an info. An info is stale if a source has changed, unless its value is the same again."""
        state = self._states.get(key)
        if state is None:
            state = self._states[key] = self._compute_state(self.definitions.infos_by_key[key])
        return state

    def hash(self, key: str) -> str | None:
        """Return the hash of an info's value, or None if there is none."""
        static = self.definitions.static_hashes.get(key)
        if static is not None:
            return static
        item = self.memory.items.get(key)
        return item.hash if item is not None and item.status == "collected" else None

    def inputs(self, action: ActionDefinition) -> dict[str, str]:
        """Return the known hashes of the infos that a plan is made from or applied with."""
        hashes = ((key, self.hash(key)) for key in self.definitions.inputs_of(action))
        return {key: hash for key, hash in hashes if hash is not None}

    def info_to_obtain(self, key: str) -> str:
        """Return the info to obtain first: a source that is not fresh, the oldest source, or the info itself."""
        made_of = self.definitions.changing_sources[key]
        for source in made_of:
            if self.state(source) != "fresh":
                return self.info_to_obtain(source)
        is_derived = bool(made_of) and self.definitions.infos_by_key[key].kind == "derived"
        return self.info_to_obtain(min(made_of, key=self.observed_at)) if is_derived else key

    def observed_at(self, key: str) -> datetime:
        """Return when an info was observed; for a derived info, when its oldest source was."""
        at = self._observed.get(key)
        if at is None:
            is_derived = self.definitions.infos_by_key[key].kind == "derived"
            sources = self.definitions.changing_sources[key] if is_derived else ()
            item = None if is_derived else self.memory.items[key]
            own = self.now if item is None or item.is_default else item.observed_at
            at = self._observed[key] = min(map(self.observed_at, sources), default=own)
        return at

    def _compute_state(self, info: Info) -> FreshnessState:
        item = self.memory.items.get(info.key)
        if item is None or item.status == "pending":
            return "missing"
        if item.status != "collected":
            return item.status
        if (item.fresh_until is None or self.now < item.fresh_until) and self._has_current_inputs(info, item):
            return "fresh"
        return "error" if item.error else "stale"

    def _has_current_inputs(self, info: Info, item: InfoEntry) -> bool:
        return all(
            self.state(source) == "fresh" and item.inputs.get(source) == self.hash(source) for source in info.sources
        )
