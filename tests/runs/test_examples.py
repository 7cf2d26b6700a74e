"""The sample agents, as a person meets them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from itertools import permutations
from typing import Any, TypedDict

import pytest
from langchain_core.messages import BaseMessage
from langgraph.graph import END, START, StateGraph
from tests.raising import raises_code
from tests.runs.world import World, at_work, checked, of_type, opened, until, working

from ringi import Action, ask
from ringi.base.clock import utc_now
from ringi.demo import refund, shop, two_questions
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotAuthorizedError, NotFoundError
from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

REFUND = {"order": 1182, "amount": 40}


class Case(TypedDict, total=False):
    """What the gated agent knows."""

    outcome: str


def gated(effects: list[dict[str, Any]], changed: dict[str, Any] | None = None) -> Agent:
    """Return an agent that notes what it really does."""

    def act(state: Case) -> Case:
        request = ask("Pay?", action=Action("pay", {"amount": 40}), expires_in=3600)
        if request.granted is None:
            return {"outcome": request.status}
        args = changed or request.granted.args
        request.authorize("pay", args)
        effects.append(args)
        return {"outcome": "paid"}

    graph = StateGraph(Case)
    graph.add_node("act", act)
    graph.add_edge(START, "act")
    graph.add_edge("act", END)
    return Agent("gated", graph.compile(), output=dict)


async def test_an_approved_refund_is_paid(url: str) -> None:
    async with at_work(url) as world:
        assert (await world.run("refund", REFUND)).status == "interrupted"
        thread = await world.answer(await world.one(), "approve")
        assert (thread.status, thread.values["outcome"]) == ("done", "refunded 40")
        await world.verified()


@pytest.mark.parametrize(
    ("amount", "text"),
    [(40, "40"), (40.0, "40"), (40.5, "40.5"), (1000000, "1000000"), (1e22, "1" + "0" * 22), (123456.78, "123456.78")],
)
def test_an_amount_of_money_is_shown_with_all_its_digits(amount: float, text: str) -> None:
    assert shop.exact(amount) == text


async def test_the_facts_of_an_order_reach_the_model_and_the_person(url: str) -> None:
    prompts: list[str] = []

    def script(messages: Sequence[BaseMessage]) -> str:
        prompts.append(messages[-1].text)
        return "It came late."

    async with at_work(url, [refund.agent(ScriptedModel(script=script))]) as world:
        await world.run("refund", REFUND)
        facts = (await world.one()).context
        assert facts.keys() == {"customer", "status", "paid", "ordered", "delivered"}
        assert facts["paid"] == "40"
        assert all(str(fact) in prompts[0] for fact in facts.values())


async def test_a_large_refund_is_asked_and_paid_to_the_cent(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", {"order": 1182, "amount": 123456.78})
        request = await world.one()
        assert request.title == "Refund 123456.78 for order 1182?"
        thread = await world.answer(request, "approve")
        assert thread.values["outcome"] == "refunded 123456.78"


async def test_an_edited_refund_is_paid_as_edited(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        thread = await world.answer(await world.one(), "edit", args={"order": 1182, "amount": 35})
        assert thread.values["outcome"] == "refunded 35"


async def test_a_rejected_refund_says_why(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        thread = await world.answer(await world.one(), "reject", message="too late")
        assert (thread.status, thread.values["outcome"]) == ("done", "rejected: too late")


async def test_a_refund_rejected_without_words_says_so(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        assert (await world.answer(await world.one(), "reject")).values["outcome"] == "rejected: no reason given"


async def test_a_cancelled_refund_is_no_consent(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        await world.inbox.cancel((await world.one()).id, by="ann")
        assert (await world.rest()).values["outcome"] == "rejected: no consent, cancelled"


async def test_a_second_case_on_the_thread_keeps_nothing_of_the_first(url: str) -> None:
    async with at_work(url) as world:
        await world.run("refund", REFUND)
        await world.answer(await world.one(), "approve")
        assert "outcome" not in (await world.run("refund", {"order": 7, "amount": 1})).values
        thread = await world.answer(await world.one(), "reject", message="no")
        assert thread.values == {"order": 7, "amount": 1, "outcome": "rejected: no"}
        checked(await world.items())


async def test_a_wrong_input_or_agent_is_refused_before_anything_runs(url: str) -> None:
    async with at_work(url) as world:
        with pytest.raises(InvalidError):
            await world.start("refund", {"order": "x"})
        with pytest.raises(NotFoundError):
            await world.start("nobody", {})
        with pytest.raises(NotFoundError):
            await world.thread()


@pytest.mark.parametrize("how", ["reject", "cancel", "expire", "malformed"])
async def test_gated_code_does_not_run_without_consent(url: str, how: str) -> None:
    effects: list[dict[str, Any]] = []
    ahead = timedelta()
    async with at_work(url, [gated(effects)], clock=lambda: utc_now() + ahead) as world:
        await world.run("gated", {"outcome": ""})
        request = await world.one()
        if how == "malformed":
            for decision, rest in [("yes", {}), ("edit", {}), ("approve", {"args": {"amount": 1}})]:
                with pytest.raises(InvalidError):
                    await world.respond(request, decision, **rest)
            assert (await world.rest()).status == "interrupted"
        elif how == "expire":
            ahead = timedelta(hours=2)
            await until(lambda: is_final(world, request), "the request expires")
            assert (await world.rest()).values["outcome"] == "expired"
        elif how == "cancel":
            await world.inbox.cancel(request.id, by="ann")
            assert (await world.rest()).values["outcome"] == "cancelled"
        else:
            assert (await world.answer(request, "reject")).values["outcome"] == "completed"
        assert effects == []


async def is_final(world: World, request: Request) -> bool:
    return (await world.inbox.get(request.id)).is_final


async def test_gated_code_runs_with_exactly_what_was_approved(url: str) -> None:
    effects: list[dict[str, Any]] = []
    async with at_work(url, [gated(effects)]) as world:
        await world.run("gated", {"outcome": ""})
        assert (await world.answer(await world.one(), "approve")).values["outcome"] == "paid"
        assert effects == [{"amount": 40}]


@pytest.mark.parametrize("decision", ["approve", "edit"])
async def test_changed_arguments_are_not_authorised(url: str, decision: str) -> None:
    effects: list[dict[str, Any]] = []
    edits = {"args": {"amount": 30}} if decision == "edit" else {}
    async with at_work(url, [gated(effects, changed={"amount": 4000})]) as world:
        await world.run("gated", {"outcome": ""})
        thread = await world.answer(await world.one(), decision, **edits)
        assert thread.status == "error"
        assert thread.error
        assert thread.error.code == NotAuthorizedError.__name__
        assert effects == []


async def test_preferences_come_from_the_form(url: str) -> None:
    async with at_work(url) as world:
        await world.run("preferences", {})
        request = await world.one()
        with pytest.raises(InvalidError):
            await world.respond(request, "approve", {"sport": "chess"})
        thread = await world.answer(request, "approve", {"sport": "running", "notes": "mornings"})
        assert thread.values == {"answer": {"sport": "running", "notes": "mornings"}}
        assert len(await world.texts()) == 2


async def test_skipped_preferences_are_no_answer(url: str) -> None:
    async with at_work(url) as world:
        await world.run("preferences", {})
        thread = await world.answer(await world.one(), "reject")
        assert (thread.status, thread.values) == ("done", {"answer": None})
        assert len(await world.texts()) == 1


@pytest.mark.parametrize("order", list(permutations([0, 1])))
async def test_two_questions_are_answered_in_any_order_and_each_goes_on_by_itself(url: str, order: list[int]) -> None:
    async with at_work(url) as world:
        await world.run("two_questions", {})
        pending = await world.pending()
        words = ["Oslo", "blue"]
        assert [request.title for request in pending] == sorted(two_questions.QUESTIONS.values())
        first, second = order
        thread = await world.answer(pending[first], "respond", message=words[first])
        assert thread.status == "interrupted"
        assert list(thread.values["answers"].values()) == [words[first]]
        assert [request.id for request in await world.pending()] == [pending[second].id]
        thread = await world.answer(pending[second], "respond", message=words[second])
        assert (thread.status, thread.values["answers"]) == ("done", {"city": "Oslo", "colour": "blue"})
        assert len(await world.asked()) == 2
        await world.verified()


async def test_the_finisher_goes_on_until_its_task_is_completed(url: str) -> None:
    async with at_work(url) as world:
        await world.run("finisher", {"task": "write a haiku"})
        await world.answer(await world.one(), "edit", {"task": "write two"})
        thread = await world.answer(await world.one(), "respond", message="はい")
        assert (thread.status, thread.values["task"], thread.values["outcome"]) == ("done", "write two", "completed")
        roles = [message["role"] for message in thread.values["messages"]]
        assert roles == ["human", "ai", "human", "ai"]
        assert thread.values["messages"][-1]["content"].endswith("write two")
        checked(await world.items())


async def test_two_questions_answered_at_once_are_both_taken(url: str) -> None:
    async with at_work(url) as world:
        await world.run("two_questions", {})
        pending = await world.pending()
        await asyncio.gather(*(world.respond(request, "respond", message="here") for request in pending))
        thread = await world.rest()
        assert (thread.status, thread.values["answers"]) == ("done", {"city": "here", "colour": "here"})
        assert len(await world.asked()) == 2
        checked(await world.items())


async def test_both_answers_that_came_while_no_worker_lived_are_one_turn(url: str) -> None:
    async with opened(url) as world:
        async with working(world):
            await world.run("two_questions", {})
        for request in await world.pending():
            await world.respond(request, "respond", message="later")
        async with working(world):
            assert (await world.rest()).status == "done"
        started = of_type(await world.items(), "RUN_STARTED")
        assert len(started) == 2


async def test_answers_of_an_earlier_case_are_gone(url: str) -> None:
    async with at_work(url) as world:
        await world.run("two_questions", {})
        for request in await world.pending():
            await world.answer(request, "respond", message="first")
        assert (await world.run("two_questions", {})).values == {"answers": {}}


async def test_new_input_on_a_waiting_thread_is_refused_and_drops_nothing(url: str) -> None:
    async with at_work(url) as world:
        before = await world.run("refund", REFUND)
        request = await world.one()
        with raises_code("busy"):
            await world.start("refund", {"order": 1, "amount": 1})
        assert await world.thread() == before
        assert await world.one() == request
        assert (await world.answer(request, "approve")).values["outcome"] == "refunded 40"


async def test_new_input_on_a_running_thread_is_refused(url: str) -> None:
    async with opened(url) as world:
        thread = await world.start("refund", REFUND)
        with raises_code("busy"):
            await world.start("refund", {"order": 1, "amount": 1})
        assert await world.thread() == thread
