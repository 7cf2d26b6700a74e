"""A value that was stored under another definition is migrated, or is pending with the reason, and never used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from tests.apps.assistant.office import ANNA, NOON, after
from tests.apps.assistant.talk import ChatDriver, Office
from tests.runs.world import at_work, until

from ringi import Form, MultiSelect, TextArea
from ringi.base.outages import OutageError
from ringi.errors import UnavailableError
from ringi.testing.model import ScriptedModel, tool_call
from ringi_apps.assistant.assistant import Assistant
from ringi_apps.assistant.background import answer_value
from ringi_apps.assistant.declarations import ANY, ActionDefinition, Choices, Info, InfoHandler, Needs
from ringi_apps.assistant.declare_tool import DECLARE
from ringi_apps.assistant.definitions import DefinitionError, Definitions
from ringi_apps.assistant.jobs import CallJob
from ringi_apps.assistant.memory import ContextMemory, Provenance, memory_from_json, memory_to_json, record_value
from ringi_apps.assistant.memory_ops import MemoryOp
from ringi_apps.assistant.model_context import person_text, state_text
from ringi_apps.assistant.reducer import ConversationReducer
from ringi_apps.assistant.seed import context_memory_document
from ringi_apps.assistant.stored_values import with_current_values
from ringi_apps.assistant.views import memory_view

EMPTY = ContextMemory()
TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
CODES = {"retail": 7}
UNFIT = 'the stored value does not fit its current definition (industry: "retail" is not of type "integer"'


async def nothing(_: dict[str, Any]) -> Any:
    return None


def stored(definitions: Definitions, **values: Any) -> ContextMemory:
    memory = EMPTY
    for key, value in values.items():
        memory = record_value(memory, key, value, ANNA, NOON, definitions)
        assert memory.items[key].status == "collected"
    return memory


def industry(**about: Any) -> Info:
    return Info("industry", {"en": "Industry", "ja": "業種", "zh": "行业"}, **{"schema": NUMBER, **about})


def defined(*infos: Info, actions: Sequence[ActionDefinition] = ()) -> Definitions:
    return Definitions(infos, tuple(actions), (InfoHandler("fetch", nothing),))


OLD = defined(industry(schema=TEXT))
STORED = stored(OLD, industry="retail")


def settled(memory: ContextMemory, definitions: Definitions) -> ContextMemory:
    return ConversationReducer(definitions, "chat", after(1), "ann").settle(memory).memory


@dataclass
class Adviser:
    """An assistant that is deployed with other definitions, and what its workflows receive."""

    received: list[Any] = field(default_factory=list)
    prompts: list[str] = field(default_factory=list)

    async def advise(self, job: CallJob) -> str:
        self.received.append(job.inputs)
        return f"Advice for {job.inputs['industry']}."

    def say(self, messages: Sequence[BaseMessage]) -> AIMessage | str:
        self.prompts.append(messages[-1].text)
        text = person_text(messages[-1])
        if text.startswith("industry: "):
            op = {"op": "set", "key": "industry", "value": text.removeprefix("industry: "), "quote": text}
            return tool_call(DECLARE, ops=[op])
        return "Hello."

    def deployed(self, info: Info) -> list[Any]:
        actions = (ActionDefinition("advise", "immediate", "Advise", workflow="advising", requires=("industry",)),)
        model = ScriptedModel(script=self.say)
        return Assistant("assistant", Definitions((info,), actions), model, {"advising": self.advise}).agents()


@pytest.mark.parametrize("migrate", [None, CODES.__getitem__])
async def test_no_workflow_or_prompt_gets_a_value_of_an_older_schema(file: str, migrate: Any) -> None:
    adviser = Adviser()
    async with at_work(file, adviser.deployed(industry(schema=TEXT))) as world:
        await ChatDriver(world).say("industry: retail")
    async with at_work(file, adviser.deployed(industry(migrate=migrate))) as world:
        talk = ChatDriver(world)
        memory = await talk.say("hello")
        await talk.send("action", action="advise")
        words = await talk.words()
    item = memory.items["industry"]
    if migrate:
        assert (item.status, item.value, item.error) == ("collected", 7, None)
        assert adviser.received == [{"industry": 7}]
        assert '"industry":7' in adviser.prompts[-1]
        assert "cannot be used" not in words
    else:
        assert item.status == "pending"
        assert adviser.received == []
        assert '"missing":["industry"]' in adviser.prompts[-1]
        assert '"industry":"retail"' not in adviser.prompts[-1]
        assert f"Industry cannot be used: {UNFIT}" in words
        assert words.count("cannot be used") == 1
        assert "“Advise” is not possible yet: waiting for: Industry. Tell me Industry" in words


def test_a_value_that_does_not_fit_is_pending_with_the_reason_and_comes_back_with_its_definition() -> None:
    memory = settled(STORED, defined(industry()))
    item = memory.items["industry"]
    assert (item.status, str(item.error).startswith(UNFIT)) == ("pending", True)
    assert (memory.history[-1].op, memory.history[-1].before, memory.history[-1].after) == (
        "fail",
        "retail",
        item.error,
    )
    assert settled(memory, defined(industry())) is memory
    assert memory_from_json(memory_to_json(memory)) == memory
    again = settled(memory, OLD).items["industry"]
    assert (again.status, again.value, again.error) == ("collected", "retail", None)


def test_a_migrated_value_keeps_its_source_and_stands_in_the_history() -> None:
    memory = settled(STORED, defined(industry(migrate=CODES.__getitem__)))
    item, change = memory.items["industry"], memory.history[-1]
    assert (item.status, item.value, item.source, item.observed_at) == ("collected", 7, ANNA, NOON)
    assert (change.op, change.before, change.after) == ("migrate", "retail", 7)


MIGRATIONS = {
    "raises": {}.__getitem__,
    "nothing": lambda value: None,
    "unfit": lambda value: "x",
    "no JSON": lambda value: object(),
}


@pytest.mark.parametrize("migrate", MIGRATIONS.values(), ids=MIGRATIONS)
def test_a_migration_that_fails_leaves_the_value_pending(migrate: Callable[[Any], Any]) -> None:
    item = settled(STORED, defined(industry(migrate=migrate))).items["industry"]
    assert (item.status, item.value, str(item.error).startswith(UNFIT)) == ("pending", "retail", True)


COLOUR = Form([TextArea("colour")])
SIZE = Form([MultiSelect("size", options=["S", "L"], required=True)])
CHANGES: dict[str, tuple[Info, Any, Info]] = {
    "schema": (industry(schema=TEXT), "retail", industry()),
    "form": (Info("industry", form=COLOUR), {"colour": "red"}, Info("industry", form=SIZE)),
    "form to schema": (Info("industry", form=COLOUR), {"colour": "red"}, industry(schema=TEXT)),
    "may_be_any": (industry(may_be_any=True), ANY, industry(schema=TEXT)),
    "to handler": (industry(schema=TEXT), "retail", Info("industry", handler="fetch")),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_part_of_a_definition_is_compared_with_what_is_stored(change: str) -> None:
    before, value, now = CHANGES[change]
    definitions = defined(
        now, actions=[ActionDefinition("go", "immediate", "Go", workflow="going", requires=("industry",))]
    )
    memory = settled(stored(defined(before), industry=value), definitions)
    item = memory.items["industry"]
    assert (item.status, item.value) == ("pending", value)
    assert item.error
    reducer = ConversationReducer(definitions, "chat", after(1), "ann")
    assert not reducer.availability(memory, definitions.action("go")).enabled
    assert reducer.due_fetches(memory) == (("industry",) if now.handler else ())


def test_a_constant_that_became_a_question_is_told_by_nobody() -> None:
    memory = settled(EMPTY, defined(Info("industry", value="retail")))
    assert memory.items["industry"].value == "retail"
    assert settled(memory, OLD).items == {}
    assert with_current_values(memory, defined(Info("industry", value=7)), NOON).items["industry"].value == 7


def test_a_default_does_not_replace_a_told_value_that_no_longer_fits() -> None:
    item = settled(STORED, defined(industry(default=1))).items["industry"]
    assert (item.status, item.value) == ("pending", "retail")


def test_what_is_made_from_a_value_that_does_not_fit_is_pending_too() -> None:
    made = (
        Info("label", "Label", derive=lambda industry: f"<{industry}>", inputs=("industry",)),
        Info("leads", "Leads", handler="fetch", params={"of": {"info": "industry"}}),
    )
    optional = [
        ActionDefinition("go", "immediate", "Go", workflow="going", requires=(Needs("label", optional=True), "leads"))
    ]
    memory = settled(STORED, defined(industry(schema=TEXT), *made, actions=optional))
    inputs = {"industry": memory.items["industry"].hash}
    definitions = defined(industry(), *made, actions=optional)
    memory = record_value(memory, "leads", ["Ann"], Provenance(kind="handler"), NOON, definitions, inputs)
    memory = settled(memory, definitions)
    assert {key: item.status for key, item in memory.items.items()} == dict.fromkeys(memory.items, "pending")
    assert memory.items["label"].error == "it was made from values that do not fit their current definitions (Industry)"
    values = state_text(definitions, memory, NOON, "en")
    assert '"known"' not in values
    right = [MemoryOp(op="set", key="industry", value=7)]
    event = {"type": "said", "message": "m", "ops": [op.model_dump() for op in right]}
    turn = ConversationReducer(definitions, "chat", after(2), "ann")
    fixed = turn.apply(memory, event).memory
    assert (fixed.items["label"].status, fixed.items["label"].value) == ("collected", "<7>")
    assert turn.due_fetches(fixed) == ("leads",)


def test_a_derived_value_is_computed_again_by_a_function_that_fits_its_new_schema() -> None:
    old = Info("label", derive=str, inputs=("industry",), schema=TEXT)
    new = Info("label", derive=len, inputs=("industry",), schema=NUMBER)
    memory = settled(STORED, defined(industry(schema=TEXT), old))
    item = settled(memory, defined(industry(schema=TEXT), new)).items["label"]
    assert (item.status, item.value, item.error) == ("collected", 6, None)


@pytest.mark.parametrize(
    ("language", "reason"),
    [
        ("en", f"{UNFIT}: send a value that fits)"),
        ("ja", "保存されている値は現在の定義に合いません（industry: 整数を入力してください。）"),
        ("zh", "已保存的值不符合当前的定义（industry: 请输入整数。）"),
    ],
)
def test_the_page_says_the_reason_in_its_language_and_no_value(language: str, reason: str) -> None:
    definitions = defined(
        industry(), actions=[ActionDefinition("go", "immediate", "Go", workflow="w", requires=("industry",))]
    )
    memory = settled(STORED, definitions)
    view = memory_view(definitions, memory, NOON, language)
    (item,) = view.items
    assert (item.status, item.value, item.error) == ("pending", None, reason)
    assert (view.required_info_list[0].status, view.current_info_list) == ("pending", [])
    document = context_memory_document(definitions, memory, NOON)
    assert (document["requiredInfoList"][0]["status"], document["currentInfoList"]) == ("pending", [])


def test_the_page_lists_no_value_of_an_info_that_is_gone() -> None:
    assert memory_view(defined(Info("other")), STORED, NOON, "en").current_info_list == []


def test_only_an_info_that_people_are_asked_for_has_migrate() -> None:
    with pytest.raises(DefinitionError, match="remove migrate"):
        defined(Info("industry", handler="fetch", migrate=str))


@pytest.mark.parametrize(
    ("info", "data", "value"),
    [
        (industry(), {"value": 7}, 7),
        (industry(), {"name": "retail"}, {"name": "retail"}),
        (industry(schema={"type": "object"}), {"name": "retail"}, {"name": "retail"}),
        (industry(schema={"type": "object", "required": ["name"]}), {"value": "retail"}, "retail"),
        (industry(schema={"type": "object", "required": ["value"]}), {"value": "retail"}, {"value": "retail"}),
        (industry(schema={"type": "object"}, choices=Choices("fetch")), {"value": {}}, {}),
    ],
)
def test_an_answer_to_an_older_question_has_the_value_that_was_given(info: Info, data: Any, value: Any) -> None:
    assert answer_value(info, data) == value


@dataclass
class Planner(Office):
    """The office, whose style has another definition after a deploy."""

    def with_info(self, info: Info) -> list[Any]:
        made = self.assistant()
        infos = tuple(info if each.key == info.key else each for each in made.definitions.infos)
        return replace(made, definitions=replace(made.definitions, infos=infos)).agents()


@pytest.mark.parametrize(("migrate", "status"), [(None, "pending"), (len, "collected")])
async def test_a_remembered_answer_to_an_older_form_is_migrated_or_pending(
    file: str, migrate: Any, status: str
) -> None:
    office = Planner()
    async with at_work(file, office.with_info(Info("style", "Style", scope="user"))) as world:
        talk = ChatDriver(world)
        await talk.send("ask", info="style")
        await talk.answer("approve", by="ann", data={"value": "brief"})
        await talk.item("style")
    new = Info("style", "Style", scope="user", schema=NUMBER, migrate=migrate)
    async with at_work(file, office.with_info(new)) as world:
        talk = ChatDriver(world)
        talk.chat = "another"
        item = (await talk.say("hello")).items["style"]
        assert (item.status, item.value, item.source.kind) == (status, 5 if migrate else "brief", "remembered")
        if not migrate:
            await talk.send("ask", info="style")
            await talk.answer("approve", by="ann", data={"value": 3})

            async def is_stored() -> bool:
                return bool((await talk.memory()).items["style"].value == 3)

            await until(is_stored, "the style is told again")
            talk.chat = "chat"
            item = (await talk.say("hello")).items["style"]
            assert (item.status, item.value, item.source.kind) == ("collected", 3, "remembered")


async def test_a_question_that_a_deploy_changed_is_asked_anew(file: str) -> None:
    office = Planner()
    async with at_work(file, office.assistant().agents()) as world:
        talk = ChatDriver(world)
        await talk.send("ask", info="goals")
        request = await talk.request()
    async with at_work(file, office.with_info(Info("goals", "Goals", schema=NUMBER))) as world:
        talk = ChatDriver(world)
        await talk.inbox.respond(request, "approve", {"value": "grow"}, by="ann")
        new = await talk.request()
        assert (new.id != request.id, (new.data_schema or {})["properties"]["value"]) == (True, NUMBER)
        assert "goals" not in (await talk.memory()).items


@pytest.mark.parametrize("part", ["plan", "execute"])
async def test_work_that_a_deploy_interrupted_does_not_continue_with_values_that_no_longer_fit(
    file: str, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    office, begun = Planner(), list[object]()
    office.goes_on()

    async def interrupted(job: object) -> None:
        begun.append(job)
        raise OutageError(UnavailableError("the process ends", retry_after=0.1))

    async def is_begun() -> bool:
        return bool(begun)

    with monkeypatch.context() as first:
        first.setattr(office, part, interrupted)
        async with at_work(file, office.assistant().agents()) as world:
            talk = ChatDriver(world)
            await talk.say("goal: grow")
            await talk.send("action", action="make")
            if part == "execute":
                await talk.plan("planned")
                await talk.answer("approve")
            await until(is_begun, "the work has begun")
    office.plans.clear()
    async with at_work(file, office.with_info(Info("goals", "Goals", schema=NUMBER))) as world:
        talk = ChatDriver(world)
        why = 'goals: "grow" is not of type "integer": send a value that fits'
        assert str((await talk.plan("failed")).error).endswith(why)
        assert (office.plans, office.effects) == ([], [])
