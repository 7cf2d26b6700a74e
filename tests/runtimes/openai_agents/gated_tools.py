"""Agents of the SDK with tools that are no functions, each of which needs approval. What ran is in a file."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    HostedMCPTool,
    OpenAIResponsesModel,
    ShellTool,
    set_tracing_disabled,
)
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from tests.runtimes.openai_agents.responses_server import MODEL, Item, message

import ringi
from ringi.domain.display import Code
from ringi.testing.conformance.running_agents import worker_running_on_store

REFUND = '{"order":7,"amount":30}'
SERVER = Path(__file__).with_name("mcp_server.py")


@dataclass(frozen=True)
class Case:
    """A kind of tool: the call of the model, and what people read about it."""

    call: Item
    name: str
    args: dict[str, Any]
    effect: str
    """The line that a run of the call adds to the file."""
    context: dict[str, Any] = field(default_factory=dict)
    display: tuple[Code, ...] | None = None
    """The block that shows the call."""


CASES = {
    "shell": Case(
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "c1",
            "status": "completed",
            "action": {"commands": ["cd build", "rm -r *"], "timeout_ms": 5000, "max_output_length": None},
        },
        "shell",
        {"commands": ["cd build", "rm -r *"], "timeout_ms": 5000},
        "cd build; rm -r *",
        display=(Code(text="cd build\nrm -r *", language="bash"),),
    ),
    "apply_patch": Case(
        {
            "type": "apply_patch_call",
            "id": "ap_1",
            "call_id": "c1",
            "status": "completed",
            "operation": {"type": "update_file", "path": "shop.py", "diff": "@@\n-amount = 30\n+amount = 40\n"},
        },
        "apply_patch",
        {"type": "update_file", "path": "shop.py", "diff": "@@\n-amount = 30\n+amount = 40\n"},
        "update_file shop.py",
        display=(Code(text="@@\n-amount = 30\n+amount = 40\n", language="diff"),),
    ),
    "custom": Case(
        {"type": "custom_tool_call", "id": "ct_1", "call_id": "c1", "name": "deploy", "input": "shop to staging"},
        "deploy",
        {"input": "shop to staging"},
        "deploy shop to staging",
    ),
    "hosted_mcp": Case(
        {"type": "mcp_approval_request", "id": "c1", "server_label": "shop", "name": "refund", "arguments": REFUND},
        "refund",
        {"order": 7, "amount": 30},
        "refund 7 30",
        {"mcp_server": "shop"},
    ),
    "local_mcp": Case(
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "refund", "arguments": REFUND},
        "refund",
        {"order": 7, "amount": 30},
        "refund 7 30",
        {"mcp_server": "shop"},
    ),
}


def effects_of(folder: Path) -> list[str]:
    """Return what has run."""
    file = folder / "effects.txt"
    return file.read_text("utf-8").splitlines() if file.exists() else []


def add_effect(folder: Path, line: str) -> None:
    """Note that something has run."""
    with (folder / "effects.txt").open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")


def script_of(kind: str, folder: Path) -> Any:
    """Return the model: it makes the call, and then says what it read about it."""

    def script(input: list[Item]) -> list[Item]:
        last = input[-1]
        if last.get("role") == "user":
            turn = [message("I have to do this."), CASES[kind].call]
            return turn if "please" in last["content"] else [message("Hello.")]
        if last["type"] != "mcp_approval_response":
            return [message(f"I read: {last['output']}")]
        if not last["approve"]:
            return [message(f"I read: {last.get('reason')}")]
        # The provider calls the server itself.
        add_effect(folder, CASES[kind].effect)
        call = CASES[kind].call | {"type": "mcp_call", "id": "mcp_1", "output": "refunded", "approval_request_id": "c1"}
        return [call, message("I read: refunded")]

    return script


class Editor:
    """Applies no patch, but notes it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _note(self, operation: Any) -> str:
        add_effect(self._folder, f"{operation.type} {operation.path}")
        return "patched"

    create_file = update_file = delete_file = _note


@asynccontextmanager
async def gated_agent(kind: str, folder: Path, url: str) -> AsyncIterator[ringi.Agent]:
    """Yield an agent with one tool."""
    set_tracing_disabled(True)

    async def shell(request: Any) -> str:
        add_effect(folder, "; ".join(request.data.action.commands))
        return "removed"

    async def deploy(context: Any, input: str) -> str:
        add_effect(folder, f"deploy {input}")
        return "deployed"

    hosted: Any = {
        "type": "mcp",
        "server_label": "shop",
        "server_url": "https://shop.example",
        "require_approval": "always",
    }
    tools: dict[str, Any] = {
        "shell": ShellTool(executor=shell, needs_approval=True),
        "apply_patch": ApplyPatchTool(editor=Editor(folder), needs_approval=True),
        "custom": CustomTool("deploy", "Deploys", deploy, needs_approval=True),
        "hosted_mcp": HostedMCPTool(hosted),
    }
    async with AsyncExitStack() as stack:
        servers: list[Any] = []
        if kind == "local_mcp":
            params: Any = {"command": sys.executable, "args": [str(SERVER), str(folder / "effects.txt")]}
            server = MCPServerStdio(params, name="shop", require_approval="always", client_session_timeout_seconds=30)
            servers = [await stack.enter_async_context(server)]
        client = await stack.enter_async_context(AsyncOpenAI(base_url=url, api_key="none", max_retries=0))
        own = [tools[kind]] if kind in tools else []
        model = OpenAIResponsesModel(MODEL, client)
        yield ringi.Agent("clerk", Agent(name="clerk", model=model, tools=own, mcp_servers=servers))


async def work_forever(kind: str, folder: Path, url: str, store: str) -> None:
    """Work until the process is killed."""
    async with gated_agent(kind, folder, url) as agent, worker_running_on_store(store, agent):
        await asyncio.Event().wait()


def work_in_process(path: list[str], *arguments: Any) -> None:
    """Be a process that works."""
    sys.path[:] = path
    asyncio.run(work_forever(*arguments))
