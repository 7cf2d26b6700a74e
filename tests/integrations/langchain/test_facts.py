"""Conditions on lists, conditions that can never hold, and facts that code looks up about a call."""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from tests.integrations.langchain.office import Till, agent, call, calls
from tests.runs.world import at_work

from ringi import Approval, Policy
from ringi.domain.ask import Action, Ask
from ringi.errors import InvalidError
from ringi.policy import Condition
from ringi.runs.context import RunContext, call_digest
from ringi.testing import ScriptedModel

LINES = [{"amount": 5, "currency": "USD"}, {"amount": 200, "currency": "EUR"}]


@pytest.mark.parametrize(
    ("condition", "value", "holds"),
    [
        ({"any": {"amount": {"above": 100}}}, LINES, True),
        ({"any": {"amount": {"above": 200}}}, LINES, False),
        ({"any": {"amount": {"above": 100}, "currency": {"equals": "USD"}}}, LINES, False),
        ({"any": {"amount": {"above": 100}}}, [], False),
        ({"any": {"amount": {"above": 100}}}, [{"amount": 5}, {}], None),
        ({"any": {"amount": {"above": 100}}}, [{"amount": 500}, {}], True),
        ({"any": {"amount": {"above": 100}}}, {"amount": 500}, None),
        ({"any": {"*": {"matches": ".*@evil"}}}, ["a@good", "b@evil"], True),
        ({"any": {"a.b": {"equals": 1}}}, [{"a": {"b": 1}}], True),
        ({"all": {"currency": {"one_of": ["USD", "EUR"]}}}, LINES, True),
        ({"all": {"currency": {"equals": "USD"}}}, LINES, False),
        ({"all": {"currency": {"equals": "USD"}}}, [], True),
        ({"all": {"currency": {"equals": "USD"}}}, [{"currency": "USD"}, {}], None),
        ({"all": {"currency": {"equals": "USD"}}}, "USD", None),
        ({"sum": {"amount": {"at_most": 205}}}, LINES, True),
        ({"sum": {"amount": {"at_most": 204.9}}}, LINES, False),
        ({"sum": {"amount": {"at_most": 0}}}, [], True),
        ({"sum": {"amount": {"at_most": 10}}}, [{"amount": "5"}], None),
        ({"sum": {"amount": {"at_most": 10}}}, [{"amount": math.inf}], None),
        ({"sum": {"amount": {"at_most": 10}}}, [{"amount": 1e308}, {"amount": 1e308}], None),
        ({"sum": {"*": {"at_most": 0.3}}}, [0.1] * 3, True),
        ({"count": {"at_most": 2}}, LINES, True),
        ({"count": {"above": 2}}, LINES, False),
        ({"count": {"above": 2}}, "many", None),
        ({"any": {"*": {"any": {"*": {"equals": 3}}}}}, [[1], [2, 3]], True),
    ],
)
def test_a_condition_reaches_into_a_list(condition: Any, value: Any, holds: Any) -> None:
    assert Condition.parse(condition).holds(value) is holds


@pytest.mark.parametrize(
    "condition",
    [
        {"at_least": 5, "at_most": 4},
        {"above": 5, "at_most": 5},
        {"above": 5, "below": 5},
        {"equals": 3, "above": 3},
        {"equals": "a", "matches": "b"},
        {"equals": "a", "above": 1},
        {"one_of": [1, 2], "above": 2},
        {"one_of": ["a"], "count": {"above": 1}},
        {"matches": "a", "above": 1},
        {"matches": "a", "any": {"*": {"equals": 1}}},
        {"above": 1, "count": {"above": 1}},
        {"count": {"below": 0}},
        {"count": {"above": 1, "below": 2}},
        {"count": {"equals": 1.5}},
        {"count": {"equals": "two"}},
        {"any": {"x": {"above": 5}}, "all": {"x": {"below": 5}}},
        {"any": {"x": {"equals": "a"}}, "all": {"x": {"one_of": ["b", "c"]}}},
        {"any": {"x": {"one_of": ["a", "b"]}}, "all": {"x": {"matches": "[cd]"}}},
        {"any": {"x": {"matches": "a"}}, "all": {"x": {"at_most": 5}}},
        {"any": {"y": {"equals": 1}, "*": {"equals": 3}}, "all": {"*": {"equals": 4}}},
        {"any": {"x": {"count": {"above": 3}}}, "all": {"x": {"count": {"below": 3}}}},
        {"any": {"x": {"any": {"*": {"above": 5}}}}, "all": {"x": {"all": {"*": {"below": 5}}}}},
        {"any": {"x": {"above": 5}}, "count": {"equals": 0}},
    ],
)
def test_a_condition_that_can_never_hold_is_an_error(condition: Any) -> None:
    with pytest.raises(InvalidError, match="can never hold"):
        Condition.parse(condition)
    policy = {"rules": [{"tools": ["pay"], "where": {"x": condition}}]}
    with pytest.raises(InvalidError, match=r"rules\[0\]\.where\.x.*can never hold"):
        Policy.parse(policy)


NUMBERS = st.integers(-3, 3) | st.floats(-3, 3)
LIMITS = st.dictionaries(st.sampled_from(["at_least", "at_most", "above", "below"]), NUMBERS, min_size=1)


@given(LIMITS, st.lists(NUMBERS, min_size=1, max_size=3))
def test_no_condition_that_a_value_meets_is_refused(limits: dict[str, float], values: list[float]) -> None:
    checks = [Condition.parse({name: limit}) for name, limit in limits.items()]
    if any(all(check.holds(value) for check in checks) for value in values):
        Condition.parse(limits)
        Condition.parse({**limits, "one_of": values})
    else:
        with pytest.raises(InvalidError, match="can never hold"):
            Condition.parse({**limits, "one_of": values})


WHOLE = st.dictionaries(st.sampled_from(["at_least", "at_most", "above", "below"]), st.integers(-3, 3), min_size=1)


@given(WHOLE, WHOLE)
def test_any_and_all_are_refused_if_and_only_if_no_item_meets_both(some: dict[str, int], every: dict[str, int]) -> None:
    checks = [Condition.parse({name: limit}) for where in (some, every) for name, limit in where.items()]
    # Between two whole limits there is always a half.
    if any(all(check.holds(half / 2) for check in checks) for half in range(-9, 10)):
        Condition.parse({"any": {"*": some}, "all": {"*": every}})
    else:
        with pytest.raises(InvalidError, match="can never hold"):
            Condition.parse({"any": {"*": some}, "all": {"*": every}})


def test_no_number_of_items_that_a_list_can_have_is_refused() -> None:
    for low in range(-2, 4):
        for high in range(-2, 4):
            meets = [n for n in range(10) if low < n < high]
            try:
                Condition.parse({"count": {"above": low, "below": high}})
            except InvalidError:
                assert not meets
            else:
                assert meets


OWNED: dict[str, Any] = {"rules": [{"tools": ["refund"], "facts": {"owner": {"equals": "someone else"}}}]}
TOTAL = {"name": "small orders", "facts": {"total": {"at_most": 100}}}
REFUND = {"order": 1182, "amount": 40}


def refunds(till: Till, policy: Any, **facts: Callable[[dict[str, Any]], Any]) -> Any:
    return agent(calls(call("refund", **REFUND)), till.tools, [Approval(policy, till.tools, facts)])


def failing(args: dict[str, Any]) -> Any:
    raise ConnectionError("no shop")


async def later(args: dict[str, Any]) -> Any:
    return "me" if args == REFUND else "nobody"


async def failing_later(args: dict[str, Any]) -> Any:
    raise ConnectionError("no shop")


@pytest.mark.parametrize(
    ("owner", "waits"),
    [
        (lambda _: "someone else", True),
        (lambda _: "me", False),
        (later, False),
        (failing, True),
        (failing_later, True),
        (lambda _: None, True),
        (lambda _: object(), True),
        (lambda _: float("nan"), True),
        (lambda _: 2**60, True),
    ],
    ids=["another", "mine", "later", "failing", "failing later", "null", "no JSON", "not a number", "too large"],
)
async def test_a_rule_applies_unless_a_fact_says_that_it_does_not(file: str, owner: Any, *, waits: bool) -> None:
    till = Till()
    async with at_work(file, [refunds(till, OWNED, owner=owner)]) as world:
        thread = await world.run("office", {})
        assert (thread.status, till.paid) == (("interrupted", []) if waits else ("done", [REFUND]))


@pytest.mark.parametrize(
    ("total", "waits"),
    [(lambda _: 99, False), (lambda _: 101, True), (failing, True)],
    ids=["small", "large", "unknown"],
)
async def test_a_rule_approves_by_a_fact_that_stands_in_the_request(file: str, total: Any, *, waits: bool) -> None:
    till = Till()
    policy = {"rules": [{"tools": ["refund"], "auto_approve": [TOTAL]}]}
    async with at_work(file, [refunds(till, policy, total=total)]) as world:
        await world.run("office", {})
        assert till.paid == ([] if waits else [REFUND])
        (request,) = await world.asked()
        assert request.context.get("facts") == (None if total is failing else {"total": total({})})
        await world.verified()


FINANCE = {"tools": ["refund"], "groups": ["finance"], "allowed": ["approve", "reject"]}


@pytest.mark.parametrize("later", [50, 9_000, None], ids=["small", "large", "failing"])
@pytest.mark.parametrize("decision", ["approve", "reject"])
@pytest.mark.parametrize(
    "rule", [{"facts": {"total": {"above": 100}}}, {"auto_approve": [TOTAL]}], ids=["rule", "auto"]
)
async def test_the_facts_that_people_were_shown_stand_until_the_call_has_run(
    file: str, decision: str, later: int | None, rule: dict[str, Any]
) -> None:
    till, totals, looked_up = Till(), [150], list[int]()

    def total(args: dict[str, Any]) -> int:
        looked_up.append(len(totals))
        if totals[-1] is None:
            raise ConnectionError("no shop")
        return totals[-1]

    async with at_work(file, [refunds(till, {"rules": [{**FINANCE, **rule}]}, total=total)]) as world:
        await world.run("office", {})
        request = await world.one()
        assert request.context["facts"] == {"total": 150}
        totals.append(later)  # type: ignore[arg-type]
        assert (await world.answer(request, decision)).status == "done"
        assert till.paid == ([REFUND] if decision == "approve" else [])
        assert len(await world.asked()) == 1
        assert looked_up == [1]


@pytest.mark.parametrize("answer", ["approve", "reject"])
async def test_without_ringi_facts_are_unknown_and_let_no_call_run_unasked(answer: str) -> None:
    till, owners = Till(), ["someone else"]
    approval = Approval(OWNED, till.tools, {"owner": lambda _: owners[-1]})
    model = ScriptedModel(script=calls(call("refund", **REFUND)))
    plain = create_agent(model, till.tools, middleware=[approval], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}
    asked = await plain.ainvoke({"messages": [HumanMessage("Please.")]}, config)
    (stop,) = asked["__interrupt__"]
    owners.append("me")
    (title,) = [stop.value["ringi"]["title"]]
    assert title == "Run refund?"
    with contextlib.suppress(Exception):
        await plain.ainvoke(Command(resume={"decision": answer}), config)
    assert till.paid == []


async def test_a_function_that_waits_does_not_stop_the_worker(file: str) -> None:
    till, loop = Till(), list[bool]()

    def owner(args: dict[str, Any]) -> str:
        loop.append(threading.current_thread() is threading.main_thread())
        return "me"

    async with at_work(file, [refunds(till, OWNED, owner=owner)]) as world:
        await world.run("office", {})
        assert loop == [False]


async def test_a_fact_is_looked_up_only_for_calls_that_it_decides_about(file: str) -> None:
    till = Till()
    policy = {"rules": [{**OWNED["rules"][0], "where": {"amount": {"above": 100}}}]}
    async with at_work(file, [refunds(till, policy, owner=failing)]) as world:
        await world.run("office", {})
        assert till.paid == [REFUND]


async def test_a_function_gets_a_copy_of_the_arguments(file: str) -> None:
    till = Till()

    def greedy(args: dict[str, Any]) -> str:
        args["amount"] = 9_000
        return "me"

    async with at_work(file, [refunds(till, OWNED, owner=greedy)]) as world:
        await world.run("office", {})
        assert till.paid == [REFUND]


@pytest.mark.parametrize("where", ["facts", "auto_approve"])
def test_a_fact_without_a_function_is_an_error(where: str) -> None:
    facts = {"owner": {"equals": "me"}}
    rule = {"facts": facts} if where == "facts" else {"auto_approve": [{"name": "mine", "facts": facts}]}
    with pytest.raises(InvalidError, match=r"facts: 'owner' is not a fact: use total"):
        Approval({"rules": [{"tools": ["refund"], **rule}]}, Till().tools, {"total": failing})


@pytest.mark.parametrize("facts", [None, "none", 5, ["total"], {"total": 150}])
async def test_a_call_counts_as_asked_whatever_its_context_has_as_facts(facts: Any) -> None:
    context = RunContext(cast(Any, None), cast(Any, None), cast(Any, None), "r1", None)
    asked = Ask(title="Pay?", action=Action("refund", REFUND), context={"tool_call_id": "c1", "facts": facts})
    context.set_open_questions([asked])
    digest = call_digest("refund", REFUND)
    assert context.facts_of("c1", digest) == (facts if isinstance(facts, dict) else {})
