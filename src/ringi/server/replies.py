"""Replies of the server with JSON."""

from __future__ import annotations

from pydantic import BaseModel
from starlette.responses import Response as HttpResponse

from ringi.domain.request import Request
from ringi.server.serialize import model_json

JSON = "application/json"


def reply(model: BaseModel, status: int = 200, **options: object) -> HttpResponse:
    """Return a model as a JSON response.

    Args:
        model: An instance of a model of the API.
        status: The HTTP status.
        **options: Options of `model_dump_json`.
    """
    return json_response(model_json(model, **options), status)


def json_response(content: bytes, status: int = 200) -> HttpResponse:
    """Return a JSON response.

    Args:
        content: The encoded JSON.
        status: The HTTP status.
    """
    return HttpResponse(content, status, media_type=JSON)


def status_after(request: Request) -> int:
    """Return the HTTP status of an answer: 202 if it is stored, and the request still pending."""
    return 200 if request.is_final else 202
