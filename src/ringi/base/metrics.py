"""The Prometheus metrics of one process."""

from __future__ import annotations

from datetime import timedelta

from prometheus_client import CollectorRegistry, Counter, Histogram

HUMAN = (1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800, 2_592_000)
"""Histogram bounds in seconds, from a quick click to a month."""
MACHINE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Measures how long this process waited for people and for runs."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        answered = "From the question to its answer, cancellation or expiry, where that was written."
        self.answered = Histogram(
            "ringi_answer_seconds", answered, ("kind", "status"), registry=self.registry, buckets=HUMAN
        )
        woken = "From the end of a request until who waited for it goes on: a wait, or a run that was parked."
        self.woken = Histogram("ringi_wake_seconds", woken, ("waiter",), registry=self.registry, buckets=MACHINE)
        retried = "Turns of runs that a worker took up again after another had failed or died in them."
        self.retried = Counter("ringi_run_retries", retried, registry=self.registry)


def seconds_between_clocks(time: timedelta) -> float:
    """Return a difference between two machines' clocks in seconds, never below zero."""
    return max(0.0, time.total_seconds())
