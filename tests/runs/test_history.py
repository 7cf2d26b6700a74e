"""Threads that forget their old checkpoints: what is left is enough to go on, and nothing else is lost."""

from __future__ import annotations

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
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.func import entrypoint
from langgraph.graph import END, START, StateGraph
from tests.runs.world import World, at_work, opened, working

from ringi.domain.thread import Thread, checkpoint_thread
from ringi.errors import FenceError
from ringi.integrations.langgraph import ask
from ringi.runs.agent import Agent
from ringi.runs.operations import retry


def united(notes: list[str], more: list[str]) -> list[str]:
    """Return both as one: a sub-graph hands back what it was given."""
    return [*notes, *(each for each in more if each not in notes)]


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
            (only,) = await world.checkpoints()
            assert (only.parent_config, only.pending_writes) == (None, [])


async def test_a_database_has_no_row_more_after_the_tenth_run_than_after_the_first(database: str) -> None:
    tables = (
        ("checkpoints", "writes")
        if database.startswith("sqlite")
        else ("checkpoints", "checkpoint_writes", "checkpoint_blobs")
    )

    def rows() -> list[int]:
        return [rows_of(database, f"SELECT count(*) FROM {table}")[0][0] for table in tables]

    async with at_work(database, [agent(graph(note, graph(think, think), think))]) as world:
        await say(world, "word")
        first = rows()
        await say(world, *["word"] * 9)
        assert rows() == first
        assert first[:2] == [1, 0]


async def test_an_agent_keeps_its_history_unless_it_says_otherwise(url: str) -> None:
    async with at_work(url, [agent(graph(note, think), history=Agent("notes", None).history)]) as world:
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
        assert len(await world.checkpoints()) == len(await world.checkpoints("t3")) == 1


async def test_a_thread_that_waits_for_a_person_keeps_what_it_goes_on_from(url: str) -> None:
    async with at_work(url, [agent(graph(note, graph(think, inquire), think))]) as world:
        thread = await say(world, "one")
        for n in range(2):
            assert thread.status == "interrupted"
            assert {"", "1"} <= set(places(await world.checkpoints()))
            thread = await world.answer(await world.one(), "respond", message=f"more {n}")
            assert thread.status == "done"
            assert thread.values["notes"][-1] == f"more {n}"
            assert places(await world.checkpoints()) == [""]
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
        assert places(await world.checkpoints()) == ["", "1"]
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
        await retry(world.backend, world.inbox, "t1", by="root")
        thread = await world.rest()
        assert (thread.status, thread.values) == ("done", {"notes": ["one"]})
        assert len(await world.checkpoints()) == 1


async def test_a_thread_that_was_cancelled_amid_a_question_forgets_it_at_its_next_end(url: str) -> None:
    def may_ask(state: Notes) -> Notes:
        return inquire(state) if "ask" in state["text"] else {}

    async with at_work(url, [agent(graph(note, graph(may_ask, think)))]) as world:
        await say(world, "ask")
        await world.runner.cancel("default", "t1", by="ann")
        thread = await say(world, "two")
        assert (thread.status, thread.values) == ("done", {"notes": ["ask", "two"]})
        assert places(await world.checkpoints()) == [""]


async def test_a_thread_with_a_long_history_forgets_it_at_its_next_end(url: str) -> None:
    made = graph(note, *[think] * 12)
    async with opened(url, [agent(made, history=True)]) as world:
        async with working(world):
            await say(world, *[f"word {n}" for n in range(8)])
        assert len(await world.checkpoints()) > 100
        later = World(world.backend, world.inbox, [agent(made)])
        async with working(later):
            thread = await say(later, "last")
        assert thread.values == {"notes": [*[f"word {n}" for n in range(8)], "last"]}
        assert len(await world.checkpoints()) == 1


async def test_a_workflow_keeps_what_it_said_last(url: str) -> None:
    @entrypoint()
    def count(state: Notes, *, previous: Any) -> Any:
        more = [*(previous or {}).get("notes", []), state["text"]]
        return {"notes": more}

    async with at_work(url, [agent(count)]) as world:
        thread = await say(world, "one", "two", "three")
        assert thread.values == {"notes": ["one", "two", "three"]}
        assert len(await world.checkpoints()) == 1


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
        for sql in refusals(database):
            rows_of(database, sql)
        thread = await say(world, "two")
        assert (thread.status, thread.error, thread.attention) == ("done", None, None)
        assert len(await world.checkpoints()) > 1
        assert "thread t1 keeps its old checkpoints until its next run ends" in caplog.text
        rows_of(database, "DROP TRIGGER refusal" + ("" if database.startswith("sqlite") else " ON checkpoints"))
        thread = await say(world, "three")
        assert (thread.status, thread.values) == ("done", {"notes": ["one", "two", "three"]})
        assert len(await world.checkpoints()) == 1


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
