"""Sign-in at a provider, and its page: a one-use secret goes, a code comes back, and a session cookie is set."""

from __future__ import annotations

import hmac
import re
import secrets
import time
from functools import partial
from html import escape
from logging import getLogger
from typing import NamedTuple, get_args

import jwt
from fastapi import FastAPI
from fastapi.routing import APIRoute
from starlette.requests import Request as HttpRequest
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.responses import Response as HttpResponse

from ringi.base.bounded import Bounded
from ringi.base.texts import error_code, text_catalogue
from ringi.domain.voting import Tier
from ringi.errors import NotFoundError, RingiError
from ringi.server.auth.authenticator import ALGORITHM, Authenticator, server_base_path, set_session
from ringi.server.auth.oidc_provider import OidcProvider, oidc_sign_in
from ringi.server.calls import reply
from ringi.server.identity import Oidc
from ringi.server.language import language_for
from ringi.server.openapi import route_docs
from ringi.server.problems import problem_response
from ringi.server.refusals import SignInError
from ringi.server.schemas import Ways
from ringi.server.settings import ServerSettings

PATH = "/v1/session/oidc"
COOKIE = "ringi_sign_in"
ATTEMPT_SECONDS = 600
CACHE_SIZE = 10_000
LONGEST_COOKIE = 3_900
"""Browsers silently drop longer cookies."""
LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")
log = getLogger(__name__)


class SignInAttempt(NamedTuple):
    """A started sign-in; the browser stores it, signed, until the callback."""

    state: str
    nonce: str
    verifier: str
    next: str
    exp: int


def safe_local_path(path: str | None) -> str:
    """Return a path on this server, else `/`: a sign-in must not redirect to another site."""
    return path if path and LOCAL_PATH.fullmatch(path) else "/"


class SignInRoutes:
    """The routes for signing in."""

    def __init__(self, auth: Authenticator, settings: ServerSettings, provider: OidcProvider | None) -> None:
        self._auth, self._oidc, self._provider = auth, settings.oidc, provider
        self._needs_time = bool(settings.fresh_sign_in)
        tiers = [tier for tier in reversed(get_args(Tier)) if tier in settings.sign_in_acr]
        self._acr_values = list(dict.fromkeys(settings.sign_in_acr[tier] for tier in tiers))
        self._secret = auth.keys.derive("sign in")
        self._used_states = Bounded[str, None](CACHE_SIZE)

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, methods=["GET"], tags=["session"])
        add("/v1/session/ways", self.ways, **route_docs("Ways"))
        add(PATH, self.begin, **route_docs(None, 302))
        # Providers add parameters of their own.
        api.router.add_api_route(
            f"{PATH}/callback", self.finish, tags=["session"], route_class_override=APIRoute, **route_docs(None, 302)
        )

    async def ways(self) -> HttpResponse:
        """Return the ways to sign in other than by a token."""
        return reply(Ways(oidc=self._oidc is not None))

    async def begin(self, http: HttpRequest, next: str | None = None, fresh: bool = False) -> HttpResponse:
        """Redirect a person to the provider; `next` is the path of this server to which they return.

        With `fresh`, the provider asks for the credentials again, even if the person is signed in there.
        """
        oidc, provider = self._parts()
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        attempt = SignInAttempt(state, nonce, verifier, safe_local_path(next), int(time.time()) + ATTEMPT_SECONDS)
        # A provider must state the time of the sign-in only if it is asked for a maximum age.
        max_age = 0 if fresh else int(oidc.session_seconds) if self._needs_time else None
        acr_values, address = self._acr_values if fresh else (), self._own_address(http)
        try:
            url = await provider.authorization_url(address, state, nonce, verifier, max_age, acr_values)
        except RingiError as error:
            return sign_in_error_response(http, error)
        response = RedirectResponse(url, 302)
        cookie = jwt.encode(attempt._asdict(), self._secret, ALGORITHM)
        path, is_https = server_base_path(http.scope) + PATH, self._is_https(http)
        # Lax: the callback is initiated by the provider's site, which does not send strict cookies.
        response.set_cookie(COOKIE, cookie, ATTEMPT_SECONDS, path=path, secure=is_https, httponly=True, samesite="lax")
        return response

    async def finish(
        self, http: HttpRequest, state: str = "", code: str = "", error: str = "", iss: str | None = None
    ) -> HttpResponse:
        """Complete a sign-in at the provider, and set the page's cookie."""
        self._parts()
        try:
            return await self._complete(http, state, code, error, iss)
        except RingiError as refusal:
            return sign_in_error_response(http, refusal)

    async def _complete(self, http: HttpRequest, state: str, code: str, error: str, iss: str | None) -> HttpResponse:
        oidc, provider = self._parts()
        attempt = self._check_attempt(http, state)
        if iss is not None and iss != oidc.issuer:
            raise SignInError("the reply comes from another provider")
        if error or not code:
            reason = http.query_params.get("error_description", "")[:300]
            raise SignInError(f"the provider replied {error[:100]!r}" + (f", {reason!r}" if reason else ""))
        tokens = await provider.exchange(code, attempt.verifier, self._own_address(http))
        claims = await provider.claims(tokens, attempt.nonce)
        sign_in, now = oidc_sign_in(oidc, claims), time.time()
        if sign_in.signed_in_at is None:
            sign_in = sign_in._replace(signed_in_at=now)
        # Use does not renew it: the provider must confirm the person's access again.
        token, seconds = self._auth.create_session(sign_in, now + oidc.session_seconds)
        if len(token) > LONGEST_COOKIE:
            what = f"{len(sign_in.principal.groups)} groups do not fit in a cookie"
            raise SignInError(f"{what}; the provider must send fewer")
        response = RedirectResponse(server_base_path(http.scope) + attempt.next, 302)
        set_session(response, token, seconds, http.scope, is_https=self._is_https(http))
        response.delete_cookie(COOKIE, path=server_base_path(http.scope) + PATH, httponly=True, samesite="lax")
        return response

    def _parts(self) -> tuple[Oidc, OidcProvider]:
        if not self._oidc or not self._provider:
            raise NotFoundError("sign-in", "oidc")
        return self._oidc, self._provider

    def _check_attempt(self, http: HttpRequest, state: str) -> SignInAttempt:
        cookie = http.cookies.get(COOKIE, "")
        try:
            attempt = SignInAttempt(**jwt.decode(cookie, self._secret, [ALGORITHM], options={"require": ["exp"]}))
        except (jwt.PyJWTError, TypeError) as error:
            raise SignInError("this browser has not started a sign-in, or started it too long ago") from error
        if not hmac.compare_digest(attempt.state.encode(), state.encode()):
            raise SignInError("this browser started another sign-in")
        if attempt.state in self._used_states:
            raise SignInError("this sign-in was already completed")
        self._used_states[attempt.state] = None
        return attempt

    def _own_address(self, http: HttpRequest) -> str:
        base = self._oidc and self._oidc.public_url
        return f"{base or f'{http.url.scheme}://{http.url.netloc}{server_base_path(http.scope)}'}{PATH}/callback"

    def _is_https(self, http: HttpRequest) -> bool:
        return self._own_address(http).startswith("https:")


PAGE = """<!doctype html>
<html lang="{language}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark"><title>{title} · Ringi</title>
<style>body{{font:16px/1.6 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem}}
code{{display:block;overflow-wrap:anywhere;padding:.5rem .75rem;border:1px solid #8888}}a{{margin-right:1.5rem}}</style>
</head><body><main><h1>{title}</h1><p>{why}</p><p><code>{detail}</code></p>
<p><a href="{again_at}">{again}</a><a href="{back_at}">{back}</a></p></main></body></html>
"""


def sign_in_error_response(http: HttpRequest, error: RingiError) -> HttpResponse:
    """Return an error page for a person, or raise the error for a program.

    The provider's message is escaped as text, and only in English.
    """
    if "text/html" not in http.headers.get("accept", ""):
        raise error
    language, base, problem = language_for(http.scope), server_base_path(http.scope), problem_response(error)
    page: dict[str, str] = text_catalogue(language)["sign_in"]
    why = page[{403: "stranger", 503: "unavailable"}.get(problem.status_code, "failed")]
    # The detail is in English: other readers get its code, and the administrator finds the detail in the log.
    log.warning("sign-in failed (%s): %s", error_code(error), error)
    detail = str(error) if language == "en" else error_code(error)
    links = {"language": language, "again_at": f"{base}{PATH}", "back_at": f"{base}/"}
    values = {**page, **links, "why": why, "detail": detail}
    escaped = {name: escape(text) for name, text in values.items()}
    headers = {name: value for name, value in problem.headers.items() if name == "retry-after"}
    return HTMLResponse(PAGE.format(**escaped), problem.status_code, headers)
