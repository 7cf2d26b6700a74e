"""What a thread says: AG-UI events, each once, over pauses, crashes and second thoughts."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Sequence
from typing import Annotated, Any, TypedDict

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.tools import tool
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from tests.runs.world import World, at_work, checked, model, of_type, opened, until, working

from ringi import ask
from ringi.backends.memory.checkpoints import FencedMemorySaver
from ringi.demo import preferences
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel


class Log(TypedDict, total=False):
    """What the agents here write down."""

    log: Annotated[list[str], operator.add]


def graph_of(name: str, **nodes: Any) -> Agent:
    """Return an agent whose nodes all run at once."""
    graph = StateGraph(Log)
    for node, work in nodes.items():
        graph.add_node(node, work)
        graph.add_edge(START, node)
        graph.add_edge(node, END)
    return Agent(name, graph.compile(), input=lambda _: {"log": []}, output=dict)


def talker(name: str, says: Any = "I am about to ask you.", questions: int = 1) -> Any:
    """Return a node that speaks and notes progress before it asks, against all advice."""
    speaker = model(lambda _: says() if callable(says) else says)

    async def node(state: Log) -> Log:
        get_stream_writer()({"name": "progress", "node": name})
        await speaker.ainvoke("speak")
        answers = [ask(f"{name} {n}?").response for n in range(questions)]
        return {"log": [f"{name}: {answer.message}" for answer in answers if answer]}

    return node


async def test_a_stream_is_what_agui_clients_expect_over_pauses_resumes_and_runs(url: str) -> None:
    async with at_work(url) as world:
        for agent, input in [("refund", {"order": 1, "amount": 2}), ("preferences", {}), ("two_questions", {})]:
            await world.run(agent, input)
            for request in await world.pending():
                answers = {"form": ("approve", {"sport": "running"}), "question": ("respond", None)}
                decision, data = answers.get(request.kind, ("approve", None))
                await world.answer(request, decision, data, message="fine")
            assert (await world.thread()).status == "done"
        items = await world.items()
        assert all(text.strip() for text in checked(items).values())
        outcomes = [event["outcome"]["type"] for event in of_type(items, "RUN_FINISHED")]
        assert outcomes == ["interrupt", "success", "interrupt", "success", "interrupt", "interrupt", "success"]


async def test_a_pause_names_the_open_requests(url: str) -> None:
    async with at_work(url) as world:
        await world.run("two_questions", {})
        first, second = await world.pending()
        await world.answer(first, "respond", message="Oslo")
        pauses = [event["outcome"]["interrupts"] for event in of_type(await world.items(), "RUN_FINISHED")]
        named = [sorted(interrupt["id"] for interrupt in pause) for pause in pauses]
        assert named == [sorted([first.id, second.id]), [second.id]]
        assert {i["metadata"]["digest"] for i in pauses[0]} == {first.digest, second.digest}


async def test_a_pause_offers_the_form_as_a_schema(url: str) -> None:
    async with at_work(url) as world:
        await world.run("preferences", {})
        (pause,) = of_type(await world.items(), "RUN_FINISHED")
        (interrupt,) = pause["outcome"]["interrupts"]
        assert interrupt["responseSchema"] == preferences.FORM.json_schema()


async def test_what_a_step_says_before_its_questions_is_said_once_over_many_resumes(url: str) -> None:
    async with at_work(url, [graph_of("one", only=talker("only", questions=4))]) as world:
        await world.run("one", {})
        for n in range(4):
            request = await world.one()
            assert request.title == f"only {n}?"
            await world.answer(request, "respond", message=str(n))
        thread = await world.thread()
        assert thread.values == {"log": ["only: 0", "only: 1", "only: 2", "only: 3"]}
        items = await world.items()
        assert list(checked(items).values()) == ["I am about to ask you."]
        assert len(of_type(items, "CUSTOM")) == 1
        assert len(await world.asked()) == 4


async def test_steps_side_by_side_say_each_thing_once_however_often_they_run_again(url: str) -> None:
    nodes = {name: talker(name, f"This is {name}.") for name in ("a", "b", "c")}
    async with at_work(url, [graph_of("three", **nodes)]) as world:
        await world.run("three", {})
        for request in await world.pending():
            await world.answer(request, "respond", message="ok")
        assert (await world.thread()).status == "done"
        items = await world.items()
        assert sorted(checked(items).values()) == ["This is a.", "This is b.", "This is c."]
        assert len(of_type(items, "CUSTOM")) == 3
        assert len(await world.asked()) == 3


async def test_a_step_that_runs_again_within_one_turn_does_not_repeat_itself(url: str) -> None:
    gate = asyncio.Event()

    async def slow(state: Log) -> Log:
        answer = ask("slow?").response
        gate.set()
        await asyncio.wait_for(second_is_answered.wait(), 20)
        return {"log": [str(answer and answer.message)]}

    second_is_answered = asyncio.Event()
    async with at_work(url, [graph_of("two", slow=slow, talks=talker("talks"))]) as world:
        await world.run("two", {})
        slow_one, talks = await world.pending()
        await world.respond(slow_one, "respond", message="go")
        await asyncio.wait_for(gate.wait(), 20)
        await world.respond(talks, "respond", message="too")
        second_is_answered.set()
        assert sorted((await world.rest()).values["log"]) == ["go", "talks: too"]
        items = await world.items()
        assert list(checked(items).values()) == ["I am about to ask you."]
        assert len(of_type(items, "CUSTOM")) == 1
        assert len(of_type(items, "RUN_STARTED")) == 2


async def test_a_model_that_says_something_else_is_another_message(url: str) -> None:
    replies = iter(["I think we should pay.", "I doubt that we should."])
    async with at_work(url, [graph_of("moody", only=talker("only", lambda: next(replies)))]) as world:
        await world.run("moody", {})
        await world.answer(await world.one(), "respond", message="hm")
        assert await world.texts() == ["I think we should pay.", "I doubt that we should."]


async def test_a_model_that_says_less_the_second_time_is_another_message(url: str) -> None:
    replies = iter(["I think we should pay.", "I think"])
    async with at_work(url, [graph_of("terse", only=talker("only", lambda: next(replies)))]) as world:
        await world.run("terse", {})
        await world.answer(await world.one(), "respond", message="hm")
        assert await world.texts() == ["I think we should pay.", "I think"]


async def test_a_model_that_says_more_the_second_time_is_another_message(url: str) -> None:
    replies = iter(["I think", "I think we should pay."])
    async with at_work(url, [graph_of("wordy", only=talker("only", lambda: next(replies)))]) as world:
        await world.run("wordy", {})
        await world.answer(await world.one(), "respond", message="hm")
        assert await world.texts() == ["I think", "I think we should pay."]


async def test_what_was_said_the_second_time_is_not_repeated_the_third(url: str) -> None:
    replies = iter(["One.", "Two.", "Two.", "One."])
    async with at_work(url, [graph_of("wavers", only=talker("only", lambda: next(replies), questions=3))]) as world:
        await world.run("wavers", {})
        for _ in range(3):
            await world.answer(await world.one(), "respond", message="hm")
        assert await world.texts() == ["One.", "Two."]


class Silence:
    """Whether a model falls silent in the middle of a message."""

    def __init__(self) -> None:
        self.is_over = False


class Faltering(ScriptedModel):
    """Begins a text and stops after some words, until the silence is over; then it says another."""

    words: int
    begins: str
    silence: Any

    async def _astream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        is_silent = not self.silence.is_over
        chunks = self._chunks([AIMessage(self.begins)] if is_silent else messages)
        for chunk in chunks[: self.words] if is_silent else chunks:
            yield chunk
        if is_silent:
            await asyncio.Event().wait()


def repeat(messages: Sequence[BaseMessage]) -> str:
    return messages[-1].text


def faltering(first: str, second: str, words: int) -> tuple[Agent, Silence]:
    """Return an agent whose model stops after some words of the first text and says the second afterwards."""
    silence = Silence()
    speaker = Faltering(script=repeat, words=words, begins=first, silence=silence)

    async def speak(log: Log) -> Log:
        return {"log": [(await speaker.ainvoke(second)).text]}

    return graph_of("falters", speak=speak), silence


LONG = "One two three four five six seven."


@pytest.mark.parametrize(
    ("second", "texts"),
    [
        (LONG, [LONG]),
        ("One two three ", ["One two three "]),
        ("One zwei drei.", ["One two three ", "One zwei drei."]),
        ("One two", ["One two three ", "One two"]),
    ],
)
async def test_a_message_cut_off_by_a_crash_goes_on_or_becomes_another(url: str, second: str, texts: list[str]) -> None:
    agent, silence = faltering(LONG, second, 3)
    async with opened(url, [agent]) as world:
        await world.start("falters", {})
        working_once = asyncio.create_task(world.runner.work(asyncio.Event()))
        await until(lambda: says(world, "three"), "three words are stored")
        working_once.cancel()
        await asyncio.gather(working_once, return_exceptions=True)
        silence.is_over = True
        async with working(world):
            assert (await world.rest()).status == "done"
        assert await world.texts() == texts


async def says(world: World, word: str) -> list[dict[str, Any]]:
    events = of_type(await world.items(), "TEXT_MESSAGE_CONTENT")
    return [event for event in events if word in event["delta"]]


async def test_events_that_are_no_json_are_shown_as_text_and_harm_nobody(url: str) -> None:
    def odd(state: Log) -> Log:
        writer = get_stream_writer()
        writer({"name": "odd", "nan": float("nan"), "big": 2**70, "thing": object, "bytes": {1, 2}})
        writer("plain")
        writer({"name": "half \ud800", "value\ud800": ["\ud800", "\x00"], "nan": float("nan")})
        return {"log": ["ok"]}

    async with at_work(url, [graph_of("odd", odd=odd)]) as world:
        assert (await world.run("odd", {})).status == "done"
        items = await world.items()
        checked(items)
        first, second, half = of_type(items, "CUSTOM")
        assert first["value"]["nan"] is None
        assert (second["name"], second["value"]) == ("custom", "plain")
        assert half["value"] == {"name": "half ?", "value?": ["?", ""], "nan": None}


async def test_equal_events_of_one_step_are_all_told(url: str) -> None:
    def counts(state: Log) -> Log:
        for _ in range(3):
            get_stream_writer()({"name": "tick"})
        return {"log": [str(ask("more?").status)]}

    async with at_work(url, [graph_of("counts", counts=counts)]) as world:
        await world.run("counts", {})
        await world.answer(await world.one(), "respond", message="no")
        assert len(of_type(await world.items(), "CUSTOM")) == 3


async def test_calls_of_tools_and_their_results_are_told_once(url: str) -> None:
    @tool
    def weather(city: str) -> str:
        """Tell the weather."""
        if not ask(f"May I look up {city}?").response:
            return "no"
        return f"rain in {city}"

    def script(messages: Sequence[BaseMessage]) -> str | AIMessage:
        if messages[-1].type == "tool":
            return f"It says {messages[-1].text}."
        return AIMessage("", tool_calls=[{"id": "c1", "name": "weather", "args": {"city": "Oslo"}}])

    speaker = ScriptedModel(script=script)

    async def talk(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await speaker.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("talk", talk)
    graph.add_node("tools", ToolNode([weather]))
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", lambda s: "tools" if s["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "talk")
    agent = Agent("weather", graph.compile(), input=lambda _: {"messages": [("user", "weather in Oslo?")]})
    async with at_work(url, [agent]) as world:
        await world.run("weather", {})
        assert (await world.answer(await world.one(), "respond", message="yes")).status == "done"
        items = await world.items()
        assert list(checked(items).values()) == ["It says rain in Oslo."]
        kinds = [item.event["type"] for item in items if item.event["type"].startswith("TOOL")]
        assert kinds == ["TOOL_CALL_START", "TOOL_CALL_ARGS", "TOOL_CALL_END", "TOOL_CALL_RESULT"]


async def test_half_a_character_in_a_call_or_its_result_harms_no_run(url: str) -> None:
    @tool
    def echo(x: str) -> str:
        """Cut a text in the middle of a character."""
        return "half: \ud83d"

    def script(messages: Sequence[BaseMessage]) -> str | AIMessage:
        if messages[-1].type == "tool":
            return "done"
        return AIMessage("", tool_calls=[{"id": "c1", "name": "echo", "args": {"x": "\ud83d"}}])

    graph = create_agent(ScriptedModel(script=script), [echo])
    agent = Agent("echo", graph, input=lambda _: {"messages": [("user", "go")]}, output=lambda _: {})
    async with at_work(url, [agent]) as world:
        assert (await world.run("echo", {})).status == "done"
        items = await world.items()
        assert [event["delta"] for event in of_type(items, "TOOL_CALL_ARGS")] == ['{"x": "?"}']
        assert [event["content"] for event in of_type(items, "TOOL_CALL_RESULT")] == ["half: ?"]


async def test_a_failing_run_ends_its_stream_with_an_error_and_new_input_may_follow(url: str) -> None:
    async def breaks(state: Log) -> Log:
        await model(lambda _: "So far so good.").ainvoke("speak")
        raise ValueError("the printer is on fire")

    async with at_work(url, [graph_of("breaks", breaks=breaks)]) as world:
        for _ in range(2):
            thread = await world.run("breaks", {})
            assert (thread.status, thread.error and thread.error.code) == ("error", "ValueError")
        items = await world.items()
        assert list(checked(items).values()) == ["So far so good."] * 2
        assert [event["message"] for event in of_type(items, "RUN_ERROR")] == ["ValueError: the printer is on fire"] * 2


async def test_a_run_that_fails_before_its_first_step_is_heard_too(url: str) -> None:
    def broken(input: dict[str, Any]) -> Any:
        raise KeyError("city")

    agent = graph_of("broken", only=talker("only"))
    broken_agent = Agent("broken", agent.target, input=broken)
    async with at_work(url, [broken_agent]) as world:
        assert (await world.run("broken", {})).status == "error"
        items = await world.items()
        checked(items)
        assert [item.event["type"] for item in items] == ["RUN_STARTED", "RUN_ERROR"]


async def test_a_steps_last_words_are_stored_before_its_results(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    async with at_work("memory://") as world:
        write = FencedMemorySaver._write

        async def watched(saver: FencedMemorySaver, *work: Any) -> Any:
            seen.append("".join(event["delta"] for event in of_type(await world.items(), "TEXT_MESSAGE_CONTENT")))
            return await write(saver, *work)

        monkeypatch.setattr(FencedMemorySaver, "_write", watched)
        await world.run("refund", {"order": 1, "amount": 2})
        await world.answer(await world.one(), "reject", message="no")
        first, second = await world.texts()
        assert set(seen) == {"", first, first + second}


UNFIT: list[Any] = [{"n": 2**53}, {"n": float("nan")}, {"n": object()}, ["no object"], None]


@pytest.mark.parametrize("values", UNFIT, ids=["unsafe", "nan", "opaque", "list", "none"])
async def test_a_run_whose_values_cannot_be_stored_never_says_that_it_ended_well(url: str, values: Any) -> None:
    graph = graph_of("unfit", only=lambda state: {"log": ["ok"]}).target
    async with at_work(url, [Agent("unfit", graph, input=lambda _: {"log": []}, output=lambda _: values)]) as world:
        thread = await world.run("unfit", {})
        assert thread.error
        assert (thread.status, thread.error.code) == ("error", "UnfitValuesError")
        assert "output: agent 'unfit' has invalid output" in thread.error.message
        kinds = [item.event["type"] for item in await world.items()]
        assert kinds == ["RUN_STARTED", "RUN_ERROR"]


async def test_nobody_is_asked_by_a_run_whose_values_cannot_be_stored(url: str) -> None:
    graph = graph_of("unfit", only=talker("only")).target
    unfit = Agent("unfit", graph, input=lambda _: {"log": []}, output=lambda _: {"n": 2**53})
    async with at_work(url, [unfit]) as world:
        assert (await world.run("unfit", {})).status == "error"
        assert await world.asked() == []
        checked(await world.items())
        assert of_type(await world.items(), "RUN_FINISHED") == []
