"""A small server that speaks as OpenAI's does, and says what a script tells it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = dict[str, Any]
Script = Callable[[list[Answer]], Answer]


def calling(name: str, id: str, **args: Any) -> Answer:
    """Return an answer that calls one tool."""
    function = {"name": name, "arguments": json.dumps(args)}
    return {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]}


def saying(text: str) -> Answer:
    """Return an answer in words."""
    return {"role": "assistant", "content": text}


class Provider(ThreadingHTTPServer):
    """Answers chat completions, whole or streamed, and keeps what it was asked."""

    daemon_threads = True

    def __init__(self, script: Script) -> None:
        super().__init__(("127.0.0.1", 0), Completions)
        self.script, self.asked = script, list[Answer]()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"


class Completions(BaseHTTPRequestHandler):
    """One call of the API."""

    server: Provider
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(body)
        answer = self.server.script(body["messages"])
        if not body.get("stream"):
            return self._send("application/json", json.dumps(whole(answer)))
        chunks = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in streamed(answer))
        return self._send("text/event-stream", f"{chunks}data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def _send(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def whole(answer: Answer) -> Answer:
    reason = "tool_calls" if answer.get("tool_calls") else "stop"
    choice = {"index": 0, "message": answer, "finish_reason": reason}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {**frame("chat.completion"), "choices": [choice], "usage": usage}


def streamed(answer: Answer) -> Iterator[Answer]:
    """Yield the answer in pieces: arguments of tools come a few characters at a time."""
    yield piece({"role": "assistant", "content": ""})
    for word in (answer["content"] or "").split(" "):
        yield piece({"content": f"{word} "})
    for index, call in enumerate(answer.get("tool_calls", [])):
        text = call["function"]["arguments"]
        yield piece({"tool_calls": [{**call, "index": index, "function": {**call["function"], "arguments": ""}}]})
        for start in range(0, len(text), 7):
            part = {"index": index, "function": {"arguments": text[start : start + 7]}}
            yield piece({"tool_calls": [part]})
    yield piece({}, "tool_calls" if answer.get("tool_calls") else "stop")


def piece(delta: Answer, reason: str | None = None) -> Answer:
    return {**frame("chat.completion.chunk"), "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


def frame(kind: str) -> Answer:
    return {"id": "chat-1", "object": kind, "created": 1, "model": "local"}


@contextmanager
def provider(script: Script) -> Iterator[Provider]:
    """Serve until the block ends."""
    with Provider(script) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
