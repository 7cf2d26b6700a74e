"""A server without agents knows those of its workers and starts their runs; an ended worker's agents go."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests import servers
from tests.server.test_startup import CLIENT, Process, begun, status, until

from ringi.server.auth.authenticator import Keys

AGENTS = """
from typing import TypedDict
from langgraph.graph import END, START, StateGraph
from ringi import ask
from ringi.runs.agent import Agent

class State(TypedDict, total=False):
    order: int
    answer: str

def node(state):
    return {"answer": str(ask(f"Refund order {state['order']}?").response.decision)}

graph = StateGraph(State)
graph.add_node("node", node)
graph.add_edge(START, "node")
graph.add_edge("node", END)
needs = {"type": "object", "properties": {"order": {"type": "integer"}}, "required": ["order"]}
newer = {**needs, "properties": {"order": {"type": "integer", "maximum": 9}}}
compiled = graph.compile()
agents = [
    Agent("refund", compiled, title="Refund", input_schema=needs, output=dict),
    Agent("inner", compiled, is_internal=True),
]
others = [Agent("other", compiled, title="Other", input_schema=needs, output=dict)]
upgraded = [Agent("refund", compiled, title="Refund 2", input_schema=newer, output=dict)]
"""


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def office(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    """A store with a server that has no agents."""
    folder = tmp_path_factory.mktemp("offers")
    (folder / "my_agents.py").write_text(AGENTS)
    url = f"sqlite:///{folder / 'ringi.db'}"
    if request.param == "postgres":
        url = f"{request.getfixturevalue('postgres_url')}?schema=offers_{uuid.uuid4().hex[:12]}"
    port = servers.free_port()
    with begun(folder, "serve", "--url", url, "--port", str(port)) as server:
        until(lambda: status(port, "/readyz") == 200, "it is ready", lambda: server.output)
        yield Office(folder, url, port)


class Office:
    """A server that a person calls over HTTP, and the workers on its store."""

    def __init__(self, folder: Path, url: str, port: int) -> None:
        self._folder, self._url, self._port = folder, url, port
        self._token = json.loads((folder / "tokens.json").read_text())["person"]

    def worker(self, name: str = "agents") -> AbstractContextManager[Process]:
        return begun(self._folder, "worker", "--url", self._url, "--agents", f"my_agents:{name}")

    def call(self, method: str, path: str, body: Any = None, token: str | None = None) -> httpx.Response:
        headers = {"authorization": f"Bearer {token or self._token}"}
        return CLIENT.request(method, f"http://127.0.0.1:{self._port}{path}", json=body, headers=headers)

    def start(self, id: str, agent: str, order: object = 1) -> httpx.Response:
        return self.call("POST", f"/v1/threads/{id}/runs", {"agent": agent, "input": {"order": order}})

    def probe(self, order: int) -> int:
        """Return the status of a new run with this order."""
        return self.start(f"probe-{uuid.uuid4().hex}", "refund", order).status_code

    def agents(self) -> dict[str, Any]:
        return {agent["name"]: agent for agent in self.call("GET", "/v1/agents").json()["items"]}

    def thread(self, id: str) -> Any:
        return self.call("GET", f"/v1/threads/{id}").json()

    def comes_to(self, id: str, wanted: str) -> Any:
        until(lambda: self.thread(id)["status"] == wanted, f"{id} is {wanted}", lambda: self.thread(id))
        return self.thread(id)

    def stranger(self) -> str:
        return Keys.load(self._folder).mint(tenant="other", role="admin", name="eve")


def test_a_server_without_agents_starts_the_runs_of_its_workers(office: Office) -> None:
    assert office.agents() == {}
    assert office.start("t1", "refund").status_code == 404
    with office.worker() as worker:
        until(office.agents, "the agents of the worker are known", lambda: worker.output)
        assert office.agents().keys() == {"refund"}
        assert office.agents()["refund"]["title"] == "Refund"
        assert office.agents()["refund"]["input_schema"]["required"] == ["order"]
        refused = office.start("t1", "refund", "x")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "input.order")
        assert office.start("t1", "inner").status_code == 404
        assert office.start("t1", "refund").status_code == 202
        (request,) = office.comes_to("t1", "interrupted")["pending"]
        answer = {"decision": "respond", "message": "yes", "digest": request["digest"]}
        assert office.call("POST", f"/v1/requests/{request['id']}/respond", answer).status_code == 200
        assert office.comes_to("t1", "done")["values"] == {"order": 1, "answer": "respond"}
        assert office.call("GET", "/v1/threads/t1", token=office.stranger()).status_code == 404
        worker.end()
        assert not office.agents()
        assert office.start("t2", "refund").status_code == 404


def test_workers_with_other_agents_and_other_versions_share_the_runs(office: Office) -> None:
    with office.worker() as one, office.worker("others") as two, office.worker("upgraded") as three:
        both = {"refund", "other"}
        until(lambda: office.agents().keys() == both, "both are known", lambda: one.output + two.output)
        for n in range(3):
            for agent in both:
                assert office.start(f"{agent}-{n}", agent, 7).status_code == 202
        for n in range(3):
            for agent in both:
                office.comes_to(f"{agent}-{n}", "interrupted")
        # Either version may take a run: what one of them refuses is refused.
        until(lambda: office.probe(77) == 422, "two versions are known", lambda: three.output)
        assert three.end() == 0
        assert office.probe(77) == 202
