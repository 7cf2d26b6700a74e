"""A single process with store, sweeper, worker and page."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import os
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace
from functools import partial
from getpass import getuser
from typing import Any
from urllib.parse import urlsplit

from ringi.audit.seals import Sealer
from ringi.base.extras import UnsupportedError
from ringi.base.loops import cancel_all, end_task, rest
from ringi.base.settings import SettingError
from ringi.connect import LOOPBACK, TOKENS, home_folder, open_inbox_on_backend, repeat_work
from ringi.delivery.deliveries import run_deliveries
from ringi.domain.record import DEFAULT_TENANT
from ringi.inbox.inbox import Limits
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.runner import Runner
from ringi.runs.worker import Worker
from ringi.server.app import App
from ringi.server.auth.authenticator import Keys, Principal, seal_key
from ringi.server.auth.links import mint_link
from ringi.server.components import ServerComponents
from ringi.server.connections import RESERVED_FILES, UvicornServer, raise_open_file_limit, uvicorn_config
from ringi.server.counting import StatisticsKeeper
from ringi.server.extension import Extension, served_extensions
from ringi.server.identity import Oidc, TrustedProxy
from ringi.server.settings import ServerSettings
from ringi.server.startup import Meanwhile, collect_garbage_rarely, open_store_when_available, serve_not_ready_reports

log = logging.getLogger(__name__)
GRACE_SECONDS = 5
"""Seconds for which requests and runs may continue after the stop signal."""
SEAL_SECONDS = 5.0


def serve(agents: Iterable[Agent] = (), *, url: str | None = None, host: str = "127.0.0.1", port: int = 8123) -> None:
    """Serve the API, the page and the agents until the program is stopped; print the address once it is ready.

    The settings are those of `ringi serve`. To mount Ringi in your own application, use `ringi.server.create_app`.

    Args:
        agents: The agents to run.
        url: The store; by default `RINGI_URL`.
        host: The address to listen on.
        port: The port to listen on; 0 chooses one.

    Raises:
        SettingError: A setting is invalid, or the port is in use.
    """
    served = list(agents)
    settings = ServerSettings.load(hosts=(host,), oidc=Oidc.load(), proxy=TrustedProxy.load())
    place: dict[str, Any] = {"url": url, "host": host, "port": port, "person": getuser()}
    extensions = served_extensions(has_agents=bool(served))

    def announce(address: str, link: str) -> None:
        sys.stdout.write(f"Ringi: {address} (`ringi link` prints a one-time link)\n")
        sys.stdout.flush()

    asyncio.run(serve_until_signal(served, settings=settings, extensions=extensions, announce=announce, **place))


async def serve_until_signal(
    agents: Iterable[Agent],
    *,
    url: str | None,
    host: str,
    port: int,
    settings: ServerSettings,
    person: str,
    limits: Limits | None = None,
    poll_interval: float = 0.5,
    store_timeout: float | None = None,
    extensions: Sequence[Extension] = (),
    begin: Callable[[Runner], Awaitable[None]] | None = None,
    announce: Callable[[str, str], None],
) -> None:
    """Serve until a signal; once ready, `announce(address, link)` gets a one-use link for `person`.

    Before that, `begin` may start runs.

    While a remote store does not respond, the server reports this on its port, for at most `store_timeout` seconds.
    """
    if settings.no_auth and host not in LOOPBACK:
        raise SettingError("host", host, "--no-auth works only on 127.0.0.1: remove --no-auth, or --host")
    if files := raise_open_file_limit():
        max_connections = max(1, files - RESERVED_FILES)
        settings = replace(settings, max_connections=min(settings.max_connections, max_connections))
    with open_listening_socket(host, port) as listener:
        name = "localhost" if host == "::1" else f"[{host}]" if ":" in host else host
        address = f"http://{name}:{listener.getsockname()[1]}"
        keys, works = Keys.load(home_folder()), not settings.no_deliveries
        if works or not (home_folder() / TOKENS).exists():
            write_role_tokens(address, keys, person)
        meanwhile = partial(serve_not_ready_reports, listener, settings)
        waiting: dict[str, Any] = {"store_timeout": store_timeout, "meanwhile": meanwhile}
        opening = open_components(agents, url, limits=limits, poll_interval=poll_interval, works=works, **waiting)
        async with opening as (parts, worker):
            app = App(ServerComponents(**parts, keys=keys, settings=settings), extensions)
            config = uvicorn_config(app, settings, log_level="warning", timeout_graceful_shutdown=GRACE_SECONDS)
            backend = parts["backend"]
            sealer = Sealer(backend.store, home_folder() / "seals.jsonl", seal_key(home_folder()), backend.clock)
            server = UvicornServer(config, app, sealer if works else None)
            worker.add_done_callback(lambda _: setattr(server, "should_exit", True))
            if begin:
                await begin(parts["runner"])
            await asyncio.sleep(0)  # The worker and the deliveries begin, and import their libraries.
            announce(address, mint_link(keys, address, Principal(DEFAULT_TENANT, "person", person)))
            collect_garbage_rarely()
            sealing = [asyncio.create_task(repeat_work(sealer.seal, SEAL_SECONDS))] if works else []
            try:
                await server.serve(sockets=[listener])
            finally:
                await cancel_all(*sealing)


@asynccontextmanager
async def open_components(
    agents: Iterable[Agent],
    url: str | None,
    *,
    limits: Limits | None = None,
    poll_interval: float = 0.5,
    store_timeout: float | None = None,
    meanwhile: Meanwhile = nullcontext,
    works: bool = True,
) -> AsyncIterator[tuple[dict[str, Any], asyncio.Task[None]]]:
    """Open the components of a server, deliver events, and run a worker, which at the end releases its threads.

    A remote store is awaited within `meanwhile`, for `store_timeout` seconds or forever. Without `works`, nothing is
    delivered, run or expired, because the store is a copy of one in use.

    Raises `UnsupportedError` for agents on a store that has no jobs, and `SettingError` for agents without `works`.
    """
    stop, served = asyncio.Event(), agents_by_name(agents)
    if served and not works:
        raise SettingError("agents", ", ".join(served), "--no-deliveries runs no agent: omit one of them")
    opening = open_store_when_available(url, poll_interval=poll_interval, timeout=store_timeout, meanwhile=meanwhile)
    async with opening as backend, open_inbox_on_backend(backend, limits=limits, sweeps=works) as inbox:
        runner = Worker(backend, inbox, served)
        if served and not backend.runs_agents:
            raise UnsupportedError.of_agents(str(urlsplit(backend.url).scheme))
        worker = asyncio.create_task(runner.work(stop) if works else rest(stop))
        keeper = StatisticsKeeper(backend.store, backend.notifier, inbox.feed, inbox.clock)
        keeping = [asyncio.create_task(keeper.work())] if works else []
        try:
            async with run_deliveries(backend, inbox, sends=works) as deliveries:
                yield {"backend": backend, "inbox": inbox, "runner": runner, "deliveries": deliveries}, worker
        finally:
            stop.set()
            await cancel_all(*keeping)
            await end_task(worker, GRACE_SECONDS)


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on the address, or raise `SettingError`."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(2048)
    except (OSError, UnicodeError) as error:
        listener.close()
        if isinstance(error, OSError) and error.errno in (errno.EADDRINUSE, errno.EACCES):
            raise SettingError("port", port, f"{error.strerror}: choose another with --port") from error
        raise SettingError("host", host, f"{error}: choose an address of this machine with --host") from error
    return listener


def write_role_tokens(address: str, keys: Keys, person: str) -> None:
    """Write one token per role for the people and programs of this machine.

    Only its owner can read the file, which is written completely or not at all.
    """
    names = {"agent": "agent", "person": person, "admin": "admin"}
    tokens = {role: keys.mint(tenant=DEFAULT_TENANT, role=role, name=name) for role, name in names.items()}
    path = home_folder() / TOKENS
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(json.dumps({"url": address, **tokens}, indent=1) + "\n")
    draft.replace(path)
