"""Grants in runs: a call that a person approved in advance runs without a question, and not after a revocation."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.runs.test_pauses import Payments, payer
from tests.runs.world import World, at_work
from tests.runtimes.toy import ToyAgent, installed

from ringi import Agent, Policy
from ringi.audit.verify import verify_store
from ringi.domain.grants import JOURNAL
from ringi.domain.journal import Journal
from ringi.domain.request import Request

CALL, OTHER = {"order": 1, "amount": 900}, {"order": 2, "amount": 5000}
RULES = Policy.parse({"rules": [{"tools": ["refund"], "tier": "medium"}]})
DENIED = Policy.parse({"rules": [{"tools": ["refund"], "effect": "deny", "name": "never"}]})
STRICTER = Policy.parse({"rules": [{"tools": ["refund"], "quorum": [{"count": 2}]}]})


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed(tmp_path, monkeypatch):
        yield


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


def agent_of(*stages: list[dict[str, int]], policy: Policy | None = RULES, name: str = "toy") -> Agent:
    return Agent(name, ToyAgent([*stages]), policy=policy)


async def approve(world: World, request: Request, **scope: object) -> Request:
    grant = {"until": world.inbox.clock() + timedelta(hours=1), **scope}
    return await world.inbox.respond(request, "approve", by="bob", grant=grant)


async def asked(world: World, thread: str, agent: str = "toy") -> list[Request]:
    """Run an agent to its end or its questions, and return what is open."""
    await world.run(agent, {}, thread)
    return await world.pending(thread)


async def test_later_calls_of_the_same_and_of_other_runs_need_no_question(url: str) -> None:
    agent = agent_of([CALL], [CALL], [OTHER])
    async with at_work(url, [agent]) as world:
        (first,) = await asked(world, "t1")
        await approve(world, first)
        await world.rest("t1")
        assert agent.target.effects == [CALL, CALL]
        (other,) = await asked(world, "t2")
        assert other.action
        assert other.action.args == OTHER
        assert agent.target.effects == [CALL] * 4
        found = [*await world.asked("t1"), *await world.asked("t2")]
        assert [request.id for request in found if request.is_unexecuted] == []
        uses = [r.response.grant_use for r in found if r.response and r.response.grant_use]
        assert sorted((use.id, use.number) for use in uses) == [(first.id, 1), (first.id, 2), (first.id, 3)]
        assert (await verify_store(world.backend.store))[1] == []


async def revoke(world: World, id: str) -> None:
    await world.inbox.grants.revoke(id, by="cem")


async def end(world: World, id: str) -> None:
    store = world.backend.store
    journal = await store.get(Journal, "default", JOURNAL)
    ended = {**journal.state["grants"][id], "until": world.inbox.clock()}
    await store.put(*journal.written({}, {"grants": {id: ended}}, by="clock", now=world.inbox.clock()))


@pytest.mark.parametrize("uses", [1, 2])
@pytest.mark.parametrize("stop", [revoke, end])
async def test_a_call_that_waits_beside_a_question_does_not_run_once_its_grant_is_over(
    url: str, stop: Callable[[World, str], Awaitable[None]], uses: int
) -> None:
    agent = agent_of([CALL], [CALL, OTHER])
    async with at_work(url, [agent]) as world:
        (first,) = await asked(world, "t1")
        await approve(world, first, max_uses=uses)
        await world.rest("t1")
        other = await world.one()
        await stop(world, first.id)
        await world.inbox.respond(other, "approve", by="bob")
        ended = await world.rest("t1")
        assert (ended.status, agent.target.effects) == ("done", [CALL, OTHER])
        reasons = [request.response.message for request in await world.asked() if request.response]
        assert any("the grant that approved this call is over" in str(reason) for reason in reasons)


@pytest.mark.parametrize("policy", [DENIED, STRICTER], ids=["deny", "quorum"])
async def test_a_rule_that_denies_or_needs_more_people_beats_a_grant(url: str, policy: Policy) -> None:
    async with at_work(url, [agent_of([CALL])]) as world:
        (first,) = await asked(world, "t1")
        await approve(world, first)
        await world.rest("t1")
    later = agent_of([CALL], policy=policy)
    async with at_work(url, [later]) as world:
        waiting = await asked(world, "t2")
        assert (later.target.effects, len(waiting)) == ([], 1 if policy is STRICTER else 0)


async def test_another_agent_asks(url: str) -> None:
    async with at_work(url, [agent_of([CALL]), agent_of([CALL], name="other")]) as world:
        (first,) = await asked(world, "t1")
        await approve(world, first, where={})
        await world.rest("t1")
        assert len(await asked(world, "t2", "other")) == 1
        assert await asked(world, "t3") == []


async def test_a_gated_function_in_a_graph_runs_under_a_grant(url: str) -> None:
    payments = Payments()
    async with at_work(url, [payer(payments)]) as world:
        (first,) = await asked(world, "t1", "payer")
        await approve(world, first, where={"amount": {"at_most": 7}})
        await world.rest("t1")
        assert await asked(world, "t2", "payer") == []
        ended = await world.rest("t2")
        assert (ended.status, payments.made) == ("done", [7, 7])
        assert [request.id for request in await world.asked("t2") if request.is_unexecuted] == []
