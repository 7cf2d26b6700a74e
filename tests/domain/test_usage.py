"""The use of models by the run of a thread."""

from datetime import timedelta

from ringi.audit.verify import RecordTrail
from ringi.domain.thread import Failure, ModelCalls, Run, Thread
from ringi.testing.clock import NOON
from ringi.testing.factories import a_thread

LEASE = timedelta(seconds=30)
SPENT = (ModelCalls(model="m", calls=1, input_tokens=10, output_tokens=2, seconds=1.5),)


def held() -> Thread:
    return a_thread()[0].acquired("worker", NOON, LEASE)[0]


def test_uses_add_up_and_unknown_numbers_stay_unknown() -> None:
    silent = ModelCalls(model="m", calls=1, unreported_calls=1, seconds=0.5)
    cached = ModelCalls(model="m", calls=1, input_tokens=5, cached_tokens=0, output_tokens=1, seconds=0.25)

    assert silent.plus(silent) == ModelCalls(model="m", calls=2, unreported_calls=2, seconds=1.0)
    assert SPENT[0].plus(silent).plus(cached) == ModelCalls(
        model="m", calls=3, unreported_calls=1, input_tokens=15, cached_tokens=0, output_tokens=3, seconds=2.25
    )


def test_each_end_of_a_stretch_stores_the_use_in_its_event() -> None:
    failure = Failure(message="no", code="bug")
    for thread, event in (
        held().parked(held(), NOON, {}, SPENT),
        held().finished(held(), NOON, {}, SPENT),
        held().failed(held(), NOON, failure, SPENT),
        held().released(held(), NOON, SPENT),
        held().renewed(held(), NOON, LEASE, SPENT)[0].cancelled("ann", NOON),
    ):
        assert thread.usage == SPENT
        assert event.changed["usage"] == [SPENT[0].model_dump()]


def test_a_run_without_models_changes_nothing() -> None:
    thread, event = held().finished(held(), NOON, {})

    assert (thread.usage, "usage" in event.changed) == (None, False)
    assert "usage" not in thread.model_dump()


def test_a_new_run_starts_without_the_use_of_the_previous_one_and_a_retry_with_it() -> None:
    done = held().finished(held(), NOON, {}, SPENT)[0]
    failed = held().failed(held(), NOON, Failure(message="no", code="bug"), SPENT)[0]

    assert done.started("chat", Run(id="run-2", input={}), by="ann", now=NOON)[0].usage is None
    assert failed.retried("ann", NOON, None)[0].usage == SPENT


def test_a_renewal_stores_the_use_and_the_trail_still_verifies() -> None:
    thread, started = a_thread()
    thread, acquired = thread.acquired("worker", NOON, LEASE)
    thread, _ = thread.renewed(thread, NOON, LEASE, SPENT)
    trail = RecordTrail(("thread", thread.key))
    for event in (started, acquired):
        trail.take(event)
    trail.compare(thread)

    assert thread.usage == SPENT
    assert thread.renewed(thread, NOON, LEASE)[0].usage == SPENT
    assert trail.findings == []
