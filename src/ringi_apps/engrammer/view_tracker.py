"""Record of what each caller was shown, because an approval without ids covers only insights they saw."""

from __future__ import annotations

from collections import OrderedDict

from ringi.server import Principal, RefusalError
from ringi_apps.engrammer.access import ConversationSnapshot
from ringi_apps.engrammer.cautions import learning_context_of

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

    def select_seen(
        self, who: Principal, conversation: ConversationSnapshot, pending: dict[str, str]
    ) -> dict[str, str]:
        """Return the pending insights that the caller has seen; raise `RefusalError` if there are none.

        Without a record, the first proposals of a single run count as seen.
        """
        seen_ids = self._pending_by_caller.get((who.tenant, who.actor, conversation.id))
        if seen_ids is None:
            requests = [request for request in conversation.pending if request.id in pending]
            is_first = all(not learning_context_of(request).get("renewed") for request in requests)
            seen_ids = (
                frozenset(pending) if is_first and len({request.run_id for request in requests}) == 1 else frozenset()
            )
        seen = {id: digest for id, digest in pending.items() if id in seen_ids}
        if not seen:
            what = f"the pending insights of conversation {conversation.id!r} were not shown to you"
            remedy = "read its state again, or name `insights` with their digests"
            raise RefusalError(409, "unseen", f"{what}: {remedy}")
        return seen
