"""What would keep a harness at work for ever ends, and says why."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest
from langgraph.func import entrypoint
from langgraph.graph import START, StateGraph

from ringi import Action, ask
from ringi.base.settings import SettingError
from ringi.inbox.inbox import StoreInbox
from ringi.testing import Reply, RunFailedError, TestHarness, UnansweredError


class State(TypedDict, total=False):
    outcome: str


def go(state: State) -> State:
    return {"outcome": "gone"}


def builder() -> Any:
    return StateGraph(State).add_node("go", go).add_edge(START, "go")


@pytest.mark.parametrize(("agent", "what"), [(builder(), "StateGraph"), (go, "function"), ("graph", "str")])
async def test_what_is_no_compiled_graph_is_refused(ringi_harness: TestHarness, agent: Any, what: str) -> None:
    kind = "a compiled graph" if what == "StateGraph" else "an agent of an installed framework"
    with pytest.raises(SettingError, match=f"agents='agent-1': {what} is not {kind}: give it "):
        await ringi_harness.run(agent)
    assert (await ringi_harness.run(builder().compile())).state == {"outcome": "gone"}


async def test_a_graph_that_no_worker_can_prepare_fails_its_run(ringi_harness: TestHarness) -> None:
    def torn(update: Any = None) -> Any:
        raise RuntimeError("no copy of this")

    graph = builder().compile()
    graph.copy = torn
    with pytest.raises(RunFailedError, match="failed: RuntimeError: no copy of this"):
        await ringi_harness.run(graph)


async def until_yes(inbox: StoreInbox) -> None:
    """Ask until somebody agrees."""
    number = 0
    is_agreed = False
    while not is_agreed:
        number += 1
        request = await inbox.ask("Send it?", action=Action("send", {"number": number}))
        is_agreed = (await inbox.wait(request)).granted is not None


@entrypoint()
def stubborn(input: dict[str, int]) -> str:
    number = 0
    while not ask("Send it?", action=Action("send", {"number": number})).granted:
        number += 1
    return "sent"


async def test_plain_code_that_asks_until_it_gets_a_yes_is_told_so(ringi_harness: TestHarness) -> None:
    ringi_harness.person.rejects()
    with pytest.raises(UnansweredError, match=r"'Send it\?'.* already answered 1000 requests.*\nLimit the rule"):
        await until_yes(ringi_harness.inbox)


async def test_a_run_that_asks_until_it_gets_a_yes_is_told_so(
    ringi_harness: TestHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LangGraph begins the step anew for each answer: a hundred of them take seconds.
    monkeypatch.setattr("ringi.testing.harness.MAX_ANSWERS_TO_A_RUN", 10)
    ringi_harness.person.rejects()
    with pytest.raises(UnansweredError, match=r"'Send it\?'.* already answered 10 requests.*\nLimit the rule"):
        await ringi_harness.run(stubborn)


async def test_what_asks_again_gets_its_yes_when_a_rule_says_how_often_it_answers(ringi_harness: TestHarness) -> None:
    ringi_harness.person.rejects(times=2).approves()
    await until_yes(ringi_harness.inbox)
    assert len(ringi_harness.person.requests) == 3


async def test_a_test_can_break_off_what_asks_again_and_again(ringi_harness: TestHarness) -> None:
    def reject(request: Any) -> Reply:
        if len(ringi_harness.person.requests) == 3:
            asking.cancel()
        return Reply("reject")

    ringi_harness.person.answers(reject)
    asking = asyncio.create_task(until_yes(ringi_harness.inbox))
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert len(ringi_harness.person.requests) == 3
