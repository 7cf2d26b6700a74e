"""The whole server, killed when it has just acknowledged a retry."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer

pytestmark = pytest.mark.timeout(120)

FLAKY = """
import time
from pathlib import Path
from typing import TypedDict

from langgraph.graph import END, START, StateGraph

from ringi.runs.agent import Agent


class State(TypedDict, total=False):
    printed: int


def prints(state: State) -> State:
    if not Path("paper").exists():
        raise OSError("no paper")
    while not Path("ink").exists():
        time.sleep(0.01)
    with Path("printed").open("a") as sheets:
        sheets.write("sheet\\n")
    return {"printed": len(Path("printed").read_text().splitlines())}


graph = StateGraph(State)
graph.add_node("prints", prints)
graph.add_edge(START, "prints")
graph.add_edge("prints", END)
agents = [Agent("printer", graph.compile(), output=dict)]
"""


def test_a_run_that_was_retried_over_http_goes_on_once_after_the_server_is_killed(tmp_path: Path) -> None:
    (tmp_path / "flaky_agents.py").write_text(FLAKY)
    with DemoServer(tmp_path, "serve", "--agents", "flaky_agents") as server:
        server.run("t", "printer", {})
        server.until("t", "error")
        (tmp_path / "paper").touch()
        with server.client("admin") as client:
            (item,) = client.get("/v1/operations").json()["items"]
            assert (item["thread_id"], item["why"]) == ("t", "OSError: no paper")
            reply = client.post("/v1/threads/t/retry", json={"reason": "paper is here"})
        assert (reply.status_code, reply.json()["status"]) == (200, "running")
        server.kill()
        (tmp_path / "ink").touch()
        server.start()
        thread = server.until("t", "done")
        assert (thread["values"], thread["error"]) == ({"printed": 1}, None)
        assert runs(server) == ["RUN_STARTED", "RUN_ERROR", "RUN_STARTED", "RUN_FINISHED"]
        with server.client("admin") as client:
            assert client.get("/v1/operations").json()["items"] == []
            history = client.get("/v1/audit?limit=200").json()["items"]
        assert [(e["actor"], e["changed"]["reason"]) for e in history if e["type"] == "thread.retried"] == [
            ("admin", "paper is here")
        ]


def runs(server: DemoServer) -> list[str]:
    """Return the beginnings and ends of runs in the thread's stream."""
    found: list[Any] = []
    with server.client() as client, client.stream("GET", "/v1/threads/t/stream") as stream:
        for line in stream.iter_lines():
            if '"type":"RUN_' in line:
                found.append(line.partition('"type":"')[2].partition('"')[0])
            if found and found[-1] == "RUN_FINISHED":
                break
    return found
