"""The client of a real provider comes to the finish gate: by a tool, by words, by an error of the provider."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent
from langchain.chat_models import init_chat_model
from tests.integrations.langchain.finishing import answered, build_input, build_output
from tests.integrations.langchain.openai_server import calling, provider, saying
from tests.runs.world import at_work

from ringi.integrations.langchain import FinishGate, finish_tool
from ringi.runs.agent import Agent


def script(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Finish by the tool, then in words, then with an answer that is none."""
    people = [str(message["content"]) for message in messages if message["role"] == "user"]
    if len(people) == 1:
        return calling("finish", "call-1", summary="One haiku.", handover="It has no season yet.")
    return saying("Two haiku.") if len(people) == 2 else {}


async def test_a_gate_by_the_client_of_openai(file: str) -> None:
    with provider(script) as server:
        model = init_chat_model("local", model_provider="openai", base_url=server.url, api_key="none", max_retries=0)
        graph = create_agent(model, [finish_tool], middleware=[FinishGate()])
        async with at_work(file, [Agent("worker", graph, input=build_input, output=build_output)]) as world:
            await world.run("worker", {"task": "write a haiku"})
            request = await world.one()
            assert (request.context["summary"], request.context["handover"]) == ("One haiku.", "It has no season yet.")
            await world.answer(request, "edit", {"task": "write two"})
            assert (await world.one()).context["summary"].strip() == "Two haiku."
            roles = [message["role"] for message in server.asked[-1]["messages"]]
            assert roles == ["user", "assistant", "tool", "user"]
            await answered(world, "更新：write three")
            assert "Error" in (await world.one()).context["reason"]
            thread = await answered(world, "はい")
            assert (thread.status, thread.values["history"]) == ("done", ["update", "update", "complete"])
            await world.verified()
