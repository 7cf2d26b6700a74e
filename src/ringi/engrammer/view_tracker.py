"""What a caller was shown: the first design approves by one word, and no word may approve what nobody has seen."""

from __future__ import annotations

from collections import OrderedDict

from ringi.engrammer.access import ConversationSnapshot
from ringi.engrammer.route_errors import UnseenError
from ringi.server import Principal

MAX_TRACKED = 10_000


class ViewTracker:
    """What each caller was shown of each conversation last, as far as this process knows."""

    def __init__(self) -> None:
        self._pending_by_caller: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    def record(self, who: Principal, conversation: ConversationSnapshot) -> None:
        """Take note that a caller is shown what waits in a conversation."""
        key = (who.tenant, who.actor, conversation.id)
        self._pending_by_caller[key] = frozenset(request.id for request in conversation.pending)
        self._pending_by_caller.move_to_end(key)
        if len(self._pending_by_caller) > MAX_TRACKED:
            self._pending_by_caller.popitem(last=False)

    def select_seen(
        self, who: Principal, conversation: ConversationSnapshot, pending: dict[str, str]
    ) -> dict[str, str]:
        """Return what of that which waits the caller has seen; raises `UnseenError` where that is nothing, or unknown.

        Where another process showed it, what the one newest run asks for the first time is taken for seen.
        """
        seen_ids = self._pending_by_caller.get((who.tenant, who.actor, conversation.id))
        if seen_ids is None:
            requests = [request for request in conversation.pending if request.id in pending]
            is_first = all(not request.context.get("learning", {}).get("renewed") for request in requests)
            seen_ids = (
                frozenset(pending) if is_first and len({request.run_id for request in requests}) == 1 else frozenset()
            )
        seen = {id: digest for id, digest in pending.items() if id in seen_ids}
        if not seen:
            raise UnseenError(conversation.id)
        return seen
