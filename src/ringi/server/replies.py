"""Replies of JSON that is bytes already."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

JSON = "application/json"


def reply(content: bytes, status: int = 200) -> HttpResponse:
    """Return a response of JSON that is bytes already."""
    return HttpResponse(content, status, media_type=JSON)
