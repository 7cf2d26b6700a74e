"""A stranger's runtime serves agents of a framework that Ringi does not know."""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.runs.world import at_work
from tests.runtimes.toy import ToyAgent, ToyRuntime, installed

from ringi import Agent
from ringi.audit.verify import verify_store
from ringi.base.settings import SettingError
from ringi.contracts.runtime import FrameworkState
from ringi.domain.record import Key
from ringi.domain.thread import thread_state_streams
from ringi.runs.operations import retry_failed_run
from ringi.runs.run import RunStates
from ringi.testing.conformance import RemovedGateConformance
from ringi.testing.conformance.running_agents import Effects, ModelTurn, Refund

FORTY, FIFTY = {"order": 1, "amount": 40}, {"order": 2, "amount": 50}


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The toy framework's runtime is installed."""
    with installed(tmp_path, monkeypatch):
        yield


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    return f"sqlite:///{tmp_path / 'ringi.db'}"


class TestToy(RemovedGateConformance):
    """The toy framework reads the answers from its own state."""

    def agent(self, turns: Sequence[ModelTurn], effects: Effects, expires_in: float | None = None) -> Agent:
        return Agent("refunds", self.toy(turns, effects), expires_in=expires_in)

    def ungated_agent(self, turns: Sequence[ModelTurn], effects: Effects) -> Agent:
        return Agent("refunds", self.toy(turns, effects, is_marked=False))

    def toy(self, turns: Sequence[ModelTurn], effects: Any, **settings: Any) -> ToyAgent:
        stages = [
            [each.args for each in turn if isinstance(each, Refund)] for turn in turns if not isinstance(turn, str)
        ]
        return ToyAgent(stages, effects, is_all=False, **settings)


def texts(items: Any) -> list[str]:
    return [item.event["delta"] for item in items if item.event["type"] == "TEXT_MESSAGE_CONTENT"]


async def test_it_asks_goes_on_and_ends(url: str) -> None:
    toy = ToyAgent([[FORTY], [FIFTY]])
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        first = await world.one()
        assert (first.title, first.action and first.action.args) == ("Refund 40?", FORTY)
        await world.answer(first, "approve")
        second = await world.one()
        ended = await world.answer(second, "edit", args={"order": 2, "amount": 45})
        assert (ended.status, ended.values) == ("done", {"log": ["0:0 approve", "1:0 edit"]})
        assert toy.effects == [FORTY, {"order": 2, "amount": 45}]
        assert texts(await world.backend.stream.read(ended.key)) == ["Stage 0.", "Stage 1.", "Stage 2."]
        assert [(calls.model, calls.calls, calls.input_tokens) for calls in ended.usage or ()] == [("toy", 3, 9)]
        assert (await verify_store(world.backend.store))[1] == []


@pytest.mark.parametrize("is_all", [True, False])
async def test_several_questions_are_answered_in_any_order(url: str, is_all: bool) -> None:
    toy = ToyAgent([[FORTY, FIFTY, FORTY]], is_all=is_all)
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        one, two, three = sorted(await world.pending(), key=lambda request: str(request.continuation))
        await world.answer(three, "approve")
        assert toy.effects == ([] if is_all else [FORTY])
        await world.answer(two, "reject")
        ended = await world.answer(one, "approve")
        assert (ended.status, toy.effects) == ("done", [FORTY, FORTY])


async def test_another_worker_goes_on_from_a_large_state(url: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    toy = ToyAgent([[FORTY], [FIFTY]], secret="hunter2", padding=1_000_000)
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        request = await world.one()
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.answer(request, "approve")
        ended = await world.answer(await world.one(), "reject")
        assert (ended.status, toy.effects) == ("done", [FORTY])
        keys = thread_state_streams(ended.key)
        sizes = [sum(len(i.event["text"]) for i in await world.backend.stream.read(key)) for key in keys]
        assert all(1_000_000 < size < 1_010_000 for size in sizes)
    assert "hunter2" not in caplog.text


@pytest.mark.parametrize("end", ["expire", "cancel"])
async def test_silence_runs_nothing(url: str, end: str) -> None:
    toy = ToyAgent([[FORTY]])
    agent = Agent("toy", toy, expires_in=0.2 if end == "expire" else None)
    async with at_work(url, [agent]) as world:
        await world.run("toy", {})
        if end == "cancel":
            await world.inbox.cancel((await world.one()).id, by="ann")
        else:
            await world.inbox.wait((await world.asked())[0], 20)
        ended = await world.rest()
        assert (ended.status, ended.values, toy.effects) == ("done", {"log": ["0:0 reject"]}, [])


async def test_a_state_of_another_version_waits_for_an_operator(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = ToyAgent([[FORTY, FIFTY]], is_all=False)
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        one, two = sorted(await world.pending(), key=lambda request: request.title)
    monkeypatch.setattr(ToyRuntime, "schema_number", 2)
    async with at_work(url, [Agent("toy", toy)]) as world:
        thread = await world.answer(one, "approve")
        assert (thread.status, toy.effects) == ("interrupted", [])
        assert "toy 1.0" in str(thread.attention)
        await world.answer(two, "reject")
        assert toy.effects == []
    monkeypatch.setattr(ToyRuntime, "schema_number", 1)
    async with at_work(url, [Agent("toy", toy)]) as world:
        await retry_failed_run(world.backend, world.inbox, "t1", by="ann")
        ended = await world.rest()
        assert (ended.status, ended.attention, toy.effects) == ("done", None, [FORTY])


async def test_an_erasure_deletes_the_states(url: str) -> None:
    async with at_work(url, [Agent("toy", ToyAgent([[FORTY]]))]) as world:
        await world.run("toy", {})
        asked = await world.one()
        ended = await world.answer(asked, "approve")
        await world.inbox.erase(asked.id, by="root")
        assert [await world.backend.stream.read(key) for key in thread_state_streams(ended.key)] == [[], []]


async def test_a_worker_that_lost_the_thread_cannot_store_a_state(url: str) -> None:
    async with at_work(url, []) as world:
        key = Key("default", "t1")
        old, new = (RunStates(world.backend.stream, key, fence) for fence in (1, 2))
        await old.take_over()
        await new.take_over()
        with pytest.raises(Exception, match="outdated"):
            await old.write(state_of(1))
        await new.write(state_of(2))
        await new.write(state_of(3))
        found = await RunStates(world.backend.stream, key, 3).take_over()
        assert found == state_of(3)


def state_of(number: int) -> FrameworkState:
    return FrameworkState(framework="toy", version="1.0", schema_number=1, data={"number": number})


def test_an_object_of_no_framework_is_refused() -> None:
    with pytest.raises(SettingError, match="int is not an agent of an installed framework"):
        _ = Agent("number", 3).served


def test_a_framework_that_is_not_imported_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tests")
    with pytest.raises(SettingError):
        _ = Agent("toy", ToyAgent([])).served


async def test_a_state_with_characters_that_no_store_takes_is_stored(url: str) -> None:
    toy = ToyAgent([[FORTY], [FIFTY]], secret="a\0b\ud800c")
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        await world.answer(await world.one(), "approve")
        assert (await world.answer(await world.one(), "approve")).status == "done"
        assert toy.effects == [FORTY, FIFTY]


async def test_a_call_whose_result_cannot_be_stored_is_asked_again(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = ToyAgent([[FORTY]])
    async with at_work(url, [Agent("toy", toy)]) as world:
        await world.run("toy", {})
        request = await world.one()
        monkeypatch.setattr("ringi.runs.run.MAX_STATE", 10)
        failed = await world.answer(request, "approve")
        assert (failed.status, toy.effects) == ("error", [FORTY])
        assert "characters" in str(failed.attention)
        monkeypatch.undo()
        assert (await world.inbox.get(request.id)).attention
