"""What the commands print: lines for people, or JSON."""

from __future__ import annotations

import json
import sys
from typing import Any

from rich.console import Console

from ringi.request import Request

out, err = Console(), Console(stderr=True)


def say(data: Any, text: str, as_json: bool) -> None:
    """Print the data as one line of JSON, or the text."""
    line = json.dumps(data, ensure_ascii=False) if as_json else text
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def public(request: Request) -> Any:
    """Return a request as the API shows it."""
    from ringi.server.shapes import request_json

    return json.loads(request_json(request))


def outcome(request: Request) -> str:
    """Return who decided what, to follow a status."""
    response = request.response
    return f"  {response.decision} by {visible(response.responder)}" if response else ""


def visible(text: str, keep: str = "") -> str:
    """Return a text with control and other unseen characters spelt out: a terminal would obey them."""
    return "".join(c if c.isprintable() or c in keep else f"\\u{{{ord(c):x}}}" for c in text)
