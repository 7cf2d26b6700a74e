"""An inbox over HTTP."""

from ringi.client.client import Client

__all__ = ["Client"]
