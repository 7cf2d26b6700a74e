from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

PREFACE = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""
END = """
asyncio.run(main())
print(json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""
INBOX = """
import ringi
from ringi.domain.ask import Ask, Continuation
from ringi.inbox import tracing


async def main():
    ask = Ask(title="Refund?", action=ringi.Action("refund", {"secret": "sesame"}), id="r1")
    run = Continuation(runner="threads", target="agent", key="t1")
    async with ringi.open("memory://") as inbox:
        with trace.get_tracer("agent").start_as_current_span("agent"):
            request = await inbox.submit(ask, continuation=run)
            await inbox.submit(ask, continuation=run)
        tracing.record_seen(request)
        await inbox.claim("r1", by="ann")
        await inbox.respond(request, "approve", by="ann")
        await inbox.acknowledge("r1", "worker")
        await inbox.ask("Another?", id="r2")
        await inbox.cancel("r2", by="ann")
"""
THREADS = """
import httpx
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt
from tests.server.world import open_world, until
from ringi.connect import open
from ringi.runs.agent import Agent


def step(state: dict) -> dict:
    with trace.get_tracer("agent").start_as_current_span("before"):
        pass
    answer = interrupt("Go on?")
    with trace.get_tracer("agent").start_as_current_span("after"):
        return {"answer": answer}


graph = StateGraph(dict).add_node("step", step).add_edge(START, "step").add_edge("step", END).compile()


async def main():
    async with open_world("memory://", serves=True, more_agents=[Agent("steps", graph)]) as world:
        person = world.client()
        async with open(world.url, token=world.token("agent", "bot")) as client:
            with trace.get_tracer("agent").start_as_current_span("caller"):
                headers = {}
                from opentelemetry.propagate import inject
                inject(headers)
                started = {"agent": "steps", "input": {}}
                await person.post("/v1/threads/t1/runs", json=started, headers=headers)
                asked = await client.ask("Over HTTP?", id="h1")
            await person.post("/v1/requests/h1/respond", json={"decision": "reject", "digest": asked.digest})

            async def is_waiting():
                return (await person.get("/v1/threads/t1")).json()["status"] == "interrupted"

            await until(is_waiting)
            (request,) = (await person.get("/v1/threads/t1")).json()["pending"]
            answer = {"decision": "respond", "message": "yes", "digest": request["digest"]}
            await person.post(f"/v1/requests/{request['id']}/respond", json=answer)

            async def is_done():
                return (await person.get("/v1/threads/t1")).json()["status"] == "done"

            await until(is_done)
"""
MODELS = """
from langchain_core.messages import AIMessage
from langgraph.graph import END, START, StateGraph
from tests.runs.world import at_work
from ringi.runs.agent import Agent
from ringi.testing import ScriptedModel


def script(messages):
    if messages[-1].text == "break":
        raise ConnectionError("secret words")
    tokens = {"input_tokens": 90, "output_tokens": 7, "total_tokens": 97, "input_token_details": {"cache_read": 64}}
    return AIMessage("secret words", response_metadata={"model_name": "m-2026"}, usage_metadata=tokens)


class Named(ScriptedModel):
    model: str = "m"


async def step(state):
    await Named(script=script).ainvoke("secret words")
    try:
        await Named(script=script).ainvoke("break")
    except ConnectionError:
        return {}


graph = StateGraph(dict).add_node("step", step).add_edge(START, "step").add_edge("step", END).compile()


async def main():
    async with at_work("memory://", [Agent("steps", graph)]) as world:
        await world.run("steps", {})
"""


def spans(script: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-c", PREFACE + script + END]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def traces(found: list[dict[str, Any]]) -> set[str]:
    return {span["context"]["trace_id"] for span in found}


def orphans(found: list[dict[str, Any]]) -> list[str]:
    """Return the names of the spans whose parent was never written."""
    known = {span["context"]["span_id"] for span in found}
    return [span["name"] for span in found if span["parent_id"] and span["parent_id"] not in known]


def test_the_time_a_person_takes_stands_in_the_trace_of_the_agent_and_names_nobody() -> None:
    found = spans(INBOX)
    names = [span["name"] for span in found]
    assert names == [
        *("ringi.asked", "agent", "ringi.seen", "ringi.claimed", "ringi.answered", "ringi.resumed"),
        *("ringi.asked", "ringi.cancelled"),
    ]
    assert (len(traces(found[:6])), len(traces(found[6:])), len(traces(found))) == (1, 1, 2)
    assert orphans(found) == []
    asked, agent, answered = found[0], found[1], found[4]
    assert (asked["parent_id"], answered["parent_id"]) == (agent["context"]["span_id"], asked["context"]["span_id"])
    assert answered["start_time"] == asked["start_time"]
    assert answered["attributes"] == {
        "ringi.tenant": "default",
        "ringi.request": "r1",
        "ringi.kind": "approval",
        "ringi.status": "completed",
        "ringi.decision": "approve",
    }
    assert not any(word in json.dumps(found) for word in ("ann", "sesame", "Refund"))


def test_a_run_and_its_waits_stand_in_the_trace_of_whoever_started_it_over_http() -> None:
    found = spans(THREADS)
    names = (
        "after",
        "before",
        "caller",
        *("ringi.answered", "ringi.asked", "ringi.resumed", "ringi.run", "ringi.started"),
    )
    matching = [span for span in found if span["name"] in names]
    assert sorted({span["name"] for span in matching}) == list(names)
    assert len(traces(matching)) == 1
    assert orphans(found) == []
    by_id = {span["context"]["span_id"]: span["name"] for span in found}
    parents = {span["name"]: by_id.get(span["parent_id"], "") for span in found}
    assert (parents["before"], parents["after"], parents["ringi.run"]) == ("ringi.run", "ringi.run", "ringi.started")
    assert parents["caller"] == ""


def test_a_call_of_a_model_is_a_span_in_its_run_with_the_names_of_the_conventions() -> None:
    found = spans(MODELS)
    run = next(span for span in found if span["name"] == "ringi.run")
    call, failed = (span for span in found if span["name"] == "chat m")
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "named",
        "gen_ai.request.model": "m",
        "gen_ai.conversation.id": "t1",
    }
    assert (call["parent_id"], call["kind"]) == (run["context"]["span_id"], "SpanKind.CLIENT")
    assert call["start_time"] >= run["start_time"]
    assert call["attributes"] == {
        **about,
        "gen_ai.response.model": "m-2026",
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.cache_read.input_tokens": 64,
        "gen_ai.usage.output_tokens": 7,
    }
    assert (failed["attributes"], failed["status"]) == (
        {**about, "error.type": "ConnectionError"},
        {"status_code": "ERROR"},
    )
    assert "secret words" not in json.dumps(found)
