"""An OpenID Connect provider: discovery, token exchange and verification of claims."""

from __future__ import annotations

import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from ringi.base.extras import missing
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import SettingError
from ringi.server.identity import Oidc, Person, safe_address
from ringi.server.refusals import ProviderError, SignInError, StrangerError

if TYPE_CHECKING:
    from joserfc.jwk import Key

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Asymmetric signatures only: our secret or the provider's public key must not be enough to sign."""
KINDS = {"RSA": "RS256", "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
"""Accepted key types and curves, each with its default algorithm."""
FRESH_SECONDS = 3600.0
"""Seconds for which published metadata and keys are cached."""
REPEAT_SECONDS = 10.0
"""Minimum seconds between lookups of an unknown key: forged key ids must not flood the provider."""
CALL_SECONDS = 10.0
LEEWAY_SECONDS = 30


class Places(NamedTuple):
    """The endpoints of the provider."""

    authorization: str
    token: str
    keys: str
    userinfo: str | None
    takes_basic: bool


class Provider:
    """The configured provider."""

    def __init__(self, settings: Oidc) -> None:
        try:
            import authlib.integrations.httpx_client  # noqa: F401
        except ModuleNotFoundError as error:
            missing("signing in with OpenID Connect", error)
        self._settings = settings
        self._places: Places | None = None
        self._found_at = self._keys_at = self._looked_at = -FRESH_SECONDS
        self._keys: dict[str | None, Key] = {}

    async def places(self) -> Places:
        """Return the endpoints that the provider publishes."""
        if not self._places or time.monotonic() - self._found_at > FRESH_SECONDS:
            issuer = self._settings.issuer
            told = await self._read(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if told.get("issuer") != issuer:
                raise ProviderError(issuer, f"it calls itself {told.get('issuer')!r}")
            self._places, self._found_at = places_of(issuer, told), time.monotonic()
        return self._places

    async def departure(self, redirect_uri: str, state: str, nonce: str, verifier: str) -> str:
        """Return the authorization URL for a person."""
        async with self._client() as client:
            place = (await self.places()).authorization
            address, _ = client.create_authorization_url(
                place, state=state, nonce=nonce, code_verifier=verifier, redirect_uri=redirect_uri
            )
            return str(address)

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
        """Return the tokens for a code, or raise `SignInError`."""
        import httpx2
        from authlib.common.errors import AuthlibBaseError

        place = (await self.places()).token
        try:
            async with self._client() as client:
                told = await client.fetch_token(
                    place, grant_type="authorization_code", code=code, code_verifier=verifier, redirect_uri=redirect_uri
                )
        except AuthlibBaseError as error:
            raise SignInError.not_taken() from error
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderError(place, error) from error
        if not isinstance(told.get("id_token"), str):
            raise SignInError.not_taken()
        return dict(told)

    async def claims(self, tokens: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Return the claims of an id token after verifying its issuer, audience, time and nonce.

        Missing claims about the person are read from UserInfo.
        """
        from authlib.oidc.core import CodeIDToken
        from joserfc.errors import JoseError

        header, said = await self._decoded(tokens["id_token"])
        client_id, access_token = self._settings.client_id, tokens.get("access_token")
        options: dict[str, Any] = {
            "iss": {"essential": True, "value": self._settings.issuer},
            "aud": {"essential": True, "value": client_id},
            "nonce": {"essential": True},
        }
        params = {"client_id": client_id, "access_token": access_token}
        try:
            CodeIDToken(said, header, options, params).validate(leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError) as error:
            raise SignInError.token(error) from error
        if not hmac.compare_digest(str(said["nonce"]).encode(), nonce.encode()):
            raise SignInError.other_attempt()
        return await self._completed(said, access_token)

    async def bearer_claims(self, token: str) -> dict[str, Any]:
        """Return the claims of an access token issued by the provider for this server, or raise `SignInError`."""
        from authlib.oauth2.claims import JWTClaims
        from joserfc.errors import JoseError

        header, said = await self._decoded(token)
        options: dict[str, Any] = {
            "iss": {"essential": True, "value": self._settings.issuer},
            "aud": {"essential": True, "value": self._settings.audience or self._settings.client_id},
            **{name: {"essential": True} for name in ("sub", "exp", "iat")},
        }
        try:
            JWTClaims(said, header, options).validate(leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError) as error:
            raise SignInError.token(error) from error
        return await self._completed(said, token)

    async def _completed(self, said: dict[str, Any], access_token: str | None) -> dict[str, Any]:
        """Return claims supplemented by the required claims of UserInfo; the token's own claims take precedence."""
        place = (await self.places()).userinfo
        if not place or not access_token or self._settings.wanted.issubset(said):
            return said
        told = await self._read(place, headers={"authorization": f"Bearer {access_token}"})
        if told.get("sub") != said["sub"]:
            raise SignInError.other_person()
        return {**told, **said}

    async def _decoded(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return header and claims of a token that the provider signed, or raise `SignInError`."""
        from joserfc import jws, jwt
        from joserfc.errors import JoseError

        try:
            header = jws.extract_compact(token.encode()).headers()
            key = await self._key(header.get("kid"))
            algorithm = str(header.get("alg"))
            if algorithm not in ALGORITHMS or algorithm != (key.alg or KINDS[kind_of(key.as_dict(private=False))]):
                raise SignInError.algorithm(algorithm)
            decoded = jwt.decode(token, key, [algorithm])
        except (JoseError, ValueError, TypeError) as error:
            raise SignInError.token(error) from error
        return decoded.header, decoded.claims

    async def _key(self, kid: str | None) -> Key:
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
        from joserfc import jwk

        told = await self._read((await self.places()).keys)
        usable = [key for key in told.get("keys", []) if kind_of(key) in KINDS and key.get("use", "sig") == "sig"]
        self._keys = {key.get("kid"): jwk.import_key(key) for key in usable}
        if len(usable) == 1:
            # A provider with a single key may omit the key id.
            self._keys[None] = next(iter(self._keys.values()))
        self._keys_at = time.monotonic()

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Any]:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        settings, places = self._settings, await self.places()
        method = "client_secret_basic" if places.takes_basic else "client_secret_post"
        async with AsyncOAuth2Client(
            settings.client_id,
            settings.client_secret,
            token_endpoint_auth_method=method if settings.client_secret else "none",
            scope=settings.scopes,
            code_challenge_method="S256",
            timeout=CALL_SECONDS,
        ) as client:
            yield client

    async def _read(self, url: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
        import httpx2

        try:
            async with httpx2.AsyncClient(timeout=CALL_SECONDS) as http:
                reply = await http.get(url, headers={"accept": "application/json", **(headers or {})})
            reply.raise_for_status()
            told = reply.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise ProviderError(url, error) from error
        return told if isinstance(told, dict) else {}


def places_of(issuer: str, told: dict[str, Any]) -> Places:
    """Return the endpoints that a provider publishes; raise `ProviderError` if one is missing or unsafe."""
    methods = told.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    userinfo = told.get("userinfo_endpoint")
    try:
        return Places(
            authorization=safe_address("authorization_endpoint", str(told["authorization_endpoint"])),
            token=safe_address("token_endpoint", str(told["token_endpoint"])),
            keys=safe_address("jwks_uri", str(told["jwks_uri"])),
            userinfo=safe_address("userinfo_endpoint", str(userinfo)) if userinfo else None,
            takes_basic="client_secret_basic" in methods,
        )
    except (KeyError, SettingError) as error:
        raise ProviderError(issuer, f"it does not say its {error}") from error


def kind_of(key: dict[str, Any]) -> str:
    """Return the curve of a published key, else its type."""
    return str(key.get("crv") or key.get("kty"))


def person_of(oidc: Oidc, claims: dict[str, Any]) -> Person:
    """Return the person that the claims name, or raise the error that refuses them."""
    if oidc.name_claim == "email" and claims.get("email_verified") is not True:
        raise StrangerError.unverified()
    tenant = DEFAULT_TENANT if oidc.tenant_claim is None else claims.get(oidc.tenant_claim)
    if not isinstance(tenant, str) or not tenant:
        raise StrangerError.without_tenant(oidc.tenant_claim)
    given = claims.get(oidc.groups_claim) or []
    listed = given if isinstance(given, list) else [given]
    groups = [group for group in listed if isinstance(group, str)]
    return oidc.roster.person(claims.get(oidc.name_claim), groups, tenant)
