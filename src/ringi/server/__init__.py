"""The HTTP server of Ringi, and its ASGI application."""

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
MODULES = ("settings", "platform", "auth.authenticator", "app", "embedded")
"""The modules that define the exported names."""


def __getattr__(name: str) -> Any:
    # The command line writes the same JSON as the server, without the server's libraries.
    if name not in __all__:
        raise AttributeError(name)
    try:
        modules = (import_module(f"ringi.server.{module}") for module in MODULES)
        return next(vars(module)[name] for module in modules if name in vars(module))
    except ModuleNotFoundError as error:
        missing(f"ringi.server.{name}", error)
