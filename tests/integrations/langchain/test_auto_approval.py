"""A rule approves in place of a person: at once, and on the record."""

from __future__ import annotations

from typing import Any

import pytest
from tests.integrations.langchain.office import Changing, Till, agent, call, calls
from tests.runs.world import at_work, opened, working

from ringi import Approval
from ringi.domain.request import Request
from ringi.errors import UnavailableError

ASKS = {"tools": ["refund"], "groups": ["finance"]}
SMALL = {"name": "small refunds", "where": {"amount": {"at_most": 50}}}
POLICY = {"rules": [{**ASKS, "auto_approve": [SMALL]}]}
REFUND = {"order": 1182, "amount": 40}


@pytest.fixture
def till() -> Till:
    return Till()


def refunds(till: Till, policy: Any = POLICY, *middleware: Any, **args: Any) -> Any:
    """Return an agent that wants to pay once."""
    wants = calls(call("refund", **(args or REFUND)))
    return agent(wants, till.tools, [*middleware, Approval(policy, till.tools)])


async def test_an_auto_approved_call_runs_without_a_stop_and_stands_in_the_trail(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        assert (await world.run("office", {})).status == "done"
        assert till.paid == [REFUND]
        (request,) = await world.asked()
        response = request.response
        assert response is not None
        assert (request.status, response.decision, response.channel) == ("completed", "approve", "policy")
        assert response.responder == "policy:small refunds"
        assert (request.asked_by, request.run_id) == ("bot", (await world.thread()).run_id)
        request.authorize("refund", REFUND)
        event, receipt = await world.inbox.events(request_id=request.id)
        assert (event.type, event.actor, event.version) == ("request.completed", "policy:small refunds", 1)
        assert (receipt.type, receipt.changed["receipt"]) == ("request.acknowledged", {"outcome": "committed"})
        assert await world.pending() == []
        await world.verified()


async def test_what_no_rule_approves_waits(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till, order=1, amount=51)]) as world:
        assert (await world.run("office", {})).status == "interrupted"
        assert (await world.one()).groups == ("finance",)
        assert till.paid == []


async def test_each_auto_approved_call_has_a_record_of_its_own(till: Till, file: str) -> None:
    wants = calls(*(call("refund", f"c{number}", **REFUND) for number in range(3)))
    async with at_work(file, [agent(wants, till.tools, [Approval(POLICY, till.tools)])]) as world:
        await world.run("office", {})
        await world.run("office", {})
        assert len(till.paid) == 3
        assert len({request.id for request in await world.asked()}) == 3


async def test_a_call_that_cannot_be_recorded_does_not_run_until_it_can(
    till: Till, file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = list[Any]()
    async with opened(file, [refunds(till)]) as world:
        put = world.backend.store.put

        async def fails_at_first(record: Any, event: Any) -> None:
            if isinstance(record, Request) and len(failed) < 2:
                failed.append(list(till.paid))
                raise UnavailableError("no disk")
            await put(record, event)

        monkeypatch.setattr(world.backend.store, "put", fails_at_first)
        await world.start("office", {})
        async with working(world):
            await world.rest()
        assert (failed, till.paid) == ([[], []], [REFUND])
        assert len(await world.asked()) == 1


async def test_a_call_that_a_person_rejected_stays_rejected_when_a_rule_would_approve_it_now(
    till: Till, file: str
) -> None:
    async with at_work(file, [refunds(till, {"rules": [ASKS]})]) as world:
        await world.run("office", {})
        request = await world.one()
    async with opened(file, [refunds(till)]) as world:
        await world.respond(request, "reject", message="no")
        async with working(world):
            thread = await world.rest()
        assert (thread.status, thread.values["results"]["c1"][0], till.paid) == ("done", "error", [])


async def test_a_call_that_waits_is_not_approved_by_a_rule_that_came_later(till: Till, file: str) -> None:
    def both(policy: Any) -> Any:
        wants = calls(call("refund", "c1", **REFUND), call("send", "c2", to="ann", text="Hello."))
        return agent(wants, till.tools, [Approval(policy, till.tools)])

    async with at_work(file, [both({"rules": [{"tools": ["refund", "send"]}]})]) as world:
        await world.run("office", {})
    later = {"rules": [{"tools": ["refund"], "auto_approve": [{"name": "all"}]}, {"tools": ["send"]}]}
    async with at_work(file, [both(later)]) as world:
        await world.answer((await world.pending())[1], "approve")
        assert [paid.get("to") for paid in till.paid] == ["ann"]
        await world.answer(await world.one(), "reject")
        assert [paid.get("to") for paid in till.paid] == ["ann"]


async def test_a_gate_that_was_taken_out_of_the_policy_still_binds_what_it_asked(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till, {"rules": [{"tools": ["refund"]}]})]) as world:
        await world.run("office", {})
        request = await world.one()
    async with opened(file, [refunds(till, {"rules": [{"tools": ["send"]}]})]) as world:
        await world.respond(request, "reject")
        async with working(world):
            thread = await world.rest()
        assert (thread.values["results"]["c1"][0], till.paid) == ("error", [])


async def test_arguments_that_change_between_the_pause_and_the_answer_do_not_run_what_was_rejected(
    till: Till, file: str
) -> None:
    amount = [4000]

    def change(request: Any) -> Any:
        args = {**request.tool_call["args"], "amount": amount[0]}
        return request.override(tool_call={**request.tool_call, "args": args})

    async with at_work(file, [refunds(till, POLICY, Changing(change))]) as world:
        await world.run("office", {})
        amount[0] = 3000
        await world.answer(await world.one(), "reject")
        assert till.paid == []
        assert (await world.thread()).status == "interrupted"
        await world.answer(await world.one(), "reject")
        assert till.paid == []


async def test_a_change_after_an_auto_approval_is_asked_of_a_person(till: Till, file: str) -> None:
    def change(request: Any) -> Any:
        return request.override(tool_call={**request.tool_call, "args": {"order": 1182, "amount": 41}})

    wants = calls(call("refund", **REFUND))
    async with at_work(file, [agent(wants, till.tools, [Approval(POLICY, till.tools), Changing(change)])]) as world:
        await world.run("office", {})
        request = await world.one()
        assert till.paid == []
        thread = await world.answer(request, "approve")
        assert (thread.status, till.paid) == ("done", [{"order": 1182, "amount": 41}])
        assert len(await world.asked()) == 2


async def test_the_name_of_a_rule_is_no_person_to_erase(till: Till, file: str) -> None:
    async with at_work(file, [refunds(till)]) as world:
        await world.run("office", {})
        (request,) = await world.asked()
        erased = await world.inbox.erase(request.id, by="ann")
        assert erased.response is not None
        assert erased.response.responder == "policy:small refunds"
        await world.verified()
