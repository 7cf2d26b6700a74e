"""Record of what each caller was shown, because an approval without ids covers only insights they saw."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection

from ringi.engrammer.access import ConversationSnapshot
from ringi.engrammer.cautions import learning_context_of
from ringi.server import Principal

MAX_TRACKED = 10_000


class ViewTracker:
    """Remembers in this process which pending insights each caller last saw in each conversation."""

    def __init__(self) -> None:
        self._pending_by_caller: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    def record(self, who: Principal, conversation: ConversationSnapshot) -> None:
        """Record that a caller is shown the pending insights of a conversation."""
        key = (who.tenant, who.actor, conversation.id)
        self._pending_by_caller[key] = frozenset(request.id for request in conversation.pending)
        self._pending_by_caller.move_to_end(key)
        if len(self._pending_by_caller) > MAX_TRACKED:
            self._pending_by_caller.popitem(last=False)

    def last_view(
        self, who: Principal, conversation: ConversationSnapshot, answerable: Collection[str]
    ) -> frozenset[str]:
        """Return the ids of the insights that the caller was last shown, including those that were decided since.

        Without a record, the first proposals of a single run count as shown.
        """
        view = self._pending_by_caller.get((who.tenant, who.actor, conversation.id))
        if view is not None:
            return view
        waiting = [request for request in conversation.pending if request.id in answerable]
        runs = {request.run_id for request in waiting}
        if len(runs) > 1 or any(learning_context_of(request).get("renewed") for request in waiting):
            return frozenset()
        return frozenset(request.id for request in conversation.requests if request.run_id in runs)
