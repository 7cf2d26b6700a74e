"""One suite for each contract; a backend or a runtime that passes them is one that Ringi can stand on.

Derive a test class, give it the fixture, and run it with pytest-asyncio in auto mode:

    class TestMyStore(StoreConformance):
        @pytest.fixture
        async def store(self):
            async with MyStore("…") as store:  # empty, for this one test
                yield store
"""

from pkgutil import iter_modules

import pytest

pytest.register_assert_rewrite(*(module.name for module in iter_modules(__path__, f"{__name__}.")))

from ringi.testing.conformance.jobs import JobsConformance  # noqa: E402
from ringi.testing.conformance.notifier import NotifierConformance  # noqa: E402
from ringi.testing.conformance.removed_gates import RemovedGateConformance  # noqa: E402
from ringi.testing.conformance.runtimes import RuntimeConformance  # noqa: E402
from ringi.testing.conformance.store import StoreConformance  # noqa: E402
from ringi.testing.conformance.stream import StreamConformance  # noqa: E402

__all__ = [
    "JobsConformance",
    "NotifierConformance",
    "RemovedGateConformance",
    "RuntimeConformance",
    "StoreConformance",
    "StreamConformance",
]
