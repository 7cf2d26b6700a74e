"""A plain `interrupt()`: every answer that its code may expect, and nothing that it did not ask for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import pytest
from langgraph.graph import START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import interrupt
from pydantic import BaseModel
from tests.runs.test_interrupt_formats import State, asking
from tests.runs.world import at_work

from ringi.base.settings import SettingError
from ringi.domain import Button
from ringi.errors import InvalidError
from ringi.runs.agent import Agent, agents_by_name
from ringi.runtimes.langgraph.interrupt_formats import json_as_markdown, text_question
from ringi.server.serialize import request_json

ANY = [
    ("approve", {}, True),
    ("reject", {"message": "too dear"}, False),
    ("ignore", {}, False),
    ("respond", {"message": "Kyoto"}, "Kyoto"),
    ("respond", {"data": {"answer": False}}, False),
    ("respond", {"data": {"answer": 0}}, 0),
    ("respond", {"data": {"answer": ""}}, ""),
    ("respond", {"data": {"answer": 7.5}}, 7.5),
    ("respond", {"data": {"answer": ["a", {"b": None}]}}, ["a", {"b": None}]),
    ("respond", {"data": {"answer": {"type": "accept", "args": {"answer": 1}}}},
     {"type": "accept", "args": {"answer": 1}}),
]  # fmt: skip


@pytest.mark.parametrize(("decision", "answer", "received"), ANY)
async def test_a_plain_interrupt_receives_true_false_words_a_number_or_an_object(
    file: str, decision: str, answer: Any, received: Any
) -> None:
    async with at_work(file, [asking("Well?")]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert (request.kind, request.allowed) == ("question", ("approve", "reject", "respond"))
        thread = await world.answer(request, decision, **answer)
        (found,) = thread.values["log"]
        assert (thread.status, found, type(found)) == ("done", received, type(received))
        await world.verified()


@pytest.mark.parametrize(
    ("decision", "answer", "field"),
    [
        ("respond", {}, "message"),
        ("respond", {"message": " "}, "message"),
        ("respond", {"data": {}}, "message"),
        ("respond", {"data": {"answer": None}}, "data"),
        ("respond", {"data": {"answer": 1, "more": 2}}, "data"),
        ("respond", {"data": {"reply": 1}}, "data"),
        ("respond", {"message": "one", "data": {"answer": "other"}}, "message"),
        ("approve", {"data": {"answer": False}}, "data"),
        ("reject", {"data": {"answer": True}}, "data"),
        ("edit", {"data": {"answer": True}}, "decision"),
    ],
)
async def test_what_says_nothing_or_two_things_is_refused_and_the_question_stays(
    file: str, decision: str, answer: Any, field: str
) -> None:
    async with at_work(file, [asking("Well?")]) as world:
        await world.run("agent", {})
        request = await world.one()
        with pytest.raises(InvalidError) as refused:
            await world.respond(request, decision, **answer)
        assert refused.value.errors[0].field == field
        assert [each.id for each in await world.pending()] == [request.id]


@pytest.mark.parametrize("data", [{}, {"answer": None}, {"answer": ""}])
async def test_an_answer_that_was_left_empty_is_no_yes(file: str, data: dict[str, Any]) -> None:
    async with at_work(file, [replace(asking("Delete it?"), answer_schema=bool)]) as world:
        await world.run("agent", {})
        request = await world.one()
        with pytest.raises(InvalidError):
            await world.respond(request, "approve", data=data)
        assert [each.id for each in await world.pending()] == [request.id]


async def test_the_request_shows_under_its_digest_what_each_button_sends(file: str) -> None:
    async with at_work(file, [replace(asking("Well?"), rejection_value={"approved": False})]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert request.actions == {"approve": Button(value=True), "reject": Button(value={"approved": False})}
        assert b'"actions":{"approve":{"label":null,"style":null,"value":true}' in request_json(request)
        assert (await world.answer(request, "reject")).values["log"] == [{"approved": False}]


async def test_buttons_without_a_value_have_the_json_and_the_digest_that_they_had() -> None:
    assert Button(label="Go").model_dump() == {"label": "Go", "style": None}


async def test_an_agent_may_leave_rejection_out(file: str) -> None:
    async with at_work(file, [replace(asking("Well?"), rejection_value=None)]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert request.allowed == ("approve", "respond")
        with pytest.raises(InvalidError):
            await world.respond(request, "reject")


class Review(BaseModel):
    """What a reviewer says."""

    approved: bool
    note: str = ""


REVIEW = {**Review.model_json_schema(), "additionalProperties": False}
NAMED_ANSWER = {"type": "object", "properties": {"answer": {"type": "integer"}}, "additionalProperties": False}


@pytest.mark.parametrize("schema", [str, {"type": "string"}, int, Literal["yes", "no"], Review, {"type": "array"}])
@pytest.mark.parametrize("is_own", [True, False])
async def test_false_never_becomes_the_answer_where_the_schema_has_no_false(
    file: str, schema: Any, is_own: bool
) -> None:
    agent = asking("Well?", schema) if is_own else replace(asking("Well?"), answer_schema=schema)
    async with at_work(file, [agent]) as world:
        await world.run("agent", {})
        request = await world.one()
        assert request.allowed == ("approve", "respond")
        for decision, data in [("reject", None), ("approve", None), ("respond", {"answer": False})]:
            with pytest.raises(InvalidError):
                await world.respond(request, decision, data)


@pytest.mark.parametrize(
    ("schema", "decision", "answer", "received"),
    [
        (bool, "approve", {}, True),
        (bool, "reject", {}, False),
        (bool, "approve", {"data": {"answer": False}}, False),
        (bool, "respond", {"data": {"answer": True}}, True),
        (str, "respond", {"message": "words"}, "words"),
        (str, "approve", {"data": {"answer": "words"}}, "words"),
        (Literal["yes", "no"], "respond", {"message": "no"}, "no"),
        (int, "respond", {"data": {"answer": 4}}, 4),
        (REVIEW, "approve", {"data": {"approved": False}}, {"approved": False}),
        (REVIEW, "respond", {"data": {"answer": {"approved": True}}}, {"approved": True}),
        (NAMED_ANSWER, "approve", {"data": {"answer": 3}}, {"answer": 3}),
        (NAMED_ANSWER, "respond", {"data": {"answer": {"answer": 3}}}, {"answer": 3}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_own", [True, False])
async def test_an_answer_is_checked_by_the_schema_of_the_interrupt_or_of_its_agent(
    file: str, is_own: bool, schema: Any, decision: str, answer: Any, received: Any
) -> None:
    agent = asking("Well?", schema) if is_own else replace(asking("Well?"), answer_schema=schema)
    async with at_work(file, [agent]) as world:
        await world.run("agent", {})
        request = await world.one()
        for wrong in ({"answer": {"approved": "yes"}}, {"answer": [None]}):
            with pytest.raises(InvalidError) as refused:
                await world.respond(request, "respond", wrong)
            assert refused.value.errors[0].field.startswith("data.answer")
        assert (await world.answer(request, decision, **answer)).values["log"] == [received]


def two_nodes() -> Any:
    """Return a graph that asks for a number and then for consent."""

    def number(state: State) -> State:
        return {"log": [interrupt("How many?")]}

    def consent(state: State) -> State:
        return {"log": [interrupt("Sure?")]}

    builder = StateGraph(State).add_node("number", number).add_node("consent", consent)
    return builder.add_edge(START, "number").add_edge("number", "consent").compile()


async def test_each_node_takes_answers_of_its_own(file: str) -> None:
    answers = {"number": {"type": "integer", "minimum": 1}, "consent": bool}
    agent = Agent("agent", two_nodes(), input=lambda _: {"log": []}, output=dict, answer_schema=answers)
    async with at_work(file, [agent]) as world:
        await world.run("agent", {})
        request = await world.one()
        for wrong in (0, "2", True):
            with pytest.raises(InvalidError, match=r"data\.answer"):
                await world.respond(request, "respond", {"answer": wrong})
        await world.answer(request, "respond", {"answer": 2})
        request = await world.one()
        assert request.allowed == ("approve", "reject", "respond")
        assert (await world.answer(request, "approve")).values["log"] == [2, True]


@pytest.mark.parametrize(
    ("answers", "named"),
    [
        ({"numbr": {"type": "integer"}}, "numbr"),
        ({"number": int, "consnt": bool}, "consnt"),
        ({"number": {"type": "intger"}}, "answer_schema.number"),
        ({"number": "integer"}, "answer_schema.number"),
        ({"type": "strng"}, "answer_schema"),
        (object(), "answer_schema"),
    ],
)
def test_answers_that_are_no_schema_are_refused_when_the_agent_is_registered(answers: Any, named: str) -> None:
    with pytest.raises(SettingError, match=named):
        agents_by_name([Agent("agent", two_nodes(), answer_schema=answers)])


@pytest.mark.parametrize(
    ("value", "title", "description"),
    [
        ({"question": "Correct?", "text": "x"}, "Correct?", "- **question:** Correct?\n- **text:** x"),
        ({"text_to_revise": "a\nb"}, "a", "- **text_to_revise:** \n\n```\na\nb\n```\n"),
        ({"n": 1, "ok": True}, "n: 1, ok: true", "- **n:** `1`\n- **ok:** `true`"),
        (["a", {"b": 1}], 'a, { "b": 1 }', '- a\n- \n\n```json\n{\n  "b": 1\n}\n```\n'),
        ("## Your plan\n\nGo?", "Your plan", "## Your plan\n\nGo?"),
        ({"a": "`````\nb"}, "`````", "- **a:** \n\n``````\n`````\nb\n``````\n"),
    ],
)
def test_an_object_is_shown_in_words_and_whole(value: Any, title: str, description: str) -> None:
    ask = text_question(value)
    assert (ask.title, ask.description) == (title, description)


def test_what_is_cut_says_so() -> None:
    ask = text_question("x" * 30_000)
    assert ask.title.endswith("…")
    assert str(ask.description).endswith("… cut: 10100 more characters*")
    assert json_as_markdown({}) == ""


async def test_a_text_in_an_agents_store_comes_back_as_a_text(url: str) -> None:
    def remember(state: State, *, store: BaseStore) -> State:
        store.put(("notes",), "who", "Ann")  # type: ignore[arg-type]
        store.put(("notes",), "what", {"size": "M"})
        found = store.get(("notes",), "who")
        return {"log": [found and found.value, sorted(str(item.value) for item in store.search(("notes",)))]}

    graph = StateGraph(State).add_node("remember", remember).add_edge(START, "remember").compile()
    async with at_work(url, [Agent("agent", graph, input=lambda _: {"log": []}, output=dict)]) as world:
        thread = await world.run("agent", {})
        assert thread.values["log"] == ["Ann", ["Ann", "{'size': 'M'}"]]
