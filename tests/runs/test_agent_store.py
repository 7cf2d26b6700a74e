"""The store that every agent has: LangGraph's own, kept with the threads, and each agent's alone."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.graph import START, StateGraph
from langgraph.prebuilt import InjectedStore
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore
from tests.runs.world import World, at_work, opened, working

from ringi import ask
from ringi.base.extras import UnsupportedError
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

SHELF = ("shelf", "a")


class State(TypedDict, total=False):
    do: str
    found: Any


def plain(state: State, *, store: BaseStore) -> State:
    """Do what is wanted, in a thread beside the loop."""
    return {"found": used(store, state["do"])}


def used(store: BaseStore, do: str) -> Any:
    word, _, key = do.partition(" ")
    if word == "put":
        store.put(SHELF, key, {"title": key, "pages": len(key)})
    if word == "delete":
        store.delete(SHELF, key)
    if word == "get":
        item = store.get(SHELF, key)
        return item and [list(item.namespace), item.key, item.value]
    if word == "spaces":
        return [list(space) for space in store.list_namespaces(prefix=("shelf",), max_depth=1)]
    found = store.search(("shelf",), filter={"pages": 4} if word == "four" else None)
    return sorted(item.key for item in found)


async def waiting(state: State, runtime: Runtime[Any]) -> State:
    """Do it with the loop, and what blocks it too."""
    store = runtime.store
    assert store is not None
    await store.aput(("shelf", "b"), "late", {"title": "late", "pages": 4})
    store.put(("shelf", "b"), "soon", {"title": "soon", "pages": 4})
    found = await store.asearch(("shelf",), filter={"pages": {"$eq": 4}})
    item = await store.aget(("shelf", "b"), "soon")
    spaces = await store.alist_namespaces(suffix=("b",))
    await store.adelete(("shelf", "b"), "late")
    return {"found": [sorted(each.key for each in found), item and item.value, list(map(list, spaces))]}


def agent(step: Any = plain, name: str = "library", **more: Any) -> Agent:
    graph = StateGraph(State).add_node("step", step).add_edge(START, "step")
    options = {"store": more.pop("store")} if "store" in more else {}
    return Agent(name, graph.compile(**options), output=lambda state: {"found": state.get("found")}, **more)


async def did(world: World, do: str, id: str, agent: str = "library", tenant: str = "default") -> Any:
    thread = await world.run(agent, {"do": do}, id, tenant)
    assert thread.status == "done", thread.error
    return thread.values["found"]


async def test_a_node_reads_in_a_later_thread_what_another_kept(url: str) -> None:
    async with at_work(url, [agent()]) as world:
        assert await did(world, "put dune", "t1") == ["dune"]
        assert await did(world, "put emma!", "t2") == ["dune", "emma!"]
        assert await did(world, "four", "t3") == ["dune"]
        assert await did(world, "get dune", "t4") == [["shelf", "a"], "dune", {"title": "dune", "pages": 4}]
        assert await did(world, "spaces", "t5") == [["shelf"]]
        assert await did(world, "delete dune", "t6") == ["emma!"]
        assert await did(world, "get dune", "t7") is None


async def test_a_node_on_the_loop_may_wait_or_block(url: str) -> None:
    async with at_work(url, [agent(waiting)]) as world:
        assert await did(world, "", "t1") == [["late", "soon"], {"title": "soon", "pages": 4}, [["shelf", "b"]]]


async def test_it_outlives_the_process(file: str) -> None:
    async with at_work(file, [agent()]) as world:
        await did(world, "put dune", "t1")
    async with at_work(file, [agent()]) as world:
        assert await did(world, "all", "t2") == ["dune"]


async def test_no_other_agent_and_no_other_tenant_sees_it(url: str) -> None:
    others = [agent(), agent(name="library2"), agent(name="libr"), agent(name="lib%"), agent(name="a.b")]
    async with at_work(url, others) as world:
        await did(world, "put dune", "t1")
        for name in ("library2", "libr", "lib%", "a.b"):
            assert await did(world, "all", f"t-{name[:3]}-{len(name)}", name) == []
            assert await did(world, "spaces", f"s-{name[:3]}-{len(name)}", name) == []
        for tenant in ("default2", "other"):
            assert await did(world, "get dune", "t1", tenant=tenant) is None
            assert await did(world, "put mine", "t2", tenant=tenant) == ["mine"]
        assert await did(world, "all", "t3") == ["dune"]


async def test_a_store_that_the_graph_was_compiled_with_stays(file: str) -> None:
    own = InMemoryStore()
    async with at_work(file, [agent(store=own)]) as world:
        await did(world, "put dune", "t1")
        assert own.get(SHELF, "dune") is not None
        assert world.backend.agent_stores is not None
        assert await world.backend.agent_stores("default", "library").count() == 0


async def test_memories_stay_what_they_are(file: str) -> None:
    async with at_work(file, [agent(memories=True)]) as world:
        thread = await world.run("library", {"do": "put dune"})
        assert (thread.status, thread.error and thread.error.code) == ("error", UnsupportedError.__name__)


async def test_what_is_in_memory_is_said_to_end_with_the_process(caplog: pytest.LogCaptureFixture, file: str) -> None:
    with caplog.at_level(logging.WARNING):
        for url, times in ((file, 0), ("memory://", 1)):
            async with at_work(url, [agent()]) as world:
                await did(world, "put dune", "t1")
                await did(world, "put emma", "t2")
            assert caplog.text.count("lost when this process ends") == times


async def test_tools_get_it_by_injection_and_by_their_runtime(url: str) -> None:
    @tool
    def note(title: str, store: Annotated[Any, InjectedStore()]) -> str:
        """Note a title."""
        store.put(("notes",), title, {"title": title})
        return "noted"

    @tool
    async def recall(runtime: ToolRuntime) -> str:
        """Recall all titles."""
        assert runtime.store is not None
        return ", ".join(item.key for item in await runtime.store.asearch(("notes",)))

    def script(messages: Any) -> AIMessage | str:
        done = [message.text for message in messages if isinstance(message, ToolMessage)]
        calls = [("note", {"title": "dune"}), ("recall", {})]
        if len(done) == len(calls):
            return " | ".join(done)
        name, args = calls[len(done)]
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": f"c{len(done)}"}])

    graph = create_agent(ScriptedModel(script=script), [note, recall])
    prepare = lambda _: {"messages": [HumanMessage("Please.")]}  # noqa: E731
    one = Agent("notes", graph, input=prepare, output=lambda state: {"found": state["messages"][-1].text})
    async with at_work(url, [one]) as world:
        thread = await world.run("notes", {})
        assert (thread.status, thread.values["found"]) == ("done", "noted | dune"), thread.error


async def test_a_subgraph_has_it_and_what_was_written_before_a_question_is_there_after_it(file: str) -> None:
    def shelve(state: State, runtime: Runtime[Any]) -> State:
        assert runtime.store is not None
        runtime.store.put(SHELF, "dune", {"pages": 4})
        return {"found": ask("Lend it?").status}

    def look(state: State, config: RunnableConfig, *, store: BaseStore) -> State:
        return {"found": [state["found"], used(store, "all")]}

    inner = StateGraph(State).add_node("shelve", shelve).add_edge(START, "shelve").compile()
    graph = StateGraph(State).add_node("inner", inner).add_node("look", look)
    graph.add_edge(START, "inner").add_edge("inner", "look")
    one = Agent("library", graph.compile(), output=lambda state: {"found": state.get("found")})
    async with opened(file, [one]) as world, working(world):
        await world.run("library", {"do": ""})
    async with at_work(file, [one]) as world:
        thread = await world.answer(await world.one(), "respond", message="yes")
        assert thread.values["found"] == ["completed", ["dune"]]


async def test_many_threads_write_at_once(url: str) -> None:
    async with at_work(url, [agent()]) as world:
        await asyncio.gather(*(did(world, f"put b{n}", f"t{n}") for n in range(20)))
        assert world.backend.agent_stores is not None
        assert await world.backend.agent_stores("default", "library").count() == 20


async def test_an_agent_a_namespace_and_a_tenant_are_erased(url: str) -> None:
    async with opened(url, []) as world:
        stores = world.backend.agent_stores
        assert stores is not None
        places = [("t1", "a"), ("t1", "a2"), ("t2", "a")]
        for tenant, name in places:
            for person in ("ann", "anna"):
                await asyncio.gather(
                    *(stores(tenant, name).aput(("notes", person), f"n{n}", {"by": person}) for n in range(3))
                )
        await asyncio.gather(*(stores("t1", "a").aput(("many",), f"n{n}", {"n": n}) for n in range(150)))
        assert await stores("t1", "a").erase(("notes", "ann")) == 3
        assert await stores("t1", "a").count() == 153
        assert await stores("t1", "a").erase() == 153
        assert [await stores(*place).count() for place in places] == [0, 6, 6]
        assert await stores("t1").erase() == 6
        assert [await stores(*place).count() for place in places] == [0, 0, 6]
