"""Threads that forget their old checkpoints: what is left is enough to go on, and nothing else is lost."""

from __future__ import annotations

import asyncio
import operator
import sqlite3
import uuid
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

import psycopg
import pytest
from langchain_core.messages import AIMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.func import entrypoint
from langgraph.graph import END, START, MessagesState, StateGraph
from tests.runs.world import World, at_work, opened, until, working

from ringi import ask
from ringi.base.clock import utc_now
from ringi.domain.record import Erased
from ringi.domain.thread import FenceError, Thread, checkpoint_thread
from ringi.privacy.erasure import Eraser
from ringi.runs.agent import Agent
from ringi.runs.cleanup import prune_checkpoints
from ringi.runs.operations import ask_run_questions_again, retry_failed_run


def united(notes: list[str], more: list[str]) -> list[str]:
    """Return both as one: a sub-graph hands back what it was given."""
    return [*notes, *(each for each in more if each not in notes)]


SQLITE_SIZES = {"checkpoints": "length(checkpoint) + length(metadata)", "writes": "length(value)"}
POSTGRES_SIZES = {
    "checkpoints": "octet_length(checkpoint::text) + octet_length(metadata::text)",
    "checkpoint_writes": "octet_length(blob)",
    "checkpoint_blobs": "octet_length(blob)",
}
"""The bytes of a row of LangGraph's tables."""


class Notes(TypedDict, total=False):
    """What the agents of these tests write down."""

    notes: Annotated[list[str], united]
    text: str


def graph(*nodes: Any, schema: Any = Notes, **compiled: Any) -> Any:
    """Return a graph of these nodes, one after another."""
    made = StateGraph(schema)
    names = [str(number) for number in range(len(nodes))]
    for name, node in zip(names, nodes, strict=True):
        made.add_node(name, node)
    for one, other in zip([START, *names], [*names, END], strict=True):
        made.add_edge(one, other)
    return made.compile(**compiled)


def note(state: Notes) -> Notes:
    return {"notes": [state.get("text", "")]}


def think(state: Notes) -> Notes:
    return {}


def inquire(state: Notes) -> Notes:
    response = ask("What else?").response
    return {"notes": [str(response and response.message)]}


def agent(made: Any, *, history: bool = False) -> Agent:
    return Agent("notes", made, output=lambda state: {"notes": list(state.get("notes", []))}, history=history)


async def pruned(world: World, id: str = "t1") -> CheckpointTuple:
    """Return the only checkpoint of a thread, once the worker of its last run has removed the others."""

    async def found() -> list[CheckpointTuple]:
        checkpoints = await world.checkpoints(id)
        return checkpoints if len(checkpoints) == 1 else []

    (only,) = await until(found, "old checkpoints are removed")
    return only


async def say(world: World, *words: str, id: str = "t1") -> Thread:
    """Return the thread after a run for each of these words."""
    for word in words:
        await world.run("notes", {"text": word}, id)
    return await world.thread(id)


def places(found: Sequence[CheckpointTuple]) -> list[str]:
    """Return the namespaces of checkpoints, without the ids of tasks."""
    return sorted(each.config["configurable"]["checkpoint_ns"].partition(":")[0] for each in found)


def rows_of(url: str, sql: str) -> list[Any]:
    """Return the rows of a statement on a database."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return file.execute(sql).fetchall()
    server, _, schema = url.partition("?schema=")
    with psycopg.connect(server, autocommit=True, options=f"-c search_path={schema}") as connection:
        cursor = connection.execute(sql.encode())
        return cursor.fetchall() if cursor.description else []


def tables_of(url: str) -> tuple[str, ...]:
    """Return LangGraph's tables."""
    return ("checkpoints", "writes") if url.startswith("sqlite") else tuple(POSTGRES_SIZES)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store that a test can look into."""
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    return f"sqlite:///{tmp_path / 'ringi.db'}"


async def test_after_any_number_of_runs_there_is_one_checkpoint_and_the_whole_state(url: str) -> None:
    async with at_work(url, [agent(graph(note, think, think))]) as world:
        for n in range(1, 6):
            thread = await say(world, f"word {n}")
            assert (thread.status, thread.values) == ("done", {"notes": [f"word {m}" for m in range(1, n + 1)]})
            only = await pruned(world)
            assert (only.parent_config, only.pending_writes) == (None, [])


async def test_a_database_has_no_row_more_after_the_tenth_run_than_after_the_first(database: str) -> None:
    def rows() -> list[int]:
        return [rows_of(database, f"SELECT count(*) FROM {table}")[0][0] for table in tables_of(database)]

    async with at_work(database, [agent(graph(note, graph(think, think), think))]) as world:
        await say(world, "word")
        await pruned(world)
        first = rows()
        await say(world, *["word"] * 9)
        await pruned(world)
        assert rows() == first
        assert first[:2] == [1, 0]


async def test_an_agent_keeps_its_history_only_if_it_says_so(url: str) -> None:
    assert not Agent("notes", None).history
    async with at_work(url, [agent(graph(note, think), history=True)]) as world:
        await say(world, "one")
        once = await world.checkpoints()
        await say(world, "two")
        assert len(await world.checkpoints()) == 2 * len(once) > 4


async def test_no_other_thread_forgets_anything(url: str) -> None:
    forgetful, other = agent(graph(note, think)), replace(agent(graph(note, think), history=True), name="other")
    async with at_work(url, [forgetful, other]) as world:
        await world.run("other", {"text": "kept"}, "t2")
        before = await world.checkpoints("t2")
        assert len(before) > 1
        await say(world, "one", "two")
        assert await world.checkpoints("t2") == before
        await say(world, "elsewhere", id="t3")
        await pruned(world)
        await pruned(world, "t3")
        assert await world.checkpoints("t2") == before


async def test_a_thread_that_waits_for_a_person_keeps_what_it_goes_on_from(url: str) -> None:
    async with at_work(url, [agent(graph(note, graph(think, inquire), think))]) as world:
        thread = await say(world, "one")
        for n in range(2):
            assert thread.status == "interrupted"
            assert {"", "1"} <= set(places(await world.checkpoints()))
            thread = await world.answer(await world.one(), "respond", message=f"more {n}")
            assert thread.status == "done"
            assert thread.values["notes"][-1] == f"more {n}"
            assert places([await pruned(world)]) == [""]
            thread = await say(world, "two")


async def test_a_sub_graph_with_a_memory_of_its_own_keeps_it(url: str) -> None:
    class Own(TypedDict, total=False):
        text: str
        heard: Annotated[list[str], operator.add]

    def remember(state: Own) -> Own:
        return {"heard": [state["text"]]}

    def tell(state: Own) -> Own:
        histories.append(state["heard"])
        return {}

    histories: list[list[str]] = []
    within = graph(remember, graph(think, think), tell, schema=Own, checkpointer=True)
    async with at_work(url, [agent(graph(note, within, think))]) as world:
        await say(world, "one", "two", "three")

        async def are_removed() -> bool:
            return places(await world.checkpoints()) == ["", "1"]

        await until(are_removed, "old checkpoints are removed")
    assert histories == [["one"], ["one", "two"], ["one", "two", "three"]]


async def test_a_run_that_failed_keeps_what_a_retry_goes_on_from(url: str) -> None:
    is_broken = [True]

    def may_fail(state: Notes) -> Notes:
        if is_broken.pop():
            raise OSError("no paper")
        return {}

    async with at_work(url, [agent(graph(note, may_fail))]) as world:
        is_broken.insert(0, False)
        await say(world, "one")
        assert (await world.thread()).status == "error"
        assert len(await world.checkpoints()) > 1
        await retry_failed_run(world.backend, world.inbox, "t1", by="root")
        thread = await world.rest()
        assert (thread.status, thread.values) == ("done", {"notes": ["one"]})
        await pruned(world)


async def test_a_thread_that_was_cancelled_amid_a_question_forgets_it_at_its_next_end(url: str) -> None:
    def may_ask(state: Notes) -> Notes:
        return inquire(state) if "ask" in state["text"] else {}

    async with at_work(url, [agent(graph(note, graph(may_ask, think)))]) as world:
        await say(world, "ask")
        await world.runner.cancel("default", "t1", by="ann")
        thread = await say(world, "two")
        assert (thread.status, thread.values) == ("done", {"notes": ["ask", "two"]})
        assert places([await pruned(world)]) == [""]


async def test_a_thread_with_a_long_history_forgets_it_at_its_next_end(url: str) -> None:
    made = graph(note, *[think] * 12)
    async with opened(url, [agent(made, history=True)]) as world:
        async with working(world):
            await say(world, *[f"word {n}" for n in range(8)])
        assert len(await world.checkpoints()) > 100
        later = World(world.backend, world.inbox, [agent(made)])
        async with working(later):
            thread = await say(later, "last")
            await pruned(world)
        assert thread.values == {"notes": [*[f"word {n}" for n in range(8)], "last"]}


async def test_a_workflow_keeps_what_it_said_last(url: str) -> None:
    @entrypoint()
    def count(state: Notes, *, previous: Any) -> Any:
        more = [*(previous or {}).get("notes", []), state["text"]]
        return {"notes": more}

    async with at_work(url, [agent(count)]) as world:
        thread = await say(world, "one", "two", "three")
        assert thread.values == {"notes": ["one", "two", "three"]}
        await pruned(world)


async def test_a_state_that_is_told_by_its_changes_keeps_them_all(url: str) -> None:
    class Changes(TypedDict, total=False):
        notes: Annotated[
            list[str], DeltaChannel(lambda notes, more: [*notes, *(each for some in more for each in some)])
        ]
        text: str

    async with at_work(
        url, [agent(graph(lambda state: {"notes": [state["text"]]}, lambda _: {}, schema=Changes))]
    ) as world:
        await say(world, "one")
        once = await world.checkpoints()
        thread = await say(world, "two", "three")
        assert thread.values == {"notes": ["one", "two", "three"]}
        assert len(await world.checkpoints()) == 3 * len(once)


async def test_who_has_lost_the_thread_removes_nothing(url: str) -> None:
    async with at_work(url, [agent(graph(note, think), history=True)]) as world:
        thread = await say(world, "one")
        before = await world.checkpoints()
        for other in ({"fence": thread.fence - 1}, {"fence": thread.fence + 1}, {"owner": "of the same fence"}):
            with pytest.raises(FenceError):
                await world.backend.savers(thread.model_copy(update=other)).keep_newest(checkpoint_thread(thread.key))
        assert await world.checkpoints() == before
        await world.backend.savers(thread).keep_newest(checkpoint_thread(thread.key))
        assert len(await world.checkpoints()) == 1


async def test_a_removal_that_fails_fails_no_run_and_is_made_up_for(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with at_work(database, [agent(graph(note, think))]) as world:
        await say(world, "one")
        await pruned(world)
        for sql in refusals(database):
            rows_of(database, sql)
        thread = await say(world, "two")
        assert (thread.status, thread.error, thread.attention) == ("done", None, None)

        async def is_reported() -> bool:
            return "thread t1 keeps its old checkpoints until its next run" in caplog.text

        await until(is_reported, "the failure is in the log")
        assert len(await world.checkpoints()) > 1
        rows_of(database, "DROP TRIGGER refusal" + ("" if database.startswith("sqlite") else " ON checkpoints"))
        thread = await say(world, "three")
        assert (thread.status, thread.values) == ("done", {"notes": ["one", "two", "three"]})
        await pruned(world)


async def test_runs_that_never_end_well_do_not_pile_up(url: str) -> None:
    async with at_work(url, [agent(graph(note, graph(think, inquire)))]) as world:
        counts = []
        for n in range(4):
            thread = await say(world, f"word {n}")
            counts.append(len(await world.checkpoints()))
            assert (await world.one()).title == "What else?"
            await world.runner.cancel("default", "t1", by="ann")
        assert counts[1] == counts[2] == counts[3]
        thread = await say(world, "last")
        thread = await world.answer(await world.one(), "respond", message="more")
        assert thread.values == {"notes": [*[f"word {n}" for n in range(4)], "last", "more"]}


async def test_a_failed_run_returns_to_its_question_after_earlier_runs_were_removed(url: str) -> None:
    def judge(state: Notes) -> Notes:
        if "bad" in state["notes"]:
            raise ValueError("not this one")
        return {}

    async with at_work(url, [agent(graph(note, inquire, think, judge))]) as world:
        thread = await say(world, "one")
        thread = await world.answer(await world.one(), "respond", message="good")
        thread = await say(world, "two")
        thread = await world.answer(await world.one(), "respond", message="bad")
        assert thread.status == "error"
        await ask_run_questions_again(world.backend, world.inbox, "t1", by="root")
        await world.rest()
        thread = await world.answer(await world.one(), "respond", message="better")
        assert (thread.status, thread.values) == ("done", {"notes": ["one", "good", "two", "better"]})
        await pruned(world)


async def test_a_worker_that_comes_late_removes_nothing_of_the_next_run(url: str) -> None:
    async with at_work(url, [agent(graph(note, graph(think, inquire)))]) as world:
        await say(world, "one")
        ended = await world.answer(await world.one(), "respond", message="more")
        await pruned(world)
        await say(world, "two")
        before = await world.checkpoints()
        assert len(before) > 1
        await prune_checkpoints(world.backend, ended)
        assert await world.checkpoints() == before
        thread = await world.answer(await world.one(), "respond", message="again")
        assert thread.values == {"notes": ["one", "more", "two", "again"]}


async def test_a_run_that_begins_while_the_last_one_is_tidied_loses_nothing(url: str) -> None:
    async with at_work(url, [agent(graph(note, think))]) as world:
        words = [f"word {n}" for n in range(20)]
        for word in words:
            thread = await say(world, word)
            # Twice at once, and beside the worker's own.
            await asyncio.gather(*(prune_checkpoints(world.backend, thread) for _ in range(2)), say(world, "and"))
        assert (await world.thread()).values == {"notes": ["word 0", "and", *words[1:]]}
        await pruned(world)


async def test_an_erasure_leaves_nothing_of_a_thread_that_keeps_one_checkpoint(database: str) -> None:
    async with at_work(database, [agent(graph(note, graph(think, think)))]) as world:
        thread = await say(world, "one", "two")
        await pruned(world)
        eraser = Eraser(world.backend.store, world.backend.stream, world.backend.savers)
        await eraser.thread(thread.key, Erased(by="root", at=utc_now(), rule="age"))
        await prune_checkpoints(world.backend, thread)
        assert sum(rows_of(database, f"SELECT count(*) FROM {table}")[0][0] for table in tables_of(database)) == 0
        assert (await say(world, "three")).values == {"notes": ["three"]}


async def test_a_history_is_as_langgraph_writes_it_and_its_thread_goes_on_without_it(tmp_path: Path) -> None:
    file, words = tmp_path / "ringi.db", ["a word " * 1_000, "another " * 1_000]
    async with opened(f"sqlite:///{file}", [agent(graph(note, think), history=True)]) as world:
        async with working(world):
            thread = await say(world, *words)
        place: Any = {"configurable": {"thread_id": checkpoint_thread(thread.key)}}
        with SqliteSaver.from_conn_string(str(file)) as plain:
            found = list(plain.list(place))
        assert len(found) == len(await world.checkpoints())
        assert found[0].checkpoint["channel_values"]["notes"] == words
        later = World(world.backend, world.inbox, [agent(graph(note, think))])
        async with working(later):
            assert (await say(later, "last")).values == {"notes": [*words, "last"]}
            assert (await pruned(later)).checkpoint["channel_values"]["notes"] == [*words, "last"]


async def test_a_chat_takes_no_more_than_its_messages(database: str) -> None:
    """Four times their text: LangGraph writes a message of a hundred characters as five hundred bytes."""

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(f"Parcel {len(state['messages'])} {uuid.uuid4()} {uuid.uuid4()}.")]}

    made = graph(answer, schema=MessagesState)
    async with at_work(database, [Agent("chat", made)]) as world:
        for n in range(30):
            await world.run("chat", {"messages": [{"role": "user", "content": f"Where is parcel {n}?"}]})
        only = await pruned(world)
        text = sum(len(message.text) for message in only.checkpoint["channel_values"]["messages"])
        sizes = SQLITE_SIZES if database.startswith("sqlite") else POSTGRES_SIZES
        found = [rows_of(database, f"SELECT sum({size}) FROM {table}")[0][0] for table, size in sizes.items()]
        assert sum(size or 0 for size in found) < 4 * text


def refusals(database: str) -> list[str]:
    """Return what makes a database refuse to remove checkpoints."""
    trigger = "CREATE TRIGGER refusal BEFORE DELETE ON checkpoints"
    if database.startswith("sqlite"):
        return [f"{trigger} BEGIN SELECT raise(ABORT, 'no'); END"]
    body = "BEGIN RAISE EXCEPTION 'no'; END"
    return [
        f"CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $${body}$$",
        f"{trigger} FOR EACH ROW EXECUTE FUNCTION refuse()",
    ]


async def test_a_run_begins_from_the_checkpoint_that_its_position_was_read_from(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with at_work(url, [agent(graph(note, graph(think, think), think))]) as world:
        await say(world, "one")
        await pruned(world)
        kind, reads = type(world.backend.savers(await world.thread())), list[str]()
        read = kind._read

        async def counted(saver: Any, method: str, *args: Any, **options: Any) -> Any:
            reads.append(str(args[0]["configurable"].get("checkpoint_ns") or ""))
            return await read(saver, method, *args, **options)

        monkeypatch.setattr(kind, "_read", counted)
        thread = await say(world, "two")
        assert thread.values == {"notes": ["one", "two"]}
        assert reads.count("") == 2, "before the run and at its end"
