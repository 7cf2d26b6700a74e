"""The fixtures of the server."""

from tests.server.conftest import live, store_url, world

__all__ = ["live", "store_url", "world"]
