"""What counts as known now: looked up anew where it must be, and never newer than it is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.apps.assistant.office import after, nothing
from tests.apps.assistant.talk import ChatDriver, Office
from tests.runs.world import at_work

from ringi.base.clock import utc_now
from ringi.domain.record import Query
from ringi.runs.operations import retry_failed_run
from ringi.testing.clock import NOON
from ringi_apps.assistant.assistant import Assistant
from ringi_apps.assistant.availability import availability_of_all
from ringi_apps.assistant.declarations import ActionDefinition, Info, InfoHandler, Needs
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.memory import (
    ContextMemory,
    drop_undefined,
    memory_from_json,
    memory_to_json,
    set_workflow_status,
)
from ringi_apps.assistant.plans import Plan
from ringi_apps.assistant.reducer import ConversationReducer

FRESH = 120.0
"""For how many seconds the info that is looked up counts as fresh."""


class Ahead:
    """The time of the store, which a test moves on."""

    def __init__(self) -> None:
        self.lead = timedelta()

    def __call__(self) -> datetime:
        return utc_now() + self.lead


class Forgetting(Office):
    """An office where what is looked up counts as fresh for a while only, and may be kept for longer."""

    cache_seconds: float | None = None

    def assistant(self, **more: Any) -> Assistant:
        made = super().assistant(**more)
        handlers = tuple(replace(each, cache_duration=self.cache_seconds) for each in made.definitions.handlers)
        infos = tuple(replace(each, ttl=FRESH) if each.handler else each for each in made.definitions.infos)
        return replace(made, definitions=replace(made.definitions, handlers=handlers, infos=infos))


@pytest.fixture
def office() -> Forgetting:
    office = Forgetting()
    office.goes_on()
    return office


@asynccontextmanager
async def talking(office: Office, url: str, clock: Ahead) -> AsyncIterator[ChatDriver]:
    async with at_work(url, office.assistant().agents(), clock=clock) as world:
        yield ChatDriver(world)


async def test_whoever_asks_to_see_it_anew_is_not_shown_what_was_kept(office: Forgetting, file: str) -> None:
    office.cache_seconds = FRESH * 2
    async with talking(office, file, Ahead()) as talk:
        first = await talk.say("goal: grow")
        again = await talk.send("refresh", info="projects")

    assert office.fetched == 2
    assert again.items["projects"].observed_at > first.items["projects"].observed_at
    assert again.items["projects"].hash == first.items["projects"].hash


async def test_before_an_approval_counts_what_is_no_longer_fresh_is_looked_up_anew(office: Office, file: str) -> None:
    clock = Ahead()
    async with talking(office, file, clock) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        office.projects = [{"id": "p2", "name": "Shop"}]
        clock.lead = timedelta(seconds=FRESH + 1)
        talk_asked = await talk.answer("approve")
        plan = await talk.plan("obsolete")

    assert talk_asked.status == "completed"
    assert plan.changed == ("projects",)
    assert office.effects == []


async def test_a_plan_on_values_that_are_the_same_again_is_carried_out(office: Office, file: str) -> None:
    clock = Ahead()
    async with talking(office, file, clock) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        clock.lead = timedelta(seconds=FRESH + 1)
        await talk.answer("approve")
        await talk.until_carried_out()

    assert len(office.effects) == 2


async def test_an_execution_that_failed_is_not_retried_once_another_plan_takes_its_place(
    office: Office, file: str
) -> None:
    office.is_broken = True
    async with talking(office, file, Ahead()) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        await talk.plan("planned")
        await talk.answer("approve")
        failed = await talk.plan("failed")
        await talk.thread(str(failed.thread_id), "error")
        office.is_broken = False

        await talk.send("again", action="make")
        await talk.plan("planned", 2)
        retried = await retry_failed_run(talk.runner.backend, talk.inbox, str(failed.thread_id), by="ops")
        await talk.answer("approve")
        await talk.until_carried_out()

    assert retried.status == "idle"
    assert [effect.partition(":")[2] for effect in office.effects] == ["2:s1", "2:s2"]


def test_what_an_action_needs_newer_than_it_is_kept_is_looked_up_anew() -> None:
    definitions = Definitions(
        infos=(Info("projects", handler="fetch"), Info("rates", handler="fetch", ttl=FRESH)),
        actions=(
            ActionDefinition("sum", "immediate", "Sum", requires=(Needs("projects", max_age=60), Needs("rates"))),
        ),
        handlers=(InfoHandler("fetch", Forgetting().fetch),),
    )
    memory = ContextMemory()
    for key in ("projects", "rates"):
        memory = (
            ConversationReducer(definitions, "chat", NOON, "ann")
            .apply(memory, {"type": "fetched", "info": key, "value": 1})
            .memory
        )

    def wanted(seconds: float) -> tuple[str, ...]:
        return ConversationReducer(definitions, "chat", NOON + timedelta(seconds=seconds), "ann").due_fetches(memory)

    assert (wanted(59), wanted(60), wanted(FRESH)) == ((), ("projects",), ("projects", "rates"))


def test_what_was_kept_a_while_is_as_old_as_it_is() -> None:
    turn = ConversationReducer(Forgetting().assistant().definitions, "chat", NOON, "ann")
    fetched = {"type": "fetched", "info": "projects", "value": [], "age": 100.0}
    item = turn.apply(ContextMemory(), fetched).memory.items["projects"]

    assert item.observed_at == NOON - timedelta(seconds=100)
    assert item.fresh_until == NOON + timedelta(seconds=FRESH - 100)


SUMS = Definitions(
    (
        Info("rate", value=2),
        Info("old", handler="fetch"),
        Info("new", handler="fetch"),
        Info("sum", derive=lambda rate, old, new: rate * (old + new), inputs=("rate", "old", "new")),
    ),
    (ActionDefinition("tell", "immediate", "Tell", workflow="telling", requires=(Needs("sum", max_age=60),)),),
    (InfoHandler("fetch", nothing),),
)


def fetched_at(seconds: float, key: str, value: Any, memory: ContextMemory, definitions: Definitions) -> ContextMemory:
    turn = ConversationReducer(definitions, "chat", after(seconds), "ann")
    return turn.apply(memory, {"type": "fetched", "info": key, "value": value}).memory


def test_what_is_derived_is_as_old_as_the_oldest_that_it_is_made_from() -> None:
    memory = fetched_at(40, "new", 1, fetched_at(0, "old", 1, ContextMemory(), SUMS), SUMS)
    assert memory.items["sum"].value == 4
    assert availability_of_all(SUMS, memory, after(60))[0].enabled

    for now, oldest in ((61, "old"), (101, "new")):
        (reason,) = availability_of_all(SUMS, memory, after(now))[0].reasons
        assert (reason.code, tuple(reason.fix)) == ("STALE_INFO", ("run_handler", oldest))
        memory = fetched_at(now, oldest, 1, memory, SUMS)
        assert availability_of_all(SUMS, memory, after(now))[0].enabled


def test_what_something_derived_has_to_be_as_new_as_is_looked_up_anew_by_itself() -> None:
    memory = fetched_at(40, "new", 1, fetched_at(0, "old", 1, ContextMemory(), SUMS), SUMS)
    assert [ConversationReducer(SUMS, "chat", after(now), "ann").due_fetches(memory) for now in (59, 60, 100)] == [
        (),
        ("old",),
        ("old", "new"),
    ]


def test_a_static_value_that_a_deployment_changed_is_known_and_what_was_made_from_it_is_made_anew() -> None:
    memory = fetched_at(0, "new", 1, fetched_at(0, "old", 1, ContextMemory(), SUMS), SUMS)
    deployed = replace(SUMS, infos=(Info("rate", value=5), *SUMS.infos[1:]))
    settled = ConversationReducer(deployed, "chat", NOON, "ann").settle(memory).memory

    assert (settled.items["rate"].value, settled.items["sum"].value) == (5, 10)
    assert availability_of_all(deployed, settled, NOON)[0].enabled
    assert ConversationReducer(deployed, "chat", NOON, "ann").settle(settled).memory == settled


@pytest.mark.parametrize(
    "made", [object(), "\ud800", float("nan"), (1 // n for n in (1, 0))], ids=["object", "text", "number", "raises"]
)
def test_a_derivation_that_makes_no_json_is_an_error_of_its_info_and_the_turn_goes_on(made: Any) -> None:
    broken = replace(SUMS, infos=(*SUMS.infos[:3], replace(SUMS.info("sum"), derive=lambda *_: made)))
    memory = fetched_at(0, "new", 1, fetched_at(0, "old", 1, ContextMemory(), broken), broken)

    assert memory.items["new"].status == "collected"
    assert memory.items["sum"].status == "error"
    assert memory_from_json(memory_to_json(memory)) == memory
    assert availability_of_all(broken, memory, NOON)[0].reasons[0].code == "ERROR_INFO"


async def test_plans_and_questions_that_a_deployment_no_longer_defines_go_and_the_conversation_goes_on(
    office: Office, file: str
) -> None:
    async with talking(office, file, Ahead()) as talk:
        await talk.say("goal: grow")
        await talk.send("action", action="make")
        asked = (await talk.plan("planned"), await talk.send("ask", info="style"))[1].asks["style"]
        pending = await talk.inbox.search(Query(statuses=("pending",)))
    assistant = office.assistant()
    plan, do, *others = assistant.definitions.actions
    actions = (replace(plan, id="other"), replace(do, depends_on=("other",)), *others)
    infos = tuple(each for each in assistant.definitions.infos if each.key != "style")
    deployed = replace(assistant, definitions=replace(assistant.definitions, actions=actions, infos=infos))

    async with at_work(file, deployed.agents()) as world:
        talk = ChatDriver(world)
        memory = await talk.say("hello")
        assert (memory.plans, memory.asks, memory.items["goals"].value) == ({}, {}, "grow")
        assert {"planWorkflow", "style"} <= {each.key for each in memory.history if each.op == "forget"}
        await talk.thread(asked, "idle")
        assert {(await talk.inbox.get(each.id)).status for each in pending} == {"cancelled"}
        await talk.send("action", action="other")
        assert (await talk.plan("planned")).action_id == "other"


@pytest.mark.parametrize(("left", "is_kept"), [(("make", "do"), True), (("make",), False)])
def test_what_is_carried_out_stays_as_long_as_something_defined_carries_it_out(left: Any, is_kept: bool) -> None:
    definitions = Office().assistant().definitions
    deployed = replace(definitions, actions=tuple(definitions.action(id) for id in left))
    plan = Plan(id="p", workflow="planWorkflow", action_id="make", version=1, status="executing", hash="h")
    memory = set_workflow_status(ContextMemory().with_plan(plan), "executeWorkflow", "executing", NOON)
    cache_seconds = drop_undefined(memory, deployed, NOON)
    assert (cache_seconds == memory, bool(cache_seconds.plans), bool(cache_seconds.runs)) == (is_kept, is_kept, is_kept)
    assert drop_undefined(cache_seconds, deployed, NOON) == cache_seconds


def test_a_handler_may_take_one_info_for_two_parameters() -> None:
    twice = {"from": {"info": "day"}, "to": {"info": "day"}}
    infos = (Info("day", value="monday"), Info("sales", handler="fetch", params=twice))
    action = ActionDefinition("report", "immediate", "Report", handler="fetch", requires=("sales",))
    definitions = Definitions(infos, (action,), (InfoHandler("fetch", nothing),))
    turn = ConversationReducer(definitions, "chat", NOON, "ann")
    assert turn.due_fetches(turn.settle(ContextMemory()).memory) == ("sales",)
