"""What a model claims that people said or chose: taken only where they did."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from tests.apps.assistant.talk import CHAT, Office, talking

from ringi.testing.model import tool_call
from ringi_apps.assistant.declare_tool import DECLARE

PROJECTS = [
    {"id": "p1", "name": "Website", "open": 1},
    {"id": "p2", "name": "Shop", "open": 1},
    {"id": "p3", "name": "App", "open": 1},
    {"id": "p9", "name": "Closed", "open": 0},
]


class Claiming(Office):
    """An office whose model claims one thing whatever is said."""

    claim: dict[str, Any]
    choice: dict[str, Any] | None = None

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        if self.choice is not None:
            return tool_call(DECLARE, choice_context=self.choice)
        return tool_call(DECLARE, ops=[self.claim])


def claiming(**claim: Any) -> Claiming:
    office = Claiming(projects=PROJECTS)
    office.claim = claim
    return office


@pytest.mark.parametrize("value", ["p1", "p2", "p3"])
async def test_a_choice_that_is_offered_is_taken(file: str, value: str) -> None:
    async with talking(claiming(op="set", key="project", value=value), file) as talk:
        memory = await talk.say("The website, please.")
        assert memory.items["project"].value == value


@pytest.mark.parametrize("value", ["p9", "p7", "P1", 1, ["p1"], ["p1", "p9"], {"id": "p1"}, True, ""])
@pytest.mark.parametrize("op", ["set", "correct"])
async def test_a_value_outside_the_choices_is_refused(file: str, op: str, value: Any) -> None:
    expected = {"project": ["p1"]} if value == ["p1"] else {}
    async with talking(claiming(op=op, key="project", value=value), file) as talk:
        memory = await talk.say("Number nine, please.")
        assert {key: item.value for key, item in memory.items.items() if key == "project"} == expected
        if not expected:
            assert "Project must be one of its choices" in await talk.words()


async def test_where_the_choices_cannot_be_looked_up_nothing_is_taken(file: str) -> None:
    office = claiming(op="set", key="project", value="p1")
    office.projects = None  # type: ignore[assignment]
    async with talking(office, file) as talk:
        memory = await talk.say("The website, please.")
        assert "project" not in memory.items
        assert "I could not use “Project”" in await talk.words()


async def test_a_model_may_narrow_the_choices_and_not_widen_them(file: str) -> None:
    office = claiming()
    office.choice = {"data_type": "project", "filters": {"open": 0}}
    async with talking(office, file) as talk:
        await talk.say("Which are there?")
        request = await talk.request()
        assert request.form is not None
        assert "p9" not in request.form.model_dump_json()


@pytest.mark.parametrize(
    ("message", "quote", "expected_quote"),
    [
        ("Sales must rise by 20 %.", "Sales must rise", "Sales must rise"),
        ("Sales   must\nrise by 20 %.", "sales must rise", "sales must rise"),
        ("売上を２０％伸ばす", "売上を20%伸ばす", "売上を20%伸ばす"),
        ("“Sales” must rise, by 20 %.", "Sales must rise", "Sales must rise"),
        ("Sales must rise by 20 %.", "   ", None),
        ("Sales must rise by 20 %.", None, None),
    ],
)
async def test_a_quote_that_nobody_said_is_not_shown_as_said(
    file: str, message: str, quote: str | None, expected_quote: str | None
) -> None:
    async with talking(claiming(op="set", key="goals", value="grow", quote=quote), file) as talk:
        memory = await talk.say(message)
        assert memory.items["goals"].source.quote == expected_quote


@pytest.mark.parametrize("quote", ["Fire everybody", "Sales must rise by 200 %", "Sales must rise by 2.0 %"])
async def test_a_value_whose_quote_nobody_said_is_not_taken(file: str, quote: str) -> None:
    async with talking(claiming(op="set", key="goals", value="grow", quote=quote), file) as talk:
        memory = await talk.say("Sales must rise by 20 %.")
        assert "goals" not in memory.items


async def test_a_value_that_was_said_is_taken_under_a_wrong_quote(file: str) -> None:
    async with talking(claiming(op="set", key="goals", value="grow", quote="the goal is to grow"), file) as talk:
        memory = await talk.say("We want to grow.")
        assert (memory.items["goals"].value, memory.items["goals"].source.quote) == ("grow", None)


async def test_what_the_assistant_said_is_no_quote_of_a_person(file: str) -> None:
    office = claiming(op="set", key="goals", value="grow", quote="There are 4 projects.")
    async with talking(office, file) as talk:
        await talk.send("action", action="count")
        assert "There are 4 projects." in await talk.words()
        memory = await talk.say("Thank you.")
        assert "goals" not in memory.items
        assert talk.chat == CHAT
