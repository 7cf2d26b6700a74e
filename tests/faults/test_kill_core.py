"""Whatever is killed, wherever: nothing acknowledged is lost, nothing is half there, everybody wakes."""

import asyncio
import signal
import time
from pathlib import Path

import pytest
from tests.faults.processes import child

import ringi
from ringi.audit.verify import verify_store
from ringi.backends import claimed_jobs as jobs
from ringi.connect import open_backend, store_inbox
from ringi.contracts.backend import Job
from ringi.domain import Query
from ringi.domain.request import Request, review_id
from ringi.errors import NotFoundError
from ringi.inbox.inbox import StoreInbox

KILLED = -signal.SIGKILL
POLL = 0.5
SLACK = 1.0


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/ringi.db"


async def ask(inbox: StoreInbox, *ids: str) -> None:
    for id in ids:
        await inbox.ask("Go on?", id=id, action=ringi.Action("refund", {"of": id}))


async def is_whole(inbox: StoreInbox) -> bool:
    """Whether the events add up to the records and nothing is in between."""
    _, findings = await verify_store(inbox.store)
    return not findings


def is_answered(request: Request) -> bool:
    """Whether it has its own answer, unchanged; fails when it has half of one."""
    if request.status == "pending":
        assert request.response is None
        return False
    assert request.response
    assert (request.status, request.response.message) == ("completed", f"yes to {request.id}")
    return True


async def test_a_question_that_was_committed_outlives_the_process_that_asked(url: str) -> None:
    async with child(url, "ask", "r1", failpoint="ask.after_commit") as asking:
        assert await asking.death() == KILLED

    async with store_inbox(url) as inbox:
        assert (await inbox.get("r1")).status == "pending"
        assert [event.type for event in await inbox.events()] == ["request.created"]
        assert await is_whole(inbox)


async def test_a_question_asked_again_after_a_crash_is_the_same_one(url: str) -> None:
    async with child(url, "ask", "r1", failpoint="ask.after_commit") as asking:
        await asking.death()
    async with child(url, "ask", "r1") as again:
        assert await again.death() == 0

    async with store_inbox(url) as inbox:
        assert len(await inbox.find()) == len(await inbox.events()) == 1


@pytest.mark.parametrize(("failpoint", "reviews"), [("change.before_commit", 0), ("change.after_commit", 1)])
async def test_an_override_cut_off_is_there_with_its_review_or_not_at_all(
    url: str, failpoint: str, reviews: int
) -> None:
    async with store_inbox(url) as inbox:
        await ask(inbox, "r1")
        async with child(url, "override", "r1", failpoint=failpoint) as overriding:
            assert await overriding.death() == KILLED

        assert (await inbox.get("r1")).is_overridden == bool(reviews)
        assert [each.id for each in await inbox.find() if each.id != "r1"] == [review_id("r1")][:reviews]
        assert [event.type for event in await inbox.events(request_id=review_id("r1"))] == ["request.created"][:reviews]
        assert await is_whole(inbox)


async def test_an_answer_cut_off_before_its_commit_leaves_the_question_open(url: str) -> None:
    async with store_inbox(url) as inbox:
        await ask(inbox, "r1")
        async with child(url, "answer", "r1", failpoint="change.before_commit") as answering:
            assert await answering.death() == KILLED

        assert not is_answered(await inbox.get("r1"))
        assert await is_whole(inbox)
    async with child(url, "answer", "r1") as again:
        await again.says("answered")


async def test_an_answer_cut_off_after_its_commit_stands(url: str) -> None:
    async with store_inbox(url) as inbox:
        await ask(inbox, "r1")
    async with child(url, "answer", "r1", failpoint="change.after_commit") as answering:
        assert await answering.death() == KILLED

    async with store_inbox(url) as inbox:
        assert is_answered(await inbox.get("r1"))
        assert await is_whole(inbox)


@pytest.mark.parametrize("point", ["change.before_commit", "change.after_commit"])
async def test_what_was_acknowledged_before_the_crash_is_there_after_it(url: str, point: str) -> None:
    async with store_inbox(url) as inbox:
        await ask(inbox, "r1", "r2", "r3")
    async with child(url, "answer_and_arm", point, "r1", "r2", "r3") as answering:
        assert await answering.death() == KILLED
    assert ["answered", "r2"] in answering.lines
    assert ["answered", "r3"] not in answering.lines

    async with store_inbox(url) as inbox:
        answered = [is_answered(await inbox.get(id)) for id in ("r1", "r2", "r3")]
        assert answered == [True, True, point == "change.after_commit"]
        assert await is_whole(inbox)


async def test_a_waiter_in_another_process_wakes_although_the_answerer_died_before_telling(url: str) -> None:
    async with store_inbox(url) as inbox:
        await ask(inbox, "r1")
    async with child(url, "wait", "r1") as waiting:
        await waiting.says("waiting")
        async with child(url, "answer", "r1", failpoint="change.after_commit") as answering:
            assert await answering.death() == KILLED
            died = time.time()
        _, woke, *message = await waiting.says("woke")

    assert message == ["yes", "to", "r1"]
    assert float(woke) - died < POLL + SLACK


async def test_a_waiter_in_the_same_file_wakes_by_its_change_counter(url: str) -> None:
    async with store_inbox(url, poll_interval=10) as inbox:
        await ask(inbox, "r1")
        waiting = asyncio.create_task(inbox.wait("r1", 30))
        async with child(url, "answer", "r1") as answering:
            await answering.says("answered")
            answered = time.monotonic()
            await waiting

    assert time.monotonic() - answered < 10 / 2


async def test_killed_in_the_middle_of_many_answers_each_is_whole_or_not_there(url: str) -> None:
    ids = [f"r{n}" for n in range(60)]
    async with store_inbox(url) as inbox:
        await ask(inbox, *ids)
    async with child(url, "answer_all", *ids) as answering:
        await answering.says("answered")
        await answering.kill()
    acknowledged = {id for word, *rest in answering.lines if word == "answered" for id in rest}

    async with store_inbox(url) as inbox:
        answered = {id for id in ids if is_answered(await inbox.get(id))}
        assert acknowledged
        assert acknowledged <= answered
        assert await is_whole(inbox)


async def test_the_job_of_a_worker_that_was_killed_goes_to_another(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    done, stop = list[Job](), asyncio.Event()

    async def handle(job: Job) -> None:
        done.append(job)
        stop.set()

    async with open_backend(url) as backend:
        await backend.jobs.submit(Job(key="a", kind="test", partition_key="a"))
        async with child(url, "work", "1", failpoint="job.after_claim") as working:
            assert await working.death() == KILLED
        assert working.lines == []
        async with asyncio.timeout(jobs.CLAIM_SECONDS):
            await backend.jobs.work(handle, kinds=["test"], concurrency=1, stop=stop)

    assert [(job.key, job.attempts) for job in done] == [("a", 1)]


async def test_nothing_is_there_of_a_question_that_was_never_committed(url: str) -> None:
    async with store_inbox(url) as inbox:
        with pytest.raises(NotFoundError):
            await inbox.get("r1")
        assert await inbox.events() == []


@pytest.mark.parametrize("when", ["before", "after"])
async def test_an_approved_call_whose_process_died_stays_in_the_list_of_calls_not_executed(url: str, when: str) -> None:
    async with child(url, "call_and_die", "k1", when) as calling:
        _, id = await calling.says("answered")
        assert await calling.death() == KILLED
    async with child(url, "call_and_die", "k2", "never") as calling:
        await calling.says("returned")

    async with store_inbox(url) as inbox:
        (request,) = await inbox.search(Query(unexecuted=True))
        assert (request.id, request.outcome) == (id, None)
        assert await is_whole(inbox)
