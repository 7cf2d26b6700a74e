"""The sums of a run's calls of models."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from ringi.domain.usage import ModelCalls

MAX_MODELS = 20
"""The number of models that are listed; the calls of others are added up."""
OTHERS = "other models"


class UsageSums:
    """The use of models by one run; threads may count at the same time.

    Args:
        earlier: The use of models by the run before this worker.
    """

    def __init__(self, earlier: Sequence[ModelCalls] | None) -> None:
        self._sums = {usage.model: usage for usage in earlier or ()}
        self._lock = threading.Lock()

    def count(self, usage: ModelCalls) -> None:
        """Add calls of a model."""
        with self._lock:
            if usage.model not in self._sums and len(self._sums) >= MAX_MODELS:
                usage = usage.model_copy(update={"model": OTHERS})
            known = self._sums.get(usage.model)
            self._sums[usage.model] = known.plus(usage) if known else usage

    def total(self) -> tuple[ModelCalls, ...]:
        """Return the use of models by the run so far, by model."""
        with self._lock:
            return tuple(self._sums.values())
