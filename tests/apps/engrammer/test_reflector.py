"""What a slip of the reflector costs: what it slipped in, and never the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage
from tests.apps.engrammer.lab import Models, insight, lab

from ringi.base.outages import OutageError
from ringi.errors import UnavailableError
from ringi.testing.model import ModelOutput, tool_call
from ringi_apps.engrammer.reflector import MAX_INSIGHTS_READ
from ringi_apps.engrammer.roles import Reflection

Q = "How long?"
GLUE = "Clamp a glued joint for thirty minutes."
SAND = "Sand along the grain, never across it."
OIL = "Wipe off the oil after a quarter of an hour."
GOOD = {"type": "new_strategy", "description": SAND, "quotes": [Q]}


def reflecting(*insights: Any, **more: Any) -> Models:
    """Return models whose reflector answers with this, however wrong it is."""
    return Models(reflections={Q: tool_call("Reflection", **{"verdict": "right", "insights": [*insights], **more})})


def titles(*texts: str) -> list[str]:
    return sorted(f"Learn: “{text}”" for text in texts)


@pytest.mark.parametrize(
    "slip",
    [
        {"section": "strategies_and_hard_rules"},
        {"section": None},
        {"section": ["mistakes"]},
        {"why": None},
        {"why": 3},
        {"quotes": None},
        {"quotes": "How long?"},
        {"quotes": [None, 3, "How long?"]},
        {"source_bullet_id": None},
        {"more": "than was asked for"},
    ],
)
async def test_a_slip_in_an_insight_costs_nothing_where_there_is_a_default(file: str, slip: dict[str, Any]) -> None:
    async with lab(reflecting({**GOOD, "description": GLUE, **slip}, GOOD), file) as it:
        await it.ask(Q, expected="an hour")
        assert [request.title for request in await it.waiting()] == titles(GLUE, SAND)
        assert it.models.reflected == 1


async def test_an_unknown_section_is_that_of_all_others(file: str) -> None:
    async with lab(reflecting({**GOOD, "section": "hard_rules"}), file) as it:
        await it.ask(Q)
        (request,) = await it.waiting()
        assert request.action
        assert request.action.args["section"] == "others"


@pytest.mark.parametrize("bad", [{"type": "idea", "description": GLUE}, {"type": "new_strategy"}, "Clamp it.", None])
async def test_an_insight_that_cannot_be_read_costs_no_other(
    file: str, bad: Any, caplog: pytest.LogCaptureFixture
) -> None:
    async with lab(reflecting(bad, GOOD, {**GOOD, "description": OIL}), file) as it:
        await it.ask(Q)
        assert [request.title for request in await it.waiting()] == titles(SAND, OIL)
        assert "one of 3 RawInsights of a reflection cannot be read" in caplog.text


async def test_a_reflection_of_which_no_insight_can_be_read_is_asked_for_again(file: str) -> None:
    async with lab(reflecting("Clamp it."), file) as it:
        assert (await it.ask(Q)).status == "done"
        assert it.models.reflected == 2
        assert (await it.turn())["reflected"]["failed"]


async def test_slips_beside_the_insights_cost_none_of_them(file: str) -> None:
    slips = {"verdict": "mostly right", "key_insight": None, "root_cause_analysis": ["a"]}
    tags = [{"id": "b-00001", "tag": "useful"}, "b-00002", None]
    async with lab(reflecting(GOOD, **slips, bullet_tags=tags), file) as it:
        await it.ask(Q)
        assert [request.title for request in await it.waiting()] == titles(SAND)
        reflected = (await it.turn())["reflected"]
        assert (reflected["verdict"], reflected["key_insight"], reflected["failed"]) == ("unknown", "", None)


async def test_lists_that_are_null_are_empty(file: str) -> None:
    async with lab(reflecting(insights=None, bullet_tags=None), file) as it:
        assert (await it.ask(Q)).status == "done"
        assert (await it.turn())["reflected"]["failed"] is None


@pytest.mark.parametrize("bad", ["\x00", "\ud800"])
@pytest.mark.parametrize("where", ["description", "why", "quotes", "key_insight"])
async def test_characters_that_no_store_keeps_cost_no_reflection(url: str, where: str, bad: str) -> None:
    text = f"Clamp{bad} it."
    more: dict[str, Any] = {where: [text] if where == "quotes" else text}
    models = reflecting(GOOD, **more) if where == "key_insight" else reflecting({**GOOD, **more})
    async with lab(models, url) as it:
        assert (await it.ask(Q, expected="an hour")).status == "interrupted"
        assert (await it.decide("approve")).status == "done"
        assert len(await it.texts()) == 1
        await it.world.verified()


class Away(Models):
    """The reflector's provider fails."""

    errors: list[Exception]

    def reflect(self, messages: Sequence[BaseMessage]) -> ModelOutput:
        self.reflected += 1
        if self.errors:
            raise self.errors.pop()
        return Reflection(insights=[insight(GLUE, quotes=[Q])])


@pytest.mark.parametrize("error", [ConnectionError("rate limited \ud800"), UnavailableError("their store")])
async def test_a_provider_that_fails_while_it_reflects_costs_the_reflection_and_not_the_answer(
    url: str, error: Exception
) -> None:
    models = Away()
    models.errors = [error]
    async with lab(models, url) as it:
        assert (await it.ask(Q)).status == "done"
        turn = await it.turn()
        assert (turn["response"], turn["phase"]) == (f"Answer to: {Q}", "done")
        assert turn["reflected"]["failed"].startswith(f"{type(error).__name__}: ")
        assert (await it.say("wrong", text="No.")).status == "interrupted"


async def test_a_store_that_is_away_while_it_reflects_costs_nothing(file: str) -> None:
    models = Away()
    models.errors = [OutageError(UnavailableError("away", 0.01))]
    async with lab(models, file) as it:
        assert (await it.ask(Q)).status == "interrupted"
        assert (models.answered, models.reflected) == (1, 2)


async def test_what_people_refused_before_takes_no_place_of_what_they_did_not(file: str) -> None:
    models = Models(lessons={"First?": [insight(GLUE)]})
    models.lessons[Q] = [*[insight(GLUE)] * 3, insight(SAND), insight(OIL)]
    async with lab(models, file) as it:
        await it.ask("First?", "first")
        await it.decide("reject", "first")
        await it.ask(Q)
        assert [request.title for request in await it.waiting()] == titles(SAND, OIL)
        assert len((await it.turn())["suppressed"]) == 1


async def test_no_more_than_three_insights_are_proposed_and_no_more_than_ten_are_read(file: str) -> None:
    models = Models(lessons={"First?": [insight(GLUE)]})
    different = [insight(text) for text in (SAND, OIL, "Plane with sharp irons.", "Store boards flat.")]
    models.lessons[Q] = different
    models.lessons["Refused?"] = [
        *(insight(f"{GLUE}{sign}") for sign in "!?,;:-–~…'"[:MAX_INSIGHTS_READ]),
        insight(SAND),
    ]
    async with lab(models, file) as it:
        await it.ask("First?", "first")
        await it.decide("reject", "first")
        await it.ask(Q)
        assert len(await it.waiting()) == 3
        assert (await it.ask("Refused?", "refused")).status == "done"
        assert len((await it.turn("refused"))["suppressed"]) == MAX_INSIGHTS_READ


async def test_equal_insights_of_one_reflection_are_one_with_the_evidence_of_both(file: str) -> None:
    again = {**GOOD, "description": f"  {SAND.upper().rstrip('.')}", "quotes": ["long?"]}
    async with lab(reflecting(GOOD, again, {**GOOD, "description": OIL}), file) as it:
        await it.ask(Q)
        waiting = await it.waiting()
        assert [request.title for request in waiting] == titles(OIL, SAND)
        (sand,) = (request for request in waiting if SAND in request.title)
        assert [each["quote"] for each in sand.context["learning"]["evidence"]] == [Q, "long?"]


BARE = {"type": "new_strategy", "description": SAND}


@pytest.mark.parametrize("quotes", [[], ["the moon is made of cheese"]])
async def test_an_insight_without_evidence_is_not_asked_if_only_the_agent_judged_its_answer(
    file: str, quotes: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    async with lab(reflecting({**BARE, "quotes": quotes}, {**GOOD, "description": OIL}), file) as it:
        await it.ask(Q)
        assert [request.title for request in await it.waiting()] == titles(OIL)
        turn = await it.turn()
        assert (turn["unsupported_insights"], turn["dropped_quotes"]) == (1, len(quotes))
    assert "an insight is not proposed" in caplog.text


async def test_an_insight_without_evidence_is_asked_if_somebody_judged_the_answer(file: str) -> None:
    async with lab(reflecting(BARE), file) as it:
        assert (await it.ask(Q)).status == "done"
        assert (await it.say("wrong", text="No.")).status == "interrupted"
        assert [request.title for request in await it.waiting()] == titles(SAND)
        assert (await it.turn())["unsupported_insights"] == 0
        assert (await it.ask(Q, "other", expected="an hour")).status == "interrupted"


def test_the_schema_begins_with_the_judgement_and_bounds_every_list_and_text() -> None:
    schema = Reflection.model_json_schema()
    assert list(schema["properties"])[:2] == schema["required"] == ["verdict", "error_identification"]
    for properties in (schema["properties"], schema["$defs"]["RawInsight"]["properties"]):
        for name, each in properties.items():
            assert "maxItems" in each or "maxLength" in each or "enum" in each or name == "source_bullet_id", name
    assert "maxLength" in schema["$defs"]["RawInsight"]["properties"]["quotes"]["items"]


async def test_what_exceeds_the_schema_can_still_be_read(file: str) -> None:
    async with lab(reflecting({**GOOD, "description": "x" * 1_500, "why": "y" * 900}), file) as it:
        await it.ask(Q)
        (request,) = await it.waiting()
        assert request.action
        assert request.action.args["text"] == "x" * 1_500
        assert it.models.reflected == 1
