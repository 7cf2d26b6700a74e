"""uvicorn, with an end that open streams do not hold up."""

from __future__ import annotations

import socket
from typing import Any

import uvicorn

from ringi.server.app import App
from ringi.server.platform import ServerSettings


def configured(app: App, settings: ServerSettings, **more: Any) -> uvicorn.Config:
    """Return how uvicorn serves the app."""
    # uvicorn would put in the peer's place whatever address the headers name, and a trusted proxy is known by its own.
    return uvicorn.Config(app, lifespan="off", proxy_headers=settings.proxy is None, **more)


class Server(uvicorn.Server):
    """Ends the app's streams first, then waits for what still runs."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        await self._app.close()
        await super().shutdown(sockets)
