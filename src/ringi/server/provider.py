"""A provider of OpenID Connect: where it is, what it says of somebody, and whether it really said so."""

from __future__ import annotations

import hmac
import time
from typing import Any, NamedTuple

import httpx
import jwt
from jwt.algorithms import has_crypto

from ringi.errors import MissingExtraError, SettingError
from ringi.server.identity import Oidc, safe_address
from ringi.server.refusals import ProviderError, SignInError

WHAT = "signing in with OpenID Connect"
ALGORITHMS = frozenset({"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"})
"""Signatures by a private key. Whoever knows our secret, or the provider's public key, must not be able to sign."""
KINDS = frozenset({"RSA", "EC", "OKP"})
CLAIMS = ["iss", "aud", "sub", "exp", "iat", "nonce"]
FRESH_SECONDS = 3600.0
"""How long what the provider publishes is taken as it was."""
REPEAT_SECONDS = 10.0
"""How often an unknown key is looked for: whoever sends made-up ones must not make us a flood for the provider."""
CALL_SECONDS = 10.0
LEEWAY_SECONDS = 30.0


class Places(NamedTuple):
    """Where the provider answers."""

    authorization: str
    token: str
    keys: str
    takes_basic: bool


class Provider:
    """The configured provider."""

    def __init__(self, settings: Oidc) -> None:
        if not has_crypto:
            raise MissingExtraError(WHAT, "oidc")
        self._settings = settings
        self._places: Places | None = None
        self._found_at = self._keys_at = self._looked_at = -FRESH_SECONDS
        self._keys: dict[str | None, jwt.PyJWK] = {}

    async def places(self) -> Places:
        """Return where the provider answers, as it publishes it."""
        if not self._places or time.monotonic() - self._found_at > FRESH_SECONDS:
            issuer = self._settings.issuer
            told = await self._json("GET", f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if told.get("issuer") != issuer:
                raise ProviderError(issuer, f"it calls itself {told.get('issuer')!r}")
            self._places, self._found_at = places_of(issuer, told), time.monotonic()
        return self._places

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> str:
        """Return the id token for a code, or raise `SignInError`."""
        settings, places = self._settings, await self.places()
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": settings.client_id,
            "code_verifier": verifier,
        }
        auth = None
        if settings.client_secret and places.takes_basic:
            auth = httpx.BasicAuth(settings.client_id, settings.client_secret)
        elif settings.client_secret:
            form["client_secret"] = settings.client_secret
        told = await self._json("POST", places.token, data=form, auth=auth)
        if not isinstance(told.get("id_token"), str):
            raise SignInError.not_taken()
        return str(told["id_token"])

    async def claims(self, id_token: str, nonce: str) -> dict[str, Any]:
        """Return what a token says that was made by this provider, for us, now and for this very sign-in, or raise."""
        try:
            header = jwt.get_unverified_header(id_token)
            key = await self._key(header.get("kid"))
            algorithm = str(header.get("alg"))
            if algorithm not in ALGORITHMS or algorithm != key.algorithm_name:
                raise SignInError.algorithm(algorithm)
            claims: dict[str, Any] = jwt.decode(
                id_token,
                key,
                [algorithm],
                audience=self._settings.client_id,
                issuer=self._settings.issuer,
                leeway=LEEWAY_SECONDS,
                options={"require": CLAIMS},
            )
        except jwt.PyJWTError as error:
            raise SignInError.token(error) from error
        self._check_ours(claims, nonce)
        return claims

    def _check_ours(self, claims: dict[str, Any], nonce: str) -> None:
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise SignInError.other_attempt()
        others = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
        if (others or "azp" in claims) and claims.get("azp") != self._settings.client_id:
            raise SignInError.other_program()

    async def _key(self, kid: str | None) -> jwt.PyJWK:
        now = time.monotonic()
        if now - self._keys_at > FRESH_SECONDS:
            await self._read_keys()
        elif kid not in self._keys and now - self._looked_at > REPEAT_SECONDS:
            self._looked_at = now
            await self._read_keys()
        if kid not in self._keys:
            raise SignInError.unknown_key()
        return self._keys[kid]

    async def _read_keys(self) -> None:
        told = await self._json("GET", (await self.places()).keys)
        usable = [key for key in told.get("keys", []) if key.get("kty") in KINDS and key.get("use", "sig") == "sig"]
        self._keys = {key.key_id: key for key in map(jwt.PyJWK.from_dict, usable)}
        if len(usable) == 1:
            # A provider with one key need not name it.
            self._keys[None] = next(iter(self._keys.values()))
        self._keys_at = time.monotonic()

    async def _json(self, method: str, url: str, **sent: Any) -> dict[str, Any]:
        try:
            async with httpx.AsyncClient(timeout=CALL_SECONDS) as http:
                reply = await http.request(method, url, headers={"accept": "application/json"}, **sent)
            if method == "POST" and reply.status_code in (400, 401):
                return {}
            reply.raise_for_status()
            told = reply.json()
        except (httpx.HTTPError, ValueError) as error:
            raise ProviderError(url, error) from error
        return told if isinstance(told, dict) else {}


def places_of(issuer: str, told: dict[str, Any]) -> Places:
    """Return the places that a provider publishes, or raise `ProviderError` where one is missing or unsafe."""
    methods = told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    try:
        return Places(
            authorization=safe_address("authorization_endpoint", str(told["authorization_endpoint"])),
            token=safe_address("token_endpoint", str(told["token_endpoint"])),
            keys=safe_address("jwks_uri", str(told["jwks_uri"])),
            takes_basic="client_secret_basic" in methods,
        )
    except (KeyError, SettingError) as error:
        raise ProviderError(issuer, f"it does not say its {error}") from error
