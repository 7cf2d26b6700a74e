"""The fixtures of the kit, also where an older installation does not register them."""

from __future__ import annotations

from pytest_ringi import ringi_clock, ringi_desk, ringi_inbox, ringi_person, ringi_sync_inbox

__all__ = ["ringi_clock", "ringi_desk", "ringi_inbox", "ringi_person", "ringi_sync_inbox"]
