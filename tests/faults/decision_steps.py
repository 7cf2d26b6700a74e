"""Steps on requests that several people decide, and what must hold of them after any sequence of steps and crashes.

As a process that may die of it: `decision_steps.py URL do TENANT STEPS`, with the steps as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, NamedTuple

from ringi.connect import Backend, open_backend
from ringi.domain.ask import Answer, Ask, Continuation, Response
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.voting import Decider, Person, Vote
from ringi.errors import RingiError
from ringi.inbox.inbox import StoreInbox
from ringi.testing.clock import NOON, ManualClock

ARGS = {"amount": 40}
GROUPS = {
    "ann": ("finance",),
    "bob": ("finance",),
    "cem": ("finance", "legal"),
    "dee": (),
    "eve": (),
    "kim": ("legal",),
}
DEPUTIES = {"dee": "bob", "eve": "ann"}
"""The absent person by deputy."""
EXCLUDED = {"ann", "kim"}
"""Ann started the run, and Kim asked."""
RULES: tuple[dict[str, Any], ...] = (
    {"quorum": [{"count": 2}], "exclude": ["starter", "asker"], "escalation": [{"after": 8, "to": ["kim"]}]},
    {
        "quorum": [{"groups": ["finance"], "count": 2}, {"groups": ["legal"]}],
        "exclude": ["starter"],
        "hold": 5,
        "expires_in": 30,
    },
    {"hold": 10, "exclude": ["starter", "asker"], "assignee": "bob", "groups": ["finance", "legal"]},
)
"""The rules of the three requests."""
ANSWERS = ("approve", "edit", "reject")
FINAL = ("request.completed", "request.cancelled", "request.expired")
AFTER_FINAL = ("request.acknowledged", "request.attention", "request.retried", "request.erased")


class Step(NamedTuple):
    """One step of somebody, at a time in seconds since the start."""

    verb: str
    request: int = 0
    by: str = "bob"
    args: dict[str, Any] | None = None
    at: float = 0.0


class Effect(NamedTuple):
    """One run of the gated code."""

    id: str
    args: dict[str, Any]


@asynccontextmanager
async def open_desk(url: str, tenant: str) -> AsyncIterator[tuple[Backend, StoreInbox]]:
    """Open the store as one process, whose clock stands still."""
    async with open_backend(url, poll_interval=30) as backend:
        inbox = StoreInbox(backend.store, backend.notifier, tenant=tenant, clock=ManualClock())
        yield backend, inbox


async def begin(inbox: StoreInbox) -> list[str]:
    """Ask the three questions, and name the deputies."""
    for deputy, absent in DEPUTIES.items():
        await inbox.people.leave(deputy, NOON + timedelta(days=1), by=Person(absent, GROUPS[absent]))
    ids = list[str]()
    for number, rules in enumerate(RULES):
        ask = Ask.parse({"id": f"r{number}", "title": "Pay?", "action": {"name": "pay", "args": ARGS}, **rules})
        resumes = Continuation(runner="test", target="payer", key=f"t{number}")
        ids.append((await inbox.submit(ask, by="kim", starter="ann", continuation=resumes)).id)
    return ids


async def perform(inbox: StoreInbox, step: Step, ran: Callable[[Effect], None]) -> Request | None:
    """Do a step; return the request if the step has one as its result."""
    inbox.clock = ManualClock(NOON + timedelta(seconds=step.at))
    id = f"r{step.request}"
    match step.verb:
        case "approve" | "edit" | "reject" as decision:
            by = await inbox.people.decider(Decider(step.by, GROUPS[step.by]))
            digest = (await inbox.get(id)).digest
            answer = Answer(decision=decision, args=step.args if decision == "edit" else None, digest=digest)
            return await inbox.answer(id, answer, by=by, channel="test")
        case "undo":
            return await inbox.undo(id, by=step.by)
        case "cancel":
            return await inbox.cancel(id, by=step.by)
        case "erase":
            return await inbox.erase(id, by="root")
        case "attention":
            return await inbox.mark_attention(id, "stuck")
        case "retry":
            return await inbox.retry(id, "root")
        case "run":
            await hand_over(inbox, id, ran)
        case "sweep":
            await inbox.expire_due()
    return None


async def hand_over(inbox: StoreInbox, id: str, ran: Callable[[Effect], None]) -> None:
    """Do what a worker does with the outcome: run the gated code if it may, then acknowledge."""
    request = await inbox.get(id)
    if not request.is_final or request.acknowledged_at:
        return
    if granted := request.granted:
        request.authorize("pay", granted.args)
        ran(Effect(id, granted.args))
    await inbox.acknowledge(id, "worker")


async def check(inbox: StoreInbox, acknowledged: Iterable[Step], effects: list[Effect]) -> None:
    """Check what must hold at any time."""
    for number in range(len(RULES)):
        request = await inbox.get(f"r{number}")
        events = await inbox.events(limit=500, request_id=request.id)
        check_trail(request, [event.type for event in events])
        ran = [effect.args for effect in effects if effect.id == request.id]
        won = request.response
        if won is None or won.decision == "reject":
            assert ran == []
        elif not request.erased:
            call = ARGS if won.args is None else won.args
            assert all(args == call for args in ran)
            check_people(request, won)
        if not request.erased:
            for step in acknowledged:
                assert step.request != number or any(records(event, step) for event in events), step


def check_trail(request: Request, types: list[str]) -> None:
    """Check that the request ended at most once, and that only what may follow followed."""
    ends = [number for number, type in enumerate(types) if type in FINAL]
    assert len(ends) == request.is_final
    if ends:
        assert types[ends[0]] == f"request.{request.status}"
        assert set(types[ends[0] + 1 :]) <= set(AFTER_FINAL)


def check_people(request: Request, won: Response) -> None:
    """Check that enough different people have agreed to exactly this call, and none is excluded."""
    excluded = {{"starter": "ann", "asker": "kim"}[rule] for rule in request.exclude}
    if not request.quorum:
        assert not excluded & {won.responder, won.stands_for}
        return
    agreed = [vote for vote in request.votes if (vote.decision, vote.args) == (won.decision, won.args)]
    assert {vote.authorised_digest for vote in agreed} == {won.authorised_digest}
    people = [name for vote in agreed for name in (vote.responder, vote.stands_for) if name]
    assert len(people) == len(set(people))
    assert not excluded & set(people)
    assert sorted(won.voters) == sorted(vote.responder for vote in agreed)
    for position, stage in enumerate(request.quorum):
        voted = [vote for vote in agreed if vote.stage == position]
        assert len(voted) == stage.count
        assert all(not stage.groups or set(stage.groups) & groups_of(vote) for vote in voted)


def groups_of(vote: Vote) -> set[str]:
    return {*GROUPS[vote.responder], *(GROUPS[vote.stands_for] if vote.stands_for else ())}


def records(event: Event, step: Step) -> bool:
    """Return whether an event records the answer of a step."""
    changed = event.changed
    found = [*changed.get("votes", ()), changed.get("held"), changed.get("response")]
    wanted = (step.by, step.verb, step.args if step.verb == "edit" else None)
    return any(each and (each["responder"], each["decision"], each.get("args")) == wanted for each in found)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def main(url: str, tenant: str, steps: list[Step]) -> None:
    """Do the steps, and say of each at once whether it was done."""
    async with open_desk(url, tenant) as (_, inbox):
        for number, step in enumerate(steps):
            try:
                await perform(inbox, step, lambda effect: say("ran", effect.id, effect.args["amount"]))
            except RingiError:
                say("refused", number)
            else:
                say("done", number)
    say("end")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[3], [Step(*fields) for fields in json.loads(sys.argv[4])]))
