"""A signed token with claims of a wrong type is refused in words, on every way in."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from typing import Any

import jwt
import pytest
from tests.server.world import SECRET, World, open_world

from ringi.server import Keys
from ringi.server.auth.authenticator import COOKIE
from ringi.server.refusals import UnauthenticatedError

WHO: dict[str, Any] = {"tenant": "default", "role": "person", "sub": "ann", "groups": [], "iat": 1.0}
WRONG: list[Any] = ["soon", "1e9999", "", None, True, [], {}, [1], float("nan"), float("inf"), -float("inf")]
CASES = [(name, value) for name in ("exp", "iat", "ends_at") for value in WRONG]
OTHERS: list[tuple[str, Any]] = [
    ("groups", 5),
    ("groups", "finance"),
    ("groups", {"finance": 1}),
    ("tenant", 5),
    ("tenant", ["default"]),
]


def signed(**claims: Any) -> str:
    # The library itself would refuse to write some of them.
    return jwt.api_jws.encode(json.dumps({**WHO, **claims}).encode(), SECRET, "HS256")


@pytest.mark.parametrize(("claim", "value"), CASES + OTHERS, ids=str)
def test_a_claim_of_a_wrong_type_is_named(claim: str, value: Any) -> None:
    with pytest.raises(UnauthenticatedError, match=f"claim {claim} is not .*issue another with `ringi token create`"):
        Keys(SECRET).read(signed(**{claim: value}))


def test_a_token_that_does_not_say_when_it_was_issued_is_named_so() -> None:
    claims = {name: value for name, value in WHO.items() if name != "iat"}
    with pytest.raises(UnauthenticatedError, match=r"has no issue time \(claim iat\)"):
        Keys(SECRET).read(jwt.encode(claims, SECRET, "HS256"))


@pytest.mark.parametrize("claims", [{"exp": 4_000_000_000}, {"exp": 4e9, "ends_at": 4e9}, {"groups": None}, {}])
def test_claims_of_the_right_type_are_read(claims: dict[str, Any]) -> None:
    assert Keys(SECRET).read(signed(**claims, iat=int(time.time()))).name == "ann"


@pytest.fixture
async def peopled() -> AsyncIterator[World]:
    async with open_world("memory://") as world:
        yield world


@pytest.mark.parametrize("claims", [{"exp": "soon"}, {"iat": "soon"}, {"exp": [1]}, {"iat": None}, {"groups": 5}])
async def test_every_way_in_answers_401(peopled: World, claims: dict[str, Any]) -> None:
    token = signed(**claims)
    replies = [
        await peopled.stranger(authorization=f"Bearer {token}").get("/v1/requests"),
        await peopled.stranger(authorization=f"Bearer {token}").get("/v1/events"),
        await peopled.stranger(cookie=f"{COOKIE}={token}").get("/v1/requests"),
        await peopled.stranger(origin="http://localhost").post("/v1/session", json={"token": token}),
    ]
    for reply in replies:
        assert (reply.status_code, reply.json()["code"]) == (401, "unauthenticated"), reply.text
        assert f"claim {next(iter(claims))} is not" in reply.json()["detail"]


async def test_a_token_without_its_time_is_not_called_revoked(peopled: World) -> None:
    token = jwt.encode({name: value for name, value in WHO.items() if name != "iat"}, SECRET, "HS256")
    reply = await peopled.stranger(authorization=f"Bearer {token}").get("/v1/requests")
    assert reply.status_code == 401
    assert "revoked" not in reply.json()["detail"]
    assert "claim iat" in reply.json()["detail"]
