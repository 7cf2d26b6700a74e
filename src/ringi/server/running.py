"""uvicorn, with an end that open streams do not hold up."""

from __future__ import annotations

import socket

import uvicorn

from ringi.server.app import App


class Server(uvicorn.Server):
    """Ends the app's streams first, then waits for what still runs."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self._app = app

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        await self._app.close()
        await super().shutdown(sockets)
