"""A uvicorn server whose shutdown does not wait for open streams."""

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


def uvicorn_config(app: App, settings: ServerSettings, **more: Any) -> uvicorn.Config:
    """Return the uvicorn configuration for the app."""
    # uvicorn would replace the peer by any address in the headers, and a trusted proxy is known by its own address.
    proxied = settings.proxy is None
    # No level of ours shows the access log, but its lines would be composed.
    parts: dict[str, Any] = {"http": protocol_for(settings), "ws": "none", "lifespan": "off", "access_log": False}
    return uvicorn.Config(app, proxy_headers=proxied, **parts, **more)


class UvicornServer(uvicorn.Server):
    """On shutdown, ends the app's streams, waits for running work, and seals the recorded events."""

    def __init__(self, config: uvicorn.Config, app: App, sealer: Sealer | None = None) -> None:
        super().__init__(config)
        self._app, self._sealer = app, sealer

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down."""
        await self._app.close()
        await super().shutdown(sockets)
        if not self._sealer:
            return
        try:
            await self._sealer.seal()
        except RingiError as error:
            log.warning("the latest events could not be sealed: %s", error)
