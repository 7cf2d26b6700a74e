"""A stock MCP server that has one of everything; it appends each call to the file that its argument names.

With a port as second argument it serves streamable HTTP, and wants the token of the variable TOKEN.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import anyio
import uvicorn
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.resolve import Elicit, ListRoots, Resolve, Sample
from mcp_types import (
    CallToolResult,
    Completion,
    CreateMessageResult,
    Icon,
    ListRootsResult,
    ResourceLink,
    SamplingMessage,
    TextContent,
    ToolAnnotations,
)
from pydantic import BaseModel
from starlette.responses import PlainTextResponse

JOURNAL = Path(sys.argv[1])
TOKEN = os.environ.get("TOKEN", "")
server = MCPServer(
    "everything", title="Every thing", version="1.2.3", instructions="Call write.", website_url="https://e.example"
)


def note(tool: str, **args: Any) -> None:
    """Append a call to the journal."""
    with JOURNAL.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"tool": tool, "args": args, "at": time.time()}) + "\n")


@server.tool(title="Write a text", annotations=ToolAnnotations(destructive_hint=True), meta={"shop/audit": True})
def write(text: str, times: int = 1) -> str:
    """Write a text."""
    note("write", text=text, times=times)
    return f"wrote {text} {times} times"


@server.tool(icons=[Icon(src="https://e.example/icon.png")])
def read(path: str) -> dict[str, Any]:
    """Read nothing."""
    note("read", path=path)
    return {"path": path, "size": 12345678901234, "share": 0.1, "nothing": None}


@server.tool()
def fail(code: int) -> str:
    """Fail."""
    note("fail", code=code)
    raise ValueError(f"failed with {code}")


@server.tool()
def show() -> CallToolResult:
    """Return content of several types."""
    link = ResourceLink(type="resource_link", uri="note://1", name="A note")
    image = Image(data=b"not really", format="png").to_image_content()
    content = [TextContent(type="text", text="ファイル\u2028"), image, link]
    return CallToolResult.model_validate({"content": content, "_meta": {"shop/cost": 1.5}})


@server.tool()
async def work(steps: int, context: Context[Any, Any]) -> str:
    """Report progress, log each step."""
    for step in range(steps):
        await context.report_progress(step + 1, steps, f"step {step + 1}")
        await context.info(f"did {step + 1}")
    note("work", steps=steps)
    return f"did {steps} steps"


@server.tool()
async def hang(name: str) -> str:
    """Run until it is canceled."""
    note("hang", name=name)
    try:
        await anyio.sleep_forever()
    except anyio.get_cancelled_exc_class():
        note("canceled", name=name)
        raise
    return "never"


@server.tool()
def die(name: str) -> str:
    """End the server."""
    note("die", name=name)
    os._exit(3)


class Size(BaseModel):
    """What a person is asked for."""

    size: int


async def ask_size() -> Elicit[Size]:
    return Elicit("Which size?", Size)


async def ask_model() -> Sample:
    return Sample([SamplingMessage(role="user", content=TextContent(type="text", text="Hello?"))], max_tokens=10)


async def ask_roots() -> ListRoots:
    return ListRoots()


@server.tool()
async def order(item: str, size: Annotated[Size, Resolve(ask_size)]) -> str:
    """Ask the person for a size."""
    note("order", item=item, size=size.size)
    return f"ordered {item} in {size.size}"


@server.tool()
async def think(
    answer: Annotated[CreateMessageResult, Resolve(ask_model)], roots: Annotated[ListRootsResult, Resolve(ask_roots)]
) -> str:
    """Ask the client's model and its roots."""
    note("think")
    return f"{answer.model} in {[str(root.uri) for root in roots.roots]}"


@server.tool()
async def grow(context: Context[Any, Any]) -> str:
    """Add a tool, and tell the client."""
    server.add_tool(lambda: "new", name="grown", description="A new tool.")
    await context.notify_tools_changed()
    await context.notify_resource_updated("note://1")
    return "grown"


@server.resource("note://1", mime_type="text/plain")
def first_note() -> str:
    """The first note."""
    return "first"


@server.resource("note://{number}/body")
def note_body(number: str) -> str:
    """One of many notes."""
    return f"body of {number}"


@server.prompt(title="Greet")
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Greet {name}!"


@server.completion()  # type: ignore[no-untyped-call, untyped-decorator]
async def complete(ref: Any, argument: Any, context: Any) -> Completion:
    return Completion(values=[f"{argument.value}a", f"{argument.value}b"], total=2)


def main() -> None:
    """Serve over stdio, or over HTTP on a port."""
    if len(sys.argv) < 3:
        server.run()
        return
    app = server.streamable_http_app()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"authorization") != f"Bearer {TOKEN}".encode():
            await PlainTextResponse("no token", 401)(scope, receive, send)
        else:
            await app(scope, receive, send)

    uvicorn.run(guarded, port=int(sys.argv[2]), log_level="warning")


if __name__ == "__main__":
    main()
