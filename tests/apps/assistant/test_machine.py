"""Everything that can happen to a conversation, in every order: turns, handlers, plans, feedback, cancels, approvals.

Side threads are played as the graphs play them; what they send comes late, twice, and in another order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.tiers import examples

from ringi.testing.clock import NOON
from ringi_apps.assistant.conversation_graph import ACTION_EVENTS
from ringi_apps.assistant.declarations import ActionDefinition, Choices, Info, InfoHandler, Needs, is_reference
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.event_context import (
    BACKGROUND_PREFIX,
    PENDING_STATUSES,
    BackgroundStart,
    ImmediateCall,
    TurnResult,
)
from ringi_apps.assistant.memory import ContextMemory, InfoEntry, memory_from_json
from ringi_apps.assistant.plans import Plan, Step, content_hash
from ringi_apps.assistant.reducer import ConversationReducer

CHAT = "chat"
TTL = 100.0


async def never(params: dict[str, Any]) -> Any:
    raise AssertionError("the machine plays the handlers")


DEFINITIONS = Definitions(
    infos=(
        Info("goals"),
        Info("budget", schema={"type": "integer"}),
        Info("leads"),
        Info("pick", choices=Choices("fetch_projects")),
        Info("preferences", scope="user"),
        Info("rate", value=3),
        Info("projects", handler="fetch_projects", ttl=TTL),
        Info("team", handler="fetch_team", params={"of": {"info": "goals"}}),
        Info("effort", derive=lambda projects, rate: projects * rate, inputs=("projects", "rate")),
        Info("project_plan"),
        Info("sales_plan"),
        Info("report"),
    ),
    actions=(
        ActionDefinition(
            "plan_project",
            "plan",
            "Plan",
            workflow="planProject",
            requires=("goals", "projects", "preferences", Needs("budget", optional=True)),
            produces=("project_plan",),
        ),
        ActionDefinition(
            "apply_project",
            "apply",
            "Apply",
            workflow="applyProject",
            depends_on=("plan_project",),
            requires=("project_plan", "team"),
        ),
        ActionDefinition(
            "plan_sales",
            "plan",
            "Plan sales",
            workflow="planSales",
            requires=("leads", "goals", "effort"),
            produces=("sales_plan",),
        ),
        ActionDefinition(
            "apply_sales",
            "apply",
            "Apply sales",
            workflow="applySales",
            depends_on=("plan_sales",),
            requires=("sales_plan",),
        ),
        ActionDefinition("choose", "selector", "Choose", info="pick"),
        ActionDefinition(
            "look",
            "immediate",
            "Look",
            workflow="look",
            handler="fetch_projects",
            requires=("projects",),
            produces=("report",),
        ),
        ActionDefinition("cancel", "cancel", "Cancel"),
    ),
    handlers=(InfoHandler("fetch_projects", never), InfoHandler("fetch_team", never)),
)
ASKED = ("goals", "budget", "leads", "pick", "preferences")
PLANS = {"planProject": "plan_project", "planSales": "plan_sales"}
ACTIONS = tuple(DEFINITIONS.actions_by_id)
ONLY_OF = {"planProject": {"budget", "team"}, "planSales": {"leads", "effort"}}
"""What only a plan's workflow and what applies it need, in this conversation alone."""

DRAFTS = st.sampled_from(
    [
        {"plan": {"weeks": 2}, "steps": [{"id": "a", "title": "A"}]},
        {"plan": {"weeks": 2}, "steps": [{"id": "a", "title": "A"}, {"id": "b", "title": "B"}]},
        {"plan": {"weeks": 4}, "steps": [{"id": "a", "title": "A", "args": {"n": 1}}]},
        {"plan": "in words"},
        {"steps": [{"id": "a", "title": "A"}, {"id": "a", "title": "twice"}]},
        {},
    ]
)
VALUES = st.sampled_from([1, 2])

FACTS = st.fixed_dictionaries({"op": st.just("correct"), "key": st.sampled_from(ASKED), "value": VALUES})
OPS = st.fixed_dictionaries(
    {
        "op": st.sampled_from(["set", "clear", "not_needed"]),
        "key": st.sampled_from(tuple(DEFINITIONS.infos_by_key)),
        "value": st.just(1),
    }
)
CONVERSATION_SOURCE = st.one_of(
    st.fixed_dictionaries({"ops": st.lists(st.one_of(FACTS, FACTS, OPS), min_size=1, max_size=2)}),
    st.fixed_dictionaries(
        {"required": st.sampled_from([*ACTIONS, *ASKED, "projects", "nothing"]).map(lambda name: [{"type": name}])}
    ),
    st.just({"ops": [{"op": "feedback", "text": "too tight"}]}),
    st.fixed_dictionaries({"agent": st.sampled_from(["planAgent", "listDataAgent"])}),
)
PRESSED = st.one_of(
    st.fixed_dictionaries(
        {"type": st.sampled_from(["action", "again", "unchanged"]), "action": st.sampled_from(tuple(PLANS.values()))}
    ),
    st.fixed_dictionaries({"type": st.just("action"), "action": st.sampled_from([*ACTIONS, "nothing"])}),
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["ask", "refresh"]),
            "info": st.sampled_from([*ASKED, "projects", "nothing"]),
        }
    ),
)


@dataclass
class Side:
    """A side thread, as the conversation began it."""

    begin: BackgroundStart
    made_from: dict[str, InfoEntry]
    """What was known when it was begun."""
    sent: list[dict[str, Any]] = field(default_factory=list)
    is_over: bool = False
    is_stopped: bool = False
    done: int = 0

    @property
    def job(self) -> dict[str, Any]:
        return self.begin.job

    @property
    def about(self) -> dict[str, Any]:
        return {"plan": self.job["plan"], "version": self.job["version"]}

    @property
    def is_live(self) -> bool:
        return not self.is_over and not self.is_stopped


class Conversation(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.memory = ContextMemory()
        self.sides: dict[str, Side] = {}
        self.mail: list[tuple[str, dict[str, Any]]] = []
        """What side threads send that has not come yet."""
        self.delivered: list[tuple[str, dict[str, Any]]] = []
        self.world: dict[str, Any] = {"fetch_projects": 1, "fetch_team": 1}
        """What the handlers say; of None they fail."""
        self.stands_on: dict[tuple[str, int], dict[str, Any]] = {}
        """The values that each version of a plan was made from, or pinned to by a person."""
        self.approved: dict[tuple[str, int], Any] = {}
        """What a person approved."""
        self.effects: dict[str, Any] = {}
        self.messages = 0

    # The graph of the conversation

    def take(self, event: dict[str, Any], by: str = "ann") -> TurnResult:
        """Take an event as the graph does, with what has to be looked up, and begin and stop what it says."""
        before = self.memory
        turn = ConversationReducer(DEFINITIONS, CHAT, self.now, by)
        outcome = turn.settle(memory_from_json(before.model_dump(mode="json")))
        begin, stop, tried, events = outcome.begin, outcome.stop, set[str](), [*self.lost(by), event]
        while events:
            wanted = [key for key in turn.due_fetches(outcome.memory) if key not in tried]
            if wanted and any(each["type"] in ACTION_EVENTS for each in events):
                events = [*map(self.fetched, wanted), *events]
                tried.update(wanted)
                continue
            outcome = TurnResult(outcome.memory)
            for each in events:
                outcome = outcome.then(partial(turn.apply, event=each))
            begin, stop = (*begin, *outcome.begin), (*stop, *outcome.stop)
            self.memory = outcome.memory
            wanted = [key for key in turn.due_fetches(outcome.memory) if key not in tried]
            fetch = list(dict.fromkeys((*outcome.fetch, *wanted)))
            tried.update(fetch)
            events = [*map(self.fetched, fetch), *map(self.called, outcome.calls)]
        assert self.memory.version >= before.version
        for thread in stop:
            if thread in self.sides:
                self.sides[thread].is_stopped = True
        for new in begin:
            if new.thread not in stop:
                self.begun(new, event, by)
        return TurnResult(self.memory, outcome.sentences, begin, stop)

    def lost(self, by: str) -> list[dict[str, Any]]:
        sending = {thread for thread, _ in self.mail}
        waiting = [plan.thread_id for plan in self.memory.plans.values() if plan.status in PENDING_STATUSES]
        ended = [
            thread
            for thread in (*waiting, *self.memory.asks.values())
            if thread and f"{BACKGROUND_PREFIX}{thread}" != by and not self.sides[thread].is_live
        ]
        stopped = [thread for thread in ended if self.sides[thread].is_stopped or thread not in sending]
        return [{"type": "lost", "thread": thread, "why": "stopped"} for thread in stopped]

    def fetched(self, key: str) -> dict[str, Any]:
        info = DEFINITIONS.info(key)
        value = self.world[str(info.handler)]
        event = {"type": "fetched", "info": key, "is_asked_for": False}
        if value is None:
            return event | {"error": "away"}
        asked = [str(each["info"]) for each in info.params.values() if is_reference(each)]
        items = self.memory.items
        return event | {"value": [value, *(items[each].value for each in asked if each in items)]}

    def called(self, call: ImmediateCall) -> dict[str, Any]:
        action = call.action
        assert not DEFINITIONS.action(action).transactional, "done without anybody's consent"
        return {"type": "called", "action": action, "value": self.world["fetch_projects"]}

    def begun(self, begin: BackgroundStart, event: Mapping[str, Any], by: str) -> None:
        assert begin.thread not in self.sides, "two side threads have one id"
        side = self.sides[begin.thread] = Side(begin, dict(self.memory.items))
        if begin.kind == "plan":
            self.planning(side)
        if begin.kind == "approve":
            self.asking(side, event)
        if begin.kind == "execute":
            self.executing(side, event, by)

    def planning(self, side: Side) -> None:
        action = DEFINITIONS.action(side.job["action"])
        required = {need.info for need in action.needs if not need.optional}
        assert required <= side.job["inputs"].keys(), "planned without what the plan needs"
        assert tuple(side.about.values()) not in self.stands_on, "a version is made twice"
        self.stands_on[side.job["plan"], side.job["version"]] = side.job["inputs"]

    def asking(self, side: Side, event: Mapping[str, Any]) -> None:
        plan = self.plan_of(side)
        assert plan
        assert plan.status in ("planned", "failed")
        assert plan.hash == content_text(side.job)
        if event["type"] == "unchanged" and (plan.id, plan.version) not in self.stands_on:
            assert plan.status == "planned"
            self.stands_on[plan.id, plan.version] = self.values_of(plan)

    def executing(self, side: Side, event: Mapping[str, Any], by: str) -> None:
        """Judge, by what people saw and what is known now, whether this may be carried out."""
        job, asked = side.job, self.sides[by.removeprefix(BACKGROUND_PREFIX)]
        assert event["type"] == "approved"
        assert asked.begin.kind == "approve", "carried out without anybody's approval"
        edited = event.get("edited")
        content = edited or {"plan": asked.job["content"], "steps": asked.job["steps"]}
        assert job["content"] == content["plan"]
        assert stripped(job["steps"]) == stripped(content["steps"])
        assert job["plan"] == asked.job["plan"]
        assert job["version"] == asked.job["version"] + bool(edited)
        assert job["inputs"] == self.stands_on[asked.job["plan"], asked.job["version"]], "an obsolete plan is applied"
        self.stands_on.setdefault((job["plan"], job["version"]), job["inputs"])
        for key in job["inputs"].keys() | {"team"}:
            until = self.memory.items[key].fresh_until
            assert until is None or until > self.now, f"{key} is not known any more as it is now"
        assert self.approved.setdefault((job["plan"], job["version"]), content) == content

    def plan_of(self, side: Side) -> Plan | None:
        return next((plan for plan in self.memory.plans.values() if plan.thread_id == side.begin.thread), None)

    def values_of(self, plan: Plan) -> dict[str, Any]:
        return {key: self.memory.items[key].value for key in plan.inputs}

    # What people do

    @initialize(left_out=st.sets(st.sampled_from(ASKED)))
    def begin_with_what_was_said(self, left_out: set[str]) -> None:
        self.declare(ops=[{"op": "set", "key": key, "value": 1} for key in ASKED if key not in left_out])

    @rule(declared=CONVERSATION_SOURCE)
    def say(self, declared: dict[str, Any]) -> None:
        self.declare(**declared)

    def declare(self, **declared: Any) -> None:
        self.messages += 1
        outcome = self.take({"type": "said", "message": f"m{self.messages}", **declared})
        assert not [begin for begin in outcome.begin if begin.kind == "execute"], "words approved a plan"

    @rule(event=PRESSED)
    def press(self, event: dict[str, Any]) -> None:
        outcome = self.take(event)
        assert not [begin for begin in outcome.begin if begin.kind == "execute"], "pressed, and never shown"

    @precondition(lambda self: len(self.delivered) % 4 == 3)
    @rule()
    def cancel(self) -> None:
        before = self.memory
        self.take({"type": "cancel"})
        running = {name: plan for name, plan in before.plans.items() if plan.status == "executing"}
        assert self.memory.plans == running, "cancel takes what is being carried out, or leaves what is not"
        for key, item in before.items.items():
            if DEFINITIONS.info(key).scope == "user" or item.source.kind == "static":
                assert self.memory.items[key] == item, "cancel takes what is not of this conversation"
        assert not set(self.memory.items) & {"goals", "budget", "leads", "pick"}

    # What happens by itself

    @rule(handler=st.sampled_from(["fetch_projects", "fetch_team"]), value=st.sampled_from([1, 2, None]))
    def the_world_changes(self, handler: str, value: Any) -> None:
        self.world[handler] = value

    @rule(seconds=st.sampled_from([1, TTL]))
    def time_passes(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    # What side threads do

    @precondition(lambda self: any(side.is_live for side in self.sides.values()))
    @rule(data=st.data(), is_asking=st.integers(0, 4).map(lambda n: n == 4), times=st.integers(1, 4))
    def side_threads_go_on(self, data: st.DataObject, is_asking: bool, times: int) -> None:
        for _ in range(times):
            live = [name for name, side in self.sides.items() if side.is_live]
            if these := [name for name in live if (self.sides[name].begin.kind == "ask") == is_asking]:
                self.goes_on(data.draw(st.sampled_from(these)), data)

    @rule(data=st.data(), action=st.sampled_from(tuple(PLANS.values())))
    def a_plan_comes_to_its_approval(self, data: st.DataObject, action: str) -> None:
        """Do what takes too many right steps to come about by chance."""
        self.declare(ops=[{"op": "set", "key": key, "value": 1} for key in ASKED if key not in self.memory.items])
        self.press({"type": "action", "action": action})
        for thread, side in list(self.sides.items()):
            if side.is_live and side.begin.kind == "plan":
                self.goes_on(thread, data)

    def goes_on(self, thread: str, data: st.DataObject) -> None:
        side = self.sides[thread]
        does = {
            "plan": self.a_plan_is_made,
            "ask": self.somebody_answers,
            "approve": self.somebody_decides,
            "execute": self.a_step_is_carried_out,
        }
        event = does[side.begin.kind](side, data)
        self.mail.append((thread, event))
        if data.draw(st.integers(0, 3)):
            self.deliver(len(self.mail) - 1)

    @precondition(lambda self: len(self.delivered) % 3 == 2 and any(side.is_live for side in self.sides.values()))
    @rule(data=st.data())
    def somebody_stops_a_side_thread(self, data: st.DataObject) -> None:
        thread = data.draw(st.sampled_from([thread for thread, side in self.sides.items() if side.is_live]))
        self.sides[thread].is_stopped = True
        self.take({"type": "nothing"})

    def a_plan_is_made(self, side: Side, data: st.DataObject) -> dict[str, Any]:
        side.is_over = True
        if data.draw(st.integers(0, 4)) == 0:
            return {"type": "plan_failed", **side.about, "error": "no model"}
        return {"type": "planned", **side.about, "draft": data.draw(DRAFTS)}

    def somebody_answers(self, side: Side, data: st.DataObject) -> dict[str, Any]:
        side.is_over = True
        event = {"type": "answered", "info": side.job["info"], "request": f"r-{side.begin.thread}"}
        if data.draw(st.integers(0, 3)) == 0:
            return event | {"status": "unanswered"}
        return event | {"status": "answered", "value": data.draw(VALUES), "by": "ben"}

    def somebody_decides(self, side: Side, data: st.DataObject) -> dict[str, Any]:
        side.is_over = True
        about = {**side.about, "request": f"r-{side.begin.thread}", "by": "ben", "text": "no"}
        decision = data.draw(st.sampled_from(["approved", "approved", "approved", "edited", "rejected", "lapsed"]))
        if decision in ("rejected", "lapsed"):
            return {"type": decision, **about}
        edited = {"plan": "mine", "steps": [{"id": "c", "title": "C"}]} if decision == "edited" else None
        return {"type": "approved", **about, "hash": content_text(side.job), "edited": edited}

    def a_step_is_carried_out(self, side: Side, data: st.DataObject) -> dict[str, Any]:
        steps = side.job["steps"]
        if side.done == len(steps):
            side.is_over = True
            return {"type": "executed", **side.about}
        step = steps[side.done]
        if data.draw(st.integers(0, 3)) == 0:
            return {"type": "execution_failed", **side.about, "error": "out of paper"}
        key = f"{side.job['plan']}:{side.job['version']}:{step['id']}"
        assert self.effects.setdefault(key, step) == step, "two things are done under one key"
        side.done += 1
        return {"type": "step", **side.about, "step": step["id"]}

    @precondition(lambda self: self.mail)
    @rule(data=st.data())
    def mail_comes_late(self, data: st.DataObject) -> None:
        self.deliver(data.draw(st.integers(0, len(self.mail) - 1)))

    def deliver(self, number: int) -> None:
        thread, event = self.mail.pop(number)
        self.delivered.append((thread, event))
        before = self.memory
        self.take(event, by=f"{BACKGROUND_PREFIX}{thread}")
        if event["type"] == "executed":
            self.only_its_own_was_cleared(before, self.sides[thread])
        self.again(thread, event)

    def only_its_own_was_cleared(self, before: ContextMemory, side: Side) -> None:
        own = DEFINITIONS.plan_of(DEFINITIONS.action(side.job["action"]))
        assert own
        mine = ONLY_OF[str(own.workflow)] | set(own.produces)
        gone = before.items.keys() - self.memory.items.keys()
        others = [DEFINITIONS.action(plan) for name, plan in PLANS.items() if name != own.workflow]
        other = {key for plan in others for key in plan.produces}
        assert gone - other <= mine, "another workflow's data was cleared"
        for name, plan in before.plans.items():
            assert name == own.workflow or name in self.memory.plans, "another workflow's plan was cleared"
            if name != own.workflow:
                assert self.memory.plans[name].version >= plan.version

    @precondition(lambda self: self.delivered)
    @rule(data=st.data())
    def mail_comes_twice(self, data: st.DataObject) -> None:
        self.again(*data.draw(st.sampled_from(self.delivered)))

    def again(self, thread: str, event: dict[str, Any]) -> None:
        settled = self.take({"type": "nothing"}).memory
        outcome = self.take(event, by=f"{BACKGROUND_PREFIX}{thread}")
        assert not outcome.begin
        assert not outcome.stop
        if event["type"] != "execution_failed":
            assert outcome.memory == settled, "what comes twice counts twice"

    @precondition(lambda self: self.forgeable())
    @rule(
        data=st.data(),
        by=st.sampled_from(
            ["ann", f"{BACKGROUND_PREFIX}chat~approve-1", BACKGROUND_PREFIX, f"{BACKGROUND_PREFIX}other~plan-1"]
        ),
    )
    def somebody_forges_mail(self, data: st.DataObject, by: str) -> None:
        thread, event = data.draw(st.sampled_from(self.forgeable()))
        if by == f"{BACKGROUND_PREFIX}{thread}":
            return
        settled = self.take({"type": "nothing"}).memory
        outcome = self.take(event, by=by)
        assert not outcome.begin
        assert not outcome.stop
        assert outcome.memory == settled, "a stranger's word counts"

    def forgeable(self) -> list[tuple[str, dict[str, Any]]]:
        awaited = [(thread, awaited_of(side)) for thread, side in self.sides.items() if side.is_live]
        return awaited or [*self.mail, *self.delivered]

    # What always holds

    @invariant()
    def the_memory_is_valid(self) -> None:
        memory = self.memory
        assert memory_from_json(memory.model_dump(mode="json")) == memory
        numbers = [change.number for change in memory.history]
        assert numbers == sorted(set(numbers))
        assert memory.changes == (numbers[-1] if numbers else 0)
        assert all(item.version <= memory.version for item in memory.items.values())
        assert {plan.workflow for plan in memory.plans.values()} == set(memory.plans)

    @invariant()
    def what_is_carried_out_was_approved(self) -> None:
        for plan in self.memory.plans.values():
            if plan.status == "executing":
                assert (plan.id, plan.version) in self.approved
                assert plan.approval
                assert plan.approval.plan_hash == plan.hash

    @invariant()
    def a_plan_that_can_be_approved_stands_on_what_is_known(self) -> None:
        for plan in self.memory.plans.values():
            if plan.status == "planned":
                now = {key: item.value for key, item in self.memory.items.items() if item.status == "collected"}
                assert self.stands_on[plan.id, plan.version] == {key: now.get(key) for key in plan.inputs}

    @invariant()
    def no_side_thread_works_or_asks_for_nobody(self) -> None:
        for thread, side in self.sides.items():
            if not side.is_live:
                continue
            if side.begin.kind == "ask":
                assert self.memory.asks.get(side.job["info"]) == thread, "a question nobody waits for stays open"
                continue
            plan = self.plan_of(side)
            assert plan, f"{side.begin.kind} goes on for no plan"
            assert (plan.id, plan.version) == tuple(side.about.values())
            allowed = {"plan": ("planning",), "approve": ("planned", "failed"), "execute": ("executing", "failed")}
            assert plan.status in allowed[side.begin.kind], f"{side.begin.kind} goes on, the plan is {plan.status}"

    @invariant()
    def nobody_waits_for_a_side_thread_that_is_no_more(self) -> None:
        coming = {thread for thread, _ in self.mail} | {thread for thread, side in self.sides.items() if side.is_live}
        assert set(self.memory.asks.values()) <= coming
        for plan in self.memory.plans.values():
            if plan.status in ("planning", "executing"):
                assert plan.thread_id in coming, f"the plan is {plan.status} for ever"
            if plan.status == "planned":
                assert plan.thread_id is None or plan.thread_id in coming, "nobody can approve the plan"


def awaited_of(side: Side) -> dict[str, Any]:
    """Return what would have an effect if it came from this side thread."""
    if side.begin.kind == "ask":
        about = {"info": side.job["info"], "request": "r", "by": "eve"}
        return {"type": "answered", **about, "status": "answered", "value": 2}
    if side.begin.kind == "plan":
        return {"type": "planned", **side.about, "draft": {"plan": "eve's"}}
    if side.begin.kind == "approve":
        return {"type": "approved", **side.about, "request": "r", "by": "eve", "hash": content_text(side.job)}
    return {"type": "executed", **side.about}


def content_text(job: Mapping[str, Any]) -> str:
    steps = [Step.model_validate(each) for each in job["steps"]]
    return content_hash(job["plan"], job["version"], job["content"], steps)


def stripped(steps: list[dict[str, Any]]) -> list[Step]:
    return [Step.model_validate(each) for each in steps]


TestConversation = cast("Any", Conversation).TestCase
TestConversation.settings = settings(max_examples=examples(100), stateful_step_count=50, deadline=None)
