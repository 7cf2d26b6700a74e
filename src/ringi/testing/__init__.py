"""What a test of Ringi, or of a backend for it, needs: a clock, small records, conformance suites."""

from ringi.testing.clock import Clock
from ringi.testing.makers import a_request, a_thread, approval, stored

__all__ = ["Clock", "a_request", "a_thread", "approval", "stored"]
