"""A process that uses an inbox and may die of it: `core_process.py URL VERB [ARGUMENT…]`.

What it was told is done, it says on a line of its own, at once.
"""

import asyncio
import os
import signal
import sys
import time
from datetime import timedelta

import ringi
from ringi.backends import claimed_jobs as jobs
from ringi.base.failpoints import ARMED
from ringi.connect import open_backend, store_inbox
from ringi.contracts.backend import Job, Wakeup
from ringi.domain import Query
from ringi.domain.ask import Action, Answer
from ringi.domain.voting import Decider
from ringi.errors import RingiError
from ringi.gateways.client_calls import ClientGate, ClientSession
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.policy.rules import Policy
from ringi.statistics import Statistics
from ringi.statistics.counting import utc_day_of_time


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def answer(inbox: StoreInbox, id: str) -> None:
    request = await inbox.get(id)
    await inbox.respond(Seen(id, request.digest), "approve", by="ann", message=f"yes to {id}")
    say("answered", id)


async def override(inbox: StoreInbox, id: str) -> None:
    request = await inbox.get(id)
    answer = Answer(decision="approve", digest=request.digest, override="it burns")
    await inbox.answer(id, answer, by=Decider("root", is_admin=True), channel="test")
    say("overridden", id)


async def vote(inbox: StoreInbox, id: str, by: str) -> None:
    request = await inbox.get(id)
    await inbox.respond(Seen(id, request.digest), "approve", by=by)
    say("voted", id)


async def grant(inbox: StoreInbox, id: str) -> None:
    request = await inbox.get(id)
    until = request.created_at + timedelta(hours=1)
    await inbox.respond(Seen(id, request.digest), "approve", by="ann", grant={"until": until, "where": {}})
    say("granted", id)


async def plant(inbox: StoreInbox, tool: str) -> None:
    ids = await inbox.checks.plant([{"tool": tool, "because": "it is wrong", "set": {"of": "wrong"}}], by="root")
    say("planted", *ids)


async def accept(inbox: StoreInbox, id: str) -> None:
    rule = await inbox.suggestions.accept(id, by="ann", one_in=2)
    say("accepted", rule.id)


async def refuse(inbox: StoreInbox, id: str) -> None:
    request = await inbox.get(id)
    await inbox.respond(Seen(id, request.digest), "reject", by="ann")
    say("refused", id)


async def call_and_die(inbox: StoreInbox, key: str, when: str) -> None:
    """Approve the call of a gated function, and die before its effect, or right after it."""

    @ringi.gate(key=key, inbox=inbox)
    async def refund(of: str) -> None:
        if when == "after":
            say("effect", of)
        if when != "never":
            os.kill(os.getpid(), signal.SIGKILL)

    calling = asyncio.create_task(refund(of=key))
    while not (found := await inbox.search(Query(statuses=("pending",)))):
        await Wakeup().wait(0.01)
    say("answered", found[0].id)  # Before the answer, because the call may die before its reply is here.
    await inbox.respond(found[0], "approve", by="ann")
    await calling
    say("returned", key)


async def client_call(inbox: StoreInbox, key: str) -> None:
    """Make a call as a client outside of Ringi does."""
    policy = Policy.parse({"rules": [{"tools": ["refund"]}]})
    gate = ClientGate(lambda: policy, inbox, ClientSession("shop", "1"))
    calling = asyncio.create_task(gate.authorize("refund", {"of": key}))
    while not await inbox.search(Query(thread_id="shop:1")):
        await Wakeup().wait(0.01)
    say("calling", key)
    granted = await calling
    say("effect", granted.args["of"])
    await granted.report("committed")
    say("returned", key)


async def ask(inbox: StoreInbox, id: str) -> None:
    await inbox.ask("Go on?", id=id, action=Action("refund", {"of": id}))
    say("asked", id)


async def answer_with(inbox: StoreInbox, id: str, note: str) -> None:
    request = await inbox.get(id)
    await inbox.respond(Seen(id, request.digest), "approve", {"note": note}, by="ann")
    say("answered", id)


async def edit_memory(inbox: StoreInbox, id: str, note: str) -> None:
    await inbox.memories.edit(id, {"note": note}, by="ann")
    say("edited", id)


async def delete_memory(inbox: StoreInbox, id: str) -> None:
    await inbox.memories.delete(id, by="ann")
    say("deleted", id)


async def answer_and_die(inbox: StoreInbox, id: str) -> None:
    await answer(inbox, id)
    os.kill(os.getpid(), signal.SIGKILL)


async def answer_and_arm(inbox: StoreInbox, point: str, *ids: str) -> None:
    for id in ids[:-1]:
        await answer(inbox, id)
    ARMED[point] = "kill9"
    await answer(inbox, ids[-1])


async def answer_all(inbox: StoreInbox, *ids: str) -> None:
    await asyncio.gather(*(answer(inbox, id) for id in ids))


async def wait(inbox: StoreInbox, id: str) -> None:
    waiting = asyncio.create_task(inbox.wait(id, 30))
    await asyncio.wait([waiting], timeout=0.01)
    say("waiting", id)
    try:
        ended = await waiting
    except RingiError as error:
        say("woke", time.time(), type(error).__name__)
    else:
        say("woke", time.time(), ended.response and ended.response.message)


async def ask_for(inbox: StoreInbox, id: str, seconds: str) -> None:
    await inbox.ask("Go on?", id=id, action=Action("refund", {"of": id}), expires_in=float(seconds))
    say("asked", id)


async def claim(inbox: StoreInbox, id: str) -> None:
    await inbox.claim(id, by="ann")
    say("claimed", id)


async def erase(inbox: StoreInbox, id: str) -> None:
    await inbox.erase(id, by="root")
    say("erased", id)


async def count(inbox: StoreInbox) -> None:
    today = utc_day_of_time(inbox.clock())
    await Statistics(inbox.store, inbox.clock).count("default", today, today)
    say("counted")


async def sit(inbox: StoreInbox) -> None:
    while True:
        say("clock", time.time(), inbox.clock().timestamp())
        await Wakeup().wait(0.05)


async def work(url: str, seconds: str) -> None:
    async def handle(job: Job) -> None:
        say("did", job.key)

    jobs.CLAIM_SECONDS = float(seconds)
    async with open_backend(url) as backend:
        await backend.jobs.work(handle, kinds=["test"], concurrency=1, stop=asyncio.Event())


VERBS = {
    verb.__name__: verb
    for verb in (
        answer_with,
        edit_memory,
        delete_memory,
        answer,
        ask,
        answer_and_die,
        call_and_die,
        client_call,
        answer_and_arm,
        answer_all,
        wait,
        ask_for,
        claim,
        override,
        vote,
        grant,
        plant,
        accept,
        refuse,
        erase,
        count,
        sit,
    )
}


async def main(url: str, verb: str, *arguments: str) -> None:
    if verb == "work":
        await work(url, *arguments)
        return
    async with store_inbox(url) as inbox:
        say("open")
        await VERBS[verb](inbox, *arguments)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
