from __future__ import annotations

import json
import subprocess
import sys

SCRIPT = """
import asyncio, json
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

import ringi
from ringi import tracing


async def main():
    async with ringi.open("memory://") as inbox:
        with trace.get_tracer("agent").start_as_current_span("agent"):
            request = await inbox.ask("Refund?", action=ringi.Action("refund", {"secret": "4711"}), id="r1")
        tracing.seen(request)
        await inbox.claim("r1", "ann")
        await inbox.respond("r1", "approve", digest=request.digest, responder="ann")
        await inbox.acknowledge("r1", "worker")
        await inbox.ask("Another?", id="r2")
        await inbox.cancel("r2", "ann")


asyncio.run(main())
print(json.dumps([json.loads(span.to_json()) for span in exporter.get_finished_spans()]))
"""


def spans() -> list[dict[str, object]]:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == 0, done.stderr
    return list(json.loads(done.stdout))


def test_the_time_a_person_takes_is_one_trace_of_spans_that_name_nobody() -> None:
    found = spans()
    names = [span["name"] for span in found]
    assert names == [
        *("ringi.asked", "agent", "ringi.seen", "ringi.claimed", "ringi.answered", "ringi.resumed"),
        *("ringi.asked", "ringi.cancelled"),
    ]
    asked, agent, *rest = (span["context"]["trace_id"] for span in found)  # type: ignore[index]
    own = found[0]["links"][0]["context"]["trace_id"]  # type: ignore[index]
    assert asked == agent != own
    assert rest[:4] == [own] * 4
    assert rest[5] not in (own, agent)
    answered = found[4]
    assert answered["start_time"] == found[0]["start_time"]
    assert answered["attributes"] == {
        "ringi.tenant": "default",
        "ringi.request": "r1",
        "ringi.kind": "approval",
        "ringi.status": "completed",
        "ringi.decision": "approve",
    }
    assert not any(word in json.dumps(found) for word in ("ann", "4711", "Refund"))
