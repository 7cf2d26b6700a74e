"""A person may say that they do not mind: where the definition allows it, this is a value like any other."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from tests.apps.assistant.office import NOON, nothing
from tests.apps.assistant.talk import Office, talking

from ringi.errors import InvalidError, NotFoundError
from ringi.testing import ScriptedModel
from ringi.testing.model import tool_call
from ringi_apps.assistant import ANY, ActionDefinition, Assistant, CallJob, Choices, Definitions, Info, InfoHandler
from ringi_apps.assistant.action_commands import ActionCommands
from ringi_apps.assistant.background import build_form
from ringi_apps.assistant.declare_tool import DECLARE, declare_tool, op_schemas, strict_tool
from ringi_apps.assistant.definitions import DefinitionError
from ringi_apps.assistant.event_context import TurnResult
from ringi_apps.assistant.front_model import parse_answer
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.model_context import infos_and_actions_text
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.views import actions_view, memory_view

ROOM = Info("room", {"en": "Room", "ja": "部屋"}, schema={"enum": ["red", "blue"]}, may_be_any=True)
PEOPLE = Info("people", "People", schema={"type": "integer"})
HOTEL = Definitions(
    (ROOM, PEOPLE, Info("note", "Note", schema={"type": "string"}), Info("free", "Free")),
    (ActionDefinition("book", "immediate", "Book", workflow="booking", requires=("room",)),),
)
EMPTY = ContextMemory()


def turn(memory: ContextMemory, definitions: Definitions = HOTEL, sender: str = "ann", **event: Any) -> TurnResult:
    return ConversationReducer(definitions, "chat", NOON, sender, "run").apply(memory, event)


def words(outcome: TurnResult, language: str = "en") -> str:
    return " ".join(each.in_language(language) for each in outcome.sentences)


def enabled(memory: ContextMemory) -> bool:
    return actions_view(HOTEL, memory, NOON, "en")[0].enabled


def set_value(key: str, value: object = ANY) -> TurnResult:
    op = {"op": "set", "key": key, "value": value, "quote": "I do not mind"}
    return turn(EMPTY, type="said", message="m1", ops=[op])


def test_any_is_a_value_where_the_definition_allows_it_and_satisfies_what_actions_need() -> None:
    memory = set_value("room").memory
    assert (ANY, memory.items["room"].value, memory.items["room"].source.quote) == ("any", "any", "I do not mind")
    assert enabled(memory)
    item = memory_view(HOTEL, memory, NOON, "en").model_dump(mode="json")["items"][0]
    assert (item["value"], item["mayBeAny"], item["isFresh"]) == ("any", True, True)


@pytest.mark.parametrize("key", ["people", "note", "free"])
def test_any_is_refused_elsewhere_with_the_name_and_the_remedy(key: str) -> None:
    outcome = set_value(key)
    assert outcome.memory.items == {}
    name = HOTEL.info(key).name_in("en")
    assert f"{name} cannot be left open and needs a value. Tell me {name}" in words(outcome)
    assert "「どれでもよい」にはできず" in words(outcome, "ja")
    assert "不能是“都可以”" in words(outcome, "zh")


def test_an_info_whose_own_values_include_the_word_takes_it_as_its_value() -> None:
    definitions = Definitions((Info("side", schema={"enum": ["left", "right", "any"]}),))
    ops = [{"op": "set", "key": "side", "value": "any"}]
    assert turn(EMPTY, definitions, type="said", ops=ops).memory.items["side"].value == "any"


def test_the_page_sets_it_and_withdraws_the_open_question() -> None:
    asking = turn(EMPTY, type="ask", info="room")
    outcome = turn(asking.memory, type="any", info="room")
    assert outcome.stop == (asking.begin[0].thread,)
    assert outcome.memory.asks == {}
    item = outcome.memory.items["room"]
    assert (item.value, item.source.kind, item.source.actor) == (ANY, "user", "ann")
    assert "Noted: Room." in words(outcome)


def test_a_sender_of_events_cannot_set_it_elsewhere() -> None:
    outcome = turn(EMPTY, type="any", info="people")
    assert (outcome.memory.items, "People cannot be left open" in words(outcome)) == ({}, True)
    assert "not defined here" in words(turn(EMPTY, type="any", info="nothing"))


def test_the_command_names_what_is_wrong() -> None:
    commands = ActionCommands(HOTEL, EMPTY, actions_view(HOTEL, EMPTY, NOON, "en"))
    assert commands.build_event("any:room", {}) == {"type": "any", "info": "room"}
    with pytest.raises(InvalidError, match="info 'people' may not be any: give it a value"):
        commands.build_event("any:people", {})
    with pytest.raises(NotFoundError):
        commands.build_event("any:nothing", {})


def assistant_of(*infos: Info) -> Assistant:
    definitions = Definitions(infos, HOTEL.actions)
    return Assistant("hotel", definitions, ScriptedModel(script=lambda _: ""), {"booking": nothing})


def test_the_tool_offers_it_for_these_infos_only() -> None:
    free_room = replace(ROOM, schema={"type": "string"})
    by_key = {op["properties"]["key"]["enum"][0]: op["properties"] for op in op_schemas(HOTEL)[:4]}
    any_or = {"anyOf": [{"type": "string", "enum": ["any"]}, {"enum": ["red", "blue"]}]}
    assert by_key["room"]["value"] == any_or
    assert by_key["people"]["value"] == {"type": "integer"}
    assert strict_tool(declare_tool(assistant_of(free_room, PEOPLE))) is not None
    without = (replace(ROOM, may_be_any=False), PEOPLE)
    assert '"any"' not in json.dumps(declare_tool(assistant_of(*without)))
    assert '"any"' not in infos_and_actions_text(Definitions(without), "en")
    assert '- room: Room. "any" if the person does not mind' in infos_and_actions_text(HOTEL, "en")


@pytest.mark.parametrize(
    ("text", "quote", "is_taken"),
    [
        ("どれでもいいです", "どれでもいい", True),
        ("Any is fine", "Any is fine", True),
        ("We are too many people", "", False),
        ("We are too many people", None, False),
        ("The red one", "any is fine for me", False),
    ],
)
def test_a_model_cannot_invent_that_a_person_does_not_mind(text: str, quote: str | None, is_taken: bool) -> None:
    answer = tool_call(DECLARE, ops=[{"op": "set", "key": "room", "value": ANY, "quote": quote}])
    event = parse_answer(answer, "m1", HOTEL, [HumanMessage(text)])
    assert [op["value"] for op in event["ops"]] == ([ANY] if is_taken else [])


@pytest.mark.parametrize(
    ("info", "message"),
    [
        (Info("room", value="red", may_be_any=True), "may be any, but is static.*remove may_be_any"),
        (Info("room", handler="rooms", may_be_any=True), "may be any, but is handler.*remove may_be_any"),
    ],
)
def test_what_people_are_not_asked_for_cannot_be_any(info: Info, message: str) -> None:
    with pytest.raises(DefinitionError, match=message):
        Definitions((info,), (), (InfoHandler("rooms", nothing),))


def test_what_an_action_produces_cannot_be_any() -> None:
    plan = ActionDefinition("plan", "plan", "Plan", workflow="planning", produces=("draft",))
    with pytest.raises(DefinitionError, match="may be any, but action 'plan' produces it: remove may_be_any"):
        Definitions((Info("draft", may_be_any=True),), (plan,))


def test_any_can_be_the_default() -> None:
    definitions = Definitions((replace(ROOM, default=ANY),), HOTEL.actions)
    assert turn(EMPTY, definitions).memory.items["room"].value == ANY
    with pytest.raises(DefinitionError, match="info 'room' default"):
        Definitions((replace(ROOM, default=ANY, may_be_any=False),), HOTEL.actions)


class Hotel(Office):
    """An office whose projects may be any, and whose model understands one sentence."""

    def assistant(self, **more: Any) -> Assistant:
        made = super().assistant(**more)
        infos = tuple(
            replace(each, may_be_any=True, choices=Choices("fetch_projects")) if each.key == "project" else each
            for each in made.definitions.infos
        )
        show = ActionDefinition("show", "immediate", "Show", workflow="showing", requires=("project",))
        definitions = replace(made.definitions, infos=infos, actions=(*made.definitions.actions, show))
        return replace(made, definitions=definitions, workflows={**made.workflows, "showing": self.show})

    async def show(self, job: CallJob) -> str:
        return "all of them" if job.inputs["project"] == ANY else "one of them"

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        if "どれでもいい" in messages[-1].text:
            op = {"op": "set", "key": "project", "value": ANY, "quote": "どれでもいい"}
            return tool_call(DECLARE, ops=[op], required_actions=["show"])
        return super().say(messages)


async def test_a_workflow_receives_any_although_it_is_no_choice(file: str) -> None:
    async with talking(Hotel(), file) as talk:
        memory = await talk.say("どれでもいいです。見せてください")
        assert memory.items["project"].value == ANY
        assert "all of them" in await talk.words()


async def test_a_question_with_choices_offers_any_too(file: str) -> None:
    async with talking(Hotel(), file) as talk:
        await talk.send("ask", info="project")
        request = await talk.request()
        assert "If any value is fine, say so in the chat." in (request.description or "")
        await talk.answer("approve", data={"value": ANY})
        assert (await talk.item("project")).value == ANY


def test_an_option_with_the_same_value_is_no_second_one() -> None:
    info = Info("room", "Room", choices=Choices("rooms"), may_be_any=True)
    options = [{"value": ANY, "label": "Annex"}, {"value": "red", "label": "Red"}]
    (field,) = build_form(info, options, "Room", "en")["form"].fields
    assert [(option.value, option.label) for option in field.options] == [("red", "Red"), (ANY, "any")]
