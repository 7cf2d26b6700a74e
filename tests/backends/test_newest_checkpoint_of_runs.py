"""How often a run reads its newest checkpoint from a store whose savers know it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.runs.world import at_work, demo

from ringi.backends.newest_checkpoint import KnowingCheckpointSaver
from ringi.backends.postgres.checkpoints import FencedPostgresSaver
from ringi.backends.sqlite.checkpoints import FencedSqliteSaver
from ringi.base.clock import utc_now
from ringi.domain.record import Erased
from ringi.privacy.erasure import Eraser

pytestmark = pytest.mark.parametrize("url", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The threads whose newest checkpoints are read from the store."""
    found = list[str]()

    def count(kind: type[KnowingCheckpointSaver]) -> None:
        read_newest = kind._read_newest

        async def counted(saver: Any, config: Any) -> Any:
            found.append(config["configurable"]["thread_id"])
            return await read_newest(saver, config)

        monkeypatch.setattr(kind, "_read_newest", counted)

    for kind in (FencedSqliteSaver, FencedPostgresSaver):
        count(kind)
    return found


async def test_a_run_reads_its_newest_checkpoint_once_after_each_answer(url: str, reads: list[str]) -> None:
    async with at_work(url, demo()) as world:
        await world.run("two_questions", {})
        assert reads == []
        while pending := await world.pending():
            reads.clear()
            thread = await world.answer(pending[0], "respond", message="Rome")
            assert len(reads) == 1
        assert thread.status == "done"


async def test_a_run_reads_again_after_it_has_removed_the_checkpoints_of_a_cancelled_one(
    url: str, reads: list[str]
) -> None:
    async with at_work(url, demo()) as world:
        await world.run("two_questions", {})
        await world.runner.cancel("default", "t1", by="ann")
        reads.clear()
        await world.run("two_questions", {})
        assert len(reads) == 2


async def test_only_the_first_worker_of_a_thread_expects_no_checkpoint(url: str, reads: list[str]) -> None:
    async with at_work(url, demo()) as world:
        thread = await world.run("two_questions", {})
        assert (thread.fence, reads) == (1, [])
        eraser = Eraser(world.backend.store, world.backend.stream, world.backend.savers)
        await world.runner.cancel("default", "t1", by="ann")
        await eraser.thread(thread.key, Erased(by="root", at=utc_now(), rule="age"))
        thread = await world.run("two_questions", {})
        assert thread.fence > 1
        assert len(reads) == 1
