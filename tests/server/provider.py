"""A provider of OpenID Connect on a port of the tests, with real keys; it can be told to misbehave."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import hashlib
import json
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
import uvicorn
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from tests.server.world import until

CLIENT, SECRET = "ringi", "a secret between the provider and ringi"
Claims = dict[str, Any]


@functools.cache
def private_key(number: int) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65_537, key_size=2048)


class Key:
    """A private key with its name."""

    def __init__(self, number: int) -> None:
        self.kid, self.private = f"key-{number}", private_key(number)

    @property
    def jwk(self) -> dict[str, Any]:
        return {**json.loads(RSAAlgorithm.to_jwk(self.private.public_key())), "kid": self.kid, "use": "sig"}

    @property
    def pem(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)

    def sign(self, claims: Claims) -> str:
        return jwt.encode(claims, self.private, "RS256", {"kid": self.kid})


class Provider:
    """Knows one person, who agrees to everything."""

    def __init__(self) -> None:
        self.key = Key(0)
        self.published = [self.key]
        self.person: Claims = {"sub": "1", "email": "ann@example.com", "email_verified": True, "groups": ["finance"]}
        self.sign: Callable[[Claims], str] = lambda claims: self.key.sign(claims)
        self.claims: Callable[[Claims], Claims] = lambda claims: claims
        self.userinfo: Claims | None = None
        """What it says of the person only when it is asked for it."""
        self.down: str | None = None
        """The document that it answers with 503."""
        self.issuer = ""
        self.called: list[str] = []
        self._codes: dict[str, dict[str, str]] = {}
        self.app = Starlette(
            routes=[
                Route("/.well-known/openid-configuration", self._discovery),
                Route("/authorize", self._authorize),
                Route("/keys", self._keys),
                Route("/userinfo", self._userinfo),
                Route("/token", self._token, methods=["POST"]),
            ]
        )

    def rotate(self) -> None:
        """Sign with another key from now on, and publish it beside the old one."""
        self.key = Key(1)
        self.published.append(self.key)

    def agree(self, address: str) -> str:
        """Return where the person is sent after they agreed to what this address asks."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
        assert address.startswith(f"{self.issuer}/authorize?")
        assert (asked["response_type"], asked["client_id"], asked["code_challenge_method"]) == ("code", CLIENT, "S256")
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state'], 'iss': self.issuer})}"

    async def _authorize(self, http: Request) -> Response:
        return RedirectResponse(self.agree(str(http.url)), 302)

    async def _discovery(self, _: Request) -> Response:
        self.called.append("discovery")
        if self.down == "discovery":
            return Response(status_code=503)
        places = {"authorization_endpoint": "authorize", "token_endpoint": "token", "jwks_uri": "keys"}
        if self.userinfo is not None:
            places["userinfo_endpoint"] = "userinfo"
        return JSONResponse({"issuer": self.issuer, **{name: f"{self.issuer}/{at}" for name, at in places.items()}})

    async def _keys(self, _: Request) -> Response:
        self.called.append("keys")
        if self.down == "keys":
            return Response(status_code=503)
        oct_key = {"kty": "oct", "k": base64.urlsafe_b64encode(SECRET.encode()).decode(), "kid": "oct"}
        return JSONResponse({"keys": [oct_key, *(key.jwk for key in self.published)]})

    async def _userinfo(self, http: Request) -> Response:
        self.called.append("userinfo")
        scheme, _, token = http.headers.get("authorization", "").partition(" ")
        if scheme != "Bearer" or (token != "opaque" and token.count(".") != 2):
            return JSONResponse({"error": "invalid_token"}, 401)
        return JSONResponse(self.userinfo)

    async def _token(self, http: Request) -> Response:
        self.called.append("token")
        sent = {name: values[0] for name, values in parse_qs((await http.body()).decode()).items()}
        asked = self._codes.pop(sent["code"], None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if not asked or http.headers.get("authorization") != f"Basic {basic}" or not proven(asked, sent):
            return JSONResponse({"error": "invalid_grant"}, 400)
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        id_token = self.sign(self.claims({**claims, **self.person}))
        return JSONResponse({"id_token": id_token, "access_token": "opaque", "token_type": "Bearer"})


def proven(asked: dict[str, str], sent: dict[str, str]) -> bool:
    hashed = hashlib.sha256(sent["code_verifier"].encode()).digest()
    is_same = base64.urlsafe_b64encode(hashed).rstrip(b"=").decode() == asked["code_challenge"]
    return is_same and sent["redirect_uri"] == asked["redirect_uri"]


@contextlib.asynccontextmanager
async def serving(provider: Provider, host: str = "127.0.0.1") -> AsyncIterator[Provider]:
    """Serve a provider on a free port, under a name of this machine."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        provider.issuer = f"http://{host}:{listener.getsockname()[1]}"
        server = uvicorn.Server(uvicorn.Config(provider.app, log_level="error", lifespan="off", ws="none"))
        server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        task = asyncio.create_task(server._serve([listener]))
        await until(lambda: server.started)
        try:
            yield provider
        finally:
            server.should_exit = True
            await task
