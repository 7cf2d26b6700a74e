"""The inbox: ask, claim, respond, cancel, wait."""

from ringi.inbox.api import Checks, Grants, Inbox, Memories, Pauses, People, Seen, Suggestions, Trail
from ringi.inbox.inbox import Limits

__all__ = ["Checks", "Grants", "Inbox", "Limits", "Memories", "Pauses", "People", "Seen", "Suggestions", "Trail"]
