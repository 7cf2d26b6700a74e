"""Plans and results are shown whole in the chat, whatever their shape."""

from __future__ import annotations

import pytest
from tests.apps.assistant.talk import Office, talking

from ringi_apps.assistant.plans import Step
from ringi_apps.assistant.rendering import plan_markdown, value_markdown

STEPS = (Step(id="s1", title="Design"), Step(id="s2", title="Build"))
LIST = "1. Design\n2. Build"
ROWS = [{"phase": f"p{n}", "weeks": n} for n in range(25)]


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        ({"text": "We begin.", "weeks": 2, "who": ["Ann"]}, f'We begin.\n\n- weeks: 2\n- who: ["Ann"]\n\n{LIST}'),
        ({"text": "We begin."}, f"We begin.\n\n{LIST}"),
        ({"text": {"en": "We begin."}, "weeks": 2}, f'- text: {{"en":"We begin."}}\n- weeks: 2\n\n{LIST}'),
        ({"weeks": 2}, f"- weeks: 2\n\n{LIST}"),
        ("We begin.", f"We begin.\n\n{LIST}"),
        (["Design", {"then": "Build"}], f'- Design\n- {{"then":"Build"}}\n\n{LIST}'),
        (0, f"0\n\n{LIST}"),
        (None, LIST),
    ],
)
def test_a_plan_is_shown_with_its_text_its_other_fields_and_its_steps(plan: object, text: str) -> None:
    assert plan_markdown(plan, STEPS) == text


def test_a_plan_of_many_rows_is_shown_whole_and_a_result_says_how_many_more_there_are() -> None:
    assert plan_markdown(ROWS, ()).endswith("| p24 | 24 |")
    assert value_markdown(ROWS).endswith("| p19 | 19 |\n\n… + 5")


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"text": "Two are free.", "rooms": ["a", "b"]}, 'Two are free.\n\n- rooms: ["a","b"]'),
        ([{"a": 1, "b": None}, {"a": "x|y"}], "| a | b |\n| --- | --- |\n| 1 |  |\n| x\\|y |  |"),
        ([], "[]"),
        ({}, "{}"),
        (False, "false"),
    ],
)
def test_a_result_is_shown_with_all_its_fields(result: object, text: str) -> None:
    assert value_markdown(result) == text


@pytest.mark.parametrize("confirms", [False, True])
async def test_the_message_of_a_plan_with_a_text_has_its_other_fields_and_steps(file: str, confirms: bool) -> None:
    office = Office(draft={"plan": {"text": "We begin.", "weeks": 2}, "steps": [{"id": "s1", "title": "Design"}]})
    office.goes_on()
    async with talking(office, file, confirms_in_words=confirms) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        whole = "We begin.\n\n- weeks: 2\n\n1. Design"
        assert f"**Make a plan**, version 1:\n\n{whole}" in await talk.words()
        if confirms:
            await talk.say("do: do")
            assert f"would do this:\n\n{whole}" in await talk.words()
