"""The verbs and their errors are the same on every way: inbox or client, with async or without."""

from __future__ import annotations

import asyncio
import inspect
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import BaseModel
from tests.client.desks import Desks
from tests.raising import raises_code

from ringi import Action, Form, Select, Text, sync
from ringi.base.clock import utc_now
from ringi.domain import Ask, Button
from ringi.domain.voting import PolicySource
from ringi.errors import ConflictError, ForbiddenError, InvalidError, NotFoundError, WaitTimeoutError
from ringi.inbox import api
from ringi.inbox.api import Inbox, Seen

ACTION = Action("refund", {"order": 1182, "amount": 40, "by": None})


def new() -> str:
    return uuid.uuid4().hex


async def test_what_is_asked_is_what_everybody_reads(desks: Desks) -> None:
    due = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1)
    asked = await desks.bot.ask(
        "Refund order 1182?",
        id=f"refund:{new()}",
        description="**Late**, 稟議",
        action=ACTION,
        form=Form([Select("reason", options=["late", "damaged"]), Text("note", required=False)]),
        actions={"approve": Button(label="Pay")},
        context={"customer": {"name": "Ann", "since": None}},
        priority="high",
        due_at=due,
        expires_in=300,
    )

    read = await desks.ann.get(asked.id)

    assert (read.digest, read.action, read.form, read.due_at) == (asked.digest, ACTION, asked.form, due)
    assert list(read.action.args) == ["order", "amount", "by"]
    assert (read.status, read.version, read.context) == ("pending", 1, {"customer": {"name": "Ann", "since": None}})


async def test_a_client_asks_without_the_policy_that_a_server_refuses(desks: Desks) -> None:
    source = PolicySource(rule="refunds", digest="sha256:0")
    asked = await desks.bot.submit(Ask(title="Refund?", action=ACTION, policy=source))
    assert asked.policy in (None, source)


async def test_an_answer_reaches_who_waits(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)
    waiting, args = asyncio.create_task(desks.bot.wait(asked.id, timeout=10)), {**ACTION.args, "amount": 30}

    done = await desks.ann.respond(asked, "edit", args=args, by="ann", message="less")

    assert await waiting == done
    assert (done.response.responder, done.response.message, done.granted.args["amount"]) == ("ann", "less", 30)
    done.authorize("refund", args)


async def test_a_model_comes_back_typed(desks: Desks) -> None:
    class Reason(BaseModel):
        reason: str
        amount: int = 1

    asked = await desks.bot.ask("Why?", form=Form.of(Reason))
    await desks.ann.respond(asked, "approve", {"reason": "late", "amount": 2}, by="ann")

    assert (await desks.bot.wait(asked, 10)).response.into(Reason) == Reason(reason="late", amount=2)


async def test_the_same_ask_again_is_the_same_request_and_another_is_refused(desks: Desks) -> None:
    id = new()
    asked = await desks.bot.ask("Refund?", id=id, action=ACTION)

    assert (await desks.bot.ask("Refund?", id=id, action=ACTION)).created_at == asked.created_at
    with raises_code("different", match=id) as refused:
        await desks.bot.ask("Refund it?", id=id, action=ACTION)
    assert refused.value.id == id


async def test_the_same_answer_again_is_the_same_decision_and_another_learns_who_won(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)
    done = await desks.ann.respond(asked, "approve", by="ann")

    again = await desks.ann.respond(asked, "approve", by="ann")
    with raises_code("final", match="by ann at") as late:
        await desks.bob.respond(asked, "reject", by="bob")

    assert again.response == done.response
    assert (late.value.id, late.value.status, late.value.winner) == (asked.id, "completed", done.winner)


async def test_an_answer_to_something_else_is_refused(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)

    with raises_code("digest_mismatch", match="sha256:0") as refused:
        await desks.ann.respond(Seen(asked.id, "sha256:0"), "approve", by="ann")

    assert (refused.value.id, refused.value.digest) == (asked.id, "sha256:0")
    assert (await desks.bot.get(asked.id)).status == "pending"


async def test_a_wrong_answer_names_each_field(desks: Desks) -> None:
    form = Form([Select("reason", options=["late"]), Text("note")])
    asked = await desks.bot.ask("Why?", form=form)

    with pytest.raises(InvalidError) as refused:
        await desks.ann.respond(asked, "approve", {"reason": "no"}, by="ann")

    with pytest.raises(InvalidError) as expected:
        form.check({"reason": "no"})
    assert refused.value.errors == expected.value.errors
    assert (await desks.bot.get(asked.id)).status == "pending"


@pytest.mark.parametrize(
    ("ask", "field"),
    [
        ({"title": "Refund?", "kind": "approval"}, "action"),
        ({"title": "Refund?", "fallback": {}, "action": ACTION}, "fallback"),
        ({"title": " "}, "title"),
        ({"title": "Refund?", "context": {"note": "\ud800"}}, ""),
        ({"title": "Refund?", "schema": {"type": "nonsense"}}, "schema"),
    ],
    ids=["kind", "fallback", "title", "half a character", "schema"],
)
async def test_a_wrong_ask_names_the_field(desks: Desks, ask: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        await desks.bot.ask(**ask)

    assert [error.field.partition(".")[0] for error in refused.value.errors] == [field]


async def test_a_claim_keeps_others_away_until_it_is_released(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)
    assert (await desks.ann.claim(asked.id, by="ann")).claimed_by == "ann"

    for attempt in (
        desks.bob.claim(asked.id, by="bob"),
        desks.bob.respond(asked, "approve", by="bob"),
    ):
        with raises_code("claimed", match="ann") as refused:
            await attempt
        assert (refused.value.id, refused.value.claimed_by) == (asked.id, "ann")

    assert (await desks.ann.release(asked.id, by="ann")).claimed_by is None
    assert (await desks.bob.claim(asked.id, by="bob")).claimed_by == "bob"


async def test_an_administrator_sees_and_ends_the_absences_of_others(desks: Desks) -> None:
    await desks.ann.people.leave("dee", utc_now() + timedelta(days=1), by="ann", unknown=True)

    assert [(each.person, each.deputy) for each in await desks.bot.people.absences()] == [("ann", "dee")]
    await desks.bot.people.end_absence("ann", by="bot")

    assert await desks.bot.people.absences() == []
    with pytest.raises(NotFoundError, match="ann"):
        await desks.bot.people.end_absence("ann", by="bot")


async def test_a_request_of_another_person_is_decided_only_with_a_reason(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION, assignee="ann")

    with pytest.raises((ForbiddenError, NotFoundError)):
        await desks.bob.respond(asked, "approve", by="bob")
    done = await desks.bot.respond(asked, "approve", by="bot", override="Ann is away.")

    assert (done.response.responder, done.response.override) == ("bot", "Ann is away.")


async def test_a_request_can_be_handed_on(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION, assignee="ann")

    handed = await desks.ann.reassign(asked.id, assignee="bob", groups=["finance"], unknown=True, by="ann")

    assert (handed.assignee, handed.groups) == ("bob", ("finance",))
    assert (await desks.bob.get(asked.id)).assignee == "bob"


async def test_a_withdrawn_question_ends_all_waits(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)
    waiting = asyncio.create_task(desks.bot.wait(asked.id, 10))

    cancelled = await desks.bot.cancel(asked.id, "no longer needed", by="bot")

    assert (cancelled.status, cancelled.reason) == ("cancelled", "no longer needed")
    assert await waiting == cancelled
    with raises_code("final", match="cancelled") as late:
        await desks.bot.cancel(asked.id, "no longer needed", by="bot")
    assert (late.value.status, late.value.winner) == ("cancelled", None)


async def test_an_outcome_is_reported_once(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", id=f"refund:{new()}", action=ACTION)
    with pytest.raises(ConflictError, match="wait for the approval"):
        await desks.bot.report_outcome(asked.id, "committed")
    await desks.ann.respond(asked, "approve", by="ann")
    assert asked.id in [each.id for each in await desks.bot.find(unexecuted=True)]

    digest = f"sha256:{'0' * 64}"
    reported = await desks.bot.report_outcome(asked.id, "committed", result_digest=digest)

    assert reported.receipt
    assert (reported.outcome, reported.receipt.result_digest) == ("committed", digest)
    assert await desks.bot.report_outcome(asked.id, "committed", result_digest=digest) == reported
    with pytest.raises(ConflictError, match="on record"):
        await desks.bot.report_outcome(asked.id, "failed")
    with pytest.raises(InvalidError):
        await desks.bot.report_outcome(asked.id, "done")
    assert asked.id not in [each.id for each in await desks.bot.find(unexecuted=True)]


async def test_a_wait_that_ends_leaves_the_question_open(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)

    with pytest.raises(WaitTimeoutError, match="stays open") as late:
        await desks.bot.wait(asked.id, 0.05)

    assert (late.value.id, late.value.timeout) == (asked.id, 0.05)
    with pytest.raises(WaitTimeoutError):
        await desks.bot.wait(asked.id, 0)
    await desks.ann.respond(asked, "reject", by="ann")
    assert (await desks.bot.wait(asked.id, 0)).response.decision == "reject"


@pytest.mark.parametrize("id", ["nowhere", "a b/c?d=é"])
async def test_what_is_not_there_is_not_found(desks: Desks, id: str) -> None:
    for attempt in (
        desks.ann.get(id),
        desks.ann.wait(id, 1),
        desks.ann.claim(id, by="ann"),
        desks.ann.respond(Seen(id, "sha256:0"), "approve", by="ann"),
    ):
        with pytest.raises(NotFoundError, match="no request") as refused:
            await attempt
        assert (refused.value.kind, refused.value.id) == ("request", id)


async def test_lists_are_filtered_counted_and_read_page_by_page(desks: Desks) -> None:
    word = f"w{new()}"
    asked = [await desks.bot.ask(f"{word} {n}", groups=["nobody"]) for n in range(3)]
    await desks.bot.cancel(asked[0].id, by="bot")

    first = await desks.bot.find(q=word, status="pending", limit=1)
    assert [request.id for request in first] == [asked[2].id]
    second = await desks.bot.find(q=word, status=["pending"], limit=1, cursor=first.next)
    assert ([request.id for request in second], second.next) == ([asked[1].id], None)
    assert [len(await desks.bot.find(q=word, limit=most)) for most in (2, 50)] == [2, 3]
    with pytest.raises(InvalidError, match=r"statuses: is not a known field: use status$"):
        await desks.bot.find(statuses=["pending"])


async def test_the_events_of_a_request_are_its_chain(desks: Desks) -> None:
    asked = await desks.bot.ask("Refund?", action=ACTION)
    await desks.ann.claim(asked.id, by="ann")

    created, claimed = await desks.bot.events(request_id=asked.id)

    assert [created.type, claimed.type] == ["request.created", "request.claimed"]
    assert (claimed.actor, claimed.previous, claimed.computed_hash()) == ("ann", created.hash, claimed.hash)
    assert created.computed_hash() == created.hash
    assert await desks.bot.events(created.position, 1, request_id=asked.id) == [claimed]


async def test_what_one_told_is_remembered_changed_and_deleted(desks: Desks) -> None:
    ids = [new(), new(), new()]
    for id in ids:
        asked = await desks.bot.ask("Diet?", id=id, form=Form([Text("d")]), context={"memory_category": "food"})
        await desks.ann.respond(Seen(id, asked.digest), "approve", {"d": "fish"}, by="ann")
    last, *_, first = await desks.ann.memories.list("ann", limit=3)
    assert (last.id, first.id, last.person, last.answer) == (ids[2], ids[0], "ann", {"d": "fish"})
    assert [memory.id for memory in await desks.ann.memories.list("ann", limit=1, cursor=last.place)] == [ids[1]]

    edited = await desks.ann.memories.edit(last.id, {"d": "meat"}, by="ann")
    assert edited.edited_at
    assert (edited.answer, await desks.ann.memories.get(last.id, "ann")) == ({"d": "meat"}, edited)
    with pytest.raises(ConflictError, match="was changed since it was read"):
        await desks.ann.memories.edit(last.id, {"d": "rice"}, by="ann", told_at=last.updated_at)
    assert await desks.ann.memories.edit(last.id, {"d": "meat"}, by="ann", told_at=last.updated_at) == edited
    await desks.ann.memories.edit(last.id, {"d": "soup"}, by="ann", told_at=edited.updated_at)
    with pytest.raises(InvalidError, match="more"):
        await desks.ann.memories.edit(last.id, {"more": 1}, by="ann")
    with pytest.raises(NotFoundError, match="no memory"):
        await desks.bob.memories.get(last.id, "bob")

    await desks.ann.memories.delete(last.id, by="ann")
    with pytest.raises(NotFoundError, match=f"no memory '{last.id}'"):
        await desks.ann.memories.delete(last.id, by="ann")
    assert last.id not in [memory.id for memory in await desks.ann.memories.list("ann")]


@pytest.mark.parametrize("part", [Inbox, api.Grants, api.Suggestions, api.Pauses, api.People, api.Memories, api.Trail])
def test_a_verb_takes_the_same_everywhere(part: type) -> None:
    blocking = "Inbox" if part is Inbox else f"Blocking{part.__name__}"
    kinds = [*part.__subclasses__(), getattr(sync, blocking)]
    for verb in (name for name, value in vars(part).items() if inspect.iscoroutinefunction(value)):
        wanted = dict(inspect.signature(getattr(part, verb)).parameters)
        for kind in kinds:
            own = dict(inspect.signature(getattr(kind, verb)).parameters)
            assert {name: own[name].default for name in wanted} == {name: each.default for name, each in wanted.items()}
            assert all(own[name].default is not inspect.Parameter.empty for name in own.keys() - wanted)


async def test_who_acts_is_named_on_a_store_and_never_over_http(desks: Desks) -> None:
    asked = await desks.bot.ask("Go?")
    inner, has_token = desks.ann.inner, desks.ann.has_token

    async def claim() -> None:
        called = inner.claim(asked, **({"by": "ann"} if has_token else {}))
        if inspect.isawaitable(called):
            await called

    with pytest.raises(InvalidError, match="by: the token says who acts" if has_token else "by: name who acts"):
        await claim()
    with pytest.raises(InvalidError, match=r"only an id: give the Request .* ringi\.inbox\.Seen"):
        await desks.ann.respond(asked.id, "approve", by="ann")
