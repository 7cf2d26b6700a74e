"""What the models of workflows say: streamed once, and for plans and steps in the talk that began them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from tests.assistant.talk import CHAT, Talk
from tests.threads.world import World, at_work, checked

from ringi.assistant import Action, Assistant, CallJob, Definitions
from ringi.assistant.front import DECLARE
from ringi.testing.scripted_model import ScriptedModel, calls, together

URL = "memory://"
ANSWER = "There are two red lamps and one blue chair."
WRITER = ScriptedModel(script=lambda messages: ANSWER)
WHOLE = ScriptedModel(script=lambda messages: ANSWER, disable_streaming=True)


def front(messages: Sequence[BaseMessage]) -> AIMessage | str:
    if messages[-1].text == "count":
        return together(calls(DECLARE, required_actions=[{"type": "count"}]), words="I look.")
    return "\n".join(f"{message.type}: {message.text}" for message in messages[1:])


def counting(workflow: Any) -> Assistant:
    """Return an assistant whose only action is done at once."""
    definitions = Definitions(infos=(), actions=(Action("count", "immediate", "Count", workflow="count"),))
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


WORKFLOWS = {
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


@pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=WORKFLOWS)
async def test_an_immediate_workflow_that_uses_a_model_says_its_answer_once(workflow: Any) -> None:
    async with at_work(URL, counting(workflow).agents()) as world:
        talk = Talk(world)
        await talk.say("count")
        texts = [" ".join(text.split()) for text in await texts_of(world)]
        assert texts == ["I look.", ANSWER]
        await talk.send("action", action="count")
        assert (await talk.words()).count(ANSWER) == 2


async def test_the_front_model_is_told_the_answer_once_too() -> None:
    async with at_work(URL, counting(words).agents()) as world:
        talk = Talk(world)
        await talk.say("count")
        await talk.say("what did you say?")
        told = (await texts_of(world))[-1].splitlines()
        assert told == ["human: count", "ai: I look.", f"ai: {ANSWER}", "human: what did you say?"]


async def test_what_a_workflow_adds_to_its_models_words_is_said_after_them() -> None:
    async def noted(job: CallJob) -> str:
        return (await WRITER.ainvoke("count")).text + "\n\nSource: the stock list."

    async with at_work(URL, counting(noted).agents()) as world:
        await Talk(world).say("count")
        assert await texts_of(world) == ["I look.", f"{ANSWER}\n\nSource: the stock list."]


async def test_two_answers_with_the_same_words_are_two() -> None:
    async def twice(job: CallJob) -> str:
        await WRITER.ainvoke("count")
        return (await WRITER.ainvoke("count once more")).text

    async with at_work(URL, counting(twice).agents()) as world:
        await Talk(world).say("count")
        assert await texts_of(world) == ["I look.", ANSWER, ANSWER]


async def test_an_answer_that_no_model_streamed_is_said() -> None:
    async def other(job: CallJob) -> str:
        await WRITER.ainvoke("count")
        return "Three in all."

    async with at_work(URL, counting(other).agents()) as world:
        await Talk(world).say("count")
        assert await texts_of(world) == ["I look.", ANSWER, "Three in all."]


def silent(model: BaseChatModel) -> Any:
    return model.with_config(tags=["nostream"])


async def test_what_a_workflow_does_not_want_to_show_is_not_streamed() -> None:
    async def chosen(job: CallJob) -> str:
        draft = (await silent(WRITER).ainvoke("count")).text
        return f"**Stock**\n\n{draft}"

    async with at_work(URL, counting(chosen).agents()) as world:
        await Talk(world).say("count")
        assert await texts_of(world) == ["I look.", f"**Stock**\n\n{ANSWER}"]
