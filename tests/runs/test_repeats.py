"""A model's words count as said in a result only where they are whole words of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from tests.runs.test_superseded import visible_texts
from tests.runs.world import World, at_work, checked, model

from ringi.runs.agent import Agent
from ringi.runtimes.langgraph.stream_translator import contains_text, matched_words_length

INPUT: dict[str, Any] = {"messages": [{"role": "user", "content": "How many?"}]}
TORN = [
    ("2", "25 lamps are left."),
    ("2", "2.5 kilograms are left."),
    ("2.", "2.5 kilograms are left."),
    ("1", "1,000 lamps"),
    ("2", "2 500 lampes"),
    ("10", "10:30 at the door"),
    ("5", "-5 degrees"),
    ("No", "Nothing was found."),
    ("I", "I'm sorry."),
    ("I", "I\u2019m sorry."),
    ("order", "order_id is missing"),
    ("well", "well-known lamps"),
    ("example", "example.com is down."),
    ("ランプ", "ランプは二個あります。"),
    ("2", "2\uff0e5個"),
    ("か", "か\u3099あります"),
    ("灯", "灯具还有两个。"),
    ("क", "की बात"),
    ("e", "e\u0301t\u00e9"),
    ("👍", "👍🏽 Done."),
    ("👩", "👩\u200d💻 is on it."),
]
WHOLE = [
    ("Two lamps.", "Two lamps.\n\nSource: the list."),
    ("Two lamps.", "Two lamps.Source: the list."),
    ("Two lamps", "Two lamps: red and blue."),
    ("No", "No lamps are left."),
    ("ランプは二個あります。", "ランプは二個あります。出典は在庫表です。"),
    ("在庫", "在庫、二個です。"),
    ("还有两个", "还有两个\n来源：库存"),
    ("There are 2", "There are 2, and 1 is blue."),
]


@pytest.mark.parametrize(("message", "text"), TORN)
def test_no_word_and_no_number_is_torn(message: str, text: str) -> None:
    assert (matched_words_length(text, message), contains_text(text, message)) == (0, False)
    assert not contains_text(f"Hm: {text}", message)


@pytest.mark.parametrize(("message", "text"), WHOLE)
def test_whole_words_count(message: str, text: str) -> None:
    assert (matched_words_length(text, message), contains_text(text, message)) == (len(message), True)
    assert contains_text(f"**Stock**\n\n_{message}_ ({text})", message)
    assert contains_text(f"答：「{message}」", message)


@pytest.mark.parametrize(
    ("message", "text", "has"),
    [
        ({"warning": "Two orders are overdue.", "x": "a"}, "Have a nice day", False),
        ({"warning": "Two orders are overdue.", "answer": "Two lamps."}, "Two lamps.", True),
        ({"warning": "Two orders are overdue.", "answer": "Two lamps."}, "So: Two lamps.", False),
        ({"answer": "Two lamps.", "confidence": "high"}, "Two lamps.", True),
        ({"answer": "Two lamps.", "confidence": "high"}, "**Stock**\n\nTwo lamps.", True),
        ({"answer": "Two lamps.", "confidence": "high"}, "The pressure is high", False),
        ({"answer": "Yes"}, "Yes", True),
        ({"answer": "Yes"}, " Yes\n", True),
        ({"answer": "Yes"}, "Yes, two lamps.", False),
        ({"answer": "Yes"}, "Yesterday", False),
        ({"answer": " "}, " ", False),
        ({"answer": " "}, "", False),
        ({}, "", False),
        ({"x": "a", "y": ""}, "Have a nice day", False),
        ({"kind": "lamp"}, "Two lamps.", False),
        ({"lamps": 2}, "2", False),
        ({"answer": "Two lamps.", "x": "a", "lamps": 2}, "So: Two lamps. ", True),
        ({"rows": [{"text": "Two lamps."}, {"text": "One chair."}]}, "One chair. Two\nlamps.", True),
    ],
)
def test_of_a_structured_answer_one_text_is_the_result_or_the_longest_is_in_it(
    message: dict[str, Any], text: str, has: bool
) -> None:
    assert contains_text(text, json.dumps(message)) is has


@pytest.mark.parametrize(
    ("message", "text", "has"),
    [
        ({"answer": "Two lamps are left.", "confidence": "high"}, "**Stock**\n\nTwo lamps are left.", True),
        ({"answer": "ランプは二個あります。", "lamps": 2}, "在庫：ランプは二個あります。", True),
        ({"status": "Done", "count": 5}, "Done.", False),
        ({"status": "Done"}, "Done.", False),
        ({"status": "All done.", "count": 5}, "All done.", False),
        ({"answer": "I don't know", "code": 7}, "I don't know", False),
        ({"answer": "closed", "code": 7}, "It is closed today.", False),
        ({"answer": "a-well-known-lamp", "code": 7}, "It is a-well-known-lamp.", False),
        ({"answer": "... - ... - ...", "code": 7}, "... - ... - ...", False),
        ({"status": "完了しました", "count": 5}, "完了しました。", False),
        ({"status": "완료되었습니다", "count": 5}, "완료되었습니다.", False),
        ({"status": "已经完成了", "count": 5}, "已经完成了。", False),
    ],
)
def test_a_structured_answer_of_another_graph_is_repeated_only_by_more_than_a_few_words(
    message: dict[str, Any], text: str, has: bool
) -> None:
    assert contains_text(text, json.dumps(message), is_unrelated=True) is has
    assert contains_text(text, json.dumps(message))


def test_json_that_is_nested_too_deep_is_no_structured_answer() -> None:
    assert not contains_text("Two lamps.", '{"answer": "Two lamps.", "more": ' + "[" * 200_000)


@pytest.mark.parametrize("part", ["a", "1", "1,", "a'", ".", "-", "\u0301", "a ", "1 000 ", "{"])
def test_a_long_text_takes_no_long_time(part: str) -> None:
    # Linear in the length: what is quadratic runs into the time limit of each test.
    assert contains_text(part * 50_000, part * 49_000 + "z") is False
    assert matched_words_length(part * 50_000 + "z", part * 49_000) in (0, 49_000 * len(part))


def sayer(*parts: tuple[str, bool], answer: str) -> Agent:
    """Return an agent whose only step has models say texts, each in the step itself or in a graph it calls."""

    def of(message: str) -> Any:
        async def say(state: MessagesState) -> dict[str, Any]:
            await model(lambda _: message).ainvoke("?")
            return {}

        return say

    async def step(state: MessagesState) -> dict[str, Any]:
        for message, is_inner in parts:
            inner: Any = StateGraph(MessagesState).add_node("say", of(message)).add_edge(START, "say").compile()
            await (inner.ainvoke({"messages": state["messages"]}) if is_inner else of(message)(state))
        return {"messages": [AIMessage(answer)]}

    graph = StateGraph(MessagesState).add_node("say", step).add_edge(START, "say").compile()
    return Agent("sayer", graph, subgraphs=True)


async def seen(world: World) -> list[str]:
    """Return what a reader sees of a run, after a check of the whole stream."""
    await world.run("sayer", INPUT)
    checked(await world.items())
    return visible_texts(await world.items())


@pytest.mark.parametrize("is_inner", [True, False])
@pytest.mark.parametrize(("message", "answer"), [TORN[0], TORN[7], TORN[13]])
async def test_an_answer_that_begins_with_a_part_of_the_same_word_is_told_whole(
    message: str, answer: str, is_inner: bool
) -> None:
    async with at_work("memory://", [sayer((message, is_inner), answer=answer)]) as world:
        assert await seen(world) == [message, answer]


@pytest.mark.parametrize(
    ("message", "answer", "texts"),
    [
        ("No", "No lamps are left.", ["No lamps are left."]),
        ("在庫、", "在庫、二個です。", ["在庫、二個です。"]),
        ("Two lamps.", "Two lamps.\nOne chair.", ["Two lamps.\nOne chair."]),
        ("Two lamps.", "Two lamps.\n \r\nOne chair.", ["Two lamps.", "One chair."]),
        ("Two lamps.", "Two lamps.\n", ["Two lamps."]),
    ],
)
async def test_what_follows_a_message_that_has_ended_is_a_paragraph_or_the_whole_answer(
    message: str, answer: str, texts: list[str]
) -> None:
    async with at_work("memory://", [sayer((message, True), answer=answer)]) as world:
        assert await seen(world) == texts


async def test_a_message_that_is_still_open_goes_on_with_what_follows() -> None:
    async with at_work("memory://", [sayer(("Two lamps.", False), answer="Two lamps. One chair.")]) as world:
        assert await seen(world) == ["Two lamps. One chair."]


@pytest.mark.parametrize("is_inner", [True, False])
async def test_an_answer_of_two_drafts_is_told_once(is_inner: bool) -> None:
    parts = (("Two lamps.", is_inner), ("One chair.", is_inner))
    async with at_work("memory://", [sayer(*parts, answer="Two lamps.\n\nOne chair.")]) as world:
        assert sorted("\n\n".join(await seen(world)).split("\n\n")) == ["One chair.", "Two lamps."]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ({"answer": "Two lamps are left.", "confidence": "high"}, "Two lamps are left."),
        ({"reasoning": "I count the list of stock.", "answer": "Two lamps are left."}, "Two lamps are left."),
        ({"answer": "Yes"}, "Yes"),
    ],
)
async def test_a_structured_answer_is_taken_back_by_the_text_that_the_step_takes_from_it(
    message: dict[str, Any], answer: str
) -> None:
    async with at_work("memory://", [sayer((json.dumps(message), False), answer=answer)]) as world:
        assert await seen(world) == [answer]


@pytest.mark.parametrize(
    ("message", "answer"),
    [
        ("Yes", "I see: Yesterday it was sent."),
        ('{"warning": "Two orders are overdue, call the customer now", "x": "a"}', "Have a nice day"),
    ],
)
async def test_words_that_are_nowhere_else_stay(message: str, answer: str) -> None:
    async with at_work("memory://", [sayer((message, False), answer=answer)]) as world:
        assert await seen(world) == [message, answer]
