"""Images in messages on the stores for many machines: read, left out of checkpoints, verified and erased."""

from __future__ import annotations

import asyncio
import base64
import uuid
from typing import Any

import pytest
from tests.files.test_images import KEY, PHOTO, files_in, findings, looker, message, photo, short, talk

from ringi.base.clock import utc_now
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import Erased
from ringi.domain.thread import Run, Thread
from ringi.errors import ConflictError
from ringi.files.images import MAX_IMAGE, image_index_key, image_key
from ringi.privacy.erasure import Eraser
from ringi.runs.messages import begin_run_with_images


@pytest.fixture
def url(postgres_url: str) -> str:
    return f"{postgres_url}?schema=t{uuid.uuid4().hex}"


async def rows(url: str, table: str, column: str) -> list[bytes]:
    import psycopg

    base, _, schema = url.partition("?schema=")
    async with await psycopg.AsyncConnection.connect(base) as connection:
        found: list[Any] = await (await connection.execute(f"SELECT {column} FROM {schema}.{table}")).fetchall()
    return [bytes(value) for (value,) in found if value]


async def test_an_image_is_seen_left_out_of_checkpoints_verified_and_erased(url: str) -> None:
    large = PHOTO + b"\0" * (MAX_IMAGE - len(PHOTO))
    async with talk(url, looker(history=True)) as here:
        assert await here.say("one", photo(large)) == f"one: image/png {short(large)}"
        assert await here.say("two", photo()) == f"two: image/png {short(large)}, image/png {short(PHOTO)}"
        written = base64.b64encode(PHOTO)[:3_000]
        for table, column in (("checkpoint_blobs", "blob"), ("checkpoint_writes", "blob")):
            found = await rows(url, table, column)
            assert found
            assert not any(written in value for value in found)
        assert await findings(url) == []
        await here.backend.stream.delete(image_key(KEY, 1), fence=9)
        assert await findings(url) == ["t1: the image 1 is missing"]
        erased = Erased(by="root", at=utc_now(), rule="age")
        await Eraser(here.backend.store, here.backend.stream, here.backend.savers).thread(KEY, erased)
        assert await findings(url) == []
        assert await here.backend.stream.read(image_index_key(KEY)) == []
        assert await here.say("again", photo()) == f"again: image/png {short(PHOTO)}"


@pytest.mark.parametrize("store", ["postgres", "redis"])
async def test_of_two_processes_one_begins_and_the_images_of_the_other_are_gone(
    store: str, request: pytest.FixtureRequest
) -> None:
    own = f"t{uuid.uuid4().hex}"
    name, place = ("postgres_url", "schema") if store == "postgres" else ("durable_redis_url", "prefix")
    url = f"{request.getfixturevalue(name)}?{place}={own}"
    async with open_backend(url) as here, open_backend(url) as there, open_inbox_on_backend(here) as inbox:
        starts = [
            begin_run_with_images(backend, KEY, "looker", Run(id=f"r{n}", input=message()), [photo(PHOTO + bytes([n]))],
                       by="ann", clock=inbox.clock)
            for n, backend in enumerate([here, there] * 5)
        ]  # fmt: skip
        ended = await asyncio.gather(*starts, return_exceptions=True)
        (begun,) = [each for each in ended if isinstance(each, Thread)]
        assert {type(each) for each in ended if not isinstance(each, Thread)} <= {ConflictError}
        (left,) = await files_in(there)
        assert begun.run
        assert begun.run.input["messages"][0]["ringi_images"] == [left]
        assert looker().images
