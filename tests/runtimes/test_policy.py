"""One policy decides about the calls of any framework."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.runs.world import at_work
from tests.runtimes.toy import ToyAgent, installed

from ringi import Agent, Policy
from ringi.audit.verify import verify
from ringi.errors import SettingError

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
        await inbox.respond(request.id, "approve", digest=request.digest, responder="bob")
        ended = await world.rest()
        assert ended.values == {"log": ["0:0 approve", "0:1 approve", "0:2 reject"]}
        assert toy.target.effects == [SMALL, MIDDLE]
        asked = {str(r.action and r.action.args["amount"]): r for r in await world.asked()}
        winners = {amount: r.response and r.response.responder for amount, r in asked.items()}
        assert winners == {"10": "policy:small", "100": "bob", "1000": "policy:too-much"}
        assert (await verify(world.backend.store))[1] == []


async def test_an_edit_into_a_denied_call_runs_nothing(url: str) -> None:
    toy = agent(MIDDLE)
    async with at_work(url, [toy]) as world:
        await world.run("toy", {})
        request = await world.one()
        await world.inbox.respond(request.id, "edit", args=LARGE, digest=request.digest, responder="bob")
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
