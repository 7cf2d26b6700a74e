"""A form that a model wrote is repaired; one that cannot be is told to the model once, and then to the person."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from tests.runs.mangled import FIELDS, answer, form
from tests.runs.test_forms import Talk, chat
from tests.runs.world import World, at_work

from ringi.integrations.langchain import Forms, ask_human
from ringi.integrations.langchain.ask_human import SENTENCES, conversation_language
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

ODD = [
    {"name": "喜欢的运动", "type": "select", "options": [{"value": "go", "label": None, "icon": "x"}], "min": None},
    {"name": "how often", "type": "slider", "default": 3, "help": None, "unit": "days"},
]
REPAIRED_FIELDS = [
    {"type": "select", "name": "field_91e051d1", "label": "喜欢的运动", "required": False,
     "options": [{"value": "go", "label": "go"}]},
    {"type": "number", "name": "how_often", "label": "how often", "required": False, "default": 3},
]  # fmt: skip
DATA = {"field_91e051d1": "go", "how_often": 2}
MODEL_DATA = {"喜欢的运动": "go", "how often": 2}
BAD = {"title": "Sports", "fields": [{"name": "x", "type": "dropdown", "options": ["a"]}]}
GOOD = {"title": "Sports", "fields": [{"name": "x", "type": "select", "options": ["a"]}]}


def asking(way: str, request: dict[str, Any], id: str = "c1", text: str = "Let me see.") -> str | AIMessage:
    """Return a model's message that asks with a form."""
    if way == "words":
        return answer(request, text)
    return calling("ask_human" if way == "ask_human" else "hitl_request", request, id, text)


def calling(name: str, request: dict[str, Any], id: str = "c1", text: str = "") -> AIMessage:
    """Return a model's message that calls for a form."""
    return AIMessage(text, tool_calls=[{"name": name, "args": request, "id": id, "type": "tool_call"}])


def agent(way: str, talk: Talk, message: str = "hi", *, is_streamed: bool = True) -> Agent:
    """Return an agent whose model asks in this way."""
    model = ScriptedModel(script=talk, disable_streaming=not is_streamed)
    tools, middleware = ([ask_human], []) if way == "ask_human" else ([], [Forms(as_tool=way == "tool")])
    graph = create_agent(model, tools, middleware=middleware)
    return Agent("chat", graph, input=lambda values: {"messages": [("user", message)]})


def results(talk: Talk) -> list[str]:
    """Return what the model was told of its forms."""
    starts = ("{", "The form is not valid")
    messages = (m for m in talk.heard[-1] if isinstance(m, ToolMessage | HumanMessage))
    return [message.text for message in messages if isinstance(message, ToolMessage) or message.text.startswith(starts)]


async def notices(world: World) -> list[str]:
    """Return what people were told beside the model's own words."""
    starts = tuple(sentence.partition("{title}")[0] for sentence in SENTENCES.values())
    return [text for text in await world.texts() if text.startswith(starts)]


WAYS = ("words", "tool", "ask_human")


@pytest.mark.parametrize("way", WAYS)
async def test_an_odd_form_is_asked_repaired_and_the_model_reads_its_own_names(
    file: str, way: str, caplog: pytest.LogCaptureFixture
) -> None:
    talk = Talk(asking(way, {"title": "Sports", "description": None, "fields": ODD}))
    async with at_work(file, [agent(way, talk)]) as world:
        await world.run("chat", {})
        request = await world.one()
        assert request.form
        assert request.form.model_dump(mode="json")["fields"] == REPAIRED_FIELDS
        thread = await world.answer(request, "approve", DATA)
        assert thread.status == "done"
        await world.verified()
    (text,) = results(talk)
    result = json.loads(text)
    result = result.get("hitl_response", result)
    assert (result["decision"], result["data"]) == ("approve", MODEL_DATA)
    assert "fields[1].unit: is unknown and was left out" in result["form_changes"]
    assert "fields[1].unit: is unknown" in caplog.text


@pytest.mark.parametrize("way", WAYS)
async def test_a_model_corrects_its_form_and_people_read_nothing_of_it(file: str, way: str) -> None:
    talk = Talk(asking(way, BAD), asking(way, GOOD, "c2"))
    async with at_work(file, [agent(way, talk)]) as world:
        await world.run("chat", {})
        assert await notices(world) == []
        thread = await world.answer(await world.one(), "approve", {"x": "a"})
        assert thread.status == "done"
    first, second = results(talk)
    assert "fields[0].type: 'dropdown' is not a field type: use one of text, textarea, select" in first
    assert "Correct it and send it again, once." in first
    assert '"data": {"x": "a"}' in second


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("message", "language", "title"),
    [("hi", "en", " (“Sports”)"), ("お願いします", "ja", "「Sports」"), ("你好", "zh", "“Sports”")],
)
async def test_after_a_second_invalid_form_people_read_what_happened(
    file: str, way: str, message: str, language: str, title: str
) -> None:
    talk = Talk(*[asking(way, BAD, f"c{n}") for n in range(2)])
    async with at_work(file, [agent(way, talk, message)]) as world:
        thread = await world.run("chat", {})
        assert thread.status == "done"
        assert await world.asked() == []
        assert await notices(world) == [SENTENCES[language].format(title=title)]
        await world.verified()
    if way != "words":
        assert "The person was told that it could not be shown" in results(talk)[1]


def deep(levels: int) -> Any:
    """Return an option that holds another, and so on."""
    return [] if not levels else [deep(levels - 1)]


@pytest.mark.parametrize("way", ["tool", "ask_human"])
@pytest.mark.parametrize(
    ("extra", "reason"), [("x" * 70_000, "larger than"), (deep(40), "deeper than")], ids=["long", "deep"]
)
async def test_what_a_model_adds_without_measure_is_refused_and_not_just_left_out(
    file: str, way: str, extra: Any, reason: str
) -> None:
    form = {"title": "Sports", "fields": [{"name": "x", "type": "select", "options": ["a"], "extra": extra}]}
    talk = Talk(asking(way, form), "Never mind.")
    async with at_work(file, [agent(way, talk)]) as world:
        assert (await world.run("chat", {})).status == "done"
        assert await world.asked() == []
    assert reason in results(talk)[0]


@pytest.mark.parametrize("way", ["tool", "ask_human"])
async def test_a_model_that_never_gets_it_right_is_told_to_use_words_and_people_read_it_once(
    file: str, way: str
) -> None:
    talk = Talk(*[asking(way, BAD, f"c{n}") for n in range(4)])
    async with at_work(file, [agent(way, talk)]) as world:
        assert (await world.run("chat", {})).status == "done"
        assert len(await notices(world)) == 1
    assert ["Correct it" in text for text in results(talk)] == [True, False, False, False]


@pytest.mark.parametrize("way", WAYS)
async def test_each_form_has_its_own_second_chance(file: str, way: str) -> None:
    tries = [BAD, GOOD, BAD, GOOD]
    talk = Talk(*[asking(way, request, f"c{n}") for n, request in enumerate(tries)])
    async with at_work(file, [agent(way, talk)]) as world:
        await world.run("chat", {})
        await world.answer(await world.one(), "approve", {"x": "a"})
        await world.answer(await world.one(), "reject")
        assert await notices(world) == []
    assert ["Correct it" in text for text in results(talk)] == [True, False, True, False]


@pytest.mark.parametrize("way", WAYS)
async def test_what_was_refused_before_a_person_spoke_counts_no_more(file: str, way: str) -> None:
    talk = Talk(asking(way, BAD), "Never mind.", asking(way, BAD, "c2"), "Never mind.")
    async with at_work(file, [agent(way, talk)]) as world:
        await world.run("chat", {})
        await world.run("chat", {})
        assert await notices(world) == []
    assert all("Correct it" in text for text in results(talk))


async def test_two_invalid_forms_at_once_are_one_try(file: str) -> None:
    wanted = [{"name": "hitl_request", "args": {**BAD, "title": title}, "id": title} for title in ("a", "b")]
    both = AIMessage("", tool_calls=[{**each, "type": "tool_call"} for each in wanted])
    talk = Talk(both, asking("tool", GOOD))
    async with at_work(file, [agent("tool", talk)]) as world:
        await world.run("chat", {})
        assert (await world.one()).title == "Sports"
        assert await notices(world) == []
    assert all("Correct it" in message.text for message in talk.heard[-1] if isinstance(message, ToolMessage))


def broken(id: str) -> AIMessage:
    """Return a call whose arguments are no JSON."""
    call = {"name": "hitl_request", "args": '{"title": "Spo', "id": id, "error": None, "type": "invalid_tool_call"}
    return AIMessage("Let me see.", invalid_tool_calls=[call])


async def test_a_call_that_is_cut_off_is_told_to_the_model_and_then_to_people(file: str) -> None:
    async with at_work(
        file, [agent("tool", talk := Talk(broken("c1"), asking("tool", GOOD)), is_streamed=False)]
    ) as world:
        await world.run("chat", {})
        assert (await world.one()).title == "Sports"
        assert await notices(world) == []
    assert "its arguments are no JSON" in talk.heard[1][-1].text
    async with at_work(file, [agent("tool", Talk(broken("c1"), broken("c2")), is_streamed=False)]) as world:
        assert (await world.run("chat", {}, id="t2")).status == "done"
        assert SENTENCES["en"].format(title="") in await world.texts("t2")


async def test_a_cut_off_call_beside_a_sound_one_leaves_that_as_it_is(file: str) -> None:
    both = AIMessage(
        "", tool_calls=calling("hitl_request", GOOD).tool_calls, invalid_tool_calls=broken("c9").invalid_tool_calls
    )
    async with at_work(file, [agent("tool", talk := Talk(both), is_streamed=False)]) as world:
        await world.run("chat", {})
        assert (await world.answer(await world.one(), "approve", {"x": "a"})).status == "done"
    assert {m.tool_call_id for m in talk.heard[-1] if isinstance(m, ToolMessage)} == {"c1", "c9"}


async def test_an_invalid_form_without_words_is_words_and_no_json(file: str) -> None:
    text = json.dumps({"hitl_request": form(FIELDS[:6])}, ensure_ascii=False)
    async with at_work(file, [chat(Talk(text, text))]) as world:
        notice = SENTENCES["en"].format(title=" (“运动偏好”)")
        assert (await world.run("chat", {})).values == {"last": notice}
        assert await world.texts() == [notice]


async def test_an_invalid_form_in_blocks_of_content_is_told_too(file: str) -> None:
    blocks = AIMessage([{"type": "text", "text": answer(BAD)}])
    async with at_work(file, [agent("words", Talk(blocks, blocks))]) as world:
        assert (await world.run("chat", {})).status == "done"
        assert len(await notices(world)) == 1


UNCLOSED = (
    """{"response": "Sure, I can help with that.", "hitl_request": {"type": "form", "title": "Details", "fields": [
{"name": "satisfaction", "type": "slider", "label": "Satisfaction", "required": true, "min": 1, "max": 10},
{"name": "free_date", "type": "date", "label": "Free Date", "required": true}
]}""",
    'Well. {"response": "Sure.", "hitl_request": {"title": "T", "fields": [{"name": "a", "type": "text"}]',
    '```json\n{"response": "Sure.", "hitl_request": {"title": "T", "fields": [{"name": "a", "type": "text"}]}\n```\n',
)


@pytest.mark.parametrize("text", UNCLOSED)
async def test_an_answer_in_which_only_the_last_braces_are_missing_is_asked(file: str, text: str) -> None:
    async with at_work(file, [chat(Talk(text))]) as world:
        await world.run("chat", {})
        assert (await world.one()).form
        (message,) = await world.texts()
        assert message.endswith(("Sure.", "Sure, I can help with that."))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            '{"response": "Sure.", "hitl_request": {"title": "T", "fields": [{"name": "a", "type": "text"}',
            "it is not valid JSON",
        ),
        ('{"response": "Sure.", "hitl_request": {"title": "T", "fields": [{"name": "a"', "it is not valid JSON"),
        ('{"response": "Sure.", "hitl_request": {"title": "T"', "form.fields"),
        (UNCLOSED[1] + " Bye.", "it is not valid JSON"),
        ('"hitl_request": {"title": "T", "fields": []}', "it is outside an object"),
    ],
)
async def test_what_else_is_missing_is_told_to_the_model_by_its_first_fault(file: str, text: str, why: str) -> None:
    async with at_work(file, [chat(talk := Talk(text, "Never mind."))]) as world:
        await world.run("chat", {})
        assert await world.asked() == []
    assert why in talk.heard[-1][-1].text


def test_a_called_form_may_not_be_deep() -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    wanted = {"title": "T", "fields": [{"name": "a", "type": "select", "options": [{"value": deep}]}]}
    reply = ask_human.invoke({"name": "ask_human", "args": wanted, "id": "c1", "type": "tool_call"})
    assert "fields: is nested deeper than 16 levels" in reply.text


async def test_the_name_of_a_form_in_prose_is_no_form(file: str) -> None:
    text = 'Put it under "hitl_request": then people see it.'
    async with at_work(file, [chat(Talk(text))]) as world:
        assert (await world.run("chat", {})).values == {"last": text}
        assert await world.texts() == [text]


async def test_a_title_that_is_hostile_ends_no_line_and_is_short(file: str) -> None:
    talk = Talk(*[asking("tool", {**BAD, "title": "a\n\n# b\x00" + "c" * 900}, f"c{n}") for n in range(2)])
    async with at_work(file, [agent("tool", talk)]) as world:
        await world.run("chat", {})
        (notice,) = await notices(world)
    assert notice == SENTENCES["en"].format(title=f" (“a # b{'c' * 75}”)")


async def test_a_form_that_waits_over_a_restart_is_answered_under_the_models_names(file: str) -> None:
    talk = Talk(asking("ask_human", {"title": "Sports", "fields": ODD}))
    async with at_work(file, [agent("ask_human", talk)]) as world:
        await world.run("chat", {})
    async with at_work(file, [agent("ask_human", talk)]) as world:
        assert (await world.answer(await world.one(), "edit", DATA)).status == "done"
    assert json.loads(results(talk)[0])["data"] == MODEL_DATA


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        ([], "en"), (["?"], "en"), (["OK, 你好"], "zh"), (["承知", "はい、お願いします"], "ja"), (["42", "谢谢"], "zh"),
        (["thanks", "谢谢"], "en"), (["カタカナ"], "ja"),
    ],
)  # fmt: skip
def test_the_language_of_who_spoke_last(texts: list[str], language: str) -> None:
    assert conversation_language(texts) == language
