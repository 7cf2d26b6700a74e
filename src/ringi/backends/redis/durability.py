"""Check of a Redis server's durability; insufficient durability is refused."""

from __future__ import annotations

from redis.exceptions import ResponseError

from ringi.backends.redis.server import Server
from ringi.errors import SettingError

ALWAYS, EVERYSEC = "always", "everysec"
UNSAFE = (
    "set `appendonly yes` and `appendfsync always`, or use ?durability=everysec in the URL: then the last second of"
)
REMEDY = f"{UNSAFE} answers may be lost when the server dies"
STATE_DURABILITY = "state its setting with ?durability=always or ?durability=everysec in the URL"
NO_EVICTION = "set `maxmemory-policy noeviction`: the current policy deletes requests when memory is short"


async def checked_durability(server: Server) -> str:
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


async def _configured(server: Server) -> str | None:
    async with server.answering():
        try:
            settings = await server.redis.config_get("append*")
        except ResponseError:  # Managed servers forbid CONFIG, or do not support it.
            return None
    if "appendfsync" not in settings:
        return None
    return str(settings["appendfsync"]) if settings.get("appendonly") == "yes" else "no append-only file"
