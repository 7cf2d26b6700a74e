"""A local model provider with a script instead of a model: Anthropic's Messages API and OpenAI's Responses API.

The prompt contains the script: `SCRIPT [{"tool": …, "input": …}, …] END`. Each turn calls the next tool, and the last
turn writes "done". The server has no state: the number of results in the conversation is the number of steps done.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

SCRIPT = re.compile(r"SCRIPT (\[.*?\]) END", re.DOTALL)
Event = dict[str, Any]


def prompt_of(*steps: dict[str, Any]) -> str:
    """Return the prompt that makes the model call these tools in order."""
    return f"SCRIPT {json.dumps(steps)} END"


def steps_in(texts: list[str]) -> list[dict[str, Any]]:
    """Return the script in the first of these texts that has one."""
    found = [match for text in texts if (match := SCRIPT.search(text))]
    return json.loads(found[0][1]) if found else []


def anthropic_events(body: dict[str, Any]) -> Iterator[Event]:
    """Stream the next turn of the script in the format of the Messages API."""
    blocks = [block for message in body["messages"] for block in content_blocks(message["content"])]
    steps = steps_in([block["text"] for block in blocks if block.get("type") == "text"])
    done = sum(block.get("type") == "tool_result" for block in blocks)
    has_tools = any(tool.get("name") == "Bash" for tool in body.get("tools", []))
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": f"msg_{done}", "type": "message", "role": "assistant", "model": body["model"], "content": []}
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    if has_tools and done < len(steps):
        step = steps[done]
        call_id = step.get("id", f"toolu_{abs(hash(json.dumps(steps))) % 10**12}_{done}")
        block = {"type": "tool_use", "id": call_id, "name": step["tool"], "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step["input"])}
        reason = "tool_use"
    else:
        block, reason = {"type": "text", "text": ""}, "end_turn"
        delta = {"type": "text_delta", "text": "done"}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def content_blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks of a message's content."""
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def openai_events(body: dict[str, Any]) -> Iterator[Event]:
    """Stream the next turn of the script in the format of the Responses API."""
    texts = [part["text"] for item in body["input"] for part in item.get("content") or [] if "text" in part]
    steps = steps_in(texts)
    done = sum(str(item.get("type", "")).endswith("_call_output") for item in body["input"])
    response = {"id": f"resp_{done}", "object": "response", "model": body["model"], "output": []}
    yield {"type": "response.created", "response": {**response, "status": "in_progress"}}
    item: dict[str, Any]
    if done < len(steps):
        step = steps[done]
        call_id = step.get("id", f"call_{abs(hash(json.dumps(steps))) % 10**12}_{done}")
        item = {"id": f"item_{done}", "call_id": call_id, "name": step["tool"], "status": "completed"}
        if isinstance(step["input"], str):
            item |= {"type": "custom_tool_call", "input": step["input"]}
        else:
            item |= {"type": "function_call", "arguments": json.dumps(step["input"])}
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {"type": "message", "id": f"item_{done}", "role": "assistant", "status": "completed", "content": content}
    yield {"type": "response.output_item.added", "output_index": 0, "item": item}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    ended = {**response, "status": "completed", "output": [item], "usage": usage}
    yield {"type": "response.completed", "response": ended}


def call_results(body: dict[str, Any]) -> list[str]:
    """Return the results of the calls in a request to either API."""
    blocks = [block for message in body.get("messages", []) for block in content_blocks(message["content"])]
    results = [block["content"] for block in blocks if block.get("type") == "tool_result"]
    items = [item for item in body.get("input", []) if str(item.get("type", "")).endswith("_call_output")]
    return [str(result) for result in (*results, *(item["output"] for item in items))]


class Handler(BaseHTTPRequestHandler):
    """The routes that the command lines call."""

    protocol_version = "HTTP/1.1"
    bodies: list[dict[str, Any]]

    def do_POST(self) -> None:
        """Answer a turn."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])) or b"{}")
        path = self.path.partition("?")[0]
        type(self).bodies.append({"path": path, **body})
        if path.endswith("/messages"):
            self._stream(anthropic_events(body)) if body.get("stream") else self._reply(body)
        elif path.endswith("/responses"):
            self._stream(openai_events(body))
        elif path.endswith("/count_tokens"):
            self._json({"input_tokens": 1})
        else:
            self._json({}, 404)

    def do_GET(self) -> None:
        """Answer everything else that a client looks up."""
        self._json({"data": [], "models": []}, 200 if self.path.partition("?")[0].endswith("/models") else 404)

    def do_HEAD(self) -> None:
        """Answer whether there is something."""
        self.do_GET()

    def _reply(self, body: dict[str, Any]) -> None:
        message, block, delta = Event(), Event(), Event()
        for event in anthropic_events(body):
            message = event.get("message", message)
            block = event.get("content_block", block)
            delta = event.get("delta", delta) if event["type"] == "message_delta" else delta
        self._json({**message, "content": [{**block, "text": "done"}], **delta})

    def _stream(self, events: Iterator[Event]) -> None:
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream", 200)

    def _json(self, value: object, status: int = 200) -> None:
        self._send(json.dumps(value).encode(), "application/json", status)

    def _send(self, body: bytes, kind: str, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no log."""


@contextlib.contextmanager
def scripted_models() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """Yield the address of the server and the bodies of the requests that it receives."""

    class Scripted(Handler):
        bodies: list[dict[str, Any]] = []

    with ThreadingHTTPServer(("127.0.0.1", 0), Scripted) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", Scripted.bodies
        finally:
            server.shutdown()
            thread.join()
