"""The commands work behind a server as they do on a store; those that need the store say so."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from tests.acceptance.demo_server import DemoServer
from tests.client.desks import token

Result = subprocess.CompletedProcess[str]


class Remote:
    """Runs commands against a server."""

    def __init__(self, server: DemoServer) -> None:
        self._server = server

    def run(self, name: str, role: str, *arguments: str, **more: str) -> Result:
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("RINGI_")}
        place = {"RINGI_URL": self._server.url, "RINGI_TOKEN": token(self._server, name, role), **more}
        command = [sys.executable, "-c", "from ringi.cli import main; main()", *arguments]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=50, check=False, env={**inherited, **place, "LC_ALL": "C"}
        )

    def json(self, name: str, role: str, *arguments: str) -> Any:
        done = self.run(name, role, *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def remote(server: DemoServer) -> Remote:
    return Remote(server)


def test_a_request_lives_in_commands_behind_a_server(remote: Remote) -> None:
    call = ["--action", "refund", "--args", '{"amount": 40}']
    asked = remote.json("bot", "agent", "ask", "Refund over the wire?", *call)
    assert (asked["asked_by"], asked["status"]) == ("agent:bot", "pending")
    (found,) = remote.json("ann", "person", "list", "--search", "over the wire")["items"]
    assert found["id"] == asked["id"]
    assert remote.json("ann", "person", "claim", asked["id"])["claimed_by"] == "ann"
    done = remote.json("ann", "person", "respond", asked["id"], "edit", "--args", '{"amount": 30}', "--message", "less")
    assert (done["response"]["responder"], done["response"]["args"]) == ("ann", {"amount": 30})
    assert remote.json("bot", "agent", "outcome", asked["id"], "committed")["receipt"]["outcome"] == "committed"
    assert "(the call ran)" in remote.run("ann", "person", "show", asked["id"]).stdout


def test_administrators_pause_and_people_leave_behind_a_server(remote: Remote) -> None:
    pause = remote.json("root", "admin", "pause", "--reason", "stop", "--agent", "mailer")
    assert [each["id"] for each in remote.json("root", "admin", "pauses")["items"]] == [pause["id"]]
    remote.json("root", "admin", "unpause", pause["id"])
    assert remote.json("root", "admin", "pauses")["items"] == []
    away = remote.json("ann", "person", "away", "--until", "2027-01-31", "--deputy", "bob", "--unknown")
    assert (away["person"], away["deputy"]) == ("ann", "bob")
    assert remote.json("ann", "person", "back") == {"person": "ann"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["claim", "r1", "--name", "bob"], "the token says who acts"),
        (["ask", "Go?", "--name", "bob"], "the token says who acts"),
        (["watch", "--json"], "needs the store itself"),
        (["verify"], "needs the store itself"),
        (["list", "--tenant", "other"], "has its own: omit it"),
    ],
    ids=["a name", "a name of the asker", "watch", "verify", "a tenant"],
)
def test_what_is_not_for_a_server_is_refused_in_one_sentence(remote: Remote, arguments: list[str], why: str) -> None:
    done = remote.run("ann", "person", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert why in done.stderr


def test_a_token_goes_over_a_safe_connection_only(remote: Remote) -> None:
    done = remote.run("ann", "person", "list", RINGI_URL="http://inbox.example.com")
    assert (done.returncode, "RINGI_INSECURE=1" in done.stderr) == (2, True)
