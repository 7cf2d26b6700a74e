"""One Redis server: its connections, keys, scripts and durability."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from json.encoder import encode_basestring_ascii
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError, NoPermissionError, RedisError, ResponseError

from ringi.backends.migrations import refuse_unknown_schema
from ringi.backends.silence import ServerSilence
from ringi.base.settings import SettingError
from ringi.errors import UnavailableError

PREFIX = "ringi"
"""The prefix of all keys; `?prefix=` in the URL changes it."""
WAIT_SECONDS = 4.0
"""Seconds for a command, or for the wait for a free connection, before it is refused."""
PROBE_SECONDS = 0.8
"""Seconds for a sign of life after that; without one the server is silent."""
CONNECTIONS = 32
"""Maximum connections of one process; concurrent commands wait for one instead of opening a thousand."""
FORMAT = 1
"""The number of the format of the data, in the order of versions that cannot read each other's."""
Script = Callable[[Sequence[str], Sequence[Any]], Awaitable[Any]]
ALWAYS, EVERYSEC = "always", "everysec"
SAFE = "set `appendonly yes` and `appendfsync always`, or use ?durability=everysec in the URL"
REMEDY = f"{SAFE}: then the last second of answers may be lost when the server dies"
STATE_DURABILITY = "state its setting with ?durability=always or ?durability=everysec in the URL"
NO_EVICTION = "set `maxmemory-policy noeviction`: the current policy deletes requests when memory is short"


class RedisServer:
    """A Redis or Valkey server, 6.2 or newer; each change is one atomic script."""

    def __init__(self, url: str, *, setting: str = "url", part: str = "the store") -> None:
        """`setting` is the origin of the URL, and `part` names the component that fails with the server."""
        self._setting, self._part = setting, part
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.address = parts.hostname or parts.path
        self.prefix, self.promised = options.pop("prefix", PREFIX), options.pop("durability", None)
        if not self.prefix or set(self.prefix) & set("{}"):
            raise SettingError("prefix", self.prefix, "give ?prefix= a name without braces, or leave it out")
        self._url = urlunsplit(parts._replace(query=urlencode(options)))

    async def __aenter__(self) -> Self:
        try:
            pool = ConnectionPool.from_url(
                self._url,
                # With its own timeout the driver writes under `asyncio.wait_for`, which swallows cancellations up to
                # Python 3.11: a canceled task would run forever. `answering` limits the time instead.
                socket_timeout=None,
                socket_connect_timeout=None,
                # A connection that died while idle is reopened; scripts recognize a repeated attempt by its token.
                retry=Retry(NoBackoff(), 1, (ConnectionError,)),
            )
            pool.make_connection()  # type: ignore[no-untyped-call]
        except (TypeError, ValueError) as error:
            raise SettingError(self._setting, f"redis://{self.address}", f"correct it: {error}") from error
        self.redis: Any = Redis.from_pool(pool)
        self._room = asyncio.Semaphore(CONNECTIONS)
        self._silence = ServerSilence(self._is_heard, self._part)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._silence.close()
        await self.redis.aclose()

    def key(self, *parts: str) -> str:
        """Return a unique key for these parts; the braces keep all keys on one node of a cluster."""
        return f"{{{self.prefix}}}:{join_redis_name(*parts)}"

    def record_keys(self, kind: str) -> list[str]:
        """Return the keys of the bodies, of what is filed, of the texts and of the lists of one kind of records."""
        return [self.key(kind, what) for what in ("bodies", "filed", "texts", "lists")]

    async def check_format(self) -> None:
        """Note the format of the data in an empty store; refuse one that this version cannot use."""
        key = self.key("format")
        async with self.answering():
            # In this order: the first writer of an empty store notes the format before it writes.
            has_events = await self.redis.exists(self.key("events"))
            number = int(await self.redis.get(key) or 0)
            if not has_events and not number:
                await self.redis.set(key, number := FORMAT, nx=True)
        refuse_unknown_schema(f"redis://{self.address}", number or FORMAT, number, FORMAT)

    async def time(self) -> datetime:
        """Return the time of the server."""
        async with self.answering():
            seconds, microseconds = await self.redis.time()
        return datetime.fromtimestamp(seconds, UTC) + timedelta(microseconds=microseconds)

    def script(self, name: str) -> Script:
        """Return a script to call with its keys and arguments; a server that lost it receives it again."""
        script = self.redis.register_script((files("ringi.backends.redis") / "lua" / f"{name}.lua").read_text("utf-8"))

        async def call(keys: Sequence[str], arguments: Sequence[object]) -> Any:
            async with self.answering():
                return await script(keys=keys, args=arguments)

        return call

    async def read_together(self, *calls: tuple[Any, ...]) -> list[Any]:
        """Return the results of several reads as of one moment.

        Args:
            calls: Each a command of the driver with its arguments.
        """
        async with self.answering():
            pipeline = self.redis.pipeline(transaction=True)
            for command, *values in calls:
                getattr(pipeline, command)(*values)
            return list(await pipeline.execute())

    @asynccontextmanager
    async def answering(self) -> AsyncIterator[None]:
        """Raise Redis's failures as ours, and end operations that take too long.

        Waits for a connection are served in order: the driver's own pool does not keep their order.
        """
        self._silence.refuse()
        with self.refusing():
            try:
                async with asyncio.timeout(WAIT_SECONDS), self._room:
                    self._silence.refuse()
                    yield
            except TimeoutError:
                if not await self._is_heard():
                    self._silence.begin()
                raise

    async def _is_heard(self) -> bool:
        try:
            async with asyncio.timeout(PROBE_SECONDS):
                return bool(await self.redis.ping())
        except (RedisError, OSError, TimeoutError):
            return False

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Raise Redis's failures as ours."""
        try:
            yield
        except (AuthenticationError, NoPermissionError) as error:
            raise SettingError(self._setting, f"redis://{self.address}", f"give a user who may: {error}") from error
        except (RedisError, OSError, TimeoutError) as error:
            raise UnavailableError(str(error) or f"no answer in {WAIT_SECONDS:g} s", part=self._part) from error


@lru_cache(4096)
def join_redis_name(*parts: str) -> str:
    """Return a unique name for several parts."""
    # As `json.dumps` does, which takes ten times as long: a change names two dozen lists.
    return f"[{','.join(map(encode_basestring_ascii, parts))}]"


def new_redis_write_token() -> str:
    """Return a unique token of a change: a script that finds its own token changes nothing."""
    return os.urandom(8).hex()


async def check_redis_durability(server: RedisServer) -> str:
    """Return the durability of the server, or raise `SettingError` if it is less than promised.

    `always`: acknowledged data is on disk. `everysec`: only if the URL accepts it. If the server does not reveal its
    settings, the URL's value is trusted.
    """
    promised = server.promised
    if promised not in (None, ALWAYS, EVERYSEC):
        raise SettingError("durability", promised, f"use {ALWAYS!r} or {EVERYSEC!r}")
    async with server.answering():
        memory = await server.redis.info("memory")
    if str(memory.get("maxmemory_policy", "")).startswith("allkeys-"):
        raise SettingError("maxmemory-policy", memory["maxmemory_policy"], NO_EVICTION)
    configured = await _configured(server)
    if configured is None:
        if promised is None:
            raise SettingError("durability", "unknown: the server hides its settings", STATE_DURABILITY)
        return f"{promised}, as the URL says"
    if configured != ALWAYS and (configured, promised) != (EVERYSEC, EVERYSEC):
        raise SettingError("durability", configured, REMEDY)
    return configured


async def _configured(server: RedisServer) -> str | None:
    async with server.answering():
        try:
            settings = await server.redis.config_get("append*")
        except ResponseError:  # Managed servers forbid CONFIG, or do not support it.
            return None
    if "appendfsync" not in settings:
        return None
    return str(settings["appendfsync"]) if settings.get("appendonly") == "yes" else "no append-only file"
