"""Ringi as a separate ASGI application, or mounted in another application."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from starlette.types import Receive, Scope, Send

from ringi.base.settings import SettingError
from ringi.connect import home_folder
from ringi.inbox.inbox import Limits
from ringi.runs.agent import Agent
from ringi.server.app import App
from ringi.server.auth.authenticator import Keys
from ringi.server.components import ServerComponents
from ringi.server.extension import Extension, built_in_protocols
from ringi.server.identity import Oidc, TrustedProxy
from ringi.server.problems import problem_response
from ringi.server.refusals import RefusalError
from ringi.server.serve import open_components
from ringi.server.settings import ServerSettings

log = logging.getLogger(__name__)
NOT_OPEN = "Ringi is not open: enter its `lifespan()` in the lifespan of the application that mounts it"


class EmbeddedApp:
    """The API, the page and a worker as one ASGI application; `create_app` creates it.

    Under an ASGI server, it opens and closes with the server's lifespan. If it is mounted, the outer application's
    lifespan must enter `lifespan()`, because lifespan events do not reach a mounted application.

    Args:
        url: The store; None means that of `RINGI_URL`.
        base_path: The public path, such as `/ringi`; empty at the root.
        settings: The settings of the server.
        parts: The other arguments of `create_app`, by name.
    """

    def __init__(self, url: str | None, base_path: str, settings: ServerSettings, parts: dict[str, Any]) -> None:
        self._url, self._base_path, self._settings, self._parts = url, base_path, settings, parts
        self._app: App | None = None

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Open the store and run the worker for the duration of the block.

        Args:
            _: The application whose lifespan enters this one; ignored.

        Raises:
            SettingError: A setting or the URL of the store is invalid.
            UnavailableError: The store does not respond.
            UnsupportedError: There are agents, and the store cannot run agents.
        """
        options = {name: self._parts[name] for name in ("limits", "poll_interval")}
        options["works"] = not self._settings.no_deliveries
        async with open_components(self._parts["agents"], self._url, **options) as (parts, _worker):
            components = ServerComponents(**parts, keys=Keys.load(home_folder()), settings=self._settings)
            self._app = App(components, [*built_in_protocols(), *self._parts["extensions"]])
            try:
                yield
            finally:
                app, self._app = self._app, None
                await app.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI call, or follow the server's lifespan; a call before the start gets 503."""
        if scope["type"] == "lifespan":
            await self._follow(receive, send)
            return
        if self._base_path and not scope.get("root_path"):
            scope = {**scope, "root_path": self._base_path}
        if self._app is None:
            await problem_response(RefusalError(503, "not_open", NOT_OPEN))(scope, receive, send)
            return
        await self._app(scope, receive, send)

    async def _follow(self, receive: Receive, send: Send) -> None:
        async with AsyncExitStack() as stack:
            await receive()
            try:
                await stack.enter_async_context(self.lifespan())
            except Exception as error:
                log.exception("Ringi cannot start")
                await send({"type": "lifespan.startup.failed", "message": str(error)})
                return
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def create_app(
    url: str | None = None,
    *,
    agents: Iterable[Agent] = (),
    base_path: str = "",
    settings: ServerSettings | None = None,
    limits: Limits | None = None,
    poll_interval: float = 0.5,
    extensions: Sequence[Extension] = (),
) -> EmbeddedApp:
    """Return an ASGI application with the API, the page and a worker.

    Args:
        url: The store, such as `sqlite:///ringi.db`; by default that of `RINGI_URL`.
        agents: The agents that the worker runs.
        base_path: The public path behind a proxy, such as `/ringi`, even if the proxy strips it. A mounting application
            sets the path itself.
        settings: The settings; by default those of the environment. `hosts` must include the server's host names.
        limits: The limits of the inbox; by default the standard limits.
        poll_interval: Seconds between checks for changes that were not notified.
        extensions: Additional routes, such as those of assistants.

    Returns:
        The application, which opens the store when its lifespan starts.

    Raises:
        SettingError: `base_path` or a setting of the environment is invalid.
    """
    if base_path and (not base_path.startswith("/") or base_path.endswith("/")):
        raise SettingError("base_path", base_path, "start it with a slash and end it without one: /ringi")
    settings = settings or ServerSettings.load(oidc=Oidc.load(), proxy=TrustedProxy.load())
    parts = {"agents": list(agents), "limits": limits, "poll_interval": poll_interval, "extensions": extensions}
    return EmbeddedApp(url, base_path, settings, parts)
