"""The contracts of a store and of the services beside it."""

from ringi.contracts.jobs import Job, Jobs
from ringi.contracts.notifier import Notifier, Subscription, Wakeup
from ringi.contracts.store import Finding, Store
from ringi.contracts.stream import Stream, StreamItem

__all__ = ["Finding", "Job", "Jobs", "Notifier", "Store", "Stream", "StreamItem", "Subscription", "Wakeup"]
