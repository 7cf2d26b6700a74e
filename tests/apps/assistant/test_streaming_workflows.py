"""What the models of workflows say: streamed once, and for plans and steps in the talk that began them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk
from langgraph.graph import END, START, MessagesState, StateGraph
from tests.apps.assistant.talk import CHAT, TENANT, ChatDriver
from tests.runs.world import World, at_work, checked, opened, until, working

from ringi.server.sse.run_output import ImageLocation, messages_of_runs, runs_within_items
from ringi.testing.model import ScriptedModel, parallel_tool_calls, tool_call
from ringi_apps.assistant import ActionDefinition, Assistant, CallJob, Definitions, PlanJob, StepJob, person_text
from ringi_apps.assistant.declare_tool import DECLARE

URL = "memory://"
ANSWER = "There are two red lamps and one blue chair."
WRITER = ScriptedModel(script=lambda messages: ANSWER)
WHOLE = ScriptedModel(script=lambda messages: ANSWER, disable_streaming=True)


def front(messages: Sequence[BaseMessage]) -> AIMessage | str:
    if person_text(messages[-1]) == "count":
        return parallel_tool_calls(tool_call(DECLARE, required_actions=[{"type": "count"}]), text="I look.")
    return "\n".join(f"{message.type}: {person_text(message)}" for message in messages[1:])


def counting(workflow: Any) -> Assistant:
    """Return an assistant whose only action is done at once."""
    definitions = Definitions(infos=(), actions=(ActionDefinition("count", "immediate", "Count", workflow="count"),))
    return Assistant("assistant", definitions, ScriptedModel(script=front), {"count": workflow})


async def words(job: CallJob) -> str:
    return (await WRITER.ainvoke("count")).text


async def message(job: CallJob) -> Any:
    return await WRITER.ainvoke("count")


async def streamed(job: CallJob) -> str:
    return "".join([chunk.text async for chunk in WRITER.astream("count")])


async def unstreamed(job: CallJob) -> str:
    return (await WHOLE.ainvoke("count")).text


async def trimmed(job: CallJob) -> dict[str, Any]:
    return {"text": f"  {(await WRITER.ainvoke('count')).text}\n", "lamps": 2}


async def thought(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await WRITER.ainvoke(state["messages"])]}


async def written(state: MessagesState) -> dict[str, Any]:
    return {"messages": [AIMessage((await WRITER.ainvoke(state["messages"])).text)]}


def graph_of(node: Callable[..., Any]) -> Callable[..., Any]:
    graph: Any = StateGraph(MessagesState).add_node("say", node).add_edge(START, "say").add_edge("say", END).compile()

    async def workflow(job: CallJob) -> str:
        found = await graph.ainvoke({"messages": [("user", "count")]})
        return str(found["messages"][-1].text)

    return workflow


class Counting(TypedDict, total=False):
    """The state of a graph that is a workflow."""

    args: dict[str, Any]
    text: str


async def worded(state: Counting) -> Counting:
    return {"text": (await WRITER.ainvoke("count")).text}


WORKFLOWS = {
    "compiled-graph": StateGraph(Counting).add_node("say", worded).add_edge(START, "say").compile(),
    "words": words,
    "message": message,
    "streamed": streamed,
    "unstreamed": unstreamed,
    "trimmed": trimmed,
    "graph": graph_of(thought),
    "graph-of-words": graph_of(written),
}


async def texts_of(world: World) -> list[str]:
    return list(checked(await world.items(CHAT)).values())


@pytest.mark.parametrize(
    ("workflow", "more"), [(each, ["- lamps: 2"] * (each is trimmed)) for each in WORKFLOWS.values()], ids=WORKFLOWS
)
async def test_an_immediate_workflow_that_uses_a_model_says_its_answer_once(workflow: Any, more: list[str]) -> None:
    async with at_work(URL, counting(workflow).agents()) as world:
        talk = ChatDriver(world)
        await talk.say("count")
        texts = [" ".join(text.split()) for text in await texts_of(world)]
        assert texts == ["I look.", ANSWER, *more]
        await talk.send("action", action="count")
        assert (await talk.words()).count(ANSWER) == 2


async def test_an_answer_that_the_front_model_has_told_in_its_words_is_not_repeated() -> None:
    async def known(job: CallJob) -> str:
        return "I look."

    async with at_work(URL, counting(known).agents()) as world:
        talk = ChatDriver(world)
        await talk.say("count")
        assert await texts_of(world) == ["I look."]
        await talk.send("action", action="count")
        await talk.send("action", action="count")
        assert await texts_of(world) == ["I look."] * 3


async def test_the_front_model_is_told_the_answer_once_too() -> None:
    async with at_work(URL, counting(words).agents()) as world:
        talk = ChatDriver(world)
        await talk.say("count")
        await talk.say("what did you say?")
        lines = (await texts_of(world))[-1].splitlines()
        assert lines == ["human: count", "ai: I look.", f"ai: {ANSWER}", "human: what did you say?"]


async def test_what_a_workflow_adds_to_its_models_words_is_said_after_them() -> None:
    async def noted(job: CallJob) -> str:
        return (await WRITER.ainvoke("count")).text + "\n\nSource: the stock list."

    async with at_work(URL, counting(noted).agents()) as world:
        await ChatDriver(world).say("count")
        assert await texts_of(world) == ["I look.", f"{ANSWER}\n\nSource: the stock list."]


async def visible_texts(world: World) -> list[str]:
    """Return the texts of the conversation that a view shows."""
    return [
        str(message["content"])
        for message in messages_of_runs(runs_within_items(await world.items(CHAT)), ImageLocation("", CHAT))
    ]


@pytest.mark.parametrize(
    ("draft", "answer"),
    [
        (ANSWER, f"**Stock**\n\n{ANSWER}"),
        (ANSWER, f"I looked.  {ANSWER} That is all."),
        (json.dumps({"text": ANSWER, "lamps": 2}), ANSWER),
        (json.dumps({"rows": [{"text": ANSWER}]}, indent=2), f"So: {ANSWER}"),
    ],
)
async def test_a_draft_that_the_answer_repeats_is_taken_back(draft: str, answer: str) -> None:
    async def reworded(job: CallJob) -> str:
        await ScriptedModel(script=lambda messages: draft).ainvoke("count")
        return answer

    async with at_work(URL, counting(reworded).agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", answer]
        assert draft in await texts_of(world)


async def test_also_one_of_a_graph_that_the_workflow_calls() -> None:
    async def titled(job: CallJob) -> str:
        return f"**Stock**\n\n{await graph_of(thought)(job)}"

    async with at_work(URL, counting(titled).agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", f"**Stock**\n\n{ANSWER}"]


async def test_a_workflow_that_returns_nothing_has_said_all_by_its_model() -> None:
    async def silent(job: CallJob) -> None:
        await WRITER.ainvoke("count")

    async with at_work(URL, counting(silent).agents()) as world:
        await ChatDriver(world).say("count")
        assert await texts_of(world) == ["I look.", ANSWER]


async def test_what_a_model_says_on_the_way_stays() -> None:
    async def sorting(job: CallJob) -> str:
        await ScriptedModel(script=lambda messages: '{"kind": "stock"}').ainvoke("sort")
        await ScriptedModel(script=lambda messages: "{not JSON").ainvoke("look")
        return ANSWER

    async with at_work(URL, counting(sorting).agents()) as world:
        await ChatDriver(world).say("count")
        assert (await visible_texts(world))[1:] == ["I look.", '{"kind": "stock"}', "{not JSON", ANSWER]


async def test_two_answers_with_the_same_words_are_two() -> None:
    async def twice(job: CallJob) -> str:
        await WRITER.ainvoke("count")
        return (await WRITER.ainvoke("count once more")).text

    async with at_work(URL, counting(twice).agents()) as world:
        await ChatDriver(world).say("count")
        assert await texts_of(world) == ["I look.", ANSWER, ANSWER]


async def test_an_answer_that_no_model_streamed_is_said() -> None:
    async def other(job: CallJob) -> str:
        await WRITER.ainvoke("count")
        return "Three in all."

    async with at_work(URL, counting(other).agents()) as world:
        await ChatDriver(world).say("count")
        assert await texts_of(world) == ["I look.", ANSWER, "Three in all."]


def silent(model: BaseChatModel) -> Any:
    return model.with_config(tags=["nostream"])


async def test_what_a_workflow_does_not_want_to_show_is_not_streamed() -> None:
    async def chosen(job: CallJob) -> str:
        draft = (await silent(WRITER).ainvoke("count")).text
        return f"**Stock**\n\n{draft}"

    async with at_work(URL, counting(chosen).agents()) as world:
        await ChatDriver(world).say("count")
        assert await texts_of(world) == ["I look.", f"**Stock**\n\n{ANSWER}"]


class Halting(ScriptedModel):
    """Says its first two words, and the rest once it may."""

    may_go_on: Any

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[ChatGenerationChunk]:
        for number, chunk in enumerate(self._chunks(messages)):
            if number == 2:
                await self.may_go_on.wait()
            yield chunk


def planning(may_go_on: asyncio.Event) -> Assistant:
    """Return an assistant that plans and carries out in a model's words, which stop in the middle."""
    model = Halting(script=lambda messages: messages[-1].text, may_go_on=may_go_on)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    thinking = StateGraph(MessagesState).add_node("think", think).add_edge(START, "think")
    planner: Any = thinking.compile()

    async def plan(job: PlanJob) -> dict[str, Any]:
        found = await planner.ainvoke({"messages": [("user", "first the lamps")]})
        return {"plan": {"text": found["messages"][-1].text}, "steps": [{"id": "a", "title": "A"}]}

    async def carry_out(job: StepJob) -> None:
        await model.ainvoke("two lamps ordered")

    actions = (
        ActionDefinition("plan", "plan", "Plan", workflow="plan"),
        ActionDefinition("do", "apply", "Do", workflow="do", depends_on=("plan",)),
    )
    return Assistant(
        "assistant", Definitions((), actions), ScriptedModel(script=front), {"plan": plan, "do": carry_out}
    )


async def begun(world: World, kind: str) -> dict[str, Any]:
    """Return what the conversation's stream says of the only workflow of a kind, once it does."""

    async def workflows() -> list[dict[str, Any]]:
        events = [item.event for item in await world.items(CHAT)]
        values = [event["value"] for event in events if event.get("name") == "assistant.workflow"]
        return [value for value in values if value["kind"] == kind]

    (value,) = await until(workflows, f"the workflow {kind} is in the stream")
    return value


async def said_in(world: World, thread: str) -> list[str]:
    return list(checked(await world.items(thread)).values())


async def until_said(world: World, thread: str, text: str) -> None:
    async def is_said() -> bool:
        return "".join(item.event.get("delta", "") for item in await world.items(thread)).strip() == text

    await until(is_said, f"{thread} says {text!r}")


async def test_the_talk_names_the_stream_in_which_a_plan_and_its_steps_are_told_word_by_word() -> None:
    may_go_on = asyncio.Event()
    async with at_work(URL, planning(may_go_on).agents()) as world:
        talk = ChatDriver(world)
        await talk.send("action", action="plan")
        workflow = await begun(world, "plan")
        assert (workflow["action_id"], workflow["version"]) == ("plan", 1)
        await until_said(world, workflow["thread_id"], "first the")
        assert (await talk.memory()).plans["plan"].status == "planning"
        may_go_on.set()
        await talk.request()
        await until_said(world, workflow["thread_id"], "first the lamps")
        may_go_on.clear()
        await talk.answer("approve")
        workflow = await begun(world, "apply")
        assert (workflow["action_id"], workflow["version"]) == ("do", 1)
        await until_said(world, workflow["thread_id"], "two lamps")
        may_go_on.set()
        await talk.thread(workflow["thread_id"], "done")
        assert await said_in(world, workflow["thread_id"]) == ["two lamps ordered"]
        await talk.thread(CHAT, "done")


async def test_a_planning_that_another_worker_takes_over_says_nothing_twice() -> None:
    may_go_on = asyncio.Event()
    async with opened(URL, planning(may_go_on).agents()) as world:
        worker = asyncio.create_task(world.runner.work(asyncio.Event()))
        await ChatDriver(world).send("action", action="plan")
        thread = (await begun(world, "plan"))["thread_id"]
        await until_said(world, thread, "first the")
        worker.cancel()
        await asyncio.gather(worker, return_exceptions=True)
        may_go_on.set()
        async with working(world):
            await ChatDriver(world).request()
            assert await said_in(world, thread) == ["first the lamps"]
            assert len([each for each in await world.runner.find(TENANT, 20) if each.id == thread]) == 1


class Draft(TypedDict, total=False):
    """What a graph that plans returns."""

    plan: Any
    steps: list[dict[str, Any]]


class Drafting(Draft, total=False):
    """The state of a graph that plans."""

    feedback: Any


async def test_a_compiled_graph_plans_and_is_streamed_too() -> None:
    async def draft(state: Drafting) -> Drafting:
        return {"plan": (await WRITER.ainvoke("plan")).text, "steps": [{"id": "a", "title": "A"}]}

    graph = StateGraph(Drafting, output_schema=Draft).add_node("draft", draft).add_edge(START, "draft").compile()
    definitions = Definitions((), (ActionDefinition("plan", "plan", "Plan", workflow="plan"),))
    assistant = Assistant("assistant", definitions, ScriptedModel(script=front), {"plan": graph})
    async with at_work(URL, assistant.agents()) as world:
        talk = ChatDriver(world)
        await talk.send("action", action="plan")
        thread = (await begun(world, "plan"))["thread_id"]
        await talk.thread(thread, "done")
        assert (await talk.memory()).plans["plan"].plan == ANSWER
        assert await said_in(world, thread) == [ANSWER]
