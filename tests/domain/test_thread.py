"""The state machine of a thread: its runs, its lease, its fence."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from tests.raising import raises_code

from ringi.domain.thread import Failure, FenceError, Run, Thread
from ringi.privacy.redaction import thread_without_content
from ringi.testing.clock import NOON
from ringi.testing.factories import a_thread

LEASE = timedelta(seconds=30)
LATER = NOON + LEASE


def held(thread: Thread | None = None) -> Thread:
    return (thread or a_thread()[0]).acquired("worker", NOON, LEASE)[0]


def parked() -> Thread:
    return held().parked(held(), NOON, {"step": 1})[0]


def test_a_new_thread_waits_for_a_worker() -> None:
    thread, event = a_thread()

    assert (thread.status, thread.run_id, thread.owner, thread.fence) == ("running", "run-1", None, 0)
    assert (event.type, event.actor) == ("thread.started", "ann")


def test_its_title_is_the_beginning_of_what_a_person_said_first() -> None:
    def title(messages: Any) -> str | None:
        run = Run(id="run-1", input={"messages": messages})
        return Thread.begun("t", "chat", run, by="ann", now=NOON)[0].title

    assert title([{"role": "system", "content": "be kind"}, {"role": "user", "content": " Refund\nplease"}]) == "Refund"
    assert title([{"role": "user", "content": "a" * 81}]) == "a" * 79 + "…"
    asked = Run(id="r", input={"query": "How long?\nExactly."})
    assert Thread.begun("t", "engrammer", asked, by="ann", now=NOON)[0].title == "How long?"
    assert [title(odd) for odd in (None, "hi", [], ["hi"], [{"role": "user", "content": [1]}])] == [None] * 5

    done = held().finished(held(), NOON, {})[0]
    first = done.started(
        "chat", Run(id="run-2", input={"messages": [{"role": "user", "content": "one"}]}), by="ann", now=NOON
    )[0]
    again = first.cancelled("ann", NOON)[0].started(
        "chat", Run(id="run-3", input={"messages": []}), by="ann", now=NOON
    )[0]
    assert (first.title, again.title, thread_without_content(again)["title"]) == ("one", "one", None)


def test_a_worker_holds_it_under_a_higher_fence_until_the_lease_ends() -> None:
    thread = held()

    assert (thread.owner, thread.fence, thread.attempts) == ("worker", 1, 1)
    assert thread.is_leased(LATER - timedelta(microseconds=1))
    assert not thread.is_leased(LATER)
    with raises_code("busy"):
        thread.acquired("another", NOON, LEASE)
    assert thread.acquired("another", LATER, LEASE)[0].fence == 2


def test_a_renewal_is_no_event_and_no_new_fence() -> None:
    thread, event = held().renewed(held(), LATER, LEASE)

    assert event is None
    assert (thread.fence, thread.version, thread.lease_until) == (1, 3, LATER + LEASE)


Step = Callable[[Thread], Any]
STEPS: dict[str, Step] = {
    "renew": lambda thread: thread.renewed(held(), NOON, LEASE),
    "park": lambda thread: thread.parked(held(), NOON, {}),
    "finish": lambda thread: thread.finished(held(), NOON, {}),
    "fail": lambda thread: thread.failed(held(), NOON, Failure(message="no", code="bug")),
    "give back": lambda thread: thread.released(held(), NOON),
}


@pytest.mark.parametrize("step", STEPS)
def test_an_old_fence_can_do_nothing(step: str) -> None:
    taken = held().acquired("newer", LATER, LEASE)[0]

    with pytest.raises(FenceError):
        STEPS[step](taken)


@pytest.mark.parametrize("step", STEPS)
def test_another_owner_of_the_same_fence_can_do_nothing(step: str) -> None:
    with pytest.raises(FenceError):
        STEPS[step](a_thread()[0].acquired("other", NOON, LEASE)[0])


@pytest.mark.parametrize("step", STEPS)
def test_a_fence_ends_with_the_lease_it_came_with(step: str) -> None:
    with pytest.raises(FenceError):
        STEPS[step](held().finished(held(), NOON, {})[0])


def test_a_cancelled_thread_stops_whoever_runs_it() -> None:
    cancelled, _ = held().cancelled("ann", NOON)

    assert (cancelled.status, cancelled.owner, cancelled.fence) == ("idle", None, 2)
    with pytest.raises(FenceError):
        cancelled.finished(held(), NOON, {})


@pytest.mark.parametrize(
    ("step", "status"), [("park", "interrupted"), ("finish", "done"), ("fail", "error"), ("give back", "running")]
)
def test_letting_go_frees_the_thread_in_its_new_status(step: str, status: str) -> None:
    thread, _ = STEPS[step](held())

    assert (thread.status, thread.owner, thread.lease_until, thread.fence) == (status, None, None, 1)


def test_tries_begin_again_after_a_pause_only() -> None:
    assert parked().attempts == 0
    assert held(held().released(held(), NOON)[0]).attempts == 1  # It has not died.


@pytest.mark.parametrize("busy", [held, parked, lambda: a_thread()[0]], ids=["running", "interrupted", "waiting"])
def test_new_input_never_drops_what_is_going_on(busy: Callable[[], Thread]) -> None:
    with raises_code("busy", match="answer its requests or cancel"):
        busy().started("agent", Run(id="run-2", input={}), by="bob", now=NOON)


@pytest.mark.parametrize("end", ["finish", "fail"])
def test_new_input_may_follow_an_end(end: str) -> None:
    ended, _ = STEPS[end](held())

    again, event = ended.started("agent", Run(id="run-2", input={"n": 1}), by="bob", now=NOON)

    assert (again.status, again.run_id, again.error, again.fence) == ("running", "run-2", None, 2)
    assert (event.type, event.actor) == ("thread.started", "bob")


def failed(thread: Thread | None = None) -> Thread:
    return (thread or held()).failed(held(), NOON, Failure(message="no", code="bug"))[0]


def stranded() -> Thread:
    return parked().needing_attention("no such step", NOON)[0]


@pytest.mark.parametrize(("thread", "needs"), [(failed, True), (stranded, True), (parked, False), (held, False)])
def test_an_operator_is_needed_where_a_run_failed_or_cannot_go_on(thread: Callable[[], Thread], needs: bool) -> None:
    assert thread().needs_attention is needs


def test_a_failed_run_that_is_retried_is_the_same_run_once_more() -> None:
    again, event = failed().retried("root", LATER, "mended")

    assert (again.status, again.error, again.attempts, again.reason) == ("running", None, 0, "mended")
    assert again.run == failed().run.model_copy(update={"attempt": 1})  # type: ignore[union-attr]
    assert (event.type, event.actor) == ("thread.retried", "root")
    assert again.acquired("worker", LATER, LEASE)[0].fence == 2


def test_a_stranded_run_that_is_retried_waits_as_before() -> None:
    again, _ = stranded().retried("root", LATER, None)

    assert (again.status, again.attention, again.run) == ("interrupted", None, stranded().run)


@pytest.mark.parametrize("thread", [failed, stranded])
def test_an_abandoned_run_is_at_its_end_and_stops_whoever_holds_it(thread: Callable[[], Thread]) -> None:
    before = thread()
    ended, event = before.abandoned("root", LATER, "asked twice")

    assert (ended.status, ended.attention, ended.error) == ("idle", None, before.error)
    assert (ended.fence, ended.reason, ended.needs_attention) == (before.fence + 1, "asked twice", False)
    assert (event.type, event.actor) == ("thread.abandoned", "root")
    assert ended.started("agent", Run(id="run-2", input={}), by="bob", now=LATER)[0].reason is None
