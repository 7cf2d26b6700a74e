"""Ringi over HTTP."""

from ringi.server.app import App
from ringi.server.auth.authenticator import Keys, Principal
from ringi.server.embedded import EmbeddedApp, create_app
from ringi.server.platform import Platform
from ringi.server.settings import ServerSettings

__all__ = ["App", "EmbeddedApp", "Keys", "Platform", "Principal", "ServerSettings", "create_app"]
