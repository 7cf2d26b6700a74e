"""A local server that speaks the Responses protocol over HTTP with a scripted model."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Item = dict[str, Any]
Script = Callable[[list[Item]], list[Item]]
"""Returns the output of the model for the input of a request."""
MODEL = "scripted-1"
USAGE = {
    "input_tokens": 10,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 3,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 13,
}


def message(text: str) -> Item:
    """Return a message of the model."""
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def events_of(number: int, output: list[Item]) -> Iterator[Item]:
    """Yield the events of a response."""
    response = {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 0,
        "model": MODEL,
        "output": [],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "status": "in_progress",
    }
    yield {"type": "response.created", "response": response}
    for index, item in enumerate(output):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        for part in item["content"] if item["type"] == "message" else ():
            about = {"item_id": item["id"], "output_index": index, "content_index": 0, "logprobs": []}
            yield {"type": "response.output_text.delta", "delta": part["text"], **about}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    completed = {**response, "output": output, "status": "completed", "usage": USAGE}
    yield {"type": "response.completed", "response": completed}


class ResponsesServer(ThreadingHTTPServer):
    """The server, and the input of each request."""

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script = script
        self.inputs: list[list[Item]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Handler(BaseHTTPRequestHandler):
    """Answers `POST /v1/responses` with a stream of events."""

    server: ResponsesServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert (self.path, body["stream"]) == ("/v1/responses", True)
        input = body["input"]
        self.server.inputs.append(input)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for n, event in enumerate(events_of(len(self.server.inputs), self.server.script(input))):
            data = json.dumps({"sequence_number": n, **event})
            self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing."""


@contextmanager
def responses_server(script: Script) -> Iterator[ResponsesServer]:
    """Run the server until the block ends."""
    with ResponsesServer(script) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
