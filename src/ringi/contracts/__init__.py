"""The contracts of a store and of the services beside it."""

from ringi.contracts.backend import Backend
from ringi.contracts.jobs import Job, Jobs
from ringi.contracts.notifier import Notifier, Subscription, Wakeup
from ringi.contracts.store import Finding, Store, change_record
from ringi.contracts.stream import Stream, StreamItem

__all__ = [
    "Backend",
    "Finding",
    "Job",
    "Jobs",
    "Notifier",
    "Store",
    "Stream",
    "StreamItem",
    "Subscription",
    "Wakeup",
    "change_record",
]
