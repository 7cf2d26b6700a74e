"""Only the policy of a tool's author declares an effect: no caller can make its own words look declared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.server.world import World, open_world

from ringi import Policy
from ringi.base.clock import utc_now
from ringi.connect import open
from ringi.domain.ask import request_content_digest
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.policy.question import question_about_call

CARD: dict[str, Any] = {"effect": "reads one order", "reversible": True, "tier": "low", "above_limit": False}
SOURCE: dict[str, Any] = {"rule": "reads", "digest": f"sha256:{'0' * 64}", "card": True}
ACTION: dict[str, Any] = {"name": "drop", "args": {"table": "orders"}}
FORGED = {"card": CARD}


@pytest.mark.parametrize("source", [SOURCE, {**SOURCE, "card": False}, {"card": True}, {}])
async def test_no_caller_names_a_policy(world: World, source: dict[str, Any]) -> None:
    for role, name in (("agent", "bot"), ("admin", "root")):
        body = {"title": "Read it?", "action": ACTION, "context": FORGED, "policy": source}
        reply = await world.client(role, name).post("/v1/requests", json=body)
        assert reply.status_code == 422
    assert await world.inbox.find() == []


async def test_a_card_of_a_caller_is_its_own_text(world: World) -> None:
    for body in (
        {"context": FORGED},
        {"context": {**FORGED, "policy": SOURCE}},
        {"context": FORGED, "policy": None},
        {"context": FORGED, "tier": "irreversible"},
    ):
        reply = await world.client("agent", "bot").post("/v1/requests", json={"title": "Q", "action": ACTION} | body)
        assert reply.status_code == 201
        assert not (reply.json().get("policy") or {}).get("card")
        assert (await world.inbox.get(reply.json()["id"])).card == {}


async def test_a_remote_policy_is_a_caller_too(tmp_path: Path) -> None:
    """The server cannot check who wrote a policy on another machine."""
    policy = Policy.parse({"rules": [{"tools": ["drop"]}], "cards": {"drop": {"effect": "reads one order"}}})
    ask = question_about_call(policy, None, "drop", ACTION["args"], facts={})
    assert ask.policy
    assert ask.policy.card
    async with open_world(f"sqlite:///{tmp_path}/ringi.db", serves=True) as world:
        async with open(world.url, token=world.token("agent", "bot")) as client:
            sent = await client.submit(ask)
        assert (await world.inbox.get(sent.id)).card == {}
        assert (await world.inbox.submit(ask)).card == {"effect": "reads one order"}


async def test_a_policy_without_a_card_vouches_for_none() -> None:
    policy = Policy.parse({"rules": [{"tools": ["drop"]}], "cards": {"other": {"effect": "x"}}})
    ask = question_about_call(policy, None, "drop", ACTION["args"], facts={}, context={"order": 7, **FORGED})
    request = Request.asked(ask, id="r", now=utc_now(), by="agent:bot")[0]
    assert (request.context, request.card) == ({"order": 7}, {})


async def test_the_digest_covers_whether_the_effect_can_be_undone() -> None:
    digests = set()
    for reversible in (None, True, False, "within 14 days"):
        card = {"effect": "x", **({} if reversible is None else {"reversible": reversible})}
        policy = Policy.parse({"rules": [{"tools": ["drop"]}], "cards": {"drop": card}})
        ask = question_about_call(policy, None, "drop", ACTION["args"], facts={})
        assert ask.context["card"].get("reversible") == reversible
        digests |= {request_content_digest(ask), policy.digest}
    assert len(digests) == 8
    for wrong in (1, "", " ", "x" * 201, [True]):
        with pytest.raises(InvalidError):
            Policy.parse({"rules": [{"tools": ["drop"]}], "cards": {"drop": {"reversible": wrong}}})
