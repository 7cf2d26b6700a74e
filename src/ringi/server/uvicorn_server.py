"""uvicorn, with an end that open streams do not hold up."""

from __future__ import annotations

import logging
import socket
from typing import Any

import uvicorn

from ringi.audit.seals import Sealer
from ringi.errors import RingiError
from ringi.server.app import App
from ringi.server.connections import protocol_for
from ringi.server.settings import ServerSettings

log = logging.getLogger(__name__)


def configured(app: App, settings: ServerSettings, **more: Any) -> uvicorn.Config:
    """Return how uvicorn serves the app."""
    # uvicorn would put in the peer's place whatever address the headers name, and a trusted proxy is known by its own.
    proxied = settings.proxy is None
    return uvicorn.Config(app, http=protocol_for(settings), ws="none", lifespan="off", proxy_headers=proxied, **more)


class Server(uvicorn.Server):
    """Ends the app's streams first, then waits for what still runs, and seals what has happened."""

    def __init__(self, config: uvicorn.Config, app: App, sealer: Sealer | None = None) -> None:
        super().__init__(config)
        self._app, self._sealer = app, sealer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop."""
        await self._app.close()
        await super().shutdown(sockets)
        if not self._sealer:
            return
        try:
            await self._sealer.seal()
        except RingiError as error:
            log.warning("what happened last has no seal: %s", error)
