"""What is remembered of whom, on every store: approved answers, as their person left them, and nothing else."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from typing import Any

import pytest

from ringi import Action, Checkbox, Form, Number, Select, Text
from ringi.audit.verify import verify_store
from ringi.connect import store_inbox
from ringi.domain.ask import Ask
from ringi.domain.record import Query
from ringi.domain.request import Request
from ringi.errors import InvalidError, NotFoundError
from ringi.forms.field_parts import Option
from ringi.inbox.api import Seen
from ringi.inbox.inbox import StoreInbox
from ringi.privacy.candidates import Sweep
from ringi.testing import ManualClock

FORM = Form(
    [
        Text("note", label="What you eat", required=True, max_length=20),
        Select("diet", label="Diet", options=[{"value": "v", "label": "Vegan"}, {"value": "o", "label": "Other"}]),
    ]
)
FOOD = {"memory_category": "food"}
NOTE = {"note": "no fish"}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def inbox(url: str, clock: ManualClock) -> AsyncIterator[StoreInbox]:
    async with store_inbox(url, clock=clock) as inbox:
        yield inbox
        assert (await verify_store(inbox.store))[1] == []


@pytest.fixture
async def here(clock: ManualClock) -> AsyncIterator[StoreInbox]:
    """Memory alone: rules are the same everywhere."""
    async with store_inbox("memory://", clock=clock) as inbox:
        yield inbox


async def answered(
    inbox: StoreInbox, id: str = "r1", data: Any = NOTE, decision: Any = "approve", by: str = "ann", **ask: Any
) -> Request:
    """Return an answered request that is to be remembered unless the ask says otherwise."""
    asked = await inbox.ask("What do you eat?", id=id, **{"form": FORM, "context": FOOD, **ask})
    return await inbox.respond(Seen(id, asked.digest), decision, data, by=by)


async def answers(inbox: StoreInbox, person: str = "ann") -> list[dict[str, Any]]:
    return [memory.answer for memory in await inbox.memories.list(person)]


async def test_an_approved_answer_is_remembered_edited_and_deleted_on_every_store(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    await answered(inbox)
    (memory,) = await inbox.memories.list("ann")
    assert (memory.id, memory.category, memory.question, memory.answer) == ("r1", "food", "What do you eat?", NOTE)
    assert (memory.answered_at, memory.edited_at) == (clock(), None)

    clock.advance(60)
    edited = await inbox.memories.edit("r1", {"note": "no meat", "diet": "v"}, by="ann")
    assert edited.labelled == {"What you eat": "no meat", "Diet": "Vegan"}
    assert (edited.edited_at, [edited]) == (clock(), await inbox.memories.list("ann"))
    request = await inbox.get("r1")
    assert request.response is not None
    assert request.response.data == NOTE

    await inbox.memories.delete("r1", by="ann")
    assert await inbox.memories.list("ann") == []
    for after in (
        inbox.memories.get("r1", "ann"),
        inbox.memories.edit("r1", NOTE, by="ann"),
        inbox.memories.delete("r1", by="ann"),
    ):
        with pytest.raises(NotFoundError, match="no memory 'r1'"):
            await after


async def test_memories_are_paged_from_the_newest_question_on_every_store(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    for n in range(5):
        clock.advance(1)
        await answered(inbox, f"r{n}")
        await answered(inbox, f"of-bob-{n}", by="bob")
    seen, before = list[str](), None
    while page := await inbox.memories.list("ann", limit=2, cursor=before):
        seen += [memory.id for memory in page]
        before = page[-1].place
    assert seen == ["r4", "r3", "r2", "r1", "r0"]
    assert await inbox.count(Query(remembered_by="ann", limit=100)) == 5


async def test_persons_and_tenants_never_meet_on_every_store(inbox: StoreInbox) -> None:
    await answered(inbox)
    elsewhere = inbox.for_tenant("elsewhere")
    await answered(elsewhere, "r2")
    assert [memory.id for memory in await inbox.memories.list("ann")] == ["r1"]
    assert [memory.id for memory in await elsewhere.memories.list("ann")] == ["r2"]
    assert await inbox.memories.list("bob") == []
    hidden = (inbox.memories.get("r1", "bob"), inbox.memories.get("never", "bob"), elsewhere.memories.get("r1", "ann"))
    for foreign in (*hidden, inbox.memories.delete("r1", by="bob"), inbox.memories.edit("r1", NOTE, by="bob")):
        with pytest.raises(NotFoundError, match="no memory"):
            await foreign
    assert await answers(inbox) == [NOTE]


@pytest.mark.parametrize(("decision", "data"), [("reject", None), ("respond", NOTE)], ids=["rejected", "responded"])
async def test_another_decision_leaves_nothing(here: StoreInbox, decision: str, data: Any) -> None:
    await answered(here, data=data, decision=decision, allowed=["approve", "edit", "reject", "respond"])
    assert await here.memories.list("ann") == []


async def test_an_edit_is_remembered_as_an_approval_is(here: StoreInbox) -> None:
    await answered(here, decision="edit")
    assert await answers(here) == [NOTE]


async def test_what_nobody_answered_leaves_nothing(here: StoreInbox, clock: ManualClock) -> None:
    for id in ("cancelled", "superseded", "expired", "open"):
        await here.ask("What?", id=id, form=FORM, context=FOOD, expires_in=5 if id == "expired" else None)
    await here.cancel("cancelled", by="ann")
    await here.cancel("superseded", "superseded", by="ann")
    clock.advance(6)
    assert await here.expire_due() == 1
    assert await here.search(Query(remembered_by="ann")) == []
    assert await here.memories.list("ann") == await here.memories.list("system") == []


@pytest.mark.parametrize("context", [{}, {"memory_category": None}, {"memory_category": " "}])
async def test_without_a_category_nothing_is_remembered(here: StoreInbox, context: dict[str, Any]) -> None:
    await answered(here, context=context)
    assert await here.memories.list("ann") == []


async def test_the_longest_category_is_remembered(here: StoreInbox) -> None:
    await answered(here, context={"memory_category": "x" * 100})
    assert [memory.category for memory in await here.memories.list("ann")] == ["x" * 100]


@pytest.mark.parametrize("category", [7, ["food"], "x" * 101])
async def test_under_what_can_be_no_category_nothing_is_remembered(here: StoreInbox, category: Any) -> None:
    await answered(here, context={"memory_category": category})
    assert await here.memories.list("ann") == []
    assert await here.search(Query(remembered_by="ann")) == []


async def test_a_rules_approval_is_nobodys_memory(here: StoreInbox) -> None:
    ask = Ask(title="Go?", id="r1", action=Action("go"), context=FOOD)
    approved = await here.submit_approved(ask, rule="small")
    assert approved.response is not None
    assert await here.memories.list(approved.response.responder) == []


async def test_an_answer_by_an_agent_is_nobodys_memory(here: StoreInbox) -> None:
    await answered(here, by="agent:bot")
    assert await here.memories.list("agent:bot") == []


async def test_an_approval_without_data_leaves_nothing(here: StoreInbox) -> None:
    await answered(here, data=None, form=Form([Text("note")]))
    assert await here.memories.list("ann") == []


async def test_a_wrong_edit_names_each_field_and_changes_nothing(here: StoreInbox) -> None:
    await answered(here)
    with pytest.raises(InvalidError) as refused:
        await here.memories.edit("r1", {"note": "x" * 21, "diet": "none"}, by="ann")
    assert [error.field for error in refused.value.errors] == ["note", "diet"]
    assert await answers(here) == [NOTE]


async def test_an_edit_that_leaves_nothing_is_refused(here: StoreInbox) -> None:
    await answered(here, form=Form([Text("note")]))
    with pytest.raises(InvalidError, match="delete the memory instead"):
        await here.memories.edit("r1", {}, by="ann")


async def test_an_edit_that_no_store_could_keep_is_refused(here: StoreInbox) -> None:
    asked = await here.ask("What?", id="r1", allowed=["edit"], context=FOOD)
    await here.respond(Seen("r1", asked.digest), "edit", {"x": 1}, by="ann")
    with pytest.raises(InvalidError, match=r"data\.x: is not a JSON number"):
        await here.memories.edit("r1", {"x": math.nan}, by="ann")
    assert await answers(here) == [{"x": 1}]


async def test_an_answer_to_a_schema_is_edited_by_the_schema(here: StoreInbox) -> None:
    schema = {"type": "object", "properties": {"note": {"type": "string"}}, "additionalProperties": False}
    asked = await here.ask("What?", id="r2", schema=schema, context=FOOD)
    await here.respond(Seen("r2", asked.digest), "approve", NOTE, by="ann")
    with pytest.raises(InvalidError, match="note"):
        await here.memories.edit("r2", {"note": 7}, by="ann")
    assert (await here.memories.edit("r2", {"note": "meat"}, by="ann")).labelled == {"note": "meat"}


async def test_the_same_edit_twice_is_one(here: StoreInbox) -> None:
    await answered(here)
    before = len(await here.events())
    for _ in range(2):
        await here.memories.edit("r1", {"note": "meat"}, by="ann")
    assert len(await here.events()) == before + 1


async def test_the_same_answer_again_overwrites_no_edit_and_brings_nothing_back(here: StoreInbox) -> None:
    done = await answered(here)
    await here.memories.edit("r1", {"note": "meat"}, by="ann")
    await here.respond(Seen("r1", done.digest), "approve", NOTE, by="ann")
    await here.acknowledge("r1", "worker")
    assert await answers(here) == [{"note": "meat"}]
    await here.memories.delete("r1", by="ann")
    await here.respond(Seen("r1", done.digest), "approve", NOTE, by="ann")
    assert await here.memories.list("ann") == []


async def test_of_an_edit_and_a_deletion_at_once_nothing_is_left(inbox: StoreInbox) -> None:
    await answered(inbox)
    edit, deletion = inbox.memories.edit("r1", {"note": "meat"}, by="ann"), inbox.memories.delete("r1", by="ann")
    outcomes = await asyncio.gather(edit, deletion, return_exceptions=True)
    assert isinstance(outcomes[0], NotFoundError) or not isinstance(outcomes[0], Exception)
    assert outcomes[1] is None
    assert await inbox.memories.list("ann") == []


async def test_answers_are_read_under_their_labels(here: StoreInbox) -> None:
    many = [Option(value=1, label="One"), Option(value=2, label="Two")]
    form = Form([Checkbox("some", label="Same", options=many), Number("n", label="Same"), Text("t", label="Text")])
    await answered(here, data={"some": [1, 2], "n": 1, "t": "1"}, form=form)
    (memory,) = await here.memories.list("ann")
    assert memory.labelled == {"some": ["One", "Two"], "n": 1, "Text": "1"}


async def test_no_label_takes_the_place_of_an_answer_under_that_name(here: StoreInbox) -> None:
    form = Form([Text("diet", label="note"), Text("note", label="Notes"), Text("same", label="same")])
    await answered(here, data={"diet": "vegan", "note": "no nuts", "same": "s"}, form=form)
    (memory,) = await here.memories.list("ann")
    assert memory.labelled == {"diet": "vegan", "Notes": "no nuts", "same": "s"}


async def test_an_erased_person_has_no_memories_and_their_words_are_gone_on_every_store(inbox: StoreInbox) -> None:
    await answered(inbox)
    await answered(inbox, "of-bob", by="bob")
    await inbox.memories.edit("r1", {"note": "zwetschge4711"}, by="ann")
    done = await inbox.trail.erase_some(Sweep(person="ann"), by="root")
    assert done.requests == ("r1",)
    assert [await inbox.memories.list(who) for who in ("ann", "erased:person")] == [[], []]
    left = f"{await inbox.get('r1')!r} {await inbox.events()!r}"
    assert "zwetschge4711" not in left
    assert [memory.id for memory in await inbox.memories.list("bob")] == ["of-bob"]


async def test_an_erased_request_and_one_past_its_retention_are_not_remembered(
    inbox: StoreInbox, clock: ManualClock
) -> None:
    for id in ("r1", "r2"):
        await answered(inbox, id)
        await inbox.memories.edit(id, {"note": "zwetschge4711"}, by="ann")
    await inbox.erase("r1", by="root")
    assert [memory.id for memory in await inbox.memories.list("ann")] == ["r2"]
    clock.advance(3 * 86_400)
    assert await inbox.retain(2) == 1
    assert await inbox.memories.list("ann") == []
    assert "zwetschge4711" not in f"{await inbox.find()!r} {await inbox.events()!r}"
