"""The conversations of Pydantic AI in the store of the inbox."""

from __future__ import annotations

import asyncio
import logging
import os
import re
import textwrap
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai.conversation_store")

from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.test import TestModel
from tests.raising import raises_code

from ringi.audit.verify import verify_store
from ringi.connect import open_backend, open_inbox_on_backend
from ringi.contracts.backend import Backend, StreamItem
from ringi.domain.record import Query, UnreadableError
from ringi.domain.thread import Run, Thread, conversation_stream
from ringi.errors import InvalidError
from ringi.integrations.pydantic_ai import RingiConversationStore
from ringi.integrations.pydantic_ai.conversations import MAX_CONVERSATION
from ringi.privacy.candidates import Sweep

MEGABYTE = 1_000_000
SECRET = "sk-5ecret-in-a-message"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of an empty store; PostgreSQL needs its driver and the URL of a server."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ringi.db'}"
    server = os.environ.get("TEST_POSTGRES_URL")
    if not server or not find_spec("asyncpg"):
        pytest.skip("set TEST_POSTGRES_URL, and install asyncpg")
    return f"{server}?schema=t{uuid.uuid4().hex}"


@asynccontextmanager
async def opened(url: str, tenant: str = "default") -> AsyncIterator[tuple[RingiConversationStore, Backend]]:
    async with open_backend(url, poll_interval=0.05) as backend:
        yield RingiConversationStore(backend, tenant=tenant), backend


def repeated(*texts: str, id: str = "c1") -> Conversation:
    """Return a conversation in which a model repeats a person's texts."""
    messages: list[Any] = []
    for text in texts:
        messages += [ModelRequest(parts=[UserPromptPart(text)]), ModelResponse(parts=[TextPart(text)])]
    return Conversation(conversation_id=id, messages=messages)


def texts_of(conversation: Conversation | None) -> list[str]:
    assert conversation
    responses = [each for each in conversation.messages if isinstance(each, ModelResponse)]
    return [part.content for each in responses for part in each.parts if isinstance(part, TextPart)]


async def test_a_conversation_continues_in_another_process(url: str) -> None:
    agent = PydanticAgent(TestModel(custom_output_text="Hello."))
    async with RingiConversationStore.open(url) as store:
        first = await agent.run("Hi!", conversation=Conversation(conversation_id="c1"))
        assert len(await store.save(first, scope="ann")) == 2

    async with RingiConversationStore.open(url) as store:
        conversation = await store.load("c1", scope="ann")
        assert conversation
        second = await agent.run("And?", conversation=conversation)
        assert len(await store.save(second)) == 2
        loaded = await store.load("c1")
        assert loaded
        assert loaded.messages == second.all_messages()
        assert (loaded.usage.requests, len(await store.load_entries("c1") or [])) == (2, 4)


async def test_the_example_of_the_framework_runs_unchanged(url: str) -> None:
    """The code in the docstring of `ConversationStore`, twice."""
    example = re.search(r"```python[^\n]*\n(.*?)```", ConversationStore.__doc__ or "", re.S)
    assert example
    body = textwrap.indent(textwrap.dedent(example[1]), "    ")
    code = f"async def run(store, agent, conversation_id, prompt, Conversation):\n{body}"
    names: dict[str, Any] = {}
    exec(code, names)
    agent = PydanticAgent(TestModel(custom_output_text="Hello."))
    async with RingiConversationStore.open(url) as store:
        for prompt in ("Hi!", "And?"):
            await names["run"](store, agent, "c1", prompt, Conversation)

        assert texts_of(await store.load("c1")) == ["Hello.", "Hello."]


async def test_a_pause_is_stored(url: str) -> None:
    agent: PydanticAgent[None, Any] = PydanticAgent(TestModel(), output_type=[str, DeferredToolRequests])

    @agent.tool_plain(requires_approval=True)
    def refund(order: int) -> str:
        return f"refunded {order}"

    async with RingiConversationStore.open(url) as store:
        await store.save(await agent.run("Refund.", conversation=Conversation(conversation_id="c1")))
    async with RingiConversationStore.open(url) as store:
        conversation = await store.load("c1")
        assert conversation
        assert conversation.deferred_tool_requests
        assert [part.tool_name for part in conversation.deferred_tool_requests.approvals] == ["refund"]


async def test_two_tenants_see_nothing_of_each_other(url: str) -> None:
    async with opened(url) as (mine, backend):
        theirs = RingiConversationStore(backend, tenant="other")
        (entry, *_) = await mine.save(repeated("mine"))

        assert await theirs.load("c1") is None
        assert await theirs.list_conversations() == []
        with pytest.raises(KeyError):
            await theirs.read_entry(entry.id)
        await theirs.save(repeated("theirs"))
        assert texts_of(await mine.load("c1")) == ["mine"]
        await theirs.delete("c1")
        assert texts_of(await mine.load("c1")) == ["mine"]


async def test_another_scope_sees_nothing(url: str) -> None:
    async with RingiConversationStore.open(url) as store:
        await store.save(repeated("one", id="c1"), scope="ann")
        await store.save(repeated("two", id="c2"), scope="bob")

        assert await store.load("c1", scope="bob") is None
        with pytest.raises(ConversationConflict):
            await store.save(repeated("more", id="c1"), scope="bob")
        assert [each.conversation_id for each in await store.list_conversations(scope="bob")] == ["c2"]
        assert [each.conversation_id for each in await store.list_conversations()] == ["c2", "c1"]
        assert [each.conversation_id for each in await store.list_conversations(limit=1)] == ["c2"]


async def append(url: str, text: str) -> None:
    """Add two messages as one of many writers: load again after a conflict, as the framework says."""
    async with RingiConversationStore.open(url) as store:
        while True:
            conversation = await store.load("c1") or Conversation(conversation_id="c1")
            conversation.messages += repeated(text).messages
            try:
                await store.save(conversation)
            except ConversationConflict:
                continue
            return


async def test_no_message_of_concurrent_writers_is_lost(url: str) -> None:
    texts = [str(n) for n in range(8)]

    await asyncio.gather(*(append(url, text) for text in texts))

    async with opened(url) as (store, backend):
        assert sorted(texts_of(await store.load("c1"))) == texts
        assert (await verify_store(backend.store))[1] == []


async def test_of_two_saves_of_one_revision_the_first_counts(url: str) -> None:
    async with RingiConversationStore.open(url) as store:
        await store.save(repeated("one"))
        loaded = [await store.load("c1") for _ in range(5)]
        for n, each in enumerate(loaded):
            assert each
            each.messages += repeated(f"two {n}").messages

        saves = await asyncio.gather(*(store.save(each) for each in loaded if each), return_exceptions=True)

        assert sorted(type(each).__name__ for each in saves) == ["ConversationConflict"] * 4 + ["list"]
        assert len(texts_of(await store.load("c1"))) == 2


async def test_a_megabyte_is_loaded_as_it_was_saved(url: str) -> None:
    text = "\0é€😀" * (MEGABYTE // 4)
    async with RingiConversationStore.open(url) as store:
        await store.save(repeated(text, "short"))

        assert texts_of(await store.load("c1")) == [text, "short"]
        assert texts_of(await store.load("c1", limit=1)) == ["short"]


async def test_a_conversation_that_is_too_large_is_refused(url: str) -> None:
    async with RingiConversationStore.open(url) as store:
        await store.save(repeated("one"))
        conversation = await store.load("c1")
        assert conversation
        conversation.messages += repeated(SECRET * (MAX_CONVERSATION // len(SECRET))).messages

        with pytest.raises(InvalidError, match="begin another conversation") as refused:
            await store.save(conversation)

        assert SECRET not in str(refused.value)
        assert texts_of(await store.load("c1")) == ["one"]


async def test_branches_and_forks(url: str) -> None:
    async with RingiConversationStore.open(url) as store:
        entries = await store.save(repeated("one", "two"))
        loaded = await store.load("c1")
        assert loaded
        branched = await store.branch("c1", at=2, expected_revision=loaded.revision)
        branched.messages += repeated("three").messages
        await store.save(branched)
        assert texts_of(await store.load("c1")) == ["one", "three"]

    async with RingiConversationStore.open(url) as store:
        current = await store.load("c1")
        assert current
        back = await store.branch("c1", from_entry=entries[-1].id, expected_revision=current.revision)
        assert texts_of(back) == ["one", "two"]
        fork = await store.fork("c1", at=2, new_conversation_id="c2")
        fork.messages += repeated("four").messages
        await store.save(fork)
        await store.delete("c1")

    async with RingiConversationStore.open(url) as store:
        assert await store.load("c1") is None
        assert texts_of(await store.load("c2")) == ["one", "four"]
        assert await store.read_entry(entries[0].id) == entries[0]
        with pytest.raises(KeyError):
            await store.read_entry(entries[-1].id)
        with pytest.raises(UserError):
            await store.fork("c1")


async def thread_of(backend: Backend) -> Thread:
    (thread,) = await backend.store.find(Thread, Query())
    return thread


def bytes_of(folder: Path) -> bytes:
    """Return all bytes of a SQLite store; none for another one."""
    return b"".join(path.read_bytes() for path in folder.glob("ringi.db*"))


@pytest.mark.parametrize("sweep", [{"person": "ann"}, {"before": datetime.now(UTC) + timedelta(days=1)}])
async def test_an_erasure_removes_the_conversation_and_its_fork(
    url: str, tmp_path: Path, sweep: dict[str, Any]
) -> None:
    async with opened(url) as (store, backend), open_inbox_on_backend(backend) as inbox:
        await store.save(repeated(SECRET), scope="ann")
        await store.fork("c1", new_conversation_id="c2", scope="bob")
        await store.save(repeated("stays", id="c3"), scope="carl")
        if url.startswith("sqlite"):
            assert SECRET.encode() in bytes_of(tmp_path)

        done = await inbox.trail.erase_some(Sweep(**sweep), by="admin")

        assert (len(done.threads), done.left) == (2 if "person" in sweep else 3, {})
        assert [await store.load("c1"), await store.load("c2")] == [None, None]
        assert [each.conversation_id for each in await store.list_conversations()] == ["c3"] * ("person" in sweep)
        assert SECRET.encode() not in bytes_of(tmp_path)
        events = await backend.store.events(limit=1000)
        assert SECRET not in str(events)
        assert "ann" not in [event.actor for event in events]
        assert (await verify_store(backend.store))[1] == []


async def test_a_conversation_begins_again_after_its_erasure(url: str) -> None:
    async with opened(url) as (store, backend), open_inbox_on_backend(backend) as inbox:
        await store.save(repeated("before"), scope="ann")
        old = await store.load("c1")
        assert old
        await inbox.trail.erase_some(Sweep(person="ann"), by="admin")

        with pytest.raises(ConversationConflict):
            await store.save(old)
        await store.save(repeated("after"), scope="ann")

        assert texts_of(await store.load("c1")) == ["after"]
        await inbox.trail.erase_some(Sweep(person="ann"), by="admin")
        assert await store.load("c1") is None


async def test_a_save_during_an_erasure_leaves_nothing(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(url) as (store, backend), open_inbox_on_backend(backend) as inbox:
        await store.save(repeated("before"), scope="ann")
        old = await store.load("c1")
        assert old
        old.messages += repeated(SECRET).messages
        append = backend.stream.append

        async def slow(key: Any, items: Any, *, fence: int) -> int:
            if items:
                assert (await inbox.trail.erase_some(Sweep(person="ann"), by="admin")).threads
            return await append(key, items, fence=fence)

        monkeypatch.setattr(backend.stream, "append", slow)
        with pytest.raises(ConversationConflict):
            await store.save(old)

        assert await store.load("c1") is None


async def test_messages_are_in_no_log_and_in_no_error(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened(url) as (store, backend):
        await store.save(repeated(SECRET))
        conversation = await store.load("c1")
        assert conversation
        with pytest.raises(ConversationConflict) as conflict:
            await store.save(repeated(SECRET))
        thread = await thread_of(backend)
        items = await backend.stream.read(conversation_stream(thread.key))
        text = items[0].event["text"].replace("parts", "bits")
        broken = [StreamItem({"part": 1, "parts": 1, "text": text})]
        await backend.stream.append(conversation_stream(thread.key), broken, fence=thread.fence)
        with pytest.raises(UnreadableError) as unreadable:
            await store.load("c1")
        logging.getLogger("test").error("failed", exc_info=unreadable.value)

    assert SECRET not in caplog.text
    assert SECRET not in f"{conflict.value} {unreadable.value}"


async def test_a_thread_with_a_run_takes_no_messages(url: str) -> None:
    async with opened(url) as (store, backend):
        await store.save(repeated("one"))
        thread = await thread_of(backend)
        await backend.store.put(*thread.started("x", Run(id="r", input={}), by="ann", now=datetime.now(UTC)))
        conversation = await store.load("c1")
        assert conversation

        with raises_code("busy"):
            await store.save(conversation)
