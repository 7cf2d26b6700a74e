"""The whole server, killed at the worst moments of an answer over HTTP."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from tests.acceptance.demo_server import DemoServer

pytestmark = pytest.mark.timeout(120)


@pytest.mark.parametrize("moment", ["change.before_commit", "change.after_commit", "server.before_reply"])
def test_an_answer_whose_reply_was_lost_can_be_given_again(tmp_path: Path, moment: str) -> None:
    with DemoServer(tmp_path) as demo:
        demo.run("t", "refund", {"order": 5, "amount": 7})
        (request,) = demo.until("t", "interrupted")["pending"]
        demo.stop()
        demo.start(failpoint=f"{moment}:kill9")
        answer = {"decision": "approve", "digest": request["digest"]}
        with demo.client() as client, pytest.raises(httpx.TransportError):
            client.post(f"/v1/requests/{request['id']}/respond", json=answer)
        demo.wait_for_death()
        demo.start()
        with demo.client() as client:
            again = client.post(f"/v1/requests/{request['id']}/respond", json=answer)
            other = client.post(f"/v1/requests/{request['id']}/respond", json={**answer, "decision": "reject"})
            history = client.get("/v1/audit", params={"request_id": request["id"]}).json()["items"]
        assert again.status_code == 200
        assert (other.status_code, other.json()["winner"]["decision"]) == (409, "approve")
        assert [event["type"] for event in history].count("request.completed") == 1
        assert demo.until("t", "done")["values"]["outcome"] == "refunded 7"


def test_a_signal_ends_the_server_at_once_and_leaves_the_run_to_the_next(tmp_path: Path) -> None:
    with DemoServer(tmp_path) as demo:
        demo.run("t", "refund", {"order": 5, "amount": 7})
        assert demo.stop() in (0, -15)
        demo.start()
        (request,) = demo.until("t", "interrupted")["pending"]
        assert request["title"] == "Refund 7 for order 5?"
