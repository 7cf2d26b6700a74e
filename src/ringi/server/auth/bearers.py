"""Bearer tokens of the OpenID Connect provider: programs call with the token of their signed-in user."""

from __future__ import annotations

import time
from collections import OrderedDict

import jwt
from starlette.types import Scope

from ringi.errors import RingiError
from ringi.server.auth.authenticator import BEARER, CACHE_SIZE, Principal, VerifiedToken, bearer_token
from ringi.server.auth.oidc_provider import OidcProvider, acr_of, person_of, sign_in_time
from ringi.server.auth.revocations import TokenMetadata, mark_of
from ringi.server.identity import Oidc
from ringi.server.refusals import SignInError, UnauthenticatedError


class BearerTokens:
    """Verifies tokens of the provider, each once."""

    def __init__(self, oidc: Oidc, provider: OidcProvider) -> None:
        self._oidc, self._provider = oidc, provider
        self._cache: OrderedDict[str, VerifiedToken] = OrderedDict()

    async def authenticate(self, scope: Scope) -> None:
        """Record in the scope the person that a provider token names, or the error that refuses it."""
        try:
            token = bearer_token(scope)
            if token and self._is_from_provider(token):
                scope[BEARER] = await self._read(token)
        except RingiError as error:
            scope[BEARER] = error

    def _is_from_provider(self, token: str) -> bool:
        if token in self._cache:
            return True
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
        self._cache.move_to_end(token)
        if len(self._cache) > CACHE_SIZE:
            self._cache.popitem(last=False)
        return verified

    async def _verified(self, token: str) -> VerifiedToken:
        try:
            claims = await self._provider.bearer_claims(token)
            signed_in_at = sign_in_time(claims)
        except SignInError as error:
            raise UnauthenticatedError(f"the provider's token is refused: {error}") from error
        caller = Principal(*person_of(self._oidc, claims))
        metadata = TokenMetadata(mark_of(token), float(claims["iat"]))
        return VerifiedToken(caller, float(claims["exp"]), metadata, signed_in_at=signed_in_at, acr=acr_of(claims))
