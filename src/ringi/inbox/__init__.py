"""The inbox: ask, claim, respond, cancel, wait."""

from ringi.inbox.inbox import Inbox, Limits

__all__ = ["Inbox", "Limits"]
