"""Attached files on the stores for many machines: limits and erasures hold between processes."""

from __future__ import annotations

import asyncio
import uuid

import pytest

import ringi
from ringi import Attachment, Form
from ringi.audit.verify import verify_store
from ringi.connect import open_backend, open_to_verify
from ringi.contracts.backend import StreamItem
from ringi.domain.thread import FenceError
from ringi.errors import InvalidError, NotFoundError
from ringi.files.attachments import ERASED, MAX_FILES, MAX_TOTAL, file_key, file_numbers_stream_key
from ringi.forms.field_parts import MAX_FILE
from ringi.inbox.api import Seen

FORM = Form([Attachment("file", max_size=MAX_FILE)])
FIELDS = Form([Attachment(f"f{n}", max_size=MAX_FILE) for n in range(5)])


@pytest.fixture(params=["postgres", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    own = f"t{uuid.uuid4().hex}"
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema={own}"
    return f"{request.getfixturevalue('durable_redis_url')}?prefix={own}"


async def findings(url: str) -> list[str]:
    async with open_to_verify(url) as (store, stream):
        return [found.what for found in (await verify_store(store, stream=stream))[1]]


async def test_a_file_is_kept_read_verified_and_erased(url: str) -> None:
    content = bytes(range(256)) * 9_000
    async with ringi.open(url) as here, ringi.open(url) as there:
        request = await here.ask("File?", id="r1", form=FORM)
        file = await there.attach("r1", "file", "a.bin", content, by="ann")
        await here.respond(Seen("r1", request.digest), "approve", {"file": file}, by="ann")
        assert await there.attachment("r1", 1) == content
        assert await findings(url) == []
        async with open_backend(url) as backend:
            await backend.stream.delete(file_key(request.key, 1), fence=ERASED)
        assert await findings(url) == ["the file attached as file is missing"]
        await here.erase("r1", by="root")
        assert await findings(url) == []
    async with open_backend(url) as backend:
        for key in (file_numbers_stream_key(request.key), file_key(request.key, 1)):
            with pytest.raises(FenceError):
                await backend.stream.append(key, [StreamItem({"size": 1})], fence=0)


async def test_two_processes_keep_no_more_than_the_limits_together(url: str) -> None:
    async with ringi.open(url) as here, ringi.open(url) as there:
        many, large = await here.ask("Many?", form=FORM), await here.ask("Large?", form=FIELDS)
        small = [each.attach(many.id, "file", "a", b"x", by="ann") for each in (here, there) for _ in range(30)]
        # Each replaces those before it, and is refused if one behind it replaced it first.
        files = [file for file in await asyncio.gather(*small, return_exceptions=True) if isinstance(file, dict)]
        reads = [here.attachment(many.id, file["number"]) for file in files]
        stored = [each for each in await asyncio.gather(*reads, return_exceptions=True) if each == b"x"]
        assert 0 < len(stored) <= MAX_FILES
        homes = (here, there, here, there)
        full = [each.attach(large.id, f"f{n}", "a", b"x" * MAX_FILE, by="ann") for n, each in enumerate(homes)]
        numbers = [file["number"] for file in await asyncio.gather(*full)]
        assert sorted(numbers) == [1, 2, 3, 4]
        with pytest.raises(InvalidError, match=f"would exceed {MAX_TOTAL} bytes"):
            await here.attach(large.id, "f4", "a", b"x", by="ann")
        again = await there.attach(large.id, "f0", "a", b"x", by="ann")
        assert (await there.attachment(large.id, again["number"])) == b"x"
        with pytest.raises(NotFoundError):
            await there.attachment(large.id, numbers[0])
