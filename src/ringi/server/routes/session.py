"""The page's session: its token is stored in a cookie that scripts cannot read."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.domain.ask import parse_body
from ringi.server.auth.authenticator import (
    Authenticator,
    Principal,
    server_base_path,
    session_cookie,
    set_session,
)
from ringi.server.auth.links import PREFIX, SignInLinks
from ringi.server.auth.revocations import Revocation
from ringi.server.callers import AnyCaller
from ringi.server.calls import json_body, reply
from ringi.server.openapi import route_docs
from ringi.server.refusals import RefusalError
from ringi.server.schemas import ServerInfo, Session, SignIn
from ringi.server.settings import ServerSettings


class SessionRoutes:
    """The signed-in person, and information about the server."""

    def __init__(self, auth: Authenticator, links: SignInLinks, settings: ServerSettings) -> None:
        self._auth, self._links, self._settings = auth, links, settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["session"])
        add("/v1/session", self.sign_in, methods=["POST"], **route_docs("Session", body="SignIn"))
        add("/v1/session", self.show, methods=["GET"], **route_docs("Session"))
        add("/v1/session", self.sign_out, methods=["DELETE"], **route_docs(None, 204))
        add("/v1/info", self.info, methods=["GET"], **route_docs("Info"))

    async def sign_in(self, http: HttpRequest) -> HttpResponse:
        """Exchange a token or a one-use link for the page's cookie.

        If another person is signed in on this page, the call fails with 409 unless `replace` is true: a link from
        another site must not silently change the name under which a person decides.
        """
        self._auth.refuse_foreign(http.scope, Headers(scope=http.scope), is_origin_needed=False)
        body = parse_body(SignIn, await json_body(http, max_depth=self._settings.max_depth))
        is_link = body.token.startswith(PREFIX)
        verified = self._links.verify(body.token) if is_link else self._auth.verify(body.token)
        self._auth.refuse_revoked(verified)
        caller = verified.principal
        if caller.role == "agent":
            what = "an agent's token cannot open a session on the page"
            raise RefusalError(403, "agent_session", f"{what}: use `ringi link`, or a person's token")
        if is_link:
            await self._links.refuse_used(verified)
        current = self._auth.person_of_cookie(http.scope)
        if current and current[:3] != caller[:3] and not body.replace:
            what = f'{current.name!r} is signed in: send "replace": true to sign in as {caller.name!r}'
            now, other = session_of_caller(current).model_dump(), session_of_caller(caller).model_dump()
            raise RefusalError(409, "signed_in", what, current=now, other=other)
        if is_link:
            await self._links.use(verified)
        verified = self._auth.with_sign_in(verified)
        token, seconds = self._auth.create_session(verified, None if is_link else verified.expires_at)
        response = reply(session_of_caller(caller))
        set_session(response, token, seconds, http.scope)
        return response

    async def show(self, caller: AnyCaller) -> HttpResponse:
        """Return the signed-in person."""
        return reply(session_of_caller(caller))

    async def sign_out(self, http: HttpRequest, everywhere: bool = False) -> HttpResponse:
        """Delete the cookie; `everywhere` also revokes every token and session of the caller's name and role."""
        self._auth.refuse_foreign(http.scope, Headers(scope=http.scope), is_origin_needed=False)
        if everywhere:
            verified = self._auth.verified_token(http.scope, is_open_to_auditors=True)
            caller, revocations = verified.principal, self._auth.revocations
            # A server with a fast clock may have just issued the caller's own token.
            until = max(revocations.now(), verified.metadata.at if verified.metadata else 0)
            revocation = Revocation(tenant=caller.tenant, name=caller.name, role=caller.role, at=until, by=caller.actor)
            await revocations.revoke(revocation)
        response = HttpResponse(status_code=204)
        name, path = session_cookie(http.scope), f"{server_base_path(http.scope)}/"
        response.delete_cookie(name, path=path, httponly=True, samesite="strict")
        return response

    async def info(self, caller: AnyCaller) -> HttpResponse:
        """Return the version and the settings that the page displays."""
        settings = self._settings
        info = ServerInfo(
            scripted=settings.scripted,
            model=settings.model,
            version=version("ringi"),
            no_deliveries=settings.no_deliveries,
        )
        return reply(info)


def session_of_caller(caller: Principal) -> Session:
    """Return the signed-in person as data for the page."""
    return Session(name=caller.name, role=caller.role, tenant=caller.tenant, groups=list(caller.groups))
