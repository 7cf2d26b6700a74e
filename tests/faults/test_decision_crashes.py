"""Any steps of deciding people, with a crash between any two of them, after which another process repeats the last."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.faults import decision_steps
from tests.faults.decision_steps import ANSWERS, GROUPS, Effect, Step, begin, check, open_desk, perform
from tests.faults.processes import child
from tests.tiers import WIDE, examples

from ringi.audit.verify import verify_store
from ringi.base import failpoints
from ringi.domain import decisions
from ringi.domain.request_data import RequestData
from ringi.errors import RingiError
from ringi.inbox import core as inboxes

PHASES = (Phase.reuse, Phase.generate, Phase.shrink)
"""Without the search for explanations, which takes longer than the timeout."""
SCRIPT = Path(decision_steps.__file__)
POINTS = ("change.before_commit", "change.after_commit", "erase.before_commit", "erase.after_commit")


class Crash(BaseException):
    """The process dies here; nothing may catch it."""


class Plan(NamedTuple):
    """A step, the seconds before it, and the point at which its process dies, if it does."""

    step: Step
    after: float = 0.0
    dies_at: str | None = None


VOTES = st.builds(
    Step,
    verb=st.sampled_from(["approve", "approve", "approve", "edit"]),
    request=st.sampled_from([0, 0, 1, 1, 2]),
    by=st.sampled_from(sorted(GROUPS)),
    args=st.sampled_from([{"amount": 10}, {"amount": 20}]),
    at=st.just(0.0),
)
OTHERS = st.builds(
    Step,
    verb=st.sampled_from(["run", "run", "sweep", "sweep", "undo", "cancel", "erase", "attention", "retry", "reject"]),
    request=st.integers(0, 2),
    by=st.sampled_from(["bob", "cem", "kim"]),
    args=st.none(),
    at=st.just(0.0),
)
PLANS = st.builds(
    Plan,
    step=st.one_of(VOTES, VOTES, OTHERS),
    after=st.sampled_from([0.0, 0.0, 0.0, 2.0, 6.0, 12.0]),
    dies_at=st.sampled_from([None, None, *POINTS[:2], *POINTS]),
)


@contextmanager
def dying_at(point: str | None) -> Iterator[None]:
    """Raise `Crash` at the first pass of a fail-point, instead of killing the process."""

    def die(*_: object) -> None:
        raise Crash

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(failpoints, "os", SimpleNamespace(kill=die, getpid=lambda: 0))
        patch.setattr(failpoints, "ARMED", {point: "kill9"} if point else {})
        failpoints.PASSED.clear()
        yield


async def follow(url: str, plans: list[Plan]) -> None:
    """Do the steps, each process until it dies; the next one repeats the last step."""
    tenant, at = uuid.uuid4().hex, 0.0
    acknowledged, effects, left = list[Step](), list[Effect](), list(plans)
    async with open_desk(url, tenant) as (_, inbox):
        await begin(inbox)
    while left:
        async with open_desk(url, tenant) as (_, inbox):
            while left:
                plan = left.pop(0)
                at += plan.after
                step = plan.step._replace(at=at)
                try:
                    with dying_at(plan.dies_at):
                        await perform(inbox, step, effects.append)
                except Crash:
                    left.insert(0, Plan(plan.step))
                    break
                except RingiError:
                    pass
                else:
                    acknowledged += [step] if step.verb in ANSWERS else []
                await check(inbox, acknowledged, effects)
    await check_all(url, tenant, acknowledged, effects)


async def check_all(url: str, tenant: str, acknowledged: list[Step], effects: list[Effect]) -> None:
    """Check the requests and the whole trail, as a new process finds them."""
    async with open_desk(url, tenant) as (backend, inbox):
        await check(inbox, acknowledged, effects)
        assert (await verify_store(backend.store))[1] == []


@pytest.fixture(params=["sqlite", "postgres", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return f"{request.getfixturevalue('postgres_url')}?schema=t{uuid.uuid4().hex}"
    if request.param == "redis":
        return f"{request.getfixturevalue('durable_redis_url')}?prefix=t{uuid.uuid4().hex}"
    return f"sqlite:///{tmp_path / 'ringi.db'}"


# A crash leaves a connection to Redis to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.timeout(600)
@settings(max_examples=examples(40), deadline=None, phases=PHASES, suppress_health_check=list(HealthCheck))
@given(plans=st.lists(PLANS, min_size=4, max_size=16))
def test_after_any_crash_each_request_has_one_decision_of_enough_people(url: str, plans: list[Plan]) -> None:
    asyncio.run(follow(url, plans))


DEATHS = st.lists(st.tuples(st.sampled_from(POINTS[:2]), st.integers(1, 6)), min_size=1, max_size=3)


@WIDE
@pytest.mark.timeout(600)
@settings(max_examples=3, deadline=None, phases=PHASES[:2], suppress_health_check=list(HealthCheck))
@given(plans=st.lists(PLANS, min_size=8, max_size=16), deaths=DEATHS)
def test_after_any_kill_each_request_has_one_decision_of_enough_people(
    url: str, plans: list[Plan], deaths: list[tuple[str, int]]
) -> None:
    asyncio.run(follow_killed(url, plans, deaths))


async def follow_killed(url: str, plans: list[Plan], deaths: list[tuple[str, int]]) -> None:
    """Do the steps in processes that are really killed; the next one repeats the last step."""
    tenant, at, steps = uuid.uuid4().hex, 0.0, list[Step]()
    acknowledged, effects, doomed = list[Step](), list[Effect](), iter(deaths)
    for plan in plans:
        at += plan.after
        steps.append(plan.step._replace(at=at))
    async with open_desk(url, tenant) as (_, inbox):
        await begin(inbox)
    while steps:
        point, nth = next(doomed, ("", 1))
        async with child(url, "do", tenant, json.dumps(steps), failpoint=point, nth=nth, script=SCRIPT) as process:
            await process.death()
        effects += [Effect(line[1], {"amount": int(line[2])}) for line in process.lines if line[0] == "ran"]
        done = [int(line[1]) for line in process.lines if line[0] == "done"]
        acknowledged += [steps[number] for number in done if steps[number].verb in ANSWERS]
        steps = steps[len([line for line in process.lines if line[0] in ("done", "refused")]) :]
    await check_all(url, tenant, acknowledged, effects)


def count_all_votes(quorum: Any, votes: Any, digest: str | None) -> int | None:
    """Count the votes of a stage for whatever call."""
    for position, stage in enumerate(quorum):
        if len([vote for vote in votes if vote.stage == position]) < stage.count:
            return position
    return None


async def save_nothing(store: Any, kind: Any, key: Any, step: Any, read: Any, put: Any) -> Any:
    """Return what a change would save."""
    before = await store.get(kind, *key)
    return before, step(before)[0]


VOTE = Step("approve", 0, "bob")
BREAKS: dict[str, tuple[Any, str, Any, list[Plan]]] = {
    "votes for different calls count together": (
        decisions, "open_vote_stage", count_all_votes, [Plan(VOTE), Plan(Step("edit", 0, "cem", {"amount": 10}))],
    ),
    "the starter votes": (
        RequestData, "excluded_people", frozenset[str](), [Plan(VOTE), Plan(Step("approve", 0, "ann"))],
    ),
    "a final request changes": (
        RequestData, "refuse_final", lambda self: None, [Plan(Step("cancel", 0)), Plan(Step("cancel", 0))],
    ),
    "an answer is acknowledged and not saved": (inboxes, "change_record", save_nothing, [Plan(VOTE)]),
    "a call runs that nobody approved": (
        RequestData, "granted", property(lambda self: self.action), [Plan(Step("cancel", 0)), Plan(Step("run", 0))],
    ),
}  # fmt: skip
"""What a broken machine does, with steps that show it."""


@pytest.mark.parametrize("broken", BREAKS)
def test_a_machine_that_is_broken_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    target, name, wrong, plans = BREAKS[broken]
    follow_steps: Callable[[], None] = lambda: asyncio.run(follow(f"sqlite:///{tmp_path / 'ringi.db'}", plans))  # noqa: E731
    follow_steps()
    monkeypatch.setattr(target, name, wrong)
    if broken == "a call runs that nobody approved":
        monkeypatch.setattr("ringi.domain.request.Request.authorize", lambda *_: None)
    with pytest.raises(AssertionError):
        follow_steps()
