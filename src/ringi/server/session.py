"""The page's session: the token of its link, kept where no script can read it."""

from __future__ import annotations

from functools import partial
from importlib.metadata import version

from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse

from ringi.ask import parsed
from ringi.server.auth import COOKIE, Door, Known, Principal, set_session
from ringi.server.body import json_body
from ringi.server.models import SignIn
from ringi.server.openapi import documented
from ringi.server.platform import ServerSettings
from ringi.server.revocations import Revocation
from ringi.server.shapes import dumped, reply

LONGEST = 365 * 86_400


class SessionRoutes:
    """Who is signed in, and on what."""

    def __init__(self, door: Door, settings: ServerSettings) -> None:
        self._door, self._settings = door, settings

    def add_to(self, api: FastAPI) -> None:
        """Add the routes."""
        add = partial(api.add_api_route, tags=["session"])
        add("/v1/session", self.sign_in, methods=["POST"], **documented("Session", body="SignIn"))
        add("/v1/session", self.show, methods=["GET"], **documented("Session"))
        add("/v1/session", self.sign_out, methods=["DELETE"], **documented(None, 204))
        add("/v1/info", self.info, methods=["GET"], **documented("Info"))

    async def sign_in(self, http: HttpRequest) -> HttpResponse:
        """Exchange a token for the page's cookie."""
        self._door.refuse_foreign(http.scope, Headers(scope=http.scope), is_origin_needed=False)
        token = parsed(SignIn, await json_body(http, max_depth=self._settings.max_depth)).token
        response = session_reply(self._door.known(token).principal)
        set_session(response, token, LONGEST, is_https=http.url.scheme == "https")
        return response

    async def show(self, http: HttpRequest) -> HttpResponse:
        """Return who is signed in."""
        return session_reply(self._door.caller(http.scope))

    async def sign_out(self, http: HttpRequest, everywhere: bool = False) -> HttpResponse:
        """Forget the cookie; `everywhere` also revokes every token and session of the caller's name and role."""
        self._door.refuse_foreign(http.scope, Headers(scope=http.scope), is_origin_needed=False)
        if everywhere:
            await self._revoke(self._door.entry(http.scope))
        response = HttpResponse(status_code=204)
        response.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
        return response

    async def _revoke(self, known: Known) -> None:
        who, revocations = known.principal, self._door.revocations
        # A server whose clock is ahead may just have made the caller's own.
        until = max(revocations.now(), known.issued.at if known.issued else 0)
        await revocations.revoke(Revocation(tenant=who.tenant, name=who.name, role=who.role, at=until, by=who.actor))

    async def info(self, http: HttpRequest) -> HttpResponse:
        """Return what runs here."""
        self._door.caller(http.scope)
        settings = self._settings
        return reply(dumped({"scripted": settings.scripted, "model": settings.model, "version": version("ringi")}))


def session_reply(who: Principal) -> HttpResponse:
    """Return who somebody is, as JSON."""
    return reply(dumped({"name": who.name, "role": who.role, "tenant": who.tenant, "groups": who.groups}))
