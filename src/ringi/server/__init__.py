"""The HTTP server of Ringi, and the parts from which an application builds its routes."""

from typing import TYPE_CHECKING

from ringi.base.extras import lazy_exports

if TYPE_CHECKING:
    from ringi.server.auth.authenticator import Keys, Principal, channel_of
    from ringi.server.auth.permissions import (
        inbox_for,
        is_theirs_to_answer,
        may_read,
        may_read_thread,
        require_answerable,
        require_person,
        require_readable_thread,
        visible_query,
    )
    from ringi.server.calls import json_body, reply
    from ringi.server.components import ServerComponents
    from ringi.server.embedded import EmbeddedApp, create_app
    from ringi.server.extension import Extension, RouteContext, installed_extensions
    from ringi.server.language import language_for
    from ringi.server.openapi import route_docs, schema_reference
    from ringi.server.refusals import RefusalError
    from ringi.server.routes.requests import Cursor
    from ringi.server.routes.threads import ThreadName
    from ringi.server.schemas import Problem, RunStarted
    from ringi.server.serialize import public_request
    from ringi.server.settings import ServerSettings
    from ringi.server.sse.run_output import parse_cursor
    from ringi.server.sse.sse import LongPoll

__all__ = [
    "Cursor",
    "EmbeddedApp",
    "Extension",
    "Keys",
    "LongPoll",
    "Principal",
    "Problem",
    "RefusalError",
    "RouteContext",
    "RunStarted",
    "ServerComponents",
    "ServerSettings",
    "ThreadName",
    "channel_of",
    "create_app",
    "inbox_for",
    "installed_extensions",
    "is_theirs_to_answer",
    "json_body",
    "language_for",
    "may_read",
    "may_read_thread",
    "parse_cursor",
    "public_request",
    "reply",
    "require_answerable",
    "require_person",
    "require_readable_thread",
    "route_docs",
    "schema_reference",
    "visible_query",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "auth.authenticator": "Keys Principal channel_of",
        "auth.permissions": (
            "inbox_for is_theirs_to_answer may_read may_read_thread require_answerable require_person "
            "require_readable_thread visible_query"
        ),
        "calls": "json_body reply",
        "embedded": "EmbeddedApp create_app",
        "extension": "Extension RouteContext installed_extensions",
        "language": "language_for",
        "openapi": "route_docs schema_reference",
        "components": "ServerComponents",
        "refusals": "RefusalError",
        "routes.requests": "Cursor",
        "routes.threads": "ThreadName",
        "schemas": "Problem RunStarted",
        "serialize": "public_request",
        "settings": "ServerSettings",
        "sse.run_output": "parse_cursor",
        "sse.sse": "LongPoll",
    },
)
