"""The plugin of the kit, also where an older installation does not register them."""

from __future__ import annotations

from pytest_ringi import (
    pytest_runtest_makereport,
    ringi_clock,
    ringi_harness,
    ringi_inbox,
    ringi_person,
    ringi_sync_inbox,
)

__all__ = [
    "pytest_runtest_makereport",
    "ringi_clock",
    "ringi_harness",
    "ringi_inbox",
    "ringi_person",
    "ringi_sync_inbox",
]
