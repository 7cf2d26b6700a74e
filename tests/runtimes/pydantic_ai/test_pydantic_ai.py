"""Agents of Pydantic AI behind the contract of a runtime, with a scripted model."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

pytest.importorskip("pydantic_ai")

from pydantic import BaseModel
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import ApprovalRequired, CallDeferred, DeferredToolRequests, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.usage import UsageLimits
from tests.runtimes.direct import Direct, asked, ended, read_module, silent

from ringi.base.settings import SettingError
from ringi.errors import NotAuthorizedError
from ringi.runs.agent import Agent
from ringi.runs.context import question_content_digest
from ringi.runtimes.pydantic_ai import PydanticAIRuntime
from ringi.testing import ScriptedPerson, TestHarness

INPUT = {"messages": [{"role": "user", "content": "Refund order 7."}]}
HAS_KINDS = hasattr(DeferredToolRequests, "kind")
Turn = str | tuple[str, str, dict[str, Any]]
"""A text, or the id, the tool and the arguments of a call."""


class Script:
    """A model that gives its turns one after the other."""

    def __init__(self, *turns: Sequence[Turn]) -> None:
        self.turns, self.seen = list(turns), list[str]()

    def model(self) -> FunctionModel:
        return FunctionModel(stream_function=self.stream, model_name="script")

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        self.seen.append(ModelMessagesTypeAdapter.dump_json(messages).decode())
        for n, part in enumerate(self.turns.pop(0)):
            if isinstance(part, str):
                for word in part.split(" "):
                    yield word + " "
            else:
                id, name, args = part
                yield {n: DeltaToolCall(name=name, json_args=json.dumps(args), tool_call_id=id)}


class Shop:
    """An agent with a tool that has an effect."""

    def __init__(self, *turns: Sequence[Turn], **rest: Any) -> None:
        self.effects: list[tuple[int, int]] = []
        self.deps: list[Any] = []
        self.script = Script(*turns)
        self.pydantic: PydanticAgent[Any, Any] = PydanticAgent(self.script.model(), **rest)

        @self.pydantic.tool(requires_approval=True)
        def refund(ctx: RunContext[Any], order: int, amount: int) -> str:
            """Refund an order."""
            self.effects.append((order, amount))
            self.deps.append(ctx.deps)
            return f"refunded {amount}"

    def direct(self, **settings: Any) -> Direct:
        return Direct(PydanticAIRuntime(), Agent("shop", self.pydantic, **settings), INPUT)


def call(id: str = "c1", order: int = 7, amount: int = 30) -> Turn:
    return (id, "refund", {"order": order, "amount": amount})


async def test_the_outcome_of_an_approved_call_is_recorded() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    (question,) = (await run.advance()).questions
    answers = ended(question, "approve")
    await run.advance(answers)

    ((request,),) = answers.values()
    assert run.run.host.outcomes.receipts[request.id].outcome == "committed"


async def test_a_tool_that_raised_has_failed() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    (question,) = (await run.advance()).questions
    answers, shop.effects = ended(question, "approve"), None  # type: ignore[assignment]
    with pytest.raises(AttributeError):
        await run.advance(answers)

    ((request,),) = answers.values()
    assert run.run.host.outcomes.receipts[request.id].outcome == "failed"


async def test_an_approved_call_runs_once_with_the_approved_arguments() -> None:
    shop = Shop(["I will refund it.", call()], ["Done."])
    run = shop.direct()

    assert (await run.look()).status == "new"
    paused = await run.advance()

    (question,) = paused.questions
    (ask,) = question.asks
    assert ask.action
    assert (ask.action.name, ask.action.args) == ("refund", {"order": 7, "amount": 30})
    assert ask.action.args_schema
    assert ask.allowed == ("approve", "edit", "reject", "respond")
    assert (question.id, ask.description) == ("run-1/1/c1", "I will refund it.")
    assert list(run.out.texts.values()) == ["I will refund it. "]
    assert run.out.calls == {"c1": ("refund", {"order": 7, "amount": 30})}
    assert shop.effects == []

    done = await run.advance(ended(question, "approve"))

    assert done.status == "done"
    assert done.values == {"output": "Done. "}
    assert shop.effects == [(7, 30)]
    assert run.out.results == {"c1": "refunded 30"}
    assert run.out.texts == {"run-1-2-0": "Done. "}


async def test_an_edited_call_runs_with_the_authorized_arguments_and_the_model_learns_it() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    paused = await run.advance()

    await run.advance(ended(paused.questions[0], "edit", args={"order": 7, "amount": 5}))

    assert shop.effects == [(7, 5)]
    assert "A person changed the arguments" in shop.script.seen[-1]


@pytest.mark.parametrize("decision", ["reject", "respond"])
async def test_a_refused_call_does_not_run_and_the_model_reads_the_words(decision: str) -> None:
    shop = Shop([call()], ["Sorry."])
    run = shop.direct()
    paused = await run.advance()

    await run.advance(ended(paused.questions[0], decision, message="Order 7 is too old."))

    assert shop.effects == []
    assert "Order 7 is too old." in shop.script.seen[-1]


async def test_silence_is_a_rejection() -> None:
    shop = Shop([call()], ["Sorry."])
    run = shop.direct()
    paused = await run.advance()

    await run.advance(silent(paused.questions[0]))

    assert shop.effects == []
    assert "nobody decided" in shop.script.seen[-1]


async def test_of_three_parallel_calls_the_approved_ones_run() -> None:
    shop = Shop([call("c1", 1), call("c2", 2), call("c3", 3)], ["Done."])
    run = shop.direct()
    one, two, three = (await run.advance()).questions

    await run.advance(
        {**ended(one, "approve"), **ended(two, "reject"), **ended(three, "edit", args={"order": 3, "amount": 1})}
    )

    assert sorted(shop.effects) == [(1, 30), (3, 1)]


async def test_a_call_without_an_answer_stops_the_run() -> None:
    shop = Shop([call("c1", 1), call("c2", 2)], ["Done."])
    run = shop.direct()
    one, _ = (await run.advance()).questions

    with pytest.raises(NotAuthorizedError):
        await run.advance(ended(one, "approve"))

    assert shop.effects == []


async def test_a_repetition_of_a_stretch_gives_the_same_ids() -> None:
    shop = Shop(["First.", call()], ["Done."], ["Done."])
    run = shop.direct()
    paused = await run.advance()
    state = run.run.stored

    await run.advance(ended(paused.questions[0], "approve"))
    texts = run.out.texts
    run.run.stored = state
    await run.advance(ended(paused.questions[0], "approve"))

    assert run.out.texts == texts == {"run-1-2-0": "Done. "}


async def test_an_approval_of_other_arguments_authorizes_nothing() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    paused = await run.advance()
    assert run.run.stored
    run.run.stored = run.run.stored.replace('\\"amount\\": 30', '\\"amount\\": 31')
    assert "31" in run.run.stored

    with pytest.raises(NotAuthorizedError):
        await run.advance(ended(paused.questions[0], "approve"))

    assert shop.effects == []


async def test_a_changed_history_does_not_change_the_call() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    paused = await run.advance()
    state = json.loads(run.run.stored or "")
    messages = json.dumps(state["data"]["messages"])
    changed = messages.replace('\\"amount\\": 30', '\\"amount\\": 31')
    assert changed != messages
    state["data"]["messages"] = json.loads(changed)
    run.run.stored = json.dumps(state)

    await run.advance(ended(paused.questions[0], "approve"))

    assert shop.effects == [(7, 30)]


async def test_a_call_with_the_id_of_an_answered_one_is_another_question() -> None:
    shop = Shop([call()], [call()], ["Done."])
    run = shop.direct()
    (first,) = (await run.advance()).questions

    (second,) = (await run.advance(ended(first, "approve"))).questions

    assert second.id != first.id
    await run.advance(ended(second, "reject"))
    assert shop.effects == [(7, 30)]


async def test_a_later_run_continues_the_conversation() -> None:
    shop = Shop([call()], ["Done."], ["You are welcome."])
    run = shop.direct()
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))
    run.next_run({"messages": [{"role": "user", "content": "Thanks!"}]})

    assert (await run.look()).status == "new"
    await run.advance()

    assert "Refund order 7." in shop.script.seen[-1]
    assert "Thanks!" in shop.script.seen[-1]


async def test_a_run_after_a_canceled_pause_has_no_open_call() -> None:
    shop = Shop([call()], ["Hello."])
    run = shop.direct()
    await run.advance()
    run.next_run({"messages": [{"role": "user", "content": "Never mind."}]})

    done = await run.advance()

    assert done.status == "done"
    assert "tool-call" not in shop.script.seen[-1]


async def test_the_context_reaches_the_tool_and_not_the_state() -> None:
    shop = Shop([call()], ["Done."], deps_type=dict)
    run = shop.direct(context=lambda input, by: {"token": "s3cret", "by": by})
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))

    assert shop.deps == [{"token": "s3cret", "by": "ann"}]
    assert "s3cret" not in str(run.run.stored)


async def test_metadata_of_a_call_is_shown() -> None:
    shop = Shop([("c1", "pay", {"amount": 3})], ["Done."])

    @shop.pydantic.tool
    def pay(ctx: RunContext[Any], amount: int) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired(metadata={"limit": 2})
        shop.effects.append((0, amount))
        return "paid"

    run = shop.direct()
    (question,) = (await run.advance()).questions

    assert question.asks[0].context == {"tool_call_id": "c1", "metadata": {"limit": 2}}
    await run.advance(ended(question, "approve"))
    assert shop.effects == [(0, 3)]


@pytest.mark.parametrize(
    ("answer", "result"),
    [({"message": "blue"}, "blue"), ({"data": {"answer": {"color": "blue"}}}, '{"color":"blue"}')],
)
async def test_a_person_gives_the_result_of_an_external_call(answer: dict[str, Any], result: str) -> None:
    shop = Shop([("c1", "ask_color", {"question": "Which color?"})], ["Done."])

    kind: Any = {"kind": "question"} if HAS_KINDS else {}

    @shop.pydantic.tool_plain
    def ask_color(question: str) -> str:
        raise CallDeferred(**kind)

    run = shop.direct()
    (question,) = (await run.advance()).questions

    assert question.asks[0].title == ("Which color?" if HAS_KINDS else "What is the result of ask_color?")
    done = await run.advance(ended(question, "respond", **answer))
    assert done.status == "done"
    assert run.out.results == {"c1": result}


async def test_nobody_gives_the_result_of_an_external_call() -> None:
    shop = Shop([("c1", "look_up", {"id": 4})], ["Done."])

    @shop.pydantic.tool_plain
    def look_up(id: int) -> str:
        raise CallDeferred

    run = shop.direct()
    (question,) = (await run.advance()).questions

    assert question.asks[0].title == "What is the result of look_up?"
    await run.advance(silent(question))
    assert run.out.results == {"c1": "Nobody answered: the request was expired."}


class Receipt(BaseModel):
    order: int


async def test_structured_output_is_shown_as_json() -> None:
    shop = Shop([call()], [("o1", "final_result", {"order": 7})], output_type=Receipt)
    run = shop.direct()
    paused = await run.advance()

    done = await run.advance(ended(paused.questions[0], "approve"))

    assert done.values == {"output": {"order": 7}}


async def test_usage_is_counted_for_each_stretch() -> None:
    shop = Shop([call()], ["Done."])
    run = shop.direct()
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))

    assert [(each.model, each.calls) for each in run.run.usage] == [("script", 1), ("script", 1)]
    assert all(each.output_tokens for each in run.run.usage)


class Alias(WrapperModel):
    """A model whose server reports another name."""

    @property
    def model_name(self) -> str:
        return "requested"


@pytest.mark.skipif(not hasattr(AbstractCapability, "prepare_model_request"), reason="this version has no hook for it")
async def test_usage_names_the_requested_model() -> None:
    shop = Shop([call()])
    shop.pydantic.model = Alias(shop.script.model())
    run = shop.direct()
    await run.advance()

    assert [(each.model, each.calls) for each in run.run.usage] == [("requested", 1)]


async def test_usage_names_the_answering_model_of_several() -> None:
    shop = Shop([call()])
    shop.pydantic.model = FallbackModel(shop.script.model(), shop.script.model())
    run = shop.direct()
    await run.advance()

    assert [each.model for each in run.run.usage] == ["script"]


def test_output_validators_need_the_output_type_of_deferred_calls() -> None:
    shop = Shop()
    shop.pydantic.output_validator(lambda output: output)

    with pytest.raises(SettingError, match="DeferredToolRequests"):
        PydanticAIRuntime().describe(Agent("shop", shop.pydantic))


def as_settings(name: str) -> dict[str, Any]:
    return {name: True}


@pytest.mark.parametrize("name", ["images", "subgraphs", "history", "memories"])
def test_settings_of_langgraph_are_refused(name: str) -> None:
    with pytest.raises(SettingError, match=f"agents.shop.{name}"):
        PydanticAIRuntime().describe(Agent("shop", Shop().pydantic, **as_settings(name)))


def test_an_object_of_another_framework_is_not_claimed() -> None:
    assert PydanticAIRuntime().describe(Agent("x", object())) is None


async def test_a_question_can_be_stored() -> None:
    paused = await Shop([call()]).direct().advance()

    assert asked(paused.questions[0]).status == "pending"
    assert question_content_digest(paused.questions[0].asks[0]) == paused.questions[0].digests[0]


async def test_the_agent_of_the_how_to_asks() -> None:
    page = read_module("pydantic-ai.md")
    (agent,) = page["agents"]
    agent.target.model = Script([("c1", "refund", {"order": "7", "amount": 3.5})]).model()

    paused = await Direct(PydanticAIRuntime(), agent, INPUT).advance()

    assert paused.questions[0].asks[0].title == "Run refund?"


async def test_a_harness_runs_the_agent() -> None:
    shop = Shop([call()], ["Done."])
    agent = Agent("shop", shop.pydantic)

    result = await TestHarness(ScriptedPerson().approves(title="Run refund?")).run(agent, INPUT)

    assert (result.status, result.values) == ("done", {"output": "Done. "})
    assert shop.effects == [(7, 30)]


async def test_options_of_the_framework_reach_each_stretch() -> None:
    shop, script = Shop(), Script(["I will refund it.", call()], ["Done."])
    limits = UsageLimits(request_limit=1)
    run = shop.direct(options={"model": script.model(), "usage_limits": limits})
    paused = await run.advance()
    assert len(script.seen) == 1
    with pytest.raises(UsageLimitExceeded):
        await run.advance(ended(paused.questions[0], "approve"))
    assert shop.effects == [(7, 30)]


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"agents\.shop\.options.*takes model, model_settings, usage_limits here"):
        PydanticAIRuntime().describe(Agent("shop", Shop().pydantic, options={"deps": 1}))
