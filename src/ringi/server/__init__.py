"""Ringi over HTTP."""

from ringi.server.app import App, create_app
from ringi.server.auth import Keys, Principal
from ringi.server.platform import Platform, ServerSettings

__all__ = ["App", "Keys", "Platform", "Principal", "ServerSettings", "create_app"]
