"""The contracts of a store and of the services beside it."""

from ringi.contracts.backend import Backend, Job, JobCounts, Jobs, Notifier, Stream, StreamItem, Subscription, Wakeup
from ringi.contracts.store import Finding, Store, change_record, find_record
from ringi.domain.thread import FenceError

__all__ = [
    "Backend",
    "FenceError",
    "Finding",
    "Job",
    "JobCounts",
    "Jobs",
    "Notifier",
    "Store",
    "Stream",
    "StreamItem",
    "Subscription",
    "Wakeup",
    "change_record",
    "find_record",
]
