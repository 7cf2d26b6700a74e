import pytest

from ringi.backends.memory.jobs import MemoryJobs
from ringi.backends.memory.store import MemoryStore
from ringi.backends.memory.stream import MemoryNotifier, MemoryStream
from ringi.testing.conformance import JobsConformance, NotifierConformance, StoreConformance, StreamConformance


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


class TestMemoryNotifier(NotifierConformance):
    @pytest.fixture
    def notifier(self) -> MemoryNotifier:
        return MemoryNotifier(0.5)


class TestMemoryStream(StreamConformance):
    @pytest.fixture
    def stream(self) -> MemoryStream:
        return MemoryStream()


class TestMemoryJobs(JobsConformance):
    @pytest.fixture
    def jobs(self) -> MemoryJobs:
        return MemoryJobs()
