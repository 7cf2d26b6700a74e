"""The stores on which an Engrammer is tested: those of conversations."""

from __future__ import annotations

from tests.apps.assistant.conftest import file, url

__all__ = ["file", "url"]
