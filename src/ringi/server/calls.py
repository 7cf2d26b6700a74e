"""What a call sends and gets: its query and JSON body, read strictly, and its reply."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Coroutine, Set
from typing import Any

from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import QueryParams
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import Response as HttpResponse
from starlette.routing import Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ringi.domain.request import Request
from ringi.inbox import tracing
from ringi.server.refusals import MalformedError
from ringi.server.serialize import api_model_json


async def json_body(http: HttpRequest, *, max_depth: int) -> Any:
    """Return the JSON body of a call; an empty body is an empty object.

    Args:
        http: The call.
        max_depth: The maximum nesting depth.

    Raises:
        MalformedError: The body is not strict JSON.
    """
    try:
        raw = await http.body()
    except ClientDisconnect:
        raise MalformedError("the body is shorter than its length: send the complete body") from None
    return parse_strict_json(raw, max_depth=max_depth) if raw else {}


def parse_strict_json(raw: bytes, *, max_depth: int) -> Any:
    """Return strict JSON: no duplicate names, no NaN, limited depth, and only text that can be encoded again."""
    try:
        value = STRICT.decode(raw.decode("utf-8"))
    except RecursionError:
        raise _too_deep(max_depth) from None
    except ValueError as error:
        raise MalformedError(f"the body is not JSON: {error}") from error
    if raw.count(b"[") + raw.count(b"{") > max_depth:
        _refuse_depth(value, max_depth)
    if b"\\u" in raw:
        _refuse_lone_surrogates(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        (name, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise MalformedError(f"the name {name!r} appears more than once in an object of the body: send it once")
    return members


def _refuse_constant(text: str) -> Any:
    raise MalformedError(f"{text[:50]} is not a JSON number: send a finite number, text or null")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        _refuse_constant(text)
    return number


STRICT = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_refuse_constant, parse_float=_finite)


def _refuse_depth(value: object, max_depth: int) -> None:
    level = [value]
    for _ in range(max_depth + 1):
        holders = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [child for each in holders for child in each]
    if level:
        raise _too_deep(max_depth)


def _too_deep(max_depth: int) -> MalformedError:
    return MalformedError(f"the body is nested deeper than {max_depth} levels: reduce the nesting")


def _refuse_lone_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        what = "the body contains half of a surrogate pair, which is not valid text"
        raise MalformedError(f"{what}: send whole characters") from None


def reply(model: BaseModel, status: int = 200, **options: object) -> HttpResponse:
    """Return a model as a JSON response.

    Args:
        model: An instance of a model of the API.
        status: The HTTP status.
        **options: Options of `model_dump_json`.
    """
    return json_response(api_model_json(model, **options), status)


def json_response(content: bytes, status: int = 200) -> HttpResponse:
    """Return a JSON response.

    Args:
        content: The encoded JSON.
        status: The HTTP status.
    """
    return HttpResponse(content, status, media_type="application/json")


def http_status_after_answer(request: Request) -> int:
    """Return the HTTP status of an answer: 202 if it is stored, and the request still pending."""
    return 200 if request.is_final else 202


class StrictRoute(APIRoute):
    """A route that refuses unknown query parameters: a misspelled filter would otherwise match everything."""

    def get_route_handler(self) -> Callable[[HttpRequest], Coroutine[Any, Any, HttpResponse]]:
        """Return the handler, preceded by the check."""
        handle = super().get_route_handler()
        allowed = query_parameter_names(self.dependant)

        async def handle_checked(http: HttpRequest) -> HttpResponse:
            refuse_unknown_parameters(http.scope, allowed)
            return await handle(http)

        return handle_checked


class StrictPlainRoute(Route):
    """The same without FastAPI, for streams."""

    def __init__(self, path: str, endpoint: Callable[..., Any], *, methods: list[str], allowed: Set[str] = frozenset()):
        super().__init__(path, endpoint, methods=methods)
        self._allowed = allowed

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        if self.methods and scope["method"] in self.methods:
            refuse_unknown_parameters(scope, self._allowed)
        await super().handle(scope, receive, send)


class RouteShortcut:
    """Handles the calls of one route before the framework, whose layers take as long as the route.

    A call with parameters passes through the framework, which refuses them. So do all calls if OpenTelemetry is
    configured, because the framework writes a span for each.

    Args:
        route: The route; the middleware around this object answers its errors.
        app: The application that handles all other calls.
    """

    def __init__(self, route: Route, app: ASGIApp) -> None:
        self._route, self._app = route, app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one call."""
        match, values = self._route.matches(scope)
        if match is not Match.FULL or scope["query_string"] or tracing.is_enabled():
            await self._app(scope, receive, send)
            return
        scope.update(values)
        response = await self._route.endpoint(HttpRequest(scope, receive))
        await response(scope, receive, send)


def query_parameter_names(dependant: Dependant) -> set[str]:
    """Return the names of the query parameters of a route and of what it depends on."""
    kinds = {field.alias: field.field_info.annotation for field in dependant.query_params}
    own = {name for alias, kind in kinds.items() for name in getattr(kind, "model_fields", (alias,))}
    return own.union(*map(query_parameter_names, dependant.dependencies))


def refuse_unknown_parameters(scope: Scope, allowed: Set[str]) -> None:
    """Raise `RequestValidationError` for unknown query parameters."""
    names = QueryParams(scope["query_string"]) if scope["query_string"] else ()
    if unknown := [name for name in names if name not in allowed]:
        remedy = f"choose {', '.join(sorted(allowed))}" if allowed else "none allowed"
        wrong = {"type": "extra_forbidden", "msg": f"unknown parameter: {remedy}"}
        raise RequestValidationError([{**wrong, "loc": ("query", name)} for name in unknown])
