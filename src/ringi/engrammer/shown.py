"""What a caller was shown: the first design approves by one word, and no word may approve what nobody has seen."""

from __future__ import annotations

from collections import OrderedDict

from ringi.engrammer.access import Conversation
from ringi.engrammer.refusals import UnseenError
from ringi.server import Principal

MOST = 10_000


class Shown:
    """What each caller was shown of each conversation last, as far as this process knows."""

    def __init__(self) -> None:
        self._known: OrderedDict[tuple[str, str, str], frozenset[str]] = OrderedDict()

    def note(self, who: Principal, conversation: Conversation) -> None:
        """Take note that a caller is shown what waits in a conversation."""
        place = (who.tenant, who.actor, conversation.id)
        self._known[place] = frozenset(request.id for request in conversation.waiting)
        self._known.move_to_end(place)
        if len(self._known) > MOST:
            self._known.popitem(last=False)

    def seen(self, who: Principal, conversation: Conversation, waiting: dict[str, str]) -> dict[str, str]:
        """Return what of that which waits the caller has seen; raises `UnseenError` where that is nothing, or unknown.

        Where another process showed it, what the one newest run asks for the first time is taken for seen.
        """
        known = self._known.get((who.tenant, who.actor, conversation.id))
        if known is None:
            asked = [request for request in conversation.waiting if request.id in waiting]
            is_first = all(not request.context.get("learning", {}).get("renewed") for request in asked)
            known = frozenset(waiting) if is_first and len({request.run_id for request in asked}) == 1 else frozenset()
        found = {id: digest for id, digest in waiting.items() if id in known}
        if not found:
            raise UnseenError(conversation.id)
        return found
