"""The client of a real provider drives what people decide: its pieces of JSON, its tool calls, its messages."""

from __future__ import annotations

import json
from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from langchain_core.messages import HumanMessage
from tests.integrations.langchain.office import Till, build_output
from tests.integrations.langchain.openai_server import calling, provider, saying
from tests.runs.world import at_work

from ringi import Approval
from ringi.integrations.langchain import ask_human
from ringi.runs.agent import Agent

REFUND = {"order": 1182, "amount": 40}
FORM = {"title": "Why?", "fields": [{"name": "why", "type": "select", "options": [{"value": "late"}]}]}


def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Pay, ask why with a form that is wrong at first, and tell."""
    results = [message for message in messages if message["role"] == "tool"]
    if not results:
        return calling("refund", "call-1", **REFUND)
    if len(results) == 1:
        return calling("ask_human", "call-2", title="Why?", fields=[{"name": "why", "type": "dropdown"}])
    if len(results) == 2:
        return calling("ask_human", "call-3", **FORM)
    return saying(f"Done: {results[0]['content']}, because {json.loads(results[2]['content'])['data']['why']}.")


async def test_an_approval_and_a_form_of_the_model_by_the_client_of_openai(file: str) -> None:
    till = Till()
    tools = [*till.tools, ask_human]
    with provider(script) as server:
        model = init_chat_model("local", model_provider="openai", base_url=server.url, api_key="none", max_retries=0)
        graph = create_agent(model, tools, middleware=[Approval({"rules": [{"tools": ["refund"]}]}, tools)])
        agent = Agent("office", graph, input=lambda _: {"messages": [HumanMessage("Please.")]}, output=build_output)
        async with at_work(file, [agent]) as world:
            await world.run("office", {})
            request = await world.one()
            assert request.action is not None
            assert (request.action.name, request.action.args, till.paid) == ("refund", REFUND, [])
            await world.answer(request, "edit", args={"order": 1182, "amount": 30})
            assert till.paid == [{"order": 1182, "amount": 30}]
            form = await world.one()
            assert (form.kind, form.title, form.context) == ("form", "Why?", {"tool_call_id": "call-3"})
            thread = await world.answer(form, "approve", {"why": "late"})
            assert thread.status == "done"
            assert thread.values["said"].strip().endswith("refunded 30, because late.")
            status, text = thread.values["results"]["call-2"]
            assert (status, "'dropdown' is not a field type" in text) == ("error", True)
            await world.verified()
        offered = {tool["function"]["name"]: tool["function"]["parameters"] for tool in server.asked[0]["tools"]}
        assert set(offered) == {"refund", "send", "ask_human"}
        assert "tool_call_id" not in json.dumps(offered["ask_human"])
