"""Runs whose questions need several people, or another person than the starter: from the policy to the call."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.raising import raises_code
from tests.runs.world import at_work
from tests.runtimes.toy import ToyAgent, installed

from ringi import Agent, Policy
from ringi.audit.verify import verify_store
from ringi.domain.ask import Answer, Ask
from ringi.domain.voting import Decider
from ringi.errors import ForbiddenError, InvalidError
from ringi.runtimes.tool_calls import question_asked_by_gate

CALL = {"order": 1, "amount": 900}
RULE = {
    "tools": ["refund"],
    "quorum": [{"count": 2}],
    "exclude": ["starter"],
    "escalation": [{"after": 3600, "to": ["group:board"]}],
    "tier": "high",
}


def policy(**changes: Any) -> Policy:
    return Policy.parse({"rules": [RULE | changes]})


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Agent]:
    with installed(tmp_path, monkeypatch):
        yield Agent("toy", ToyAgent([[CALL]]), policy=policy())


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'ringi.db'}"


async def test_a_rule_makes_two_people_decide_and_none_is_the_starter(url: str, toy: Agent) -> None:
    async with at_work(url, [toy]) as world:
        await world.runner.start("default", "t1", "toy", {}, by="ann")
        await world.rest()
        request = await world.one()
        assert (request.tier, request.starter, [stage.count for stage in request.missing or ()]) == ("high", "ann", [2])
        with pytest.raises(ForbiddenError):
            await world.inbox.respond(request, "approve", by="ann")
        voted = await world.inbox.respond(request, "approve", by="bob")
        assert (voted.status, toy.target.effects) == ("pending", [])
        await world.inbox.respond(request, "approve", by="cem")
        ended = await world.rest()
        assert (ended.status, toy.target.effects) == ("done", [CALL])
        assert (await verify_store(world.backend.store))[1] == []


async def test_the_starter_of_a_run_of_a_run_is_the_person(url: str, toy: Agent) -> None:
    async with at_work(url, [toy]) as world:
        ann = Decider("ann", subject="https://idp 7")
        for id, by in (("t1", ann), ("t2", "thread:t1"), ("t3", "thread:t2")):
            await world.runner.start("default", id, "toy", {}, by=by)
            await world.rest(id)
        asked = [await world.one(id) for id in ("t1", "t2", "t3")]
        assert [(request.asked_by, request.starter) for request in asked] == [
            ("ann", "ann"),
            ("thread:t1", "ann"),
            ("thread:t2", "ann"),
        ]
        assert [each.starter_subject for each in asked] == [ann.subject] * 3
        assert [each.asker_subject for each in asked] == [ann.subject, "", ""]
        again = Decider("annie", subject=ann.subject)
        approve = Answer(decision="approve", digest=asked[2].digest)
        with pytest.raises(ForbiddenError):
            await world.inbox.answer(asked[2].id, approve, by=again, channel="python")


async def test_a_held_answer_is_handed_over_only_once_it_is_released(url: str, toy: Agent) -> None:
    held = replace(toy, policy=policy(quorum=[], exclude=[], hold=1))
    async with at_work(url, [held]) as world:
        await world.run("toy", {})
        request = await world.one()
        first = await world.inbox.respond(request, "approve", by="bob")
        assert first.held
        with raises_code("held"):
            await world.inbox.respond(request, "reject", by="cem")
        assert (await world.inbox.undo(request.id, by="bob")).held is None
        assert toy.target.effects == []
        await world.inbox.respond(request, "reject", by="bob")
        answered = await world.inbox.wait(request, 20)
        ended = await world.rest()
        assert (ended.status, toy.target.effects) == ("done", [])
        assert answered.response
        assert answered.response.released_at


async def test_an_edit_does_not_take_a_call_away_from_those_who_decide_about_it(url: str, toy: Agent) -> None:
    rules = [
        {"tools": ["refund"], "where": {"amount": {"above": 1000}}, "quorum": [{"count": 2}], "exclude": ["starter"]},
        {"tools": ["refund"], "where": {"amount": {"at_most": 1000}}},
    ]
    async with at_work(url, [replace(toy, policy=Policy.parse({"rules": rules}))]) as world:
        await world.run("toy", {})
        request = await world.one()
        args = {"order": 1, "amount": 1_000_000}
        await world.inbox.respond(request, "edit", args=args, by="bob")
        ended = await world.rest()
        assert (ended.values, toy.target.effects) == ({"log": ["0:0 reject"]}, [])
        (denied,) = (each for each in await world.asked() if each.id != request.id)
        assert denied.response
        assert "other people decide" in str(denied.response.message)


def test_the_rules_of_a_gate_reach_the_question_of_a_framework() -> None:
    about: Any = {"title": "Pay?", "action": {"name": "pay", "args": {"amount": 900}}}
    gate = Ask.parse({**about, "quorum": [{"groups": ["finance"], "count": 2}], "exclude": ["starter"], "hold": 30})
    question = question_asked_by_gate(Ask.parse({**about, "tier": "high", "exclude": ["asker"]}), gate)
    assert (question.quorum, question.exclude, question.hold, question.tier) == (
        gate.quorum,
        ("starter",),
        30,
        "high",
    )
    refusing = question_asked_by_gate(Ask.parse({**about, "allowed": ["reject"]}), gate)
    assert (refusing.quorum, refusing.allowed) == ((), ("reject",))


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"allowed": ["reject", "respond"]}, "quorum"),
        ({"hold": 31}, "hold"),
        ({"escalation": [{"after": 5, "to": ["a"]}, {"after": 5, "to": ["b"]}]}, "escalation"),
        ({"effect": "deny", "name": "never"}, "quorum"),
        ({"exclude": ["agent"]}, "exclude"),
    ],
)
def test_a_rule_that_cannot_hold_names_its_field(changes: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError, match=field):
        policy(**changes)


@pytest.mark.parametrize("enabled", ["1", "0"])
async def test_a_run_names_the_rule_and_the_policy(url: str, toy: Agent, enabled: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("RINGI_ENABLED", enabled)
    rules = Policy.parse({"rules": [{"tools": ["refund"], "effect": "deny", "name": "never"}]})
    async with at_work(url, [replace(toy, policy=rules)]) as world:
        await world.run("toy", {})
        (request,) = await world.asked()
        assert request.policy
        assert (request.policy.rule, request.policy.digest) == ("never", rules.digest)
    asking = policy(name="refunds", quorum=[], exclude=[])
    async with at_work(url, [replace(toy, policy=asking)]) as world:
        await world.runner.start("default", "t2", "toy", {}, by="ann")
        await world.rest("t2")
        (request,) = await world.asked("t2")
        rule = request.policy and request.policy.rule
        assert (rule, request.status) == (("refunds", "pending") if enabled == "1" else (None, "completed"))
