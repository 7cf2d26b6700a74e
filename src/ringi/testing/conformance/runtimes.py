"""Conformance tests of `ringi.contracts.runtime.Runtime`: each call runs as a person decided, once, in any process."""
# ruff: noqa: D102 - the name of a test is its promise

from __future__ import annotations

import asyncio
import logging
import multiprocessing
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from ringi.connect import open_backend, open_inbox_on_backend
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.thread import Thread
from ringi.errors import ConflictError
from ringi.runs.agent import Agent, agents_by_name
from ringi.runs.frameworks import ServedAgent
from ringi.runs.worker import Worker
from ringi.testing.conformance.policies import PolicyConformance
from ringi.testing.conformance.removed_gates import end_without_approval
from ringi.testing.conformance.running_agents import (
    THREAD,
    Effects,
    ModelTurn,
    Refund,
    RestorablePath,
    RunningAgent,
    agent_asking_on_store,
    first_true_value,
    requests_of_stopped_agent,
    worker_running_on_store,
)

MEGABYTE = 1_000_000


async def work_forever(module: str, name: str, url: str, turns: Sequence[ModelTurn]) -> None:
    """Run the agent of a suite until the process is killed."""
    suite = getattr(import_module(module), name)()
    async with worker_running_on_store(url, suite.agent(turns, [])):
        await asyncio.Event().wait()


def work_in_process(path: list[str], *arguments: Any) -> None:
    """Be a process that works for a suite."""
    sys.path[:] = path
    asyncio.run(work_forever(*arguments))


class RuntimeConformance(PolicyConformance):
    """Conformance tests of a runtime, through the real worker on a store.

    A subclass makes an agent of its framework. Its model gives the turns of a script one after the other, and the body
    of its tool `refund(order: int, amount: int)` adds a `Refund` to the effects. The class must be importable by its
    module and name, because one test runs it in another process.
    """

    decisions: tuple[str, ...] = ("approve", "edit", "reject", "respond")
    """The decisions that people are offered about the call."""

    def nested_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        """Return an agent that passes its work to another agent, which has the tool and the turns."""
        pytest.skip("agents of this framework do not pause within other agents")

    async def test_an_approved_call_runs_once_with_the_approved_arguments(self, url: str, effects: Effects) -> None:
        async with agent_asking_on_store(url, self.agent([[Refund()], "Done."], effects)) as (run, [request]):
            assert request.action
            assert (request.action.name, request.action.args) == ("refund", {"order": 7, "amount": 30})
            assert set(request.allowed) == set(self.decisions)
            assert effects == []

            await run.respond(request, "approve")

            thread = await run.rest()
            assert (thread.status, thread.error, thread.attention) == ("done", None, None)
            assert effects == [Refund()]

    async def test_an_edited_call_runs_with_the_authorized_arguments(self, url: str, effects: Effects) -> None:
        if "edit" not in self.decisions:
            pytest.skip("this framework cannot run a call with other arguments")
        async with agent_asking_on_store(url, self.agent([[Refund()], "Done."], effects)) as (run, [request]):
            await run.respond(request, "edit", args={"order": 7, "amount": 5})

            assert (await run.rest()).status == "done"
            assert effects == [Refund(7, 5)]

    @pytest.mark.parametrize("decision", ["reject", "respond", "cancel"])
    async def test_a_refused_call_does_not_run(self, url: str, decision: str, effects: Effects) -> None:
        async with agent_asking_on_store(url, self.agent([[Refund()], "Sorry."], effects)) as (run, [request]):
            await end_without_approval(run, request, decision)

            assert (await run.rest()).status == "done"
            assert effects == []

    async def test_an_expired_call_does_not_run(self, url: str, effects: Effects) -> None:
        agent = self.agent([[Refund()], "Sorry."], effects, expires_in=0.5)
        async with worker_running_on_store(url, agent) as run:
            await run.start(agent)

            async def ended() -> Thread | None:
                await run.inbox.expire_due()
                thread = await run.thread()
                return thread if thread.status not in ("running", "interrupted") else None

            assert (await first_true_value(ended)).status == "done"
            assert effects == []

    async def test_a_call_of_a_canceled_run_does_not_run(self, url: str, effects: Effects) -> None:
        async with agent_asking_on_store(url, self.agent([[Refund()], "Sorry."], effects)) as (run, [request]):
            await run.worker.cancel(DEFAULT_TENANT, THREAD, by="bob")

            with pytest.raises(ConflictError) as refused:
                await run.respond(request, "approve")
            assert refused.value.code == "final"
            assert (await run.rest()).status != "interrupted"
            assert effects == []

    async def test_a_run_after_a_canceled_one_starts(self, url: str) -> None:
        agent = self.agent([[Refund()], "Hello."], [])
        async with agent_asking_on_store(url, agent) as (run, _):
            await run.worker.cancel(DEFAULT_TENANT, THREAD, by="bob")

            await run.start(agent, "Never mind.")

            assert (await run.rest()).status == "done"

    async def test_the_same_call_in_the_next_run_is_asked_again(self, url: str, effects: Effects) -> None:
        agent = self.agent([[Refund()], "Done.", [Refund()], "Sorry."], effects)
        async with agent_asking_on_store(url, agent) as (run, [first]):
            await run.respond(first, "approve")
            assert (await run.rest()).status == "done"

            await run.start(agent, "Again, please.")
            (second,) = await run.pending()

            assert second.id != first.id
            await run.respond(second, "reject")
            assert (await run.rest()).status == "done"
            assert effects == [Refund()]

    @pytest.mark.parametrize("orders", [(1, 2, 3), (7, 7, 7)], ids=["different", "equal"])
    async def test_of_three_parallel_calls_the_approved_ones_run_once(
        self, url: str, orders: Sequence[int], effects: Effects
    ) -> None:
        calls = [Refund(order) for order in orders]
        async with agent_asking_on_store(url, self.agent([calls, "Done."], effects)) as (run, [one, two, three]):
            assert len({one.id, two.id, three.id}) == 3

            await run.respond(one, "approve")
            await run.respond(two, "reject")
            await run.respond(three, "approve")

            assert (await run.rest()).status == "done"
            assert sorted(effects) == [calls[0], calls[2]]

    @pytest.mark.parametrize("is_restarted", [False, True])
    @pytest.mark.parametrize("order", list(permutations(range(3))))
    async def test_a_parallel_question_stays_as_it_was_until_its_answer(
        self, url: str, order: Sequence[int], is_restarted: bool
    ) -> None:
        effects = Effects()
        turns: list[ModelTurn] = [["I refund all three.", Refund(1), Refund(2), Refund(3)], "Done."]
        first, later = self.agent(turns, effects), self.agent(turns[1:], effects)
        async with AsyncExitStack() as stack:
            run, requests = await stack.enter_async_context(agent_asking_on_store(url, first))
            assert [request.description for request in requests] == ["I refund all three."] * 3
            waiting = [await run.inbox.claim(request.id, by="bob") for request in requests]
            for number in order:
                if is_restarted:
                    await stack.aclose()
                    run = await stack.enter_async_context(worker_running_on_store(url, later))
                asked = next(each for each in waiting if each.id == requests[number].id)
                await run.respond(asked, "approve")
                waiting.remove(asked)
                assert await run.pending() == waiting

            assert (await run.rest()).status == "done"
            assert sorted(effects) == [Refund(1), Refund(2), Refund(3)]

    async def test_a_restored_run_asks_the_same_questions_under_the_same_ids(self, url: str, tmp_path: Path) -> None:
        turns: list[ModelTurn] = [["First.", Refund(1)], ["Then.", Refund(2), Refund(2)], [Refund(3)], "Done."]
        store = RestorablePath(url, tmp_path)
        [asked] = await requests_of_stopped_agent(url, self.agent(turns, []))
        store.keep()

        async def repeated(turns: Sequence[ModelTurn], decision: str) -> list[list[str]]:
            """Restore the store, answer all questions in new workers, and return the ids of each pause."""
            store.put_back()
            ids, agent = list[list[str]](), self.agent(turns, [])
            async with worker_running_on_store(url, agent) as run:
                while pending := await run.pending():
                    ids.append(sorted(request.id for request in pending))
                    for request in pending:
                        await run.respond(request, decision)
                assert (await run.rest()).status == "done"
            return ids

        approved = await repeated(turns[1:], "approve")
        assert approved[0] == [asked.id]
        assert [len(set(ids)) for ids in approved] == [1, 2, 1]
        assert await repeated(turns[1:], "approve") == approved
        assert await repeated(turns[1:], "reject") == approved
        changed = await repeated([["Then.", Refund(2), Refund(2, 31)], *turns[2:]], "approve")
        assert changed[0] == approved[0]
        assert len(set(changed[1]) & set(approved[1])) == 1
        assert changed[2] == approved[2]

    async def test_a_nested_agent_asks_and_its_call_runs_as_decided(self, url: str, effects: Effects) -> None:
        agent = self.nested_agent([[Refund(1), Refund(2)], "Done."], effects)
        async with agent_asking_on_store(url, agent) as (run, [one, two]):
            edit = {"args": {"order": 1, "amount": 5}} if "edit" in self.decisions else {}
            await run.respond(two, "reject")
            await run.respond(one, "edit" if edit else "approve", **edit)

            assert (await run.rest()).status == "done"
            assert effects == [Refund(1, 5 if edit else 30)]

    async def test_of_many_answers_at_once_the_first_counts(self, url: str, effects: Effects) -> None:
        async with agent_asking_on_store(url, self.agent([[Refund()], "Done."], effects)) as (run, [request]):
            decisions = ("approve", "reject", "approve", "reject")

            answers = [run.respond(request, decision) for decision in decisions]
            await asyncio.gather(*answers, return_exceptions=True)

            assert (await run.rest()).status == "done"
            response = (await run.inbox.get(request.id)).response
            assert response
            assert effects == ([Refund()] if response.decision == "approve" else [])

    @pytest.mark.parametrize("size", [1, MEGABYTE])
    async def test_another_worker_resumes_the_run_with_its_state(self, url: str, effects: Effects, size: int) -> None:
        def longer(input: dict[str, Any]) -> dict[str, Any]:
            return {"messages": [*input["messages"], {"role": "user", "content": "x" * size}]}

        first = replace(self.agent([[Refund()], "Done."], effects), input=longer)
        [request] = await requests_of_stopped_agent(url, first)
        async with open_backend(url) as backend, open_inbox_on_backend(backend) as inbox:
            await inbox.respond(request, "approve", by="bob")

        async with worker_running_on_store(url, self.agent(["Done."], effects)) as run:
            assert (await run.rest()).status == "done"

        assert effects == [Refund()]

    async def test_a_run_whose_process_was_killed_resumes_in_another(self, url: str, effects: Effects) -> None:
        turns: list[ModelTurn] = [[Refund()], "Done."]
        suite = type(self)
        arguments = (list(sys.path), suite.__module__, suite.__qualname__, url, turns)
        process = multiprocessing.get_context("spawn").Process(target=work_in_process, args=arguments)
        process.start()
        try:
            async with open_backend(url, poll_interval=0.05) as backend, open_inbox_on_backend(backend) as inbox:
                agent = self.agent(turns[1:], effects)
                watching = RunningAgent(backend, inbox, Worker(backend, inbox, agents_by_name([agent])))
                await watching.start(agent)
                (request,) = await watching.pending()
        finally:
            process.kill()
            process.join()

        async with worker_running_on_store(url, agent) as run:
            assert [each.id for each in await run.pending()] == [request.id]
            await run.respond(request, "approve")
            assert (await run.rest()).status == "done"

        assert effects == [Refund()]

    async def test_a_state_of_an_unknown_version_waits_for_an_operator_and_its_answer_counts(self, url: str) -> None:
        effects = Effects()
        first = self.agent([[Refund(1), Refund(2)], "Done."], effects)
        if first.served.description.has_checkpoints:
            pytest.skip("this framework stores its states itself")
        [one, two] = await requests_of_stopped_agent(url, first)
        older = self.agent(["Done."], effects)
        runtime, description = older.served
        vars(older)["served"] = ServedAgent(runtime, replace(description, reads=range(10**6, 10**6 + 1)))

        async with worker_running_on_store(url, older) as run:
            await run.respond(one, "approve")

            async def marked() -> Thread | None:
                thread = await run.thread()
                return thread if thread.attention else None

            await first_true_value(marked)
            assert effects == []
            assert (await run.respond(two, "approve")).status == "completed"

        assert effects == []

    async def test_a_secret_in_the_state_is_not_logged(self, url: str, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.INFO)
        agent = self.agent([[Refund()]], [])
        async with agent_asking_on_store(url, agent, "My card is 4000-1234.") as (run, [request]):
            assert "4000-1234" not in caplog.text

            # The script has no more turns: the run fails.
            await run.respond(request, "approve")

            await run.rest()
            assert "4000-1234" not in caplog.text

    async def test_the_text_after_a_pause_is_streamed(self, url: str) -> None:
        async with agent_asking_on_store(url, self.agent([[Refund()], "All done."], [])) as (run, [request]):
            before = len(await run.events())

            await run.respond(request, "approve")

            await run.rest()
            after = (await run.events())[before:]
            kinds = [event["type"] for event in after]
            text = "".join(event["delta"] for event in after if event["type"] == "TEXT_MESSAGE_CONTENT")
            assert text.strip() == "All done."
            assert kinds.index("TOOL_CALL_RESULT") < kinds.index("TEXT_MESSAGE_CONTENT")
