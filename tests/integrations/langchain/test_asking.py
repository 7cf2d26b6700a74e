"""A model asks a person with a form of its own; what is wrong with the form is told to the model."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.utils.function_calling import convert_to_openai_tool
from tests.integrations.langchain.office import agent, call, calls
from tests.runs.world import at_work
from tests.tiers import examples

from ringi.inbox.inbox import Limits
from ringi.integrations.langchain import AskHuman, ask_human
from ringi.runs.model_form import TYPES
from ringi.testing.clock import ManualClock
from ringi.testing.model import ScriptedModel, scripted_turns

SPORT = {
    "name": "sport",
    "type": "select",
    "label": "Your sport",
    "required": True,
    "options": [{"value": "judo", "label": "Judo"}, {"value": "go", "label": "Go"}],
}
SAMPLES: dict[str, dict[str, Any]] = {
    "select": {"options": [{"value": "a"}]},
    "multiselect": {"options": [{"value": "a"}]},
    "radio": {"options": [{"value": "a"}]},
    "checkbox": {"options": [{"value": "a"}]},
    "slider": {"min": 0, "max": 10},
}


def texts(number: int) -> list[dict[str, str]]:
    """Return so many fields."""
    return [{"name": f"f{n}", "type": "text"} for n in range(number)]


def asks(tool: AskHuman = ask_human, **args: Any) -> Any:
    """Return an agent that asks once, and repeats what it read."""
    return agent(calls(call("ask_human", **args)), [tool])


def test_no_text_of_the_schema_could_be_copied_into_a_question() -> None:
    parameters = convert_to_openai_tool(ask_human)["function"]["parameters"]
    field = parameters["properties"]["fields"]["items"]["properties"]
    free = [
        *(parameters["properties"][name] for name in ("title", "description", "fields")),
        *(field[name] for name in ("label", "help", "placeholder", "default")),
    ]
    assert not [each for each in free if each.keys() & {"description", "examples", "example", "default"}]
    # What they mean stands in the description of the tool.
    assert all(f"`{name}`" in ask_human.description for name in ("title", "description", "fields", "label", "default"))


async def test_a_models_form_is_answered_and_the_model_reads_the_data(file: str) -> None:
    async with at_work(file, [asks(title="Which?", description="*So that* I know.", fields=[SPORT])]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.form is not None
        assert (request.kind, request.title, request.description) == ("form", "Which?", "*So that* I know.")
        assert request.form.model_dump(mode="json", exclude_none=True)["fields"][0] == SPORT
        assert request.context == {"tool_call_id": "c1"}
        thread = await world.answer(request, "approve", {"sport": "judo"})
        assert json.loads(thread.values["said"]) == {"decision": "approve", "data": {"sport": "judo"}}


@pytest.mark.parametrize("type", TYPES)
async def test_every_type_of_field_can_be_asked_for(file: str, type: str) -> None:
    field = {"name": "answer", "type": type, **SAMPLES.get(type, {})}
    async with at_work(file, [asks(title="Which?", fields=[field])]) as world:
        await world.run("office", {})
        form = (await world.one()).form
        assert form is not None
        assert form.fields[0].type == type


async def test_without_fields_the_answer_is_in_words(file: str) -> None:
    async with at_work(file, [asks(title="What is your name?")]) as world:
        await world.run("office", {})
        request = await world.one()
        assert (request.kind, request.allowed) == ("question", ("respond", "reject"))
        thread = await world.answer(request, "respond", message="アン")
        assert thread.values["said"] == '{"decision": "respond", "message": "アン"}'


async def test_a_rejection_and_its_reason_are_read_by_the_model(file: str) -> None:
    async with at_work(file, [asks(title="Which?", fields=[SPORT])]) as world:
        await world.run("office", {})
        thread = await world.answer(await world.one(), "reject", message="none of your business")
        assert thread.values["said"] == "rejected: none of your business"


async def test_five_minutes_of_silence_are_an_expiry(file: str) -> None:
    clock = ManualClock()
    async with at_work(file, [asks(title="Which?", fields=[SPORT])], clock=clock) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.expires_at == request.created_at + timedelta(minutes=5)
        clock.advance(301)
        await world.inbox.expire_due()
        assert (await world.rest()).values["said"] == "expired"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"fields": [SPORT]}, "title: Field required"),
        ({"title": " "}, "title: "),
        ({"title": 5}, "title: "),
        ({"title": "t" * 501}, "title: String should have at most 500 characters"),
        (
            {"title": "Which?", "fields": [{**SPORT, "type": "dropdown"}]},
            "fields[0].type: 'dropdown' is not a field type",
        ),
        ({"title": "Which?", "fields": [{**SPORT, "options": []}]}, "fields[0].options: has no entries"),
        ({"title": "Which?", "fields": [{**SPORT, "default": "chess"}]}, "fields[0].default: 'chess' is not an option"),
        ({"title": "Which?", "fields": [{"name": 5, "type": "text"}]}, "fields[0].name: must be text, not 5"),
        ({"title": "Which?", "fields": "sport"}, "fields: must be a list"),
        (
            {"title": "Which?", "fields": [{"name": f"f{n}", "type": "text"} for n in range(6)]},
            "6 fields are more than 5",
        ),
        ({"title": "Which?", "id": "r1"}, "id: is not an argument: remove it"),
        (
            {"title": "Which?", "expires_in": 9, "assignee": "ann"},
            "expires_in: is not an argument: remove it; assignee",
        ),
        ({"title": "Which?", "self": 1, "config": {}, "run_manager": 2}, "self: is not an argument"),
    ],
)
async def test_an_invalid_form_is_told_to_the_model_and_the_conversation_goes_on(
    file: str, args: Any, message: str
) -> None:
    first = AIMessage("", tool_calls=[{**call("ask_human", **args), "type": "tool_call"}])
    second = AIMessage(
        "", tool_calls=[{**call("ask_human", "c2", title="Which?", fields=[SPORT]), "type": "tool_call"}]
    )
    async with at_work(file, [agent(scripted_turns(first, second), [ask_human])]) as world:
        thread = await world.run("office", {})
        assert thread.status == "interrupted"
        status, text = thread.values["results"]["c1"]
        assert (status, message in text) == ("error", True), text
        (request,) = await world.asked()
        assert (await world.answer(request, "approve", {"sport": "go"})).status == "done"


async def test_deadline_people_and_the_number_of_fields_are_the_tools_own(file: str) -> None:
    tool = AskHuman(max_fields=1, expires_in=None, groups=("support",), assignee="ann")
    two = texts(2)
    async with at_work(file, [asks(tool, title="Which?", fields=two)]) as world:
        assert "2 fields are more than 1" in (await world.run("office", {})).values["said"]
    async with at_work(file, [asks(tool, title="Which?", fields=two[:1])]) as world:
        await world.run("office", {}, "t2")
        request = await world.one("t2")
        assert (request.expires_at, request.groups, request.assignee) == (None, ("support",), "ann")


async def test_the_servers_own_limit_of_fields_is_told_to_the_model(file: str) -> None:
    wide = AskHuman(max_fields=50)
    fields = texts(4)
    async with at_work(file, [asks(wide, title="Which?", fields=fields)], limits=Limits(max_fields=3)) as world:
        thread = await world.run("office", {})
        assert (thread.status, "4 fields are more than 3" in thread.values["said"]) == ("done", True)


async def test_two_questions_at_once_are_answered_one_by_one(file: str) -> None:
    wanted = [call("ask_human", f"c{n}", title=f"Question {n}?") for n in (1, 2)]
    async with at_work(file, [agent(calls(*wanted), [ask_human])]) as world:
        await world.run("office", {})
        for request in reversed(await world.pending()):
            await world.answer(request, "respond", message=f"to {request.title}")
        results = (await world.thread()).values["results"]
        assert [json.loads(results[f"c{n}"][1])["message"] for n in (1, 2)] == ["to Question 1?", "to Question 2?"]


def test_a_model_is_told_what_a_form_may_have() -> None:
    function = convert_to_openai_tool(ask_human)["function"]
    assert function["name"] == "ask_human"
    field = function["parameters"]["properties"]["fields"]["items"]
    assert len(field["properties"]["type"]["enum"]) == 11
    assert set(function["parameters"]["properties"]) == {"title", "description", "fields"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
MANGLED = st.dictionaries(st.sampled_from(["title", "description", "fields", "id", "self", "config", "x"]), JSON)


WISHES: list[dict[str, Any]] = []
MANGLER: Any = create_agent(
    ScriptedModel(script=lambda messages: calls(call("ask_human", **WISHES[-1]))(messages)), [ask_human]
)


@settings(max_examples=examples(100), deadline=None)
@given(MANGLED | st.fixed_dictionaries({"title": st.text(), "fields": st.lists(JSON, max_size=3)}))
def test_whatever_a_model_sends_is_asked_or_refused_in_words(args: Any) -> None:
    WISHES.append(args)
    result = MANGLER.invoke({"messages": [HumanMessage("Please.")]})
    assert "__interrupt__" in result or result["messages"][-1].text.startswith("The form is not valid")


async def test_a_model_is_not_asked_for_again_straight_after_a_silence(file: str) -> None:
    tries = [
        AIMessage("", tool_calls=[{**call("ask_human", f"c{n}", title="Which?"), "type": "tool_call"}])
        for n in range(3)
    ]
    clock = ManualClock()
    async with at_work(file, [agent(scripted_turns(*tries), [ask_human])], clock=clock) as world:
        await world.run("office", {})
        clock.advance(301)
        await world.inbox.expire_due()
        thread = await world.rest()
        assert thread.status == "done"
        assert [request.status for request in await world.asked()] == ["expired"]
        results = thread.values["results"]
        assert results["c0"] == ["success", "expired"]
        assert ["not asked" in results[id][1] for id in ("c1", "c2")] == [True, True]


async def test_whether_somebody_answered_before_is_not_for_the_model_to_say(file: str) -> None:
    async with at_work(file, [asks(title="Which?", runtime={"state": {}}, is_unheard=True)]) as world:
        await world.run("office", {})
        assert (await world.one()).context == {"tool_call_id": "c1"}


async def test_with_the_switch_off_a_model_reads_that_nobody_is_asked(
    file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_ENABLED", "0")
    async with at_work(file, [asks(title="Which?", fields=[SPORT])]) as world:
        thread = await world.run("office", {})
        assert (thread.status, thread.values["said"].startswith("Nobody is asked here")) == ("done", True)
