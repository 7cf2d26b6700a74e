"""One policy decides about the calls of any framework."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs.world import at_work
from tests.runtimes.toy import ToyAgent, ToyRuntime, installed

from ringi import Agent, Policy
from ringi.audit.verify import verify_store
from ringi.base.settings import SettingError
from ringi.runs.agent import agents_by_name

SMALL, MIDDLE, LARGE = ({"order": n, "amount": amount} for n, amount in enumerate((10, 100, 1000)))
POLICY = Policy.parse(
    {
        "rules": [
            {
                "tools": ["refund"],
                "effect": "deny",
                "name": "too-much",
                "where": {"amount": {"above": 500}},
                "reason": "Over 500",
            },
            {"tools": ["refund"], "effect": "allow", "name": "small", "where": {"amount": {"at_most": 20}}},
            {
                "tools": ["refund"],
                "where": {"amount": {"above": 20}},
                "title": "Refund this?",
                "assignee": "bob",
                "allowed": ["approve", "edit", "reject"],
            },
        ],
        "cards": {"refund": {"effect": "Pays money back", "amount": "amount", "unit": "EUR"}},
    }
)


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy framework's runtime is installed."""
    with installed(tmp_path, monkeypatch):
        yield


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


def agent(*calls: dict[str, Any], policy: Policy | None = POLICY) -> Agent:
    return Agent("toy", ToyAgent([list(calls)]), policy=policy, assignee="ann")


async def test_rules_allow_deny_and_ask(url: str) -> None:
    toy = agent(SMALL, MIDDLE, LARGE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        (request,) = await world.pending()
        assert (request.title, request.assignee, request.allowed) == (
            "Refund this?",
            "bob",
            ("approve", "edit", "reject"),
        )
        assert request.context["card"]["effect"] == "Pays money back"
        assert request.action
        assert request.action.args == MIDDLE
        inbox = world.inbox.for_tenant("default")
        await inbox.respond(request, "approve", by="bob")
        ended = await world.rest()
        assert ended.values == {"log": ["0:0 approve", "0:1 approve", "0:2 reject"]}
        assert toy.target.effects == [SMALL, MIDDLE]
        asked = {str(r.action and r.action.args["amount"]): r for r in await world.asked()}
        winners = {amount: r.response and r.response.responder for amount, r in asked.items()}
        assert winners == {"10": "policy:small", "100": "bob", "1000": "policy:too-much"}
        assert (await verify_store(world.backend.store))[1] == []


@pytest.mark.parametrize(("asks", "log"), [("1", ["0:0 approve", "0:1 reject"]), ("0", ["0:0 reject"])])
async def test_a_tool_that_does_not_pause_by_itself_pauses_for_the_policy(
    url: str, asks: str, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_ENABLED", asks)
    toy = agent(SMALL, MIDDLE, LARGE)
    toy.target.is_marked = False
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        for request in await world.pending() if asks == "1" else ():
            await world.inbox.for_tenant("default").respond(request, "approve", by="bob")
        ended = await world.rest()
        assert (ended.values, toy.target.effects) == ({"log": log}, [SMALL, MIDDLE])


async def test_without_a_policy_no_further_call_pauses(url: str) -> None:
    toy = agent(LARGE, policy=None)
    toy.target.is_marked = False
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        assert (await world.rest()).status == "done"
        assert (toy.target.effects, await world.asked()) == ([LARGE], [])


def test_a_policy_is_refused_if_the_runtime_does_not_ask_it_about_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToyRuntime, "checks_calls", False)

    with pytest.raises(SettingError, match=r"agents\.toy\.policy.*toy does not ask it.*`ringi\.gate`"):
        _ = agent(SMALL).served

    assert agent(SMALL, policy=None).served


async def test_an_edit_into_a_denied_call_runs_nothing(url: str) -> None:
    toy = agent(MIDDLE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        request = await world.one()
        await world.inbox.respond(request, "edit", args=LARGE, by="bob")
        ended = await world.rest()
        assert (ended.values, toy.target.effects) == ({"log": ["0:0 reject"]}, [])
        denied = [r for r in await world.asked() if r.id != request.id]
        assert [(r.response and r.response.responder, r.response and r.response.message) for r in denied] == [
            ("policy:too-much", "Over 500")
        ]


async def test_a_rule_of_this_minute_beats_an_approval_of_yesterday(url: str) -> None:
    toy = agent(MIDDLE, policy=None)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        request = await world.one()
    strict = Policy.parse({"rules": [{"tools": ["refund"], "effect": "deny", "name": "closed"}]})
    async with at_work(url, [replace(toy, policy=strict)]) as world:
        await world.respond(request, "approve")
        ended = await world.rest()
        assert (ended.values, toy.target.effects) == ({"log": ["0:0 reject"]}, [])


async def test_a_question_that_waits_is_not_changed_by_a_new_policy(url: str) -> None:
    toy = agent(MIDDLE, {"order": 3, "amount": 30}, policy=None)
    toy.target.is_all = False
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        first, second = await world.pending()
    async with at_work(url, [replace(toy, policy=POLICY)]) as world:
        await world.respond(first, "approve")
        await world.rest()
        assert [r.id for r in await world.pending()] == [second.id]
        ended = await world.answer(second, "approve")
        assert (ended.status, len(toy.target.effects)) == ("done", 2)


def test_a_graph_takes_its_policy_in_approval() -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState).add_node("go", lambda state: None).add_edge(START, "go").compile()
    with pytest.raises(SettingError, match="give it to `Approval`"):
        _ = Agent("graph", graph, policy=POLICY).served


CHANGING = Policy.parse(
    {
        "rules": [
            {
                "tools": ["refund"],
                "effect": "deny",
                "name": "frozen",
                "facts": {"frozen": {"equals": True}},
                "reason": "Frozen",
            },
            {"tools": ["refund"], "effect": "allow", "name": "loyal", "facts": {"years": {"at_least": 5}}},
            {"tools": ["refund"], "title": "Refund this?", "facts": {"years": {"below": 5}}},
        ]
    }
)


def with_facts(years: dict[int, int], frozen: set[int], *calls: dict[str, Any], is_all: bool = True) -> Agent:
    """Return an agent whose policy needs facts about the order of a call."""
    facts = {"years": lambda args: years[args["order"]], "frozen": lambda args: args["order"] in frozen}
    toy = replace(agent(*calls, policy=CHANGING), facts=facts)
    toy.target.is_all = is_all
    return toy


async def test_facts_decide_and_people_see_them(url: str) -> None:
    toy = with_facts({0: 9, 1: 2, 2: 9}, {2}, SMALL, MIDDLE, LARGE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        (request,) = await world.pending()
        assert (request.title, request.context["facts"]) == ("Refund this?", {"years": 2, "frozen": False})
        ended = await world.answer(request, "approve")
        assert ended.values == {"log": ["0:0 approve", "0:1 approve", "0:2 reject"]}


async def test_a_fact_that_denies_is_read_again_before_the_call(url: str) -> None:
    frozen: set[int] = set()
    toy = with_facts({1: 2}, frozen, MIDDLE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        request = await world.one()
        frozen.add(1)
        ended = await world.answer(request, "approve")
        assert (ended.values, toy.target.effects) == ({"log": ["0:0 reject"]}, [])


async def test_what_a_person_decided_counts_after_a_fact_has_changed(url: str) -> None:
    years = {0: 2, 1: 2}
    toy = with_facts(years, set(), SMALL, MIDDLE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        first, second = await world.pending()
        await world.respond(first, "reject")
        await world.rest()
        # Now a rule would allow both calls.
        years.update({0: 9, 1: 9})
        ended = await world.answer(second, "approve")
        rejected = f"0:{(first.action and first.action.args['order'])} reject"
        assert rejected in ended.values["log"]
        assert toy.target.effects == [second.action and second.action.args]


def test_an_agent_needs_all_facts_of_its_policy() -> None:
    with pytest.raises(SettingError, match="needs 'frozen', 'years': pass a function for each"):
        agents_by_name([agent(SMALL, policy=CHANGING)])
    with pytest.raises(SettingError, match="they are for `policy`"):
        agents_by_name([replace(agent(SMALL, policy=None), facts={"years": lambda args: 1})])


async def test_with_people_turned_off_calls_run_on_record_unless_denied(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = agent(SMALL, MIDDLE, LARGE)
    monkeypatch.setenv("RINGI_ENABLED", "0")
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        ended = await world.rest()
        assert ended.values == {"log": ["0:0 approve", "0:1 approve", "0:2 reject"]}
        asked = await world.asked()
        responders = sorted(str(r.response and r.response.responder) for r in asked)
        assert responders == ["policy:RINGI_ENABLED=0", "policy:RINGI_ENABLED=0", "policy:too-much"]


async def test_a_run_that_asks_goes_on_asking_when_people_are_turned_off(
    url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy = agent(policy=None)
    toy.target.stages = [[SMALL], [MIDDLE]]
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        first = await world.one()
    monkeypatch.setenv("RINGI_ENABLED", "0")
    async with at_work(url, [toy]) as world:
        await world.respond(first, "reject")
        await world.rest()
        second = await world.one()
        assert second.action
        assert (second.action.args, toy.target.effects) == (MIDDLE, [])


def test_a_graph_takes_its_options_with_its_configuration() -> None:
    from langgraph.graph import START, MessagesState, StateGraph

    graph = StateGraph(MessagesState).add_node("go", lambda state: None).add_edge(START, "go").compile()
    with pytest.raises(SettingError, match="`with_config`"):
        _ = Agent("graph", graph, options={"max_turns": 3}).served
