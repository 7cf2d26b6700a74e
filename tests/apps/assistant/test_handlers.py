"""Handlers: real coroutines that wait for events, so that what happens at once does."""

from __future__ import annotations

import asyncio
import gc
import logging
from typing import Any

import pytest

from ringi.testing.clock import NOON, ManualClock
from ringi_apps.assistant import handlers as module
from ringi_apps.assistant.declarations import Choices, InfoHandler
from ringi_apps.assistant.definitions import Definitions
from ringi_apps.assistant.handlers import MAX_CACHED, HandlerError, Handlers, Scope

ANN, BEN = Scope("default", "ann"), Scope("default", "ben")
PROJECTS = [
    {"id": "p1", "name": "Website", "status": "active", "team": "web"},
    {"id": "p2", "name": "App", "status": "planning", "team": "mobile"},
    {"id": "p3", "name": "Shop", "status": "active", "team": "shop"},
    {"id": "p4", "name": "Intranet", "status": "done", "team": "web"},
    {"id": "p1", "name": "Website again", "status": "active", "team": "web"},
]


class FakeSource:
    """What a handler calls: counts, waits until it is let go, and fails as often as it is told to."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.calls: list[dict[str, Any]] = []
        self.cancelled = 0
        self.began, self.go_on = asyncio.Event(), asyncio.Event()
        self.go_on.set()

    async def __call__(self, params: dict[str, Any]) -> Any:
        self.calls.append(params)
        self.began.set()
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        answer = self.answers.pop(0) if len(self.answers) > 1 else (self.answers or [len(self.calls)])[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def hold(self) -> None:
        self.began.clear()
        self.go_on.clear()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RETRY_PAUSE", 0)


def handlers(clock: ManualClock, source: Any, **options: Any) -> Handlers:
    return Handlers(Definitions(handlers=(InfoHandler("fetch_projects", source, **options),)), clock)


def asking(
    handlers: Handlers, times: int = 1, scope: Scope = ANN, **params: Any
) -> list[asyncio.Task[module.FetchedValue]]:
    return [asyncio.create_task(handlers.run("fetch_projects", params, scope)) for _ in range(times)]


async def value(handlers: Handlers, scope: Scope = ANN, max_age: float | None = None, **params: Any) -> Any:
    return (await handlers.run("fetch_projects", params, scope, max_age=max_age)).value


async def error(handlers: Handlers, name: str = "fetch_projects", **params: Any) -> str:
    with pytest.raises(HandlerError) as caught:
        await handlers.run(name, params, ANN)
    return str(caught.value)


async def test_an_unknown_handler_and_a_missing_parameter_are_told_with_their_remedy(clock: ManualClock) -> None:
    source = FakeSource()
    asked = handlers(clock, source, required_params=("start", "end"))

    unknown = await error(asked, "fetch_users")
    assert unknown.startswith("Handler not found: fetch_users")
    assert "define an InfoHandler" in unknown
    assert "fetch_projects" in unknown
    missing = await error(asked, start="2026-01-01")
    assert missing.startswith("Required parameter missing: end")
    assert "add it to params" in missing
    assert source.calls == []
    assert await value(asked, start=None, end="2026-02-01") == 1


async def test_a_thousand_who_ask_at_once_wait_for_one_call(clock: ManualClock) -> None:
    source = FakeSource(PROJECTS)
    source.hold()
    waiting = asking(handlers(clock, source), 1000, status="active", limit=3)

    await source.began.wait()
    source.go_on.set()

    assert {len(fetched.value) for fetched in await asyncio.gather(*waiting)} == {len(PROJECTS)}
    assert source.calls == [{"status": "active", "limit": 3}]


async def test_parameters_in_another_order_are_the_same_and_other_ones_are_not(clock: ManualClock) -> None:
    source = FakeSource()
    asked = handlers(clock, source, cache_duration=60)

    assert await value(asked, a=1, b={"c": 2, "d": 3}) == await value(asked, b={"d": 3, "c": 2}, a=1) == 1
    assert await value(asked, a=1) == 2
    assert await value(asked, a="1") == 3


@pytest.mark.parametrize("other", [BEN, Scope("elsewhere", "ann")])
async def test_nobody_is_given_what_was_fetched_for_another(clock: ManualClock, other: Scope) -> None:
    source = FakeSource()
    source.hold()
    asked = handlers(clock, source, cache_duration=60)
    together = [*asking(asked, 2, ANN), *asking(asked, 2, other)]

    await source.began.wait()
    source.go_on.set()

    first, second, third, fourth = [fetched.value for fetched in await asyncio.gather(*together)]
    assert first == second == await value(asked, ANN)
    assert third == fourth == await value(asked, other)
    assert len(source.calls) == 2


async def test_a_result_is_kept_for_its_duration_from_when_the_call_began(clock: ManualClock) -> None:
    source = FakeSource()
    source.hold()
    asked = handlers(clock, source, cache_duration=300)
    [first] = asking(asked)
    await source.began.wait()
    clock.advance(10)
    source.go_on.set()

    assert await first == (1, NOON)
    clock.advance(289)
    assert await value(asked) == 1
    clock.advance(1)
    assert await value(asked) == 2


async def test_without_a_duration_nothing_is_kept(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource())

    assert [await value(asked), await value(asked)] == [1, 2]


async def test_who_needs_it_newer_gets_it_newer_and_all_others_with_them(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource(), cache_duration=300)
    await value(asked)
    clock.advance(30)

    assert await value(asked, max_age=60) == 1
    assert await value(asked, max_age=30) == 2
    assert await value(asked, max_age=0) == 3
    assert await value(asked) == 3


async def test_a_clock_that_was_set_back_makes_nothing_last_longer(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource(), cache_duration=300)
    await value(asked)
    clock.advance(hours=-1)

    assert await value(asked) == 2


async def test_one_who_leaves_takes_nothing_from_the_others(clock: ManualClock) -> None:
    source = FakeSource()
    source.hold()
    first, second, third = asking(handlers(clock, source), 3)
    await source.began.wait()

    first.cancel()
    third.cancel()
    await asyncio.wait((first, third))
    source.go_on.set()

    assert (await second).value == 1
    assert (first.cancelled(), third.cancelled(), source.cancelled) == (True, True, 0)


async def test_the_call_ends_with_the_last_who_waits_and_the_next_one_begins_anew(clock: ManualClock) -> None:
    source = FakeSource()
    source.hold()
    asked = handlers(clock, source)
    waiting = asking(asked, 3)
    await source.began.wait()

    for each in waiting:
        each.cancel()
    await asyncio.wait(waiting)
    source.go_on.set()

    assert await value(asked) == 2
    assert source.cancelled == 1


async def test_a_call_that_is_slow_to_be_cancelled_is_not_joined_and_ends_nobody_elses(clock: ManualClock) -> None:
    ended, let_go = asyncio.Event(), asyncio.Event()
    began: asyncio.Queue[asyncio.Task[Any] | None] = asyncio.Queue()
    calls = iter(range(1, 10))

    async def stubborn(params: dict[str, Any]) -> int:
        number = next(calls)
        began.put_nowait(asyncio.current_task())
        try:
            await let_go.wait()
        except asyncio.CancelledError:
            await ended.wait()
            raise RuntimeError("the connection is lost") from None
        return number

    asked = handlers(clock, stubborn)
    [first] = asking(asked)
    slow = await began.get()
    first.cancel()
    await asyncio.wait((first,))
    second = asking(asked, 2)
    await began.get()
    ended.set()
    assert slow
    await asyncio.wait((slow,))
    third = asking(asked)
    let_go.set()

    assert [fetched.value for fetched in await asyncio.gather(*second, *third)] == [2, 2, 2]
    assert slow.cancelled(), "called again for nobody"


async def test_a_call_is_tried_again_and_its_last_error_is_told_to_all_and_not_kept(clock: ManualClock) -> None:
    away = ConnectionError("postgresql://ann:secret@db/crm does not answer")
    source = FakeSource(ValueError("no"), ValueError("no"), "well", away, away, away, "well again")
    asked = handlers(clock, source, cache_duration=0.001)

    assert await value(asked) == "well"
    assert len(source.calls) == 3
    clock.advance(1)
    errors = {str(each) for each in await asyncio.gather(*asking(asked, 5), return_exceptions=True)}
    assert len(errors) == 1
    assert errors.pop().startswith(
        "handler fetch_projects failed 3 times (ConnectionError: postgresql://ann:…@db/crm does not answer)"
    )
    assert await value(asked) == "well again"


async def test_who_tries_again_while_others_are_still_told_of_the_error_makes_another_call(clock: ManualClock) -> None:
    source = FakeSource(ValueError("no"), "well")
    asked = handlers(clock, source, max_attempts=1)

    async def insisting() -> Any:
        with pytest.raises(HandlerError):
            await value(asked)
        return await value(asked)

    assert await asyncio.gather(*[insisting() for _ in range(10)]) == ["well"] * 10
    assert len(source.calls) == 2


async def test_an_error_that_nobody_was_left_to_be_told_of_is_no_complaint(
    clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    complaints: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
    source = FakeSource(ValueError("no"))
    source.hold()
    [only] = asking(handlers(clock, source, max_attempts=1))
    await source.began.wait()

    source.go_on.set()
    only.cancel()
    await asyncio.wait((only,))
    assert only.cancelled()
    del only
    gc.collect()

    assert complaints == []


async def test_a_call_that_takes_too_long_is_cancelled_and_told(clock: ManualClock) -> None:
    source = FakeSource()
    source.hold()
    asked = handlers(clock, source, timeout=0.01, max_attempts=2)

    assert "failed 2 times (no answer in 0.01 s)" in await error(asked)
    assert (len(source.calls), source.cancelled) == (2, 2)
    source.go_on.set()
    assert await value(asked) == 3


async def test_a_timeout_of_the_handlers_own_is_told_as_its_own(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource(TimeoutError("the CRM is slow")), max_attempts=1)

    assert "failed once (TimeoutError: the CRM is slow)" in await error(asked)


async def test_a_handler_that_cancels_itself_fails_and_cancels_nobody(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource(asyncio.CancelledError()))

    assert "cancelled itself" in await error(asked)


@pytest.mark.parametrize(("returned", "names"), [(object(), "Unable to serialize"), ([float("nan")], "portable JSON")])
async def test_what_is_no_json_is_an_error_and_not_a_value(clock: ManualClock, returned: Any, names: str) -> None:
    assert names in await error(handlers(clock, FakeSource(returned), max_attempts=1, cache_duration=60))


async def test_at_most_so_many_results_are_kept_and_the_longest_unused_goes_first(clock: ManualClock) -> None:
    source = FakeSource()
    asked = handlers(clock, source, cache_duration=300)
    for number in range(MAX_CACHED):
        await value(asked, number=number)

    assert await value(asked, number=0) == 1
    assert await value(asked, number=1, max_age=0) == MAX_CACHED + 1
    await value(asked, number=MAX_CACHED)

    assert await value(asked, number=0) == 1
    assert await value(asked, number=1) == MAX_CACHED + 1
    assert await value(asked, number=3) == 4
    assert await value(asked, number=2) == MAX_CACHED + 3


def value_labels(options: Any) -> list[tuple[Any, str]]:
    return [(option.value, option.label) for option in options]


@pytest.mark.parametrize(
    ("choices", "expected"),
    [
        ({}, [("p1", "Website"), ("p2", "App"), ("p3", "Shop"), ("p4", "Intranet")]),
        ({"filters": {"status": "active"}}, [("p1", "Website"), ("p3", "Shop")]),
        ({"filters": {"status": ["active", "planning"], "team": "mobile"}}, [("p2", "App")]),
        ({"filters": {"owner": "ann"}}, []),
        ({"max_items": 2}, [("p1", "Website"), ("p2", "App")]),
        ({"filters": {"status": "active"}, "max_items": 2}, [("p1", "Website"), ("p3", "Shop")]),
        ({"value": "team", "label": "owner"}, [("web", "web"), ("mobile", "mobile"), ("shop", "shop")]),
    ],
    ids=["all", "filtered", "one of", "none", "at most", "at most of the filtered", "without labels"],
)
async def test_options_are_live_data_filtered_distinct_and_not_too_many(
    clock: ManualClock, choices: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    asked = handlers(clock, FakeSource(PROJECTS))

    assert value_labels(await asked.options(Choices("fetch_projects", **choices), ANN)) == expected


@pytest.mark.parametrize(("language", "label"), [("en", "Website"), ("ja", "ウェブサイト"), ("zh", "Website")])
async def test_labels_by_language_are_shown_in_that_of_the_conversation(
    clock: ManualClock, language: str, label: str
) -> None:
    asked = handlers(clock, FakeSource([{"id": "p1", "name": {"en": "Website", "ja": "ウェブサイト"}}]))

    assert value_labels(await asked.options(Choices("fetch_projects"), ANN, language)) == [("p1", label)]


async def test_texts_and_numbers_are_options_as_they_are(clock: ManualClock) -> None:
    asked = handlers(clock, FakeSource(["late", "damaged", 3, "late"]))

    assert value_labels(await asked.options(Choices("fetch_projects"), ANN)) == [
        ("late", "late"),
        ("damaged", "damaged"),
        (3, "3"),
    ]
    assert value_labels(await asked.options(Choices("fetch_projects", filters={"status": "active"}), ANN)) == []


@pytest.mark.parametrize(
    ("returned", "names"),
    [
        ({"items": []}, "dict is not a list"),
        ([{"name": "Website"}], "an item has no field 'id'"),
        ([{"id": None}], "None is not a valid option"),
        ([{"id": 1.5}], "1.5 is not a valid option"),
        ([{"id": ""}], "'' is not a valid option"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
async def test_data_that_cannot_be_chosen_from_is_told_with_the_remedy(
    clock: ManualClock, returned: Any, names: str
) -> None:
    with pytest.raises(HandlerError, match=names) as caught:
        await handlers(clock, FakeSource(returned)).options(Choices("fetch_projects"), ANN)

    assert str(caught.value).startswith("handler fetch_projects returns no options")


async def test_options_of_an_unknown_handler_are_an_error(clock: ManualClock) -> None:
    with pytest.raises(HandlerError, match="Handler not found: nobody"):
        await handlers(clock, FakeSource()).options(Choices("nobody"), ANN)
