"""A model that follows a script does what LangChain expects of one."""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from pydantic import BaseModel

from ringi.testing.model import ScriptedModel, parallel_tool_calls, scripted_turns, tool_call


class Refund(BaseModel):
    """What to pay back."""

    order: int
    amount: float


ASKED = "Refund order 1182."
TASK: Any = {"messages": [HumanMessage(ASKED)]}


def refund(order: int, amount: float) -> str:
    """Pay back."""
    return f"paid {amount:g} for {order}"


async def test_an_agent_runs_the_tools_that_the_script_calls() -> None:
    model = ScriptedModel(script=scripted_turns(tool_call("refund", order=1182, amount=40), "All done."))
    messages = (await create_agent(model, [refund]).ainvoke(TASK))["messages"]

    assert [message.text for message in messages[1:]] == ["", "paid 40 for 1182", "All done."]


async def test_the_same_call_twice_has_two_ids_and_the_same_ones_on_a_second_try() -> None:
    again = tool_call("refund", order=1182, amount=40)
    agent = create_agent(ScriptedModel(script=scripted_turns(again, again, "All done.")), [refund])
    first, second = [
        [call["id"] for message in state["messages"] if isinstance(message, AIMessage) for call in message.tool_calls]
        for state in [await agent.ainvoke(TASK), await agent.ainvoke(TASK)]
    ]

    assert (len(set(first)), first) == (2, second)


def test_after_its_turns_it_repeats_what_it_was_told() -> None:
    assert ScriptedModel(script=scripted_turns()).invoke("Hello.").text == "Hello."


@pytest.mark.parametrize("output", [Refund(order=1182, amount=40), tool_call("Refund", order=1182, amount=40)])
async def test_structured_output_is_an_instance_or_a_call(output: BaseModel) -> None:
    model = ScriptedModel(script=lambda _: output).with_structured_output(Refund)

    assert [model.invoke(ASKED), await model.ainvoke(ASKED)] == [Refund(order=1182, amount=40)] * 2
    assert [part async for part in model.astream(ASKED)][-1] == Refund(order=1182, amount=40)


async def test_an_agents_response_format_is_an_instance() -> None:
    model = ScriptedModel(
        script=scripted_turns(tool_call("refund", order=1182, amount=40), Refund(order=1182, amount=40))
    )
    state = await create_agent(model, [refund], response_format=Refund).ainvoke(TASK)

    assert state["structured_response"] == Refund(order=1182, amount=40)


async def test_words_and_calls_come_streamed() -> None:
    answer = parallel_tool_calls(tool_call("refund", order=1182, amount=40), text="I pay it back.")
    parts = [part async for part in ScriptedModel(script=lambda _: answer).astream(ASKED)]

    assert [part.text for part in parts if part.text] == ["I ", "pay ", "it ", "back."]
    (call,) = sum(parts[1:], parts[0]).tool_calls
    assert (call["name"], call["args"]) == ("refund", {"order": 1182, "amount": 40})
