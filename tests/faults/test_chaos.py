"""Members of a fleet die at random, and the rules hold; and the checker of the rules finds what breaks them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.faults.chaos.__main__ import Plan, chaos, chaos_with_failovers
from tests.faults.chaos.checker import RULES, SECRET, End, broken_rules
from tests.faults.chaos.history import Call
from tests.servers import mortal_postgres

ANN: dict[str, Any] = {"decision": "approve", "responder": "ann"}
BOB: dict[str, Any] = {"decision": "reject", "responder": "bob"}


async def rules_hold(folder: Path, url: str, plan: Plan) -> None:
    figures = await chaos(folder, url, plan)

    assert figures["broken"] == {name: [] for name in RULES}
    assert (
        min(sum(figures["harm"].values()), figures["answers acknowledged"], figures["runs"], figures["deliveries"]) > 1
    )


@pytest.mark.timeout(200)
async def test_the_rules_hold_while_servers_and_workers_die_at_random(tmp_path: Path) -> None:
    await rules_hold(tmp_path, f"sqlite:///{tmp_path}/ringi.db", Plan(10, every=1))


@pytest.mark.timeout(200)
async def test_the_rules_hold_while_postgres_dies_too(tmp_path: Path) -> None:
    with mortal_postgres() as store:
        await rules_hold(tmp_path, store.url, Plan(10, every=1.5, store=store))


@pytest.mark.timeout(300)
async def test_the_rules_hold_while_a_standby_takes_over_behind_pgbouncer(tmp_path: Path) -> None:
    figures = await chaos_with_failovers(tmp_path, Plan(40, every=2))

    assert figures["broken"] == {name: [] for name in RULES}
    assert min(figures["harm"]["failover"], figures["answers acknowledged"], figures["deliveries"]) > 1


def request(**fields: Any) -> dict[str, Any]:
    return {"id": "a", "status": "completed", "response": ANN, "thread_id": "t", **fields}


def event(number: int, **fields: Any) -> dict[str, Any]:
    known = {"record": "request", "record_id": "a", "type": "request.completed", "payload": {}}
    return {**known, "position": str(number), **fields}


def thread(**fields: Any) -> dict[str, Any]:
    return {"id": "t", "status": "done", "values": {"steps": 2}, "error": None, **fields}


def call(op: str, at: float = 1, code: int | None = 200, *, client: str = "ann", **seen: Any) -> Call:
    return Call(op, "a", client, at, at + 0.1, code, seen)


def end(**parts: Any) -> End:
    whole: dict[str, Any] = {"requests": {"a": request()}, "threads": [thread()], "effects": ["a ann"], "audit": []}
    return End(**{**whole, "events": [event(1)], **parts})


NOTICE = call("told", position="1", client="watcher")
SENT = call("sent", id="1", event="request.completed", client="receiver")
GOOD = [NOTICE, SENT, call("respond", **ANN), call("view", 2, status="completed")]


def fences(*numbers: int) -> list[dict[str, Any]]:
    fields = {"record": "thread", "record_id": "t", "type": "thread.acquired"}
    return [event(1), *(event(2, payload={"changed": {"fence": number}}, **fields) for number in numbers)]


BAD: dict[str, tuple[list[Call], End]] = {
    "an answer is gone": ([*GOOD], end(requests={"a": request(response=BOB)}, effects=[])),
    "another answer is stored": ([*GOOD], end(requests={"a": request(response=BOB)}, effects=[])),
    "two won": ([*GOOD, call("respond", 2, 409, client="bob", **BOB)], end()),
    "pending after the answer": ([*GOOD, call("view", 3, status="pending")], end()),
    "another end": ([*GOOD, call("view", 3, status="expired")], end()),
    "a run hangs": (GOOD, end(threads=[thread(status="running")])),
    "a run went twice": (GOOD, end(threads=[thread(values={"steps": 3})])),
    "a fence fell": (GOOD, end(events=fences(2, 1))),
    "paid without a grant": ([NOTICE], end(requests={"a": request(response=BOB)})),
    "paid for two": (GOOD, end(effects=["a ann", "a bob"])),
    "never paid": (GOOD, end(effects=[])),
    "the chain is broken": (GOOD, end(audit=["its payload was changed"])),
    "two ends": ([*GOOD, NOTICE], end(events=[event(1), event(1)])),
    "told too early": ([NOTICE, call("look", client="watcher", status="pending")], end()),
    "another tenant": ([*GOOD, call("list", other=SECRET)], end()),
    "a gap in the feed": (GOOD[1:], end()),
    "a delivery is lost": ([*GOOD[2:], NOTICE, SENT._replace(request="b")], end()),
    "told twice": ([NOTICE, *GOOD], end()),
}


def test_a_good_history_breaks_no_rule() -> None:
    assert broken_rules(GOOD, end()) == {name: [] for name in RULES}


@pytest.mark.parametrize("what", BAD)
def test_the_checker_finds(what: str) -> None:
    assert any(broken_rules(*BAD[what]).values())


def test_every_rule_is_broken_by_something() -> None:
    broken = {name for case in BAD.values() for name, found in broken_rules(*case).items() if found}
    assert broken == set(RULES)
