"""Agents of the OpenAI Agents SDK behind the contract of a runtime, with a scripted model."""

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Any

import pytest

agents = pytest.importorskip("agents")

from agents import Agent as SDKAgent  # noqa: E402
from agents import MaxTurnsExceeded, RunConfig, RunContextWrapper, function_tool, set_tracing_disabled  # noqa: E402
from agents.models import get_default_model  # noqa: E402
from agents.testing import ScriptedModel, assistant_message, function_call  # noqa: E402
from tests.runtimes.direct import Direct, asked, ended, read_module, silent  # noqa: E402

from ringi.base.settings import SettingError  # noqa: E402
from ringi.errors import NotAuthorizedError  # noqa: E402
from ringi.runs.agent import Agent  # noqa: E402
from ringi.runs.context import question_content_digest  # noqa: E402
from ringi.runtimes.openai_agents import OpenAIAgentsRuntime  # noqa: E402
from ringi.runtimes.openai_agents.agent_run import openai_model_name  # noqa: E402
from ringi.testing import ScriptedPerson, TestHarness  # noqa: E402

INPUT = {"messages": [{"role": "user", "content": "Refund order 7."}]}


@pytest.fixture(autouse=True)
def no_tracing() -> None:
    set_tracing_disabled(True)


class Shop:
    """An agent with a tool that has an effect."""

    def __init__(self, *turns: Any, **rest: Any) -> None:
        self.effects: list[tuple[int, int]] = []
        self.contexts: list[Any] = []
        self.model = ScriptedModel(turns)

        @function_tool(needs_approval=True)
        def refund(ctx: RunContextWrapper[Any], order: int, amount: int) -> str:
            """Refund an order."""
            self.effects.append((order, amount))
            self.contexts.append(ctx.context)
            return f"refunded {amount}"

        self.refund = refund
        self.sdk: Any = SDKAgent(name="shop", model=self.model, tools=[refund], **rest)

    def direct(self, **settings: Any) -> Direct:
        return Direct(OpenAIAgentsRuntime(), Agent("shop", self.sdk, **settings), INPUT)


def call(call_id: str = "c1", order: int = 7, amount: int = 30) -> Any:
    return function_call("refund", {"order": order, "amount": amount}, call_id=call_id)


def last_input(model: ScriptedModel) -> str:
    return json.dumps(model.calls[-1].input, default=str)


async def test_a_tool_that_the_context_enables_is_enabled_after_the_pause() -> None:
    def is_enabled(ctx: RunContextWrapper[Any], agent: Any) -> bool:
        return bool(ctx.context.may_refund)

    class Context:
        may_refund = True

    shop = Shop([call()], [assistant_message("Done.")])
    clerk = SDKAgent(name="clerk", model=ScriptedModel([]))
    shop.sdk.tools.append(clerk.as_tool("ask_clerk", "Ask the clerk.", is_enabled=is_enabled))
    run = shop.direct(context=lambda input, by: Context())
    (question,) = (await run.advance()).questions
    assert (await run.advance(ended(question, "approve"))).status == "done"
    assert shop.effects == [(7, 30)]


@pytest.mark.parametrize("fails", [False, True])
async def test_a_tool_whose_error_the_model_reads_has_failed(fails: bool) -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    if fails:
        shop.effects = None  # type: ignore[assignment]
    run = shop.direct()
    (question,) = (await run.advance()).questions
    answers = ended(question, "approve")

    assert (await run.advance(answers)).status == "done"

    ((request,),) = answers.values()
    assert run.run.host.outcomes.receipts[request.id].outcome == ("failed" if fails else "committed")


async def test_an_approved_call_runs_once_with_the_approved_arguments() -> None:
    shop = Shop([assistant_message("I will refund it."), call()], [assistant_message("Done.")])
    run = shop.direct()

    assert (await run.look()).status == "new"
    paused = await run.advance()

    (question,) = paused.questions
    (ask,) = question.asks
    assert ask.action
    assert (ask.action.name, ask.action.args) == ("refund", {"order": 7, "amount": 30})
    assert ask.action.args_schema
    assert ask.allowed == ("approve", "edit", "reject", "respond")
    assert (question.id, ask.description) == ("run-1/1/shop/c1", "I will refund it.")
    assert list(run.out.texts.values()) == ["I will refund it."]
    assert run.out.calls == {"c1": ("refund", {"order": 7, "amount": 30})}
    assert shop.effects == []

    done = await run.advance(ended(question, "approve"))

    assert done.status == "done"
    assert done.values == {"output": "Done."}
    assert shop.effects == [(7, 30)]
    assert run.out.results == {"c1": "refunded 30"}
    assert list(run.out.texts) == ["run-1-2"]


async def test_an_edited_call_runs_with_the_authorized_arguments_and_the_model_learns_it() -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    run = shop.direct()
    paused = await run.advance()

    done = await run.advance(ended(paused.questions[0], "edit", args={"order": 7, "amount": 5}))

    assert done.status == "done"
    assert shop.effects == [(7, 5)]
    assert "A person changed the arguments" in last_input(shop.model)


@pytest.mark.parametrize("decision", ["reject", "respond"])
async def test_a_refused_call_does_not_run_and_the_model_reads_the_words(decision: str) -> None:
    shop = Shop([call()], [assistant_message("Sorry.")])
    run = shop.direct()
    paused = await run.advance()

    await run.advance(ended(paused.questions[0], decision, message="Order 7 is too old."))

    assert shop.effects == []
    assert "Order 7 is too old." in last_input(shop.model)


async def test_silence_is_a_rejection() -> None:
    shop = Shop([call()], [assistant_message("Sorry.")])
    run = shop.direct()
    paused = await run.advance()

    done = await run.advance(silent(paused.questions[0]))

    assert done.status == "done"
    assert shop.effects == []
    assert "nobody decided" in last_input(shop.model)


async def test_of_three_parallel_calls_the_approved_ones_run() -> None:
    shop = Shop([call("c1", 1), call("c2", 2), call("c3", 3)], [assistant_message("Done.")])
    run = shop.direct()
    one, two, three = (await run.advance()).questions

    done = await run.advance({**ended(one, "approve"), **ended(two, "reject"), **ended(three, "approve")})

    assert done.status == "done"
    assert sorted(shop.effects) == [(1, 30), (3, 30)]


async def test_a_run_continues_on_each_answer() -> None:
    shop = Shop([call("c1", 1), call("c2", 2)], [assistant_message("Done.")])
    run = shop.direct()
    one, two = (await run.advance()).questions

    paused = await run.advance(ended(two, "edit", args={"order": 2, "amount": 1}))

    assert (paused.status, [each.id for each in paused.questions]) == ("paused", [one.id])
    assert paused.questions[0].digests == one.digests
    assert shop.effects == [(2, 1)]
    done = await run.advance(ended(one, "approve"))
    assert done.status == "done"
    assert shop.effects == [(2, 1), (1, 30)]


@pytest.mark.parametrize("amount", [30, 99])
async def test_a_call_with_the_id_of_an_answered_one_does_not_run(amount: int) -> None:
    shop = Shop([call()], [call(amount=amount)], [assistant_message("Done.")])
    run = shop.direct()
    (question,) = (await run.advance()).questions

    # The SDK takes an equal call for the one that has run, and refuses another one.
    with nullcontext() if amount == 30 else pytest.raises(agents.ModelBehaviorError):
        await run.advance(ended(question, "approve"))

    assert shop.effects == [(7, 30)]


@pytest.mark.parametrize(("amount", "effects"), [(30, [(7, 30)]), (5000, [])])
async def test_of_two_calls_with_one_id_in_an_answer_none_runs_but_an_approved_one(amount: int, effects: Any) -> None:
    shop = Shop([call(), call(amount=amount)], [assistant_message("Done.")])
    run = shop.direct()

    # The SDK takes equal calls for one, and refuses others before anybody is asked.
    with nullcontext() if effects else pytest.raises(agents.ModelBehaviorError, match="reused a tool call ID"):
        (question,) = (await run.advance()).questions
        assert shop.effects == []
        await run.advance(ended(question, "approve"))

    assert shop.effects == effects


async def test_a_repetition_of_a_stretch_gives_the_same_ids() -> None:
    turns = [[assistant_message("First."), call()], [assistant_message("Done.")], [assistant_message("Done.")]]
    shop = Shop(*turns)
    run = shop.direct()
    paused = await run.advance()
    state, first = run.run.stored, paused.questions[0]

    await run.advance(ended(first, "approve"))
    texts = run.out.texts
    run.run.stored = state
    await run.advance(ended(first, "approve"))

    assert run.out.texts == texts == {"run-1-2": "Done."}


async def test_a_changed_state_authorizes_nothing() -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    run = shop.direct()
    paused = await run.advance()
    assert run.run.stored
    run.run.stored = run.run.stored.replace('\\"amount\\":30', '\\"amount\\":31').replace(
        '\\"amount\\": 30', '\\"amount\\": 31'
    )
    assert "31" in run.run.stored

    with pytest.raises((NotAuthorizedError, agents.UserError)):
        await run.advance(ended(paused.questions[0], "approve"))

    assert shop.effects == []


async def test_a_later_run_continues_the_conversation() -> None:
    shop = Shop([call()], [assistant_message("Done.")], [assistant_message("You are welcome.")])
    run = shop.direct()
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))
    run.next_run({"messages": [{"role": "user", "content": "Thanks!"}]})

    assert (await run.look()).status == "new"
    done = await run.advance()

    assert done.values == {"output": "You are welcome."}
    assert "Refund order 7." in last_input(shop.model)
    assert "Thanks!" in last_input(shop.model)


async def test_a_run_after_a_canceled_pause_has_no_open_call() -> None:
    shop = Shop([call()], [assistant_message("Hello.")])
    run = shop.direct()
    await run.advance()
    run.next_run({"messages": [{"role": "user", "content": "Never mind."}]})

    await run.advance()

    assert "function_call" not in last_input(shop.model)
    assert "Refund order 7." in last_input(shop.model)


async def test_a_run_after_a_canceled_one_knows_the_calls_that_ran() -> None:
    shop = Shop([call("c1")], [call("c2", order=8)], [assistant_message("Hello.")])
    run = shop.direct()
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))
    run.next_run({"messages": [{"role": "user", "content": "Never mind the second one."}]})

    await run.advance()

    assert "refunded 30" in last_input(shop.model)
    assert "c2" not in last_input(shop.model)


@pytest.mark.parametrize("context", [{"token": "s3cret"}, object()])
async def test_the_context_reaches_the_tool_and_not_the_state(context: Any) -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    run = shop.direct(context=lambda input, by: context)
    paused = await run.advance()
    assert "s3cret" not in str(run.run.stored)

    await run.advance(ended(paused.questions[0], "approve"))

    assert shop.contexts == [context]
    assert "s3cret" not in str(run.run.stored)


async def test_a_nested_agent_asks_and_its_edited_call_runs() -> None:
    inner = Shop([call("n1")], [assistant_message("Refunded.")])
    tool = inner.sdk.as_tool("refunds", "Handles refunds")
    outer = Shop([function_call("refunds", {"input": "order 7"}, call_id="o1")], [assistant_message("All done.")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[tool])
    run = outer.direct(context=lambda input, by: {"token": "s3cret"})

    paused = await run.advance()

    (question,) = paused.questions
    assert question.id == "run-1/1/o1/1/shop/n1"
    assert question.asks[0].context["agent"] == "shop"
    assert "s3cret" not in str(run.run.stored)
    done = await run.advance(ended(question, "edit", args={"order": 7, "amount": 2}))
    assert done.status == "done"
    assert done.values == {"output": "All done."}
    assert inner.effects == [(7, 2)]
    assert "A person changed" in last_input(inner.model)
    assert tool._agent_instance is inner.sdk


async def test_an_agent_that_is_a_gated_tool_asks_before_its_own_call() -> None:
    inner = Shop([call("n1")], [assistant_message("Refunded.")])
    tool = inner.sdk.as_tool("refunds", "Handles refunds", needs_approval=True)
    outer = Shop([function_call("refunds", {"input": "order 7"}, call_id="o1")], [assistant_message("All done.")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[tool])
    run = outer.direct()

    (first,) = (await run.advance()).questions
    (second,) = (await run.advance(ended(first, "edit", args={"input": "order 8"}))).questions
    done = await run.advance(ended(second, "approve"))

    assert (first.id, second.id) == ("run-1/1/desk/o1", "run-1/1/o1/1/shop/n1")
    assert "order 8" in json.dumps(inner.model.calls[0].input, default=str)
    assert done.values == {"output": "All done."}
    assert inner.effects == [(7, 30)]


async def test_calls_with_the_same_id_in_two_nested_runs_are_decided_apart() -> None:
    inner = Shop([call("n1", 1)], [call("n1", 2)], [assistant_message("Refunded.")], [assistant_message("Refunded.")])
    tool = inner.sdk.as_tool("refunds", "Handles refunds")
    calls = [function_call("refunds", {"input": f"order {n}"}, call_id=f"o{n}") for n in (1, 2)]
    outer = Shop(calls, [assistant_message("All done.")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, tools=[tool])
    run = outer.direct()

    one, two = (await run.advance()).questions
    paused = await run.advance({**ended(one, "approve"), **ended(two, "reject")})

    assert (one.id, two.id, paused.status) == ("run-1/1/o1/1/shop/n1", "run-1/1/o2/1/shop/n1", "done")
    assert inner.effects == [(one.asks[0].action.args["order"], 30)] if one.asks[0].action else False


async def test_after_a_handoff_the_other_agents_edited_call_runs() -> None:
    inner = Shop([assistant_message("Me."), call("h1")], [assistant_message("Refunded.")])
    outer = Shop([function_call("transfer_to_shop", {}, call_id="o1")])
    outer.sdk = SDKAgent(name="desk", model=outer.model, handoffs=[inner.sdk])
    inner.sdk.handoffs = [outer.sdk]
    run = outer.direct()

    paused = await run.advance()
    done = await run.advance(ended(paused.questions[0], "edit", args={"order": 7, "amount": 2}))

    assert done.values == {"output": "Refunded."}
    assert inner.effects == [(7, 2)]


async def test_the_agents_stay_unchanged() -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    invoke = shop.refund.on_invoke_tool
    run = shop.direct()

    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))

    assert shop.refund.on_invoke_tool is invoke
    assert shop.sdk.tools == [shop.refund]


@pytest.mark.parametrize("words", ["too much", ""])
async def test_a_guardrail_of_the_tool_checks_edited_arguments(words: str) -> None:
    @agents.tool_input_guardrail
    def limit(data: Any) -> Any:
        amount = json.loads(data.context.tool_arguments)["amount"]
        refuse = agents.ToolGuardrailFunctionOutput.reject_content(words)
        return refuse if amount > 50 else agents.ToolGuardrailFunctionOutput.allow()

    shop = Shop([call()], [assistant_message("Done.")])
    shop.refund.tool_input_guardrails = [limit]
    run = shop.direct()
    paused = await run.advance()

    await run.advance(ended(paused.questions[0], "edit", args={"order": 7, "amount": 900}))

    assert shop.effects == []
    assert words in last_input(shop.model)


async def test_usage_is_counted() -> None:
    usage = agents.Usage(requests=1, input_tokens=10, output_tokens=3, total_tokens=13)
    shop = Shop([call()], [assistant_message("Done.")])
    shop.model.set_default_usage(usage)
    run = shop.direct()
    paused = await run.advance()
    await run.advance(ended(paused.questions[0], "approve"))

    assert [(each.calls, each.input_tokens, each.output_tokens) for each in run.run.usage] == [(1, 10, 3), (1, 10, 3)]


def named_model() -> Any:
    model: Any = ScriptedModel([])
    model.model = "script-9"
    return model


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "gpt-5"),
        (None, get_default_model()),
        (named_model(), "script-9"),
        (ScriptedModel([]), "ScriptedModel"),
    ],
)
def test_usage_has_the_name_of_the_model(model: Any, name: str) -> None:
    assert openai_model_name(SDKAgent(name="shop", model=model)) == name


async def test_arguments_that_are_no_json_can_only_be_refused() -> None:
    shop = Shop([function_call("refund", '{"order": 7, ', call_id="c1")], [assistant_message("Sorry.")])
    run = shop.direct()
    paused = await run.advance()

    assert paused.questions[0].asks[0].allowed == ("reject", "respond")


def as_settings(name: str) -> dict[str, Any]:
    return {name: True}


@pytest.mark.parametrize("name", ["images", "subgraphs", "history", "memories"])
def test_settings_of_langgraph_are_refused(name: str) -> None:
    agent = Agent("shop", Shop().sdk, **as_settings(name))

    with pytest.raises(SettingError, match=f"agents.shop.{name}"):
        OpenAIAgentsRuntime().describe(agent)


def test_an_object_of_another_framework_is_not_claimed() -> None:
    assert OpenAIAgentsRuntime().describe(Agent("x", object())) is None


def test_a_package_with_the_same_name_is_no_sdk() -> None:
    own = type("Agent", (), {"__module__": "agents"})

    assert OpenAIAgentsRuntime().describe(Agent("x", own())) is None


async def test_a_question_can_be_stored() -> None:
    shop = Shop([call()])
    paused = await shop.direct().advance()

    assert asked(paused.questions[0]).status == "pending"
    assert question_content_digest(paused.questions[0].asks[0]) == paused.questions[0].digests[0]


async def test_the_agent_of_the_how_to_asks() -> None:
    page = read_module("openai-agents.md")
    (agent,) = page["agents"]
    agent.target.model = ScriptedModel([[function_call("refund", {"order": "7", "amount": 3.5}, call_id="c1")]])

    paused = await Direct(OpenAIAgentsRuntime(), agent, INPUT).advance()

    assert paused.questions[0].asks[0].title == "Run refund?"


async def test_a_harness_runs_the_agent() -> None:
    shop = Shop([call()], [assistant_message("Done.")])
    agent = Agent("shop", shop.sdk)

    result = await TestHarness(ScriptedPerson().approves(title="Run refund?")).run(agent, INPUT)

    assert (result.status, result.values) == ("done", {"output": "Done."})
    assert shop.effects == [(7, 30)]


async def test_options_of_the_sdk_reach_each_stretch() -> None:
    other = ScriptedModel([[call()], [assistant_message("done")]])
    shop = Shop()
    run = shop.direct(options={"run_config": RunConfig(model=other), "max_turns": 1})
    paused = await run.advance()
    assert len(other.calls) == 1
    with pytest.raises(MaxTurnsExceeded):
        await run.advance(ended(paused.questions[0], "approve"))
    assert shop.effects == [(7, 30)]


def test_an_unknown_option_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"agents\.shop\.options.*takes run_config, max_turns here"):
        OpenAIAgentsRuntime().describe(Agent("shop", Shop().sdk, options={"hooks": None}))
