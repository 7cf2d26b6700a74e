"""The HTTP server of Ringi."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ringi.base.extras import missing

if TYPE_CHECKING:
    from ringi.server.app import App
    from ringi.server.auth.authenticator import Keys, Principal
    from ringi.server.embedded import EmbeddedApp, create_app
    from ringi.server.platform import Platform
    from ringi.server.settings import ServerSettings

__all__ = ["App", "EmbeddedApp", "Keys", "Platform", "Principal", "ServerSettings", "create_app"]
PLACES = {
    "App": "app",
    "EmbeddedApp": "embedded",
    "Keys": "auth.authenticator",
    "Platform": "platform",
    "Principal": "auth.authenticator",
    "ServerSettings": "settings",
    "create_app": "embedded",
}


def __getattr__(name: str) -> Any:
    # The command line writes the same JSON as the server, without the server's libraries.
    if name not in PLACES:
        raise AttributeError(name)
    try:
        return getattr(import_module(f"ringi.server.{PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        missing(f"ringi.server.{name}", error)
