"""Every error as a problem document."""

from __future__ import annotations

import json
import math
import random
from http import HTTPStatus
from typing import Any

from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Match

from ringi.base.canonical_json import jsonable
from ringi.base.validation import pydantic_error_rule
from ringi.errors import ConflictError, FieldError, InvalidError, RingiError, UnavailableError
from ringi.server.refusals import RefusalError, UnauthenticatedError

MEDIA_TYPE = "application/problem+json"
SPREAD_SECONDS = 2
"""Maximum jitter of `Retry-After` in seconds: callers refused together would otherwise return together."""
STATUSES = {
    **dict.fromkeys(("forbidden", "fresh_sign_in", "not_authorised"), 403),
    "not_found": 404,
    **dict.fromkeys(("final", "pending", "digest_mismatch", "claimed", "held", "legal_hold", "under_review"), 409),
    **dict.fromkeys(("different", "busy", "conflict"), 409),
    "invalid": 422,
    "limit": 429,
    **dict.fromkeys(("missing_extra", "unsupported"), 501),
    "unavailable": 503,
}
"""The HTTP statuses of the codes of `ringi.errors`."""
INTERNAL = (500, "internal")


def http_status_of_error(error: Exception) -> tuple[int, str]:
    """Return the HTTP status and the code of an error."""
    if isinstance(error, RefusalError):
        return error.status, error.code
    # An `HttpError` carries the code of another server's reply, and its class has none.
    own = getattr(type(error), "code", None)
    code = next((each for each in (own and getattr(error, "code", None), own) if each in STATUSES), None)
    return (STATUSES[code], code) if code else INTERNAL


def problem_document(status: int, code: str, detail: str, **more: object) -> dict[str, Any]:
    """Return a problem document."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code, **more}


def problem_document_of_error(error: Exception) -> dict[str, Any]:
    """Return the public problem document of an error; an unexpected error reveals nothing."""
    status, code = http_status_of_error(error)
    if (status, code) == INTERNAL:
        return problem_document(500, code, "an internal error occurred and was logged; retrying may help")
    more: dict[str, Any] = dict(error.more) if isinstance(error, RefusalError) else {}
    if isinstance(error, InvalidError):
        more["errors"] = [{**each._asdict(), "params": dict(each.params)} for each in error.errors]
    if isinstance(error, ConflictError):
        state = error.status if code == "final" else ""
        details = {name: getattr(error, name) for name in ("winner", "claimed_by", "review", "responder", "until")}
        more |= {name: jsonable(value) for name, value in {"state": state, **details}.items() if value}
    return problem_document(status, code, str(error), **more)


def problem_response(error: Exception) -> HttpResponse:
    """Return the response for an error."""
    headers = {}
    if isinstance(error, UnavailableError | RefusalError) and error.retry_after is not None:
        headers["retry-after"] = str(max(1, math.ceil(error.retry_after)) + random.randint(0, SPREAD_SECONDS))
    if isinstance(error, UnauthenticatedError):
        headers["www-authenticate"] = "Bearer"
    return _response(problem_document_of_error(error), headers)


def _response(body: dict[str, Any], headers: dict[str, str] | None = None) -> HttpResponse:
    content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    return HttpResponse(content, body["status"], headers, MEDIA_TYPE)


async def respond_to_ringi_error(http: HttpRequest, error: Exception) -> HttpResponse:
    """Respond to an error of Ringi."""
    return problem_response(error)


async def respond_to_http_error(http: HttpRequest, error: Exception) -> HttpResponse:
    """Respond to an error of the framework, such as an unknown path or a wrong method."""
    assert isinstance(error, HTTPException)
    code = HTTPStatus(error.status_code).name.lower()
    detail = f"{http.method} {http.url.path}: {error.detail}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        detail += ": /openapi.json lists the paths"
    headers = dict(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        headers = {"allow": ", ".join(allowed_methods_of_path(http))}
    return _response(problem_document(error.status_code, code, detail), headers)


def allowed_methods_of_path(http: HttpRequest) -> list[str]:
    """Return all methods of a path: each of its routes knows only its own."""
    matching = [route for route in http.app.routes if route.matches(http.scope)[0] != Match.NONE]
    path = http.scope["path"].removeprefix(http.scope.get("root_path", ""))
    # `/v1/requests/respond` is not an id of `/v1/requests/{id}`.
    exact = [route for route in matching if getattr(route, "path", None) == path]
    methods = {method for route in exact or matching for method in getattr(route, "methods", None) or ()}
    return sorted(methods | ({"HEAD"} if "GET" in methods else set()))


async def respond_to_invalid_parameter(http: HttpRequest, error: Exception) -> HttpResponse:
    """Respond to an invalid query or path parameter; an unauthenticated caller receives only 401."""
    assert isinstance(error, RequestValidationError)
    try:
        http.app.state.auth.caller(http.scope)
    except RingiError as refusal:
        return problem_response(refusal)
    found = [
        FieldError(".".join(str(part) for part in each["loc"][1:]), each["msg"], *pydantic_error_rule(each))
        for each in error.errors()
    ]
    return problem_response(InvalidError(found))
