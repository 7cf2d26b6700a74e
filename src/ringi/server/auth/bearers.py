"""Bearer tokens of the OpenID Connect provider: programs call with the token of their signed-in user."""

from __future__ import annotations

import time
from collections import OrderedDict

import jwt
from starlette.datastructures import Headers
from starlette.types import Scope

from ringi.errors import RingiError
from ringi.server.auth.authenticator import BEARER, REMEMBERED, Principal, VerifiedToken, bearer_token
from ringi.server.auth.provider import Provider, person_of
from ringi.server.auth.revocations import Issued, mark_of
from ringi.server.identity import Oidc
from ringi.server.refusals import SignInError, UnauthenticatedError


class BearerTokens:
    """Verifies tokens of the provider, each once."""

    def __init__(self, oidc: Oidc, provider: Provider) -> None:
        self._oidc, self._provider = oidc, provider
        self._known: OrderedDict[str, VerifiedToken] = OrderedDict()

    async def look(self, scope: Scope) -> None:
        """Record in the scope the person that a provider token names, or the error that refuses it."""
        try:
            token = bearer_token(Headers(scope=scope))
            if token and self._is_theirs(token):
                scope[BEARER] = await self._read(token)
        except RingiError as error:
            scope[BEARER] = error

    def _is_theirs(self, token: str) -> bool:
        if token in self._known:
            return True
        try:
            said = jwt.decode(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError):
            return False
        return bool(said.get("iss") == self._oidc.issuer)

    async def _read(self, token: str) -> VerifiedToken:
        known = self._known.get(token) or await self._verified(token)
        if known.expires_at is not None and known.expires_at <= time.time():
            self._known.pop(token, None)
            raise UnauthenticatedError.expired()
        self._known[token] = known
        self._known.move_to_end(token)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known

    async def _verified(self, token: str) -> VerifiedToken:
        try:
            claims = await self._provider.bearer_claims(token)
        except SignInError as error:
            raise UnauthenticatedError.of_provider(error) from error
        who = Principal(*person_of(self._oidc, claims))
        return VerifiedToken(who, float(claims["exp"]), Issued(mark_of(token), float(claims["iat"])))
