"""The verbs without async: one loop in the background, any number of threads, a clean end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import assert_type

import pytest
from tests.acceptance.demo_server import CODE, DemoServer
from tests.client.desks import token

import ringi
from ringi import Action
from ringi.base.settings import SettingError
from ringi.contracts.store import ClosedError
from ringi.domain.record import Page
from ringi.errors import WaitTimeoutError

ACTION = Action("refund", {"amount": 40})


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[ringi.sync.BlockingInbox]:
    with ringi.sync.open(f"sqlite:///{tmp_path}/ringi.db") as inbox:
        yield inbox


def loops() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if "portal" in thread.name]


def test_a_verb_is_typed_as_it_is_with_async(inbox: ringi.sync.BlockingInbox) -> None:
    asked = inbox.ask("Refund?", action=ACTION, expires_in=300)
    done = inbox.respond(asked, "approve", by="ann")

    assert_type(asked, ringi.Request)
    assert_type(inbox.wait(asked.id, timeout=1), ringi.Request)
    assert_type(inbox.find(limit=1), Page[ringi.Request])
    assert inbox.wait(asked) == done


def test_many_threads_share_one_inbox(inbox: ringi.sync.BlockingInbox) -> None:
    def decide(number: int) -> object:
        asked = inbox.ask(f"Refund {number}?", action=ACTION)
        with ThreadPoolExecutor(1) as other:
            waiting = other.submit(inbox.wait, asked.id, 10)
            inbox.respond(asked, "approve", by=f"ann-{number}")
            return (waiting.result().winner or {})["responder"]

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(decide, range(16))) == [f"ann-{number}" for number in range(16)]


def test_one_loop_serves_all_that_is_open_and_ends_with_the_last(server: DemoServer) -> None:
    assert loops() == []
    with ringi.sync.open("memory://"), ringi.sync.open("memory://"):
        with ringi.sync.open(server.url, token=token(server, "ann")) as client:
            assert client.find(limit=1) is not None
            assert len(loops()) == 1
        assert len(loops()) == 1
    assert loops() == []


async def test_it_works_where_a_loop_runs_already(inbox: ringi.sync.BlockingInbox) -> None:
    asked = inbox.ask("Refund?", action=ACTION)

    with pytest.raises(WaitTimeoutError):
        inbox.wait(asked.id, 0.01)


def test_who_waits_when_it_is_closed_is_told(tmp_path: Path) -> None:
    begun = threading.Event()

    def wait(inbox: ringi.sync.BlockingInbox, id: str) -> None:
        begun.set()
        inbox.wait(id)

    with ThreadPoolExecutor(1) as threads:
        with ringi.sync.open(f"sqlite:///{tmp_path}/ringi.db") as inbox:
            waiting = threads.submit(wait, inbox, inbox.ask("Refund?", action=ACTION).id)
            assert begun.wait(10)
        with pytest.raises(ClosedError, match="the inbox is closed"):
            waiting.result(10)
    with pytest.raises(ClosedError, match="open it again"):
        inbox.find()


def test_a_client_can_be_closed_twice_and_not_be_used_after(server: DemoServer) -> None:
    client = ringi.sync.open(server.url, token=token(server, "ann"))
    client.ask("Refund?", action=ACTION)
    client.close()
    client.close()

    with pytest.raises(ClosedError, match="the inbox is closed"):
        client.ask("Refund?", action=ACTION)


def test_what_cannot_be_opened_leaves_no_thread_behind() -> None:
    with pytest.raises(SettingError, match="url="):
        ringi.sync.open("nowhere", token="token")
    with pytest.raises(SettingError, match="url="), ringi.sync.open("nonsense"):
        pass

    assert loops() == []


WAITER = """
import ringi
with ringi.sync.open("memory://") as inbox:
    asked = inbox.ask("Refund?")
    print("waiting", flush=True)
    inbox.wait(asked.id)
"""


def test_ctrl_c_ends_a_program_that_waits() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WAITER], env={"PYTHONPATH": CODE}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as program:
        assert program.stdout
        assert program.stderr
        try:
            assert program.stdout.readline() == b"waiting\n"
            program.send_signal(signal.SIGINT)

            assert program.wait(20) != 0
            assert program.stderr.read().rstrip().endswith(b"KeyboardInterrupt")
        finally:
            program.kill()
