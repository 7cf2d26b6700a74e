"""JSON replies from pre-encoded bytes."""

from __future__ import annotations

from starlette.responses import Response as HttpResponse

JSON = "application/json"


def json_response(content: bytes, status: int = 200) -> HttpResponse:
    """Return a JSON response.

    Args:
        content: The encoded JSON.
        status: The HTTP status.
    """
    return HttpResponse(content, status, media_type=JSON)
