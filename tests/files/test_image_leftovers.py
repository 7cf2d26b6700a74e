"""Images of a message that was refused: they are released, they do not pile up, and an erasure reaches them."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.files.test_image_recovery import stored_numbers
from tests.files.test_images import KEY, PHOTO, Talk, bytes_left, erase, files_in, findings, photo, short, talk

from ringi.backends.sqlite.database import DatabaseTask
from ringi.connect import Backend
from ringi.domain.record import Key, UnreadableError
from ringi.domain.thread import FenceError, Thread
from ringi.errors import ConflictError, NotFoundError, UnavailableError
from ringi.files.images import Images
from ringi.runs.reconciler import run_start_job

LOST = UnavailableError("the connection is lost")


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


def failing_to_begin(backend: Backend, patch: pytest.MonkeyPatch, error: Exception = LOST) -> list[tuple[Any, Any]]:
    """Have the store refuse to begin runs, and return what it was to save."""
    put, late = backend.store.put, list[tuple[Any, Any]]()

    async def fail(record: Any, event: Any) -> None:
        if event and event.type == "thread.started":
            late.append((record, event))
            raise error
        await put(record, event)

    patch.setattr(backend.store, "put", fail)
    return late


async def refused(here: Talk, error: Exception = LOST, times: int = 1) -> list[tuple[Any, Any]]:
    """Send a message with an image that is refused, so often, and return what may be saved yet."""
    with pytest.MonkeyPatch.context() as patch:
        late = failing_to_begin(here.backend, patch, error)
        for _ in range(times):
            with pytest.raises(type(error)):
                await here.start("refused", photo())
    return late


NO_TURN = UnavailableError("no turn in 10 s")
NO_TURN.is_unwritten = True
CERTAIN = {
    "no turn": NO_TURN,
    "unreadable": UnreadableError("thread", "t1", "it was damaged"),
}


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("kind", CERTAIN)
async def test_images_go_at_once_when_nothing_can_have_been_saved(kind: str, *, begun: bool) -> None:
    async with talk("memory://") as here:
        if begun:
            await here.say("text")
        await refused(here, CERTAIN[kind])
        assert await stored_numbers(here.backend) == []


async def test_an_image_that_cannot_be_released_does_not_hide_the_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    async with talk("memory://") as here:

        async def away(key: Key, *, fence: int) -> int:
            raise LOST

        monkeypatch.setattr(here.backend.stream, "delete", away)
        failing_to_begin(here.backend, monkeypatch, CERTAIN["no turn"])
        with pytest.raises(UnavailableError, match="no turn in 10 s"):
            await here.start("refused", photo())


@pytest.mark.parametrize("before", ["nothing", "text", "image", "erased"])
async def test_of_messages_whose_runs_may_be_saved_yet_the_images_of_one_stay(before: str) -> None:
    async with talk("memory://") as here:
        if before != "nothing":
            await here.say("text", *([] if before == "text" else [photo()]))
        if before == "erased":
            await erase(here.backend)
        listed = await stored_numbers(here.backend)
        await refused(here, times=5)
        assert len(await stored_numbers(here.backend)) == len(listed) + 1
        await here.say("taken", photo())
        numbers = await stored_numbers(here.backend)
        assert numbers == [file["number"] for file in await files_in(here.backend)]
        assert len(numbers) == len(listed) + 1


@pytest.mark.parametrize("begun", [False, True])
async def test_a_run_that_is_saved_late_begins_with_its_images_or_not_at_all(*, begun: bool) -> None:
    async with talk("memory://") as here:
        if begun:
            await here.say("text")
        first, second = await refused(here, times=2)
        with pytest.raises(ConflictError):
            await here.backend.store.put(*first)
        await here.backend.store.put(*second)
        await here.backend.jobs.submit(run_start_job(await here.backend.store.get(Thread, *KEY)))
        assert (await here.ended()).values["messages"][-1]["content"] == f"refused: image/png {short(PHOTO)}"


@pytest.mark.parametrize("before", ["nothing", "text", "erased"])
@pytest.mark.parametrize("rule", ["person", "age"])
async def test_an_erasure_reaches_the_images_of_a_run_that_may_be_saved_yet(url: str, before: str, rule: str) -> None:
    async with talk(url) as here:
        if before != "nothing":
            await here.say("text", photo())
        if before == "erased":
            await erase(here.backend)
        (late,) = await refused(here)
        assert await stored_numbers(here.backend) != []
        inbox = here.runner.inbox
        if rule == "person":
            await inbox.trail.erase(person="ann", by="root")
        else:
            await inbox.trail.erase(before=inbox.clock(), by="root")
        assert await bytes_left(here.backend) == []
        with pytest.raises(ConflictError):
            await here.backend.store.put(*late)
        assert not (await here.backend.store.get(Thread, *KEY)).images
    assert await findings(url) == []


async def test_an_erasure_of_an_unknown_thread_takes_images_that_were_left_there() -> None:
    async with talk("memory://") as here:
        with pytest.raises(NotFoundError):
            await erase(here.backend)
        for _ in range(2):
            await Images(here.backend.stream).add(KEY, [photo()] * 2, fence=0)
        await erase(here.backend)
        assert await bytes_left(here.backend) == []
        with pytest.raises(NotFoundError):
            await erase(here.backend)
        assert await here.say("one", photo()) == f"one: image/png {short(PHOTO)}"


async def test_a_second_erasure_takes_images_that_were_left_in_an_erased_thread() -> None:
    async with talk("memory://") as here:
        await here.say("one", photo())
        await erase(here.backend)
        thread = await here.backend.store.get(Thread, *KEY)
        await Images(here.backend.stream).add(KEY, [photo()], fence=thread.fence + 1)
        await erase(here.backend)
        assert await bytes_left(here.backend) == []
        assert await here.backend.store.get(Thread, *KEY) == thread
        assert await here.say("two", photo()) == f"two: image/png {short(PHOTO)}"


@pytest.mark.parametrize("moment", ["before thread.reserved", "after thread.reserved", "before thread.started"])
@pytest.mark.parametrize("before", ["nothing", "left", "text", "text and left", "erased", "erased and left"])
async def test_an_erasure_while_a_message_is_sent_takes_no_image_of_a_run_that_begins(
    url: str, before: str, moment: str
) -> None:
    async with talk(url) as here:
        if before.startswith(("text", "erased")):
            await here.say("text")
        if before.startswith("erased"):
            await erase(here.backend)
        if before.endswith("left"):
            await refused(here)
        put, moments = here.backend.store.put, list[str]()

        async def erase_at(now: str) -> None:
            moments.append(now)
            if now == moment and moments.count(now) == 1:
                with suppress(NotFoundError):
                    await erase(here.backend)

        async def overtaken(record: Any, event: Any) -> None:
            await erase_at(f"before {event.type if event else None}")
            await put(record, event)
            await erase_at(f"after {event.type if event else None}")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.store, "put", overtaken)
            assert (await here.say("sent", photo())).endswith(f"sent: image/png {short(PHOTO)}")
        assert moment in moments or before == "text"
        assert [file["number"] for file in await files_in(here.backend)] == await stored_numbers(here.backend)
    assert await findings(url) == []


async def test_an_erasure_that_began_before_the_thread_did_takes_none_of_its_images() -> None:
    async with talk("memory://") as here:
        get = here.backend.store.get
        await Images(here.backend.stream).add(KEY, [photo()], fence=0)

        async def overtaken(*args: Any) -> Any:
            try:
                return await get(*args)
            except NotFoundError:
                patch.undo()
                await here.start("sent", photo())
                raise

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.store, "get", overtaken)
            await erase(here.backend)
        assert (await here.ended()).values["messages"][-1]["content"] == f"sent: image/png {short(PHOTO)}"
        assert [file["number"] for file in await files_in(here.backend)] == await stored_numbers(here.backend)


async def test_an_upload_that_an_erasure_overtook_writes_no_byte_more() -> None:
    async with talk("memory://") as here:
        await here.say("text")
        append, erased = here.backend.stream.append, list[bool]()

        async def overtaken(key: Key, items: Any, *, fence: int) -> int:
            if key.id.startswith("images/t1/") and not erased:
                erased.append(True)
                await erase(here.backend)
                try:
                    return await append(key, items, fence=fence)
                except Exception:
                    raise asyncio.CancelledError from None  # As if it were killed: it cleans nothing up.
            return await append(key, items, fence=fence)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.stream, "append", overtaken)
            with pytest.raises(asyncio.CancelledError):
                await here.start("sent", photo())
        assert await bytes_left(here.backend) == []


async def test_an_erasure_that_a_new_run_overtakes_at_its_end_takes_none_of_its_images() -> None:
    async with talk("memory://") as here:
        await here.say("text", photo())
        emptied = here.backend.store.erase

        async def overtaken(*args: Any) -> None:
            patch.undo()
            await emptied(*args)
            await here.start("sent", photo())

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.store, "erase", overtaken)
            await erase(here.backend)
        assert (await here.ended()).values["messages"][-1]["content"] == f"sent: image/png {short(PHOTO)}"


async def test_of_two_messages_that_see_the_images_of_each_other_one_begins_its_run() -> None:
    async with talk("memory://") as here:
        put, waiting = here.backend.store.put, list[asyncio.Event]()
        ended = 0

        async def in_turn(record: Any, event: Any) -> None:
            # Each waits with its images stored until those of the other one are, too.
            if event and event.type == "thread.started" and not ended:
                waiting.append(asyncio.Event())
                if len(waiting) > 1:
                    waiting.pop(0).set()
                await waiting[-1].wait()
            await put(record, event)

        async def send(text: str) -> Thread | Exception:
            nonlocal ended
            try:
                return await here.start(text, photo())
            except ConflictError as error:
                return error
            finally:
                ended += 1
                for other in waiting:
                    other.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.store, "put", in_turn)
            results = await asyncio.gather(send("one"), send("two"))
        assert {getattr(result, "code", type(result)) for result in results} == {Thread, "busy"}
        await here.ended()
        assert [file["number"] for file in await files_in(here.backend)] == await stored_numbers(here.backend)


async def test_a_write_that_sqlite_never_began_says_that_nothing_is_written() -> None:
    task = DatabaseTask(lambda _: None, asyncio.get_running_loop().create_future(), needs_turn=True, until=0.0)
    task.give_up()
    error = task.future.exception()
    assert isinstance(error, UnavailableError)
    assert error.is_unwritten
    assert not task.take()


async def test_bytes_that_the_store_saves_after_their_message_was_refused_are_refused_too() -> None:
    async with talk("memory://") as here:
        append, late = here.backend.stream.append, list[dict[str, Any]]()

        async def away(key: Key, items: Any, *, fence: int) -> int:
            if key.id == "images/t1/2":
                late.append({"key": key, "items": items, "fence": fence})
                raise LOST
            return await append(key, items, fence=fence)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(here.backend.stream, "append", away)
            with pytest.raises(UnavailableError):
                await here.start("refused", photo(), photo())
        with pytest.raises(FenceError):
            await append(late[0]["key"], late[0]["items"], fence=late[0]["fence"])
        assert await stored_numbers(here.backend) == []


async def test_a_thread_whose_first_run_never_began_goes_on_with_words() -> None:
    async with talk("memory://") as here:
        await refused(here)
        thread = await here.backend.store.get(Thread, *KEY)
        assert (thread.status, thread.run, thread.started_by) == ("idle", None, "ann")
        assert await here.say("words") == "words: "
        assert (await here.backend.store.get(Thread, *KEY)).title == "words"
