"""A default is used until a person tells a value: visible as a default, and never counted as told."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.apps.assistant.office import ANNA, NOON, after, nothing
from tests.apps.assistant.talk import Office, talking
from tests.runs.world import until

from ringi_apps.assistant import ActionDefinition, Assistant, Definitions, Info, InfoHandler, Needs
from ringi_apps.assistant import memory as memories
from ringi_apps.assistant.availability import availability_of_all
from ringi_apps.assistant.definitions import DefinitionError
from ringi_apps.assistant.event_context import TurnResult
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.model_context import infos_and_actions_text, state_text
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.views import memory_view

PEOPLE = Info("people", {"en": "People", "ja": "人数"}, schema={"type": "integer"}, default=2)
BOOKING = Definitions(
    infos=(
        Info("day", "Day", schema={"type": "string"}),
        PEOPLE,
        Info("chairs", "Chairs", derive=lambda people: people * 2, inputs=("people",)),
        Info("rooms", "Rooms", handler="rooms", params={"people": {"info": "people"}}),
    ),
    actions=(
        ActionDefinition(
            "plan", "plan", "Plan the visit", workflow="planning", requires=("day", Needs("people", max_age=60))
        ),
        ActionDefinition("visit", "apply", "Visit", workflow="visiting", depends_on=("plan",)),
        ActionDefinition("count", "immediate", "Count", workflow="counting", requires=("chairs", "rooms")),
        ActionDefinition("clear", "cancel", "Start over"),
    ),
    handlers=(InfoHandler("rooms", nothing),),
)


def turn(memory: ContextMemory, sender: str = "ann", definitions: Definitions = BOOKING, **event: Any) -> TurnResult:
    return ConversationReducer(definitions, "chat", NOON, sender, "run").apply(memory, event)


def tell(memory: ContextMemory, definitions: Definitions = BOOKING, **values: Any) -> ContextMemory:
    ops = [{"op": "set", "key": key, "value": value, "quote": str(value)} for key, value in values.items()]
    return turn(memory, definitions=definitions, type="said", message="m1", ops=ops).memory


def planned(memory: ContextMemory, definitions: Definitions = BOOKING) -> TurnResult:
    begun = turn(memory, definitions=definitions, type="action", action="plan")
    job = begun.begin[0].job
    event = {"type": "planned", "plan": job["plan"], "version": job["version"], "draft": {"plan": "go"}}
    return turn(begun.memory, f"thread:{begun.begin[0].thread}", definitions, **event)


def executed(memory: ContextMemory, definitions: Definitions) -> ContextMemory:
    """Return the memory after the plan was approved and executed."""
    plan = memory.plans["planning"]
    about = {"plan": plan.id, "version": plan.version}
    approved = {**about, "type": "approved", "by": "ann", "request": "r1", "hash": plan.hash}
    going = turn(memory, f"thread:{plan.thread_id}", definitions, **approved)
    return turn(going.memory, f"thread:{going.begin[0].thread}", definitions, type="executed", **about).memory


def view_of(memory: ContextMemory) -> Any:
    return memory_view(BOOKING, memory, NOON, "en").model_dump(mode="json")


def item_of(memory: ContextMemory, key: str = "people") -> Any:
    return next(each for each in view_of(memory)["items"] if each["key"] == key)


EMPTY = ContextMemory()
BEGUN = turn(EMPTY).memory


def test_a_default_satisfies_what_actions_need_and_is_shown_as_a_default() -> None:
    item = item_of(BEGUN)
    assert (item["value"], item["status"], item["isFresh"], item["source"]["kind"]) == (2, "collected", True, "default")
    assert {"type": "people", "value": 2, "source": "default"}.items() <= view_of(BEGUN)["currentInfoList"][0].items()
    plan = availability_of_all(BOOKING, tell(BEGUN, day="Monday"), after(3600))[0]
    assert (plan.enabled, plan.have, plan.need) == (True, 2, 2)


def test_what_is_made_from_an_info_is_made_from_its_default() -> None:
    assert BEGUN.items["chairs"].value == 4
    reducer = ConversationReducer(BOOKING, "chat", NOON, "ann", "run")
    assert reducer.due_fetches(BEGUN) == ("rooms",)


def test_a_default_is_recorded_once() -> None:
    assert turn(BEGUN).memory is BEGUN
    assert [(each.key, each.source.kind) for each in BEGUN.history if each.key == "people"] == [("people", "default")]


def test_a_value_that_a_person_tells_wins_and_deleting_it_brings_the_default_back() -> None:
    memory = tell(BEGUN, people=5)
    assert (memory.items["people"].value, memory.items["people"].source.kind) == (5, "model")
    assert turn(memory).memory is memory
    cleared = turn(memory, type="said", ops=[{"op": "clear", "key": "people"}]).memory
    assert (cleared.items["people"].value, cleared.items["people"].source.kind) == (2, "default")
    again = turn(cleared, type="said", ops=[{"op": "clear", "key": "people"}]).memory
    assert again is cleared


def test_starting_over_brings_the_defaults_back() -> None:
    memory = turn(tell(BEGUN, people=5, day="Monday"), type="action", action="clear").memory
    assert {key: item.value for key, item in memory.items.items()} == {"people": 2, "chairs": 4}
    assert memory.items["people"].is_default


def test_a_default_that_is_told_is_told() -> None:
    memory = tell(BEGUN, people=2)
    assert (memory.items["people"].source.kind, memory.items["people"].source.quote) == ("model", "2")
    assert [each.op for each in memory.history if each.key == "people"] == ["observe", "set"]


def test_new_definitions_replace_a_default_but_no_value_that_was_told() -> None:
    infos = tuple(replace(each, default=3) if each.key == "people" else each for each in BOOKING.infos)
    newer = replace(BOOKING, infos=infos)
    assert turn(BEGUN, definitions=newer).memory.items["people"].value == 3
    assert turn(tell(BEGUN, people=5), definitions=newer).memory.items["people"].value == 5
    without = replace(BOOKING, infos=(BOOKING.infos[0], replace(PEOPLE, default=None), *BOOKING.infos[2:]))
    assert "people" not in turn(BEGUN, definitions=without).memory.items


def test_a_plan_names_the_defaults_that_it_is_made_from() -> None:
    outcome = planned(tell(BEGUN, day="Monday"))
    plan = view_of(outcome.memory)["plans"][0]
    assert plan["defaults"] == [{"key": "people", "title": "People", "value": 2}]
    assert "the defaults are used: People: 2." in outcome.sentences[-1].in_language("en")
    assert "人数: 2" in outcome.sentences[-1].in_language("ja")
    assert [each["ja"] for each in outcome.begin[0].job["defaults"]] == ["人数: 2"]


def test_a_plan_without_defaults_says_nothing_of_them() -> None:
    outcome = planned(tell(BEGUN, day="Monday", people=5))
    assert [each.code for each in outcome.sentences] == ["planned"]
    assert view_of(outcome.memory)["plans"][0]["defaults"] == []


@pytest.mark.parametrize("again", [{"people": 2}, {"day": "Monday"}, {"day": "Monday", "people": 2}, {"people": 2.0}])
def test_a_value_that_the_plan_was_made_with_does_not_make_it_obsolete_when_it_is_told_again(
    again: dict[str, Any],
) -> None:
    memory = planned(tell(BEGUN, day="Monday")).memory
    after_it = tell(memory, **again)
    assert after_it.plans["planning"].status == "planned"
    assert bool(view_of(after_it)["plans"][0]["defaults"]) == ("people" not in again)


def test_a_value_that_was_told_counts_the_same_in_another_notation() -> None:
    memory = planned(tell(BEGUN, day="Monday", people=5)).memory
    assert tell(memory, people=5.0).plans["planning"].status == "planned"


def test_another_value_than_the_default_makes_the_plan_obsolete() -> None:
    memory = tell(planned(tell(BEGUN, day="Monday")).memory, people=5)
    assert (memory.plans["planning"].status, memory.plans["planning"].changed) == ("obsolete", ("people",))


def test_an_executed_plan_is_made_from_no_default_any_more() -> None:
    memory = executed(planned(tell(BEGUN, day="Monday")).memory, BOOKING)
    assert view_of(memory)["plans"][0]["defaults"] == []


def test_the_model_reads_defaults_apart_from_what_was_told() -> None:
    state = json.loads(state_text(BOOKING, BEGUN, NOON, "en"))
    assert (state["defaults"], "people" in state["known"], state["missing"]) == ({"people": 2}, False, ["day"])
    assert "defaults" not in json.loads(state_text(BOOKING, tell(BEGUN, people=2), NOON, "en"))
    without = replace(BOOKING, infos=(BOOKING.infos[0], replace(PEOPLE, default=None), *BOOKING.infos[2:]))
    assert infos_and_actions_text(BOOKING, "en") == infos_and_actions_text(without, "en")


def test_a_memory_without_the_defaults_gets_them_and_nothing_else() -> None:
    memory = memories.with_defaults(EMPTY, BOOKING, NOON)
    assert list(memory.items) == ["people"]
    assert memories.with_defaults(memory, BOOKING, after(60)) is memory


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (replace(PEOPLE, default="two"), ["info 'people' default", "integer"]),
        (Info("people", value=1, default=2), ["info 'people'", "is static", "remove the default"]),
        (Info("people", handler="rooms", default=2), ["info 'people'", "is handler", "remove the default"]),
        (Info("people", derive=len, inputs=("day",), default=2), ["is derived", "remove the default"]),
    ],
)
def test_a_default_that_cannot_be_used_is_refused(info: Info, words: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definitions((BOOKING.infos[0], info), handlers=BOOKING.handlers)
    assert all(word in str(caught.value) for word in words)


def test_what_an_action_produces_has_no_default() -> None:
    plan = ActionDefinition("plan", "plan", "Plan", workflow="planning", produces=("draft",))
    with pytest.raises(DefinitionError, match="has a default, but action 'plan' produces it: remove the default"):
        Definitions((Info("draft", default="x"),), (plan,))


class Guests(Office):
    """An office where goals have a default, and so has what is remembered of a person."""

    def assistant(self, **more: Any) -> Assistant:
        made = super().assistant(**more)
        defaults = {"goals": "grow", "style": "plain"}
        infos = tuple(replace(each, default=defaults.get(each.key)) for each in made.definitions.infos)
        return replace(made, definitions=replace(made.definitions, infos=infos))


async def test_the_request_to_approve_a_plan_names_the_defaults(file: str) -> None:
    office = Guests()
    office.goes_on()
    async with talking(office, file) as talk:
        await talk.send("action", action="make")
        await talk.plan("planned")
        request = await talk.request()

    assert "the defaults are used: Goals: grow." in (request.description or "")
    assert office.plans[0].inputs["goals"] == "grow"


async def test_a_remembered_value_wins_over_the_default(file: str) -> None:
    async with talking(Guests(), file) as talk:
        assert (await talk.say("hello")).items["style"].is_default
        await talk.send("ask", info="style")
        await talk.answer("approve", by="ann", data={"value": "fancy"})

        async def is_told() -> bool:
            return not (await talk.memory()).items["style"].is_default

        await until(is_told, "the answer is taken")
        talk.chat = "other"
        other = await talk.say("hello")

    assert (other.items["style"].value, other.items["style"].source.kind) == ("fancy", "remembered")


def with_keep(*keys: str) -> Definitions:
    actions = tuple(replace(each, keep=keys) if each.id == "visit" else each for each in BOOKING.actions)
    return replace(BOOKING, actions=actions)


def test_an_executed_plan_clears_what_only_it_used() -> None:
    memory = executed(planned(tell(BEGUN, day="Monday", people=5)).memory, BOOKING)
    assert "day" not in memory.items
    assert memory.items["people"].value == 5


def test_what_an_apply_keeps_survives_an_executed_plan() -> None:
    definitions = with_keep("day")
    memory = tell(BEGUN, definitions, day="Monday")
    asking = turn(memory, definitions=definitions, type="ask", info="day")
    done = executed(planned(asking.memory, definitions).memory, definitions)
    assert done.items["day"].value == "Monday"
    assert done.asks == asking.memory.asks
    assert done.plans["planning"].status == "completed"
    # Starting over keeps nothing.
    assert "day" not in turn(done, definitions=definitions, type="action", action="clear").memory.items


def test_the_source_of_a_kept_value_stays() -> None:
    memory = executed(planned(tell(BEGUN, with_keep("day"), day="Monday"), with_keep("day")).memory, with_keep("day"))
    assert memory.items["day"].source.quote == "Monday"
    assert ANNA.kind != memory.items["day"].source.kind


@pytest.mark.parametrize(
    ("actions", "words"),
    [
        (
            (ActionDefinition("x", "immediate", "X", workflow="w", keep=("day",)),),
            ["keeps 'day'", "only a completed 'apply'"],
        ),
        ((*with_keep("day").actions[:1], replace(BOOKING.actions[1], keep=("date",))), ["'date'", "not defined"]),
    ],
)
def test_an_impossible_keep_is_refused(actions: tuple[ActionDefinition, ...], words: list[str]) -> None:
    with pytest.raises(DefinitionError) as caught:
        Definitions(BOOKING.infos, actions, BOOKING.handlers)
    assert all(word in str(caught.value) for word in words)
