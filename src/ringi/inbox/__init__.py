"""The inbox: ask, claim, respond, cancel, wait."""

from ringi.inbox.api import (
    Checks,
    Grants,
    InboxAPI,
    Memories,
    Pauses,
    People,
    Seen,
    Suggestions,
    Trail,
)
from ringi.inbox.inbox import Limits

__all__ = [
    "Checks",
    "Grants",
    "InboxAPI",
    "Limits",
    "Memories",
    "Pauses",
    "People",
    "Seen",
    "Suggestions",
    "Trail",
]
