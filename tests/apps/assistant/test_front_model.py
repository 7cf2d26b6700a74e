"""The front model's tool, prompt and streamed reply, with providers that force calls and with some that do not."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from tests.apps.assistant.office import NOON, OFFICE, fetched, with_values
from tests.apps.assistant.talk import Office, talking

from ringi.testing import ScriptedModel
from ringi.testing.model import tool_call
from ringi_apps.assistant import ActionDefinition, Assistant, Definitions, Info, person_text
from ringi_apps.assistant.declare_tool import DECLARE, action_schemas, declare_tool, op_schemas, strict_tool
from ringi_apps.assistant.definitions import DefinitionError
from ringi_apps.assistant.front_model import ForcedToolModel, build_messages, parse_answer
from ringi_apps.assistant.memory import ContextMemory
from ringi_apps.assistant.model_context import as_table, one_language, state_text
from ringi_apps.assistant.reply_stream import PartialReply

EMPTY = ContextMemory()


class RefusedError(Exception):
    """An answer of a provider's server."""

    def __init__(self, status_code: int) -> None:
        super().__init__(f"status {status_code}")
        self.status_code = status_code


class Provider(ScriptedModel):
    """A model that records how its tool is bound, and may refuse a forced call or call in pieces."""

    bound: list[dict[str, Any]] = []
    refuses: int = 0
    refuses_all: bool = False
    pieces: list[str] = []
    words: str = ""

    def bind_tools(  # type: ignore[override]
        self, tools: Sequence[Any], *, tool_choice: str | None = None, strict: bool | None = None, **_: Any
    ) -> Runnable[Any, AIMessage]:
        self.bound.append({"tool": tools[0], "tool_choice": tool_choice, "strict": strict})
        if self.refuses and (tool_choice or self.refuses_all):
            return Refusing(script=self.script, status_code=self.refuses)
        return self

    async def _astream(
        self, messages: list[BaseMessage], *args: Any, **more: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        if not self.pieces:
            async for chunk in super()._astream(messages, *args, **more):
                yield chunk
            return
        if self.words:
            yield ChatGenerationChunk(message=AIMessageChunk(content=self.words))
        for number, piece in enumerate(self.pieces):
            call = tool_call_chunk(name=None if number else DECLARE, args=piece, id=None if number else "c1", index=0)
            last: Any = "last" if number == len(self.pieces) - 1 else None
            piece_of_call = AIMessageChunk(content="", tool_call_chunks=[call], chunk_position=last)
            yield ChatGenerationChunk(message=piece_of_call)


class Refusing(ScriptedModel):
    """A model whose server refuses each call."""

    status_code: int

    def _astream(self, *args: Any, **more: Any) -> AsyncIterator[ChatGenerationChunk]:
        raise RefusedError(self.status_code)

    def _generate(self, *args: Any, **more: Any) -> ChatResult:
        raise RefusedError(self.status_code)


class ProviderOffice(Office):
    """An office with a provider's model."""

    def __init__(self, **about: Any) -> None:
        super().__init__()
        self.provider = Provider(script=self.say, bound=[], **about)
        self.goes_on()

    def assistant(self, **more: Any) -> Assistant:
        made = super().assistant(**more)
        return Assistant(made.name, made.definitions, self.provider, made.workflows, **more)


async def test_the_call_is_forced_and_the_tool_never_changes() -> None:
    office = ProviderOffice()
    async with talking(office, "memory://") as talk:
        await talk.say("goal: grow")
        await talk.say("feedback: shorter")
    assert {each["tool_choice"] for each in office.provider.bound} == {DECLARE}
    assert len({json.dumps(each["tool"]) for each in office.provider.bound}) == 1


@pytest.mark.parametrize("status", [400, 404, 422])
async def test_a_provider_that_refuses_a_forced_call_is_asked_without(status: int) -> None:
    office = ProviderOffice(refuses=status)
    async with talking(office, "memory://") as talk:
        assert (await talk.say("goal: grow")).items["goals"].value == "grow"
        assert (await talk.say("goal: shrink")).items["goals"].value == "shrink"
        assert (await talk.say("goal: stay")).items["goals"].value == "stay"
    # A single refusal may be about one answer; after the second it is known.
    assert [each["tool_choice"] for each in office.provider.bound] == [DECLARE, None, DECLARE, None, None]


async def test_a_request_that_is_refused_in_every_form_gives_no_binding_up() -> None:
    office = ProviderOffice(refuses=400, refuses_all=True)
    front, messages = ForcedToolModel(office.assistant()), [HumanMessage("goal: grow")]
    for _ in range(3):
        with pytest.raises(RefusedError):
            await front.ask(messages, {})
    office.provider.refuses = 0
    office.provider.bound.clear()
    await front.ask(messages, {})
    assert [each["tool_choice"] for each in office.provider.bound] == [DECLARE]


async def test_other_refusals_of_a_provider_fail_the_run_and_change_nothing() -> None:
    office = ProviderOffice(refuses=500)
    async with talking(office, "memory://") as talk:
        input = {"messages": [{"role": "user", "content": "goal: grow"}]}
        await talk.runner.start("default", talk.chat, "assistant", input, by="ann")
        failed = await talk.thread(talk.chat, "error")
        assert failed.error
        assert "status 500" in failed.error.message
    assert {each["tool_choice"] for each in office.provider.bound} == {DECLARE}


async def test_the_reply_of_a_call_is_streamed_as_words() -> None:
    op = {"op": "set", "key": "goals", "quote": "grow", "value": "grow"}
    text = json.dumps({"ops": [op], "reply": "Noted: “grow”\n😀."})
    office = ProviderOffice(pieces=[text[n : n + 3] for n in range(0, len(text), 3)])
    async with talking(office, "memory://") as talk:
        memory = await talk.say("grow")
        assert memory.items["goals"].value == "grow"
        assert "Noted: “grow”\n😀." in await talk.words()


@pytest.mark.parametrize("words", ["Noted.", "Noted, that is clear."])
async def test_words_beside_a_call_are_not_repeated_by_its_reply(words: str) -> None:
    office = ProviderOffice(pieces=[json.dumps({"ops": [], "reply": "Noted."})], words=words)
    async with talking(office, "memory://") as talk:
        await talk.say("grow")
        assert (await talk.words()).strip() == words


@pytest.mark.parametrize("size", [1, 2, 5, 1000])
@pytest.mark.parametrize("reply", ["", "Yes.", 'A "quote", \\ and \n a line.', "記録しました。", "😀 done 😀"])
def test_a_reply_is_read_in_pieces_of_any_size(size: int, reply: str) -> None:
    for text in (json.dumps({"ops": [], "reply": reply}), json.dumps({"reply": reply, "z": 1}, ensure_ascii=False)):
        partial = PartialReply()
        pieces = [text[n : n + size] for n in range(0, len(text), size)]
        words = [
            partial.add(AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=each, index=0)]))
            for each in pieces
        ]
        assert "".join(words) == reply


def test_reasoning_may_come_before_the_call_and_a_second_call_after_it() -> None:
    partial = PartialReply()
    texts = ['{"reply": "Ye', 's."}']
    pieces = [(1, texts[0]), (1, texts[1]), (2, '{"reply": "No."}')]
    chunks = [AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(args=a, index=n)]) for n, a in pieces]
    assert [partial.add(chunk) for chunk in chunks] == ["Ye", "s.", ""]


@pytest.mark.parametrize("text", ['{ops: [], "reply": "x"}', '```json\n{"reply": "x"}\n```', '["reply"]', '"reply"'])
async def test_a_call_that_is_no_json_is_requested_once_more(text: str) -> None:
    office = ProviderOffice(pieces=[text])
    async with talking(office, "memory://") as talk:
        await talk.say("grow")
        assert "cut off" in await talk.words() or "did not understand" in await talk.words()
    assert len(office.provider.bound) == 2


def test_words_beside_a_call_are_the_reply() -> None:
    partial = PartialReply()
    assert not partial.add(AIMessageChunk(content="Hello"))
    call = tool_call_chunk(args='{"reply": "Again"}', index=0)
    assert not partial.add(AIMessageChunk(content="", tool_call_chunks=[call]))


def test_all_but_the_newest_message_stays_the_same_from_turn_to_turn() -> None:
    assistant = Office().assistant()
    conversation: list[BaseMessage] = [HumanMessage("goal: grow"), AIMessage("Noted.")]
    first = build_messages(assistant, EMPTY, NOON, conversation[:1], "en")
    known = with_values(fetched(EMPTY, [{"id": 1}]), goal="g")
    second = build_messages(assistant, known, NOON, [*conversation, HumanMessage("And now?")], "en")
    assert first[0] == second[0]
    assert [each.text for each in second[1:3]] == ["goal: grow", "Noted."]
    assert person_text(first[-1]) == "goal: grow"
    assert second[-1].text.startswith("And now?\n\n[State")


def test_long_results_are_cut_in_later_turns() -> None:
    table = AIMessage("| task | done |\n" * 100)
    _, asked, result, _ = build_messages(
        Office().assistant(), EMPTY, NOON, [HumanMessage("x" * 1000), table, HumanMessage("And now?")], "en"
    )
    assert asked.text == "x" * 1000
    assert result.text == f"{table.text[:100]}…"
    whole = Office().assistant(result_limit=5_000)
    assert build_messages(whole, EMPTY, NOON, [HumanMessage("Hi"), table, HumanMessage("And now?")], "en")[2] is table


@pytest.mark.parametrize("text", ["日" * 100, "a\n" * 50])
def test_a_fetched_value_is_cut_by_characters_in_every_script(text: str) -> None:
    def model_view(value: str) -> Any:
        return json.loads(state_text(OFFICE, fetched(EMPTY, value), NOON, "ja", 100))["known"]["projects"]

    assert model_view(text) == text
    assert model_view(text + "x") == f"{text}…"


def test_a_negative_limit_of_results_is_refused() -> None:
    with pytest.raises(DefinitionError, match="result_limit: is -1: give 0 or more"):
        Office().assistant(result_limit=-1)


def test_a_plan_that_sets_no_info_can_get_feedback_too() -> None:
    plan = ActionDefinition("make", "plan", "Plan", workflow="plan", requires=("goal",))
    definitions = Definitions(infos=(Info("goal", "Goal"),), actions=(plan,))
    assert [schema["properties"]["op"]["enum"] for schema in op_schemas(definitions)][-1] == ["feedback"]


def test_only_actions_and_fetched_infos_can_be_required() -> None:
    definitions = Office().assistant().definitions
    (first, *_) = action_schemas(definitions)
    fetched_keys = [info.key for info in definitions.infos if info.kind == "handler"]
    assert first["enum"] == [*(each.id for each in definitions.actions if not each.schema), *fetched_keys]


def test_every_field_of_the_tool_is_required_and_nothing_else_is_allowed() -> None:
    def check(schema: Any) -> None:
        for each in schema if isinstance(schema, list) else schema.values() if isinstance(schema, dict) else ():
            check(each)
        if isinstance(schema, dict) and "properties" in schema and schema.get("additionalProperties") is False:
            assert schema["required"] == list(schema["properties"])

    tool = declare_tool(Office().assistant())
    assert tool["function"]["parameters"]["additionalProperties"] is False
    check(tool)


@pytest.mark.parametrize(
    ("schema", "is_strict"),
    [
        ({"type": "string", "minLength": 1, "examples": ["x"]}, True),
        ({"enum": ["a", "b"]}, False),
        ({"type": "string", "enum": ["a", "b"]}, True),
        ({"type": ["string", "null"]}, False),
        ({"type": "array", "items": {"type": "integer"}}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, True),
        ({"type": "object", "properties": {"a": {"type": "string"}}}, False),
        ({"type": "object"}, False),
        ({"type": "array"}, False),
        ({}, False),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "string"}}}, False),
    ],
)
def test_a_tool_is_strict_if_its_values_are(schema: dict[str, Any], *, is_strict: bool) -> None:
    definitions = Definitions(infos=(Info("a", schema=schema),), actions=(ActionDefinition("no", "cancel", "No"),))
    tool = declare_tool(Assistant("assistant", definitions, ScriptedModel(script=lambda _: "")))
    strict = strict_tool(tool)
    assert (strict is not None) == is_strict
    assert "minLength" not in json.dumps(strict)
    assert "examples" not in json.dumps(tool)


EXAMPLE = Definitions(
    infos=(Info("goal", schema={"type": "string", "examples": ["20 % more sales"]}), Info("project")),
    actions=(ActionDefinition("pick", "selector", "Pick", info="project"),),
)


def event_of(text: str, **declared: Any) -> dict[str, Any]:
    return parse_answer(tool_call(DECLARE, **declared), "m1", EXAMPLE, [HumanMessage(text)])


@pytest.mark.parametrize(
    ("text", "is_taken"),
    [("Make a plan.", False), ("We want 20% more sales!", True), ("Twenty percent more sales", False)],
)
@pytest.mark.parametrize("quote", [None, "Make a plan", "20 % more sales"])
def test_a_value_that_equals_an_example_counts_only_if_it_was_said(
    text: str, quote: str | None, *, is_taken: bool
) -> None:
    op = {"op": "set", "key": "goal", "value": "20 % more sales", "quote": quote}
    assert bool(event_of(text, ops=[op])["ops"]) == is_taken


BUDGET = Definitions(
    infos=(
        Info("budget", schema={"type": "integer", "examples": [20_000]}),
        Info("urgent", schema={"type": "boolean", "examples": [True]}),
        Info("priority", schema={"type": "string", "enum": ["high", "low"], "examples": ["high"]}),
        Info("start", schema={"type": "string", "format": "date", "examples": ["2026-04-01"]}),
        Info("goal", schema={"type": "string"}),
    ),
    actions=(ActionDefinition("reset", "cancel", "Reset"),),
)


@pytest.mark.parametrize(
    ("text", "key", "value", "quote"),
    [
        ("Our budget is 20,000 dollars", "budget", 20_000, "Our budget is 20,000 dollars"),
        ("予算は2万です", "budget", 20_000, "予算は2万です"),
        ("It is very urgent", "priority", "high", "very urgent"),
        ("優先度は高いです", "priority", "high", "優先度は高い"),
        ("yes please", "urgent", True, "yes please"),
        ("from April 1st 2026", "start", "2026-04-01", "April 1st 2026"),
        ("We want to grow – fast, and well-known.", "goal", "fast growth", "We want to grow, fast, and well known"),
        ("We realy want to grow fast", "goal", "growing", "We really want to grow fast"),
        ("forget the budget please", "goal", None, "Forget budget"),
        ("売上を伸ばしたいと考えています", "goal", "売上増", "売上を伸ばしたい"),
    ],
)
def test_a_value_in_other_words_than_the_persons_is_taken(text: str, key: str, value: Any, quote: str) -> None:
    op = {"op": "clear" if value is None else "set", "key": key, "value": value, "quote": quote}
    event = parse_answer(tool_call(DECLARE, ops=[op]), "m1", BUDGET, [HumanMessage(text)])
    assert [each["value"] for each in event["ops"]] == [value]


def test_a_value_that_was_told_is_not_asked_for() -> None:
    op = {"op": "set", "key": "project", "value": "p1", "quote": "the first one"}
    choices = [{"data_type": "project", "filters": []}]
    for required in ("pick", "project"):
        event = event_of("the first one", ops=[op], required_actions=[required], choice_context=choices)
        assert (len(event["ops"]), event["required"], event["choices"]) == (1, [], [])
    event = event_of("Let me pick", required_actions=["pick"], choice_context=choices)
    assert ([each["type"] for each in event["required"]], len(event["choices"])) == (["pick"], 1)


def test_filters_are_pairs_or_an_object() -> None:
    pairs = [{"field": "open", "value": "yes"}, "nonsense"]
    for filters in (pairs, {"open": "yes"}):
        (choice,) = event_of("which?", choice_context=[{"data_type": "project", "filters": filters}])["choices"]
        assert choice["filters"] == {"open": "yes"}


def test_rows_are_a_short_table_in_one_language() -> None:
    rows = [{"id": n, "name": {"en": "Web", "ja": "ウェブ"}} for n in range(30)]
    lines = as_table(one_language(rows, "ja")).splitlines()
    assert lines[:2] == ["id | name", "0 | ウェブ"]
    assert (len(lines), lines[-1]) == (22, "… + 10")
    assert as_table("text") == "text"
