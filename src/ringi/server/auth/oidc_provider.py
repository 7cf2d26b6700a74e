"""An OpenID Connect provider: discovery, token exchange, verification of claims, and the bearer tokens of programs."""

from __future__ import annotations

import asyncio
import hmac
import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import jwt
from starlette.types import Scope

from ringi.base.bounded import Bounded
from ringi.base.extras import raise_missing_extra
from ringi.base.settings import SettingError
from ringi.domain.record import DEFAULT_TENANT
from ringi.errors import ForbiddenError, RingiError
from ringi.server.auth.authenticator import BEARER, CACHE_SIZE, Principal, VerifiedToken, bearer_token
from ringi.server.auth.revocations import TokenMetadata, token_digest
from ringi.server.identity import AuthenticatedPerson, Oidc, safe_server_url
from ringi.server.refusals import RefusalError, SignInError, UnauthenticatedError

if TYPE_CHECKING:
    from joserfc.jwk import Key

ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
"""Asymmetric signatures only: our secret or the provider's public key must not be enough to sign."""
KEY_ALGORITHMS = {"RSA": "RS256", "P-256": "ES256", "P-384": "ES384", "P-521": "ES512", "Ed25519": "EdDSA"}
"""Accepted key types and curves, each with its default algorithm."""
FRESH_SECONDS = 3600.0
"""Seconds for which published metadata and keys are cached."""
REPEAT_SECONDS = 10.0
"""Minimum seconds between lookups of an unknown key, and after a failed one: forgeries must not flood the provider."""
CALL_SECONDS = 10.0
LEEWAY_SECONDS = 30
ACCESS_TYPES = {"at+jwt", "bearer", "access"}
"""The types of access tokens: the header `typ` of RFC 9068, the claim `typ` of Keycloak, `token_use` of Cognito."""
ACCESS_CLAIMS = {"scope", "scp", "azpacr", "appidacr"}
"""What only access tokens have; the last two of Entra, for programs without a scope."""
ID_CLAIMS = {"nonce", "at_hash", "c_hash", "s_hash"}
"""What ID tokens have, and of unmarked access tokens none. Older versions of Keycloak put a nonce into both."""
USERINFO = "userinfo_endpoint"
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri", USERINFO)
"""The endpoints that are used; the last is optional."""
CODE_REFUSED = "the provider refused the code"


class OidcProvider:
    """The configured provider."""

    def __init__(self, settings: Oidc) -> None:
        try:
            import authlib.integrations.httpx_client  # noqa: F401
        except ModuleNotFoundError as error:
            raise_missing_extra("signing in with OpenID Connect", error)
        self._settings = settings
        self._metadata: dict[str, Any] = {}
        self._metadata_at = self._keys_at = self._unknown_key_at = self._failed_at = -FRESH_SECONDS
        self._keys: dict[str | None, Key] = {}
        self._renewing = asyncio.Lock()
        self._failure: Exception | None = None

    async def metadata(self) -> dict[str, Any]:
        """Return the metadata that the provider publishes; raise `RefusalError` if an endpoint is missing or unsafe."""
        if time.monotonic() - self._metadata_at > FRESH_SECONDS:
            issuer = self._settings.issuer
            found = await self._read(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
            if found.get("issuer") != issuer:
                raise oidc_unavailable_error(issuer, f"its issuer is {found.get('issuer')!r}")
            try:
                for name in ENDPOINTS:
                    if name != USERINFO or found.get(name):
                        safe_server_url(name, str(found[name]))
            except (KeyError, SettingError) as error:
                raise oidc_unavailable_error(issuer, f"its metadata are incomplete or unsafe: {error}") from error
            self._metadata, self._metadata_at = found, time.monotonic()
        return self._metadata

    async def authorization_url(
        self, redirect_uri: str, state: str, nonce: str, verifier: str, max_age: int | None, acr_values: Sequence[str]
    ) -> str:
        """Return the authorization URL for a person.

        Args:
            redirect_uri: The address to which the provider redirects.
            state: The secret of this attempt.
            nonce: The nonce of the token.
            verifier: The PKCE verifier.
            max_age: The maximum age in seconds of an earlier sign-in; 0 asks for the credentials again, None does not
                ask for the time of the sign-in.
            acr_values: The ways to sign in that are asked for, best first.
        """
        # Some providers know only one of `max_age` and `prompt`. A parameter that is None is left out.
        metadata, prompt = await self.metadata(), "login" if max_age == 0 else None
        more = {"nonce": nonce, "max_age": max_age, "prompt": prompt, "acr_values": " ".join(acr_values) or None}
        async with self._client(metadata) as client:
            url = metadata["authorization_endpoint"]
            address, _ = client.create_authorization_url(
                url, state=state, code_verifier=verifier, redirect_uri=redirect_uri, **more
            )
            return str(address)

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> dict[str, Any]:
        """Return the tokens for a code, or raise `SignInError`."""
        import httpx2
        from authlib.common.errors import AuthlibBaseError

        metadata = await self.metadata()
        url = metadata["token_endpoint"]
        try:
            async with self._client(metadata) as client:
                tokens = await client.fetch_token(
                    url, grant_type="authorization_code", code=code, code_verifier=verifier, redirect_uri=redirect_uri
                )
        except AuthlibBaseError as error:
            raise SignInError(CODE_REFUSED) from error
        except (httpx2.HTTPError, ValueError) as error:
            raise oidc_unavailable_error(url, error) from error
        if not isinstance(tokens.get("id_token"), str):
            raise SignInError(CODE_REFUSED)
        return dict(tokens)

    async def claims(self, tokens: dict[str, Any], nonce: str) -> dict[str, Any]:
        """Return the claims of an id token after verifying its issuer, audience, time and nonce.

        Missing claims about the person are read from UserInfo.
        """
        from authlib.oidc.core import CodeIDToken

        header, claims = await self._decode(tokens["id_token"])
        client_id, access_token = self._settings.client_id, tokens.get("access_token")
        rules, params = self._claim_rules(client_id, "nonce"), {"client_id": client_id, "access_token": access_token}
        with invalid_as_sign_in_error():
            CodeIDToken(claims, header, rules, params).validate(leeway=LEEWAY_SECONDS)
        if not hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode()):
            raise SignInError("the token belongs to another sign-in")
        return await self._complete(claims, access_token)

    async def bearer_claims(self, token: str) -> dict[str, Any]:
        """Return the claims of an access token issued by the provider for this server, or raise `SignInError`."""
        from authlib.oauth2.claims import JWTClaims

        header, claims = await self._decode(token)
        rules = self._claim_rules(self._settings.audience or self._settings.client_id, "sub", "exp", "iat")
        with invalid_as_sign_in_error():
            JWTClaims(claims, header, rules).validate(leeway=LEEWAY_SECONDS)
        is_access = is_oidc_access_token(header, claims, self._settings.client_id)
        if not is_access and not self._settings.takes_id_tokens:
            what = "this is an ID token, which only proves a sign-in, or nothing marks it as an access token"
            remedy = "send an access token with the claim scope or scp, or with the type at+jwt"
            raise SignInError(f"{what}: {remedy}, or set RINGI_OIDC_ID_TOKENS=1 on the server")
        return await self._complete(claims, token)

    def _claim_rules(self, audience: str, *others: str) -> dict[str, Any]:
        values = {"iss": self._settings.issuer, "aud": audience}
        rules: dict[str, Any] = {name: {"essential": True, "value": value} for name, value in values.items()}
        return rules | {name: {"essential": True} for name in others}

    async def _complete(self, claims: dict[str, Any], access_token: str | None) -> dict[str, Any]:
        """Return claims supplemented by the required claims of UserInfo; the token's own claims take precedence."""
        url = (await self.metadata()).get(USERINFO)
        if not url or not access_token or self._settings.required_claims.issubset(claims):
            return claims
        userinfo = await self._read(url, headers={"authorization": f"Bearer {access_token}"})
        if userinfo.get("sub") != claims["sub"]:
            raise SignInError("the provider's UserInfo describes another person")
        return {**userinfo, **claims}

    async def _decode(self, token: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return header and claims of a token that the provider signed, or raise `SignInError`."""
        from joserfc import jws, jwt

        with invalid_as_sign_in_error():
            header = jws.extract_compact(token.encode()).headers()
            key = await self._key(header.get("kid"))
            algorithm = str(header.get("alg"))
            own = key.alg or KEY_ALGORITHMS[oidc_key_type(key.as_dict(private=False))]
            if algorithm not in ALGORITHMS or algorithm != own:
                raise SignInError(f"the token has the unsupported signature algorithm {algorithm!r}")
            decoded = jwt.decode(token, key, [algorithm])
            return decoded.header, decoded.claims

    async def _key(self, kid: str | None) -> Key:
        now = time.monotonic()
        if now - self._keys_at > FRESH_SECONDS:
            await self._renew_keys()
        elif kid not in self._keys and now - self._unknown_key_at > REPEAT_SECONDS:
            self._unknown_key_at = now
            await self._read_keys()
        if kid not in self._keys:
            raise SignInError("the token is signed with an unknown key")
        return self._keys[kid]

    async def _renew_keys(self) -> None:
        """Read the keys, unless another caller has just read them or failed to: its error is then raised again."""
        async with self._renewing:
            now = time.monotonic()
            if now - self._keys_at <= FRESH_SECONDS:
                return
            if self._failure and now - self._failed_at <= REPEAT_SECONDS:
                raise self._failure.with_traceback(None)
            try:
                await self._read_keys()
            except Exception as error:
                self._failed_at, self._failure = time.monotonic(), error
                raise

    async def _read_keys(self) -> None:
        from joserfc import jwk

        keys = (await self._read((await self.metadata())["jwks_uri"])).get("keys", [])
        usable = [key for key in keys if oidc_key_type(key) in KEY_ALGORITHMS and key.get("use", "sig") == "sig"]
        self._keys = {key.get("kid"): jwk.import_key(key) for key in usable}
        if len(usable) == 1:
            # A provider with a single key may omit the key id.
            self._keys[None] = next(iter(self._keys.values()))
        self._keys_at = time.monotonic()

    def _client(self, metadata: dict[str, Any]) -> Any:
        from authlib.integrations.httpx_client import AsyncOAuth2Client

        settings, basic = self._settings, "client_secret_basic"
        is_basic = basic in metadata.get("token_endpoint_auth_methods_supported", [basic])
        method = basic if is_basic else "client_secret_post"
        return AsyncOAuth2Client(
            settings.client_id,
            settings.client_secret,
            token_endpoint_auth_method=method if settings.client_secret else "none",
            scope=settings.scopes,
            code_challenge_method="S256",
            timeout=CALL_SECONDS,
        )

    async def _read(self, url: str, headers: dict[str, str] | None = None) -> dict[str, Any]:
        import httpx2

        try:
            async with httpx2.AsyncClient(timeout=CALL_SECONDS) as http:
                reply = await http.get(url, headers={"accept": "application/json", **(headers or {})})
            reply.raise_for_status()
            body = reply.json()
        except (httpx2.HTTPError, ValueError) as error:
            raise oidc_unavailable_error(url, error) from error
        return body if isinstance(body, dict) else {}


@contextmanager
def invalid_as_sign_in_error() -> Iterator[None]:
    """Raise `SignInError` for an invalid token."""
    from joserfc.errors import JoseError

    try:
        yield
    except (JoseError, ValueError, TypeError) as error:
        raise SignInError(f"the token is invalid: {error}") from error


def is_oidc_access_token(header: dict[str, Any], claims: dict[str, Any], client_id: str) -> bool:
    """Return whether a token is an access token: by its type, by what only these have, or by its audience.

    A token for the client itself that nothing marks is none, because the audience of an ID token is the client.
    """
    types = {str(each).lower() for each in (claims.get("typ"), claims.get("token_use"))}
    if "id" in types:
        return False
    types.add(str(header.get("typ")).lower().removeprefix("application/"))
    if types & ACCESS_TYPES or claims.keys() & ACCESS_CLAIMS:
        return True
    audience = claims["aud"]
    is_for_client = client_id in (audience if isinstance(audience, list) else [audience])
    return not is_for_client and not claims.keys() & ID_CLAIMS


def oidc_unavailable_error(url: str, reason: object) -> RefusalError:
    """Return the error of a provider that does not respond correctly."""
    what = f"the sign-in provider {url} is not available ({reason}): try again, or use a token"
    return RefusalError(503, "unavailable", what, retry_after=5)


def oidc_key_type(key: dict[str, Any]) -> str:
    """Return the curve of a published key, else its type."""
    return str(key.get("crv") or key.get("kty"))


def oidc_sign_in(oidc: Oidc, claims: dict[str, Any]) -> VerifiedToken:
    """Return the sign-in that the claims of a token describe, or raise the error that refuses them."""
    at, acr = claims.get("auth_time"), claims.get("acr")
    if at is not None:
        if isinstance(at, bool) or not isinstance(at, int | float) or not math.isfinite(at):
            raise SignInError("the token's claim auth_time is not a number of seconds since 1970")
        # A provider with a fast clock must not make a sign-in last longer.
        at = min(float(at), time.time())
    caller = Principal(*oidc_person(oidc, claims))
    return VerifiedToken(caller, None, signed_in_at=at, acr=acr if isinstance(acr, str) else None)


def oidc_person(oidc: Oidc, claims: dict[str, Any]) -> AuthenticatedPerson:
    """Return the person that the claims name, or raise the error that refuses them."""
    if oidc.name_claim == "email" and claims.get("email_verified") is not True:
        raise ForbiddenError("the provider has not verified this person's e-mail address: verify it there")
    tenant = DEFAULT_TENANT if oidc.tenant_claim is None else claims.get(oidc.tenant_claim)
    if not isinstance(tenant, str) or not tenant:
        what = "the provider sent no tenant for this person"
        raise ForbiddenError(f"{what}: configure it to send {oidc.tenant_claim!r}")
    value = claims.get(oidc.groups_claim) or []
    values = value if isinstance(value, list) else [value]
    groups = [group for group in values if isinstance(group, str)]
    person = oidc.group_roles.person(claims.get(oidc.name_claim), groups, tenant)
    # A name can change at the provider; issuer and subject identify the person.
    return person._replace(subject=f"{oidc.issuer} {claims['sub']}")


class OidcBearerTokens:
    """Verifies tokens of the provider, each once."""

    def __init__(self, oidc: Oidc, provider: OidcProvider) -> None:
        self._oidc, self._provider = oidc, provider
        self._cache = Bounded[str, VerifiedToken](CACHE_SIZE)

    async def authenticate(self, scope: Scope) -> None:
        """Record in the scope the person that a provider token names, or the error that refuses it."""
        try:
            token = bearer_token(scope)
            if token and (token in self._cache or self._is_from_provider(token)):
                scope[BEARER] = await self._read(token)
        except RingiError as error:
            scope[BEARER] = error

    def _is_from_provider(self, token: str) -> bool:
        try:
            claims = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError):
            return False
        return bool(claims.get("iss") == self._oidc.issuer)

    async def _read(self, token: str) -> VerifiedToken:
        verified = self._cache.get(token) or await self._verified(token)
        if verified.expires_at is not None and verified.expires_at <= time.time():
            self._cache.pop(token, None)
            raise UnauthenticatedError("the token has expired")
        self._cache[token] = verified
        return verified

    async def _verified(self, token: str) -> VerifiedToken:
        try:
            claims = await self._provider.bearer_claims(token)
            sign_in = oidc_sign_in(self._oidc, claims)
        except SignInError as error:
            raise UnauthenticatedError(f"the provider's token is refused: {error}") from error
        metadata = TokenMetadata(token_digest(token), float(claims["iat"]))
        return sign_in._replace(expires_at=float(claims["exp"]), metadata=metadata)
