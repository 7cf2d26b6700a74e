"""What a run reads of the person who started it: their approved answers, nobody else's, and nothing that it wrote."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from tests.runs.world import World, at_work

from ringi import Form, Text
from ringi.base.extras import UnsupportedError
from ringi.errors import InvalidError
from ringi.inbox.api import Seen
from ringi.runs.agent import Agent

FORM = Form([Text("note", label="What you eat")])


class State(TypedDict, total=False):
    seen: Any


def reader(read: Any, store: Any = None, name: str = "reader") -> Agent:
    """Return an agent that keeps in its state what it reads from its store."""
    graph = StateGraph(State).add_node("read", read).add_edge(START, "read").add_edge("read", END)
    return Agent(name, graph.compile(store=store), output=lambda state: {"seen": state.get("seen")}, memories=True)


async def everything(state: State, runtime: Runtime[Any]) -> State:
    assert runtime.store is not None
    found = await runtime.store.asearch(("memories",), limit=100)
    return {"seen": [[*item.namespace, item.key, item.value["labelled"]] for item in found]}


async def remember(
    world: World, id: str, note: str, by: str = "ann", tenant: str = "default", category: str = "food"
) -> None:
    inbox = world.inbox.for_tenant(tenant)
    asked = await inbox.ask("What do you eat?", id=id, form=FORM, context={"memory_category": category})
    await inbox.respond(Seen(id, asked.digest), "approve", {"note": note}, by=by)


async def seen(world: World, agent: str = "reader", by: str = "ann", tenant: str = "default", id: str = "t1") -> Any:
    await world.runner.start(tenant, id, agent, {}, by=by)
    thread = await world.rest(id, tenant)
    assert thread.status == "done", thread.error
    return thread.values["seen"]


async def test_a_thread_reads_the_memories_of_who_started_it_and_no_others(url: str) -> None:
    async with at_work(url, [reader(everything)]) as world:
        await remember(world, "r1", "no fish")
        await remember(world, "r2", "trains", category="v1.2 of travel")
        await remember(world, "r3", "fish", by="bob")
        await remember(world, "r4", "elsewhere", tenant="elsewhere")
        assert await seen(world) == [
            ["memories", "default", "ann", "v1.2 of travel", "r2", {"What you eat": "trains"}],
            ["memories", "default", "ann", "food", "r1", {"What you eat": "no fish"}],
        ]
        assert [item[4] for item in await seen(world, by="bob", id="t2")] == ["r3"]
        assert [item[4] for item in await seen(world, tenant="elsewhere")] == ["r4"]
        for nobody in ("agent:bot", "system", "carl"):
            assert await seen(world, by=nobody, id=f"of-{nobody}") == []


async def test_an_edit_and_a_deletion_count_from_the_next_thread_on(file: str) -> None:
    async with at_work(file, [reader(everything)]) as world:
        await remember(world, "r1", "no fish")
        await world.inbox.memories.edit("r1", {"note": "no meat"}, by="ann")
        assert [item[-1] for item in await seen(world)] == [{"What you eat": "no meat"}]
        await world.inbox.memories.delete("r1", by="ann")
        assert await seen(world, id="t2") == []


async def test_whatever_namespace_is_named_another_persons_memories_are_not_there(file: str) -> None:
    async def pry(state: State, runtime: Runtime[Any]) -> State:
        assert runtime.store is not None
        bobs = ("memories", "default", "bob", "food")
        found = [await runtime.store.asearch(prefix) for prefix in (bobs, bobs[:3], ("memories", "elsewhere"))]
        read = [await runtime.store.aget(bobs, "r3"), await runtime.store.aget(("memories", "default", "ann"), "r1")]
        own = await runtime.store.aget(("memories", "default", "ann", "food"), "r1")
        assert own is not None
        return {"seen": [found, read, own.value["answer"], await runtime.store.alist_namespaces(max_depth=3)]}

    async with at_work(file, [reader(pry)]) as world:
        await remember(world, "r1", "no fish")
        await remember(world, "r3", "fish", by="bob")
        own = {"note": "no fish"}
        assert await seen(world) == [[[], [], []], [None, None], own, [["memories", "default", "ann"]]]


async def test_a_filter_and_pages_find_what_langgraphs_own_store_finds(file: str) -> None:
    async def look(state: State, runtime: Runtime[Any]) -> State:
        store = runtime.store
        assert store is not None
        pages = [await store.asearch(("memories",), filter={"category": "food"}, limit=2, offset=n) for n in (0, 2, 4)]
        with pytest.raises(InvalidError, match="filter"):
            await store.asearch(("memories",), filter={"category": {"$gt": "a"}})
        return {"seen": [[item.key for item in page] for page in pages]}

    async with at_work(file, [reader(look)]) as world:
        for n in range(6):
            await remember(world, f"r{n}", "fish", category="food" if n % 2 else "travel")
        assert await seen(world) == [["r5", "r3"], ["r1"], []]


async def test_a_step_that_is_no_coroutine_reads_too(file: str) -> None:
    def read(state: State, runtime: Runtime[Any]) -> State:
        assert runtime.store is not None
        return {"seen": [item.key for item in runtime.store.search(("memories",))]}

    async with at_work(file, [reader(read)]) as world:
        await remember(world, "r1", "no fish")
        assert await seen(world) == ["r1"]


async def test_a_coroutine_that_would_wait_for_itself_is_told_so(file: str) -> None:
    async def read(state: State, runtime: Runtime[Any]) -> State:
        assert runtime.store is not None
        with pytest.raises(UnsupportedError, match="asearch"):
            runtime.store.search(("memories",))
        return {"seen": "told"}

    async with at_work(file, [reader(read)]) as world:
        assert await seen(world) == "told"


async def test_a_run_puts_nothing_into_a_persons_memory(file: str) -> None:
    async def write(state: State, runtime: Runtime[Any]) -> State:
        assert runtime.store is not None
        with pytest.raises(UnsupportedError, match="memory_category"):
            await runtime.store.aput(("memories", "default", "ann", "food"), "r1", {"note": "obey"})
        with pytest.raises(UnsupportedError):
            await runtime.store.adelete(("memories", "default", "ann", "food"), "r1")
        return {"seen": len(await runtime.store.asearch(("memories",)))}

    async with at_work(file, [reader(write)]) as world:
        await remember(world, "r1", "no fish")
        assert await seen(world) == 1


async def test_a_graph_with_a_store_of_its_own_keeps_it(file: str) -> None:
    own = InMemoryStore()
    own.put(("memories",), "mine", {"labelled": "mine"})
    async with at_work(file, [reader(everything, own)]) as world:
        await remember(world, "r1", "no fish")
        assert [item[-1] for item in await seen(world)] == ["mine"]


async def test_a_graph_that_uses_a_store_if_there_is_one_runs_without(file: str) -> None:
    async def keep(state: State, runtime: Runtime[Any]) -> State:
        if runtime.store is not None:
            await runtime.store.aput(("cache",), "k", {"v": 1})
        return {"seen": "whole"}

    async with at_work(file, [replace(reader(keep), memories=False)]) as world:
        assert await seen(world) == "whole"


async def test_the_demos_workflow_remembers_what_it_was_told_by_the_same_person(url: str) -> None:
    async with at_work(url) as world:
        for n, (by, sport) in enumerate([("ann", "swimming"), ("ann", None), ("bob", None)], 1):
            await world.runner.start("default", f"t{n}", "preferences", {}, by=by)
            await world.rest(f"t{n}")
            request = await world.one(f"t{n}")
            await world.answer(request, "approve", {"sport": sport}) if sport else await world.answer(request, "reject")
        first, second, bobs = [(await world.texts(f"t{n}"))[0] for n in (1, 2, 3)]
        assert first == bobs != second == "Welcome back! You told me that you like swimming. Is that still so?"
        assert len(await world.inbox.memories.list("ann")) == 1
        await world.verified()
