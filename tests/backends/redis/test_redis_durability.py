"""A Redis that would lose answers is refused, unless its URL says how many it may lose."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests import servers
from tests.mortal_redis import MortalRedis, mortal_redis

from ringi.backends.redis.server import RedisServer, check_redis_durability
from ringi.base.extras import UnsupportedError
from ringi.base.settings import SettingError
from ringi.connect import open_backend
from ringi.errors import UnavailableError
from ringi.testing.factories import a_thread


@pytest.fixture(scope="module", params=[servers.redis_program, servers.valkey_program], ids=["redis", "valkey"])
def mortal(request: pytest.FixtureRequest) -> Iterator[MortalRedis]:
    with mortal_redis(request.param()) as server:
        yield server


async def durability(url: str, **settings: str) -> str:
    """Return how durable a server with these settings is said to be."""
    async with RedisServer(url) as server:
        before = {name: value for word in settings for name, value in (await server.redis.config_get(word)).items()}
        try:
            for name, value in settings.items():
                await server.redis.config_set(name, value)
            return await check_redis_durability(server)
        finally:
            for name, value in before.items():
                await server.redis.config_set(name, value)


async def test_a_server_that_flushes_each_change_is_accepted(mortal: MortalRedis) -> None:
    assert await durability(mortal.url) == "always"
    assert await durability(f"{mortal.url}?durability=always") == "always"
    assert await durability(f"{mortal.url}?durability=everysec") == "always"


async def test_a_server_that_flushes_each_second_needs_the_word_of_the_url(mortal: MortalRedis) -> None:
    with pytest.raises(SettingError, match=r"everysec.*\?durability=everysec"):
        await durability(mortal.url, appendfsync="everysec")
    with pytest.raises(SettingError, match=r"\?durability=everysec"):
        await durability(f"{mortal.url}?durability=always", appendfsync="everysec")

    assert await durability(f"{mortal.url}?durability=everysec", appendfsync="everysec") == "everysec"


@pytest.mark.parametrize("settings", [{"appendonly": "no"}, {"appendfsync": "no"}])
@pytest.mark.parametrize("query", ["", "?durability=everysec"])
async def test_a_server_that_keeps_nothing_is_refused(
    mortal: MortalRedis, query: str, settings: dict[str, str]
) -> None:
    with pytest.raises(SettingError, match="appendonly yes"):
        await durability(f"{mortal.url}{query}", **settings)


async def test_a_server_that_deletes_requests_when_memory_is_short_is_refused(mortal: MortalRedis) -> None:
    with pytest.raises(SettingError, match="noeviction"):
        await durability(mortal.url, **{"maxmemory-policy": "allkeys-lru"})

    assert await durability(mortal.url, **{"maxmemory-policy": "volatile-lru"}) == "always"


async def test_of_a_server_that_does_not_tell_the_url_must_say_it(mortal: MortalRedis) -> None:
    async with RedisServer(mortal.url) as server:
        await server.redis.acl_setuser(
            "app",
            enabled=True,
            passwords=["+word"],
            keys=["*"],
            channels=["*"],
            categories=["+@all"],
            commands=["-config"],
        )
    url = mortal.url.replace("redis://", "redis://app:word@")
    with pytest.raises(SettingError, match=r"\?durability="):
        await unchecked(url)

    assert await unchecked(f"{url}?durability=always") == "always, as the URL says"
    assert await unchecked(f"{url}?durability=everysec") == "everysec, as the URL says"


async def unchecked(url: str) -> str:
    async with RedisServer(url) as server:
        return await check_redis_durability(server)


@pytest.mark.parametrize("query", ["durability=sometimes", "prefix=", "prefix={a}", "colour=blue", "db=x"])
async def test_a_url_that_says_what_has_no_meaning_is_refused(mortal: MortalRedis, query: str) -> None:
    with pytest.raises(SettingError):
        async with open_backend(f"{mortal.url}?{query}"):
            pass


async def test_a_wrong_password_is_a_wrong_setting_and_is_not_repeated(mortal: MortalRedis) -> None:
    with pytest.raises(SettingError) as refused:
        async with open_backend(mortal.url.replace("redis://", "redis://ann:secret@")):
            pass

    assert "secret" not in str(refused.value)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(UnavailableError):
        async with open_backend(f"redis://127.0.0.1:{servers.free_port()}/0"):
            pass


async def test_agents_are_told_which_stores_they_need(mortal: MortalRedis) -> None:
    async with open_backend(mortal.url) as backend:
        with pytest.raises(UnsupportedError, match="SQLite or PostgreSQL"):
            backend.savers(a_thread()[0])
