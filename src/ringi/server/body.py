"""Parsing of request bodies as strict JSON."""

from __future__ import annotations

import json
import math
from collections import Counter
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest

from ringi.server.refusals import MalformedError


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
        level = [child for each in level for child in _children(each)]
    if level:
        raise _too_deep(max_depth)


def _too_deep(max_depth: int) -> MalformedError:
    return MalformedError(f"the body is nested deeper than {max_depth} levels: reduce the nesting")


def _children(value: object) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _refuse_lone_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        what = "the body contains half of a surrogate pair, which is not valid text"
        raise MalformedError(f"{what}: send whole characters") from None
