"""What each application of the tests builds alike, and few tests use: built when it is used, or once in a process.

FastAPI builds validators of 86 routes for each application, of which a test calls a handful, and httpx reads the file
of authorities for each client: together they took two thirds of the processor time of the tests of the server. Versions
and entry points are read from the metadata of packages, and each command of `ringi` from the annotations of its
function.
"""

from __future__ import annotations

import os
import ssl
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module, metadata
from typing import Any

import httpx
from fastapi.routing import APIRoute
from starlette.routing import compile_path, get_name
from typer.utils import get_params_from_function

_contexts: dict[tuple[object, ...], ssl.SSLContext] = {}
_read_authorities = httpx.create_ssl_context
_build_route = APIRoute.__init__
_read_entry_points = cache(lambda path, group: metadata.entry_points(group=group))


def install() -> None:
    """Build routes late, read the rest once; where a library moves it, the tests are only slower."""
    for place, name, replacement in (
        ("importlib.metadata", "version", cache(metadata.version)),
        ("ringi.runs.frameworks", "entry_points", _entry_points),
        ("typer.main", "get_params_from_function", cache(get_params_from_function)),
        ("httpx", "create_ssl_context", _context),
        ("httpx._transports.default", "create_ssl_context", _context),
    ):
        with suppress(ImportError, AttributeError):
            module = import_module(place)
            getattr(module, name)
            setattr(module, name, replacement)
    setattr(APIRoute, "__init__", _begin_route)  # noqa: B010
    setattr(APIRoute, "__getattr__", _finish_route)  # noqa: B010


def _begin_route(route: APIRoute, path: str, endpoint: Any, **options: Any) -> None:
    """Set what routing reads."""
    route.path, route.endpoint = path, endpoint
    route.path_regex, route.path_format, route.param_convertors = compile_path(path)
    route.methods = {method.upper() for method in options.get("methods") or ["GET"]}
    route.name = options.get("name") or get_name(endpoint)
    vars(route)["_options"] = options


def _finish_route(route: APIRoute, name: str) -> Any:
    """Build a route of which something else is read."""
    options = vars(route).pop("_options", None)
    if options is None:
        raise AttributeError(f"a route has no {name}")
    _build_route(route, route.path, route.endpoint, **options)
    return getattr(route, name)


def _entry_points(group: str) -> metadata.EntryPoints:
    """Return entry points as the packages of this path have them."""
    return _read_entry_points(tuple(sys.path), group)


def _context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """Return the authorities that a client trusts, as httpx reads them from files."""
    key = (verify, cert, trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    if key not in _contexts:
        _contexts[key] = _read_authorities(verify=verify, cert=cert, trust_env=trust_env)
    return _contexts[key]
