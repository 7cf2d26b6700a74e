"""Compare public MCP servers with and without a gate that allows everything: each message, and with stock clients.

`python -m scripts.mcp_servers [FOLDER [NAME…]]` installs the servers and the clients from npm and PyPI into a
folder, by default a new one, and prints a table. The exit code is 1 if anything differs.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters

RINGI = Path(sys.executable).with_name("ringi")
NPM = (
    "@modelcontextprotocol/server-filesystem",
    "@modelcontextprotocol/server-everything",
    "@modelcontextprotocol/inspector",
)
PYPI = {"python": ("mcp-server-git",), "python1": ("mcp-server-time", "mcp-server-sqlite", "mcp<2")}
"""The packages of each environment: some servers do not run with version 2 of the SDK."""
POLICY = {"otherwise": "allow", "rules": [{"tools": ["no_tool"]}]}
LIMIT = 60.0
CLIENT = {"name": "compare", "version": "1"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}, "sampling": {}}, "clientInfo": CLIENT}
MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": CLIENT,
    "io.modelcontextprotocol/clientCapabilities": {},
}
LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list", "ping", "no/such")


class Server(NamedTuple):
    """A public server, and the calls to compare."""

    name: str
    command: tuple[str, ...]
    """`{modules}`, `{python}` and `{python1}` are where the packages are."""
    calls: tuple[tuple[str, dict[str, Any]], ...]
    others: tuple[tuple[str, dict[str, Any]], ...] = ()
    """Requests that are no calls."""

    @property
    def requests(self) -> list[tuple[str, dict[str, Any]]]:
        """The requests after the handshake."""
        calls = [
            ("tools/call", {"name": name, "arguments": args, "_meta": {"progressToken": f"p{number}"}})
            for number, (name, args) in enumerate(self.calls)
        ]
        return [*((method, {}) for method in LISTS), *self.others, *calls]


SERVERS = (
    Server(
        "filesystem",
        ("node", "{modules}/@modelcontextprotocol/server-filesystem/dist/index.js", "."),
        (
            ("list_allowed_directories", {}),
            ("list_directory", {"path": "."}),
            ("read_text_file", {"path": "a.txt"}),
            ("read_media_file", {"path": "a.png"}),
            ("write_file", {"path": "b.txt", "content": "ファイル\u2028\n"}),
            ("edit_file", {"path": "b.txt", "edits": [{"oldText": "\n", "newText": "!"}]}),
            ("directory_tree", {"path": "."}),
            ("read_text_file", {"path": "/etc/passwd"}),
            ("read_text_file", {}),
            ("no_such_tool", {}),
        ),
    ),
    Server(
        "everything",
        ("node", "{modules}/@modelcontextprotocol/server-everything/dist/index.js", "stdio"),
        (
            ("echo", {"message": "hi"}),
            ("get-sum", {"a": 1, "b": 2.5}),
            ("get-tiny-image", {}),
            ("get-structured-content", {"location": "Chicago"}),
            ("get-annotated-message", {"messageType": "error", "includeImage": True}),
            ("get-resource-links", {"count": 3}),
            ("trigger-long-running-operation", {"duration": 1, "steps": 4}),
            ("get-sum", {"a": "x"}),
        ),
        (
            ("prompts/get", {"name": "simple-prompt"}),
            ("prompts/get", {"name": "args-prompt", "arguments": {"city": "Kyoto"}}),
            ("resources/read", {"uri": "demo://resource/static/document/features.md"}),
            ("resources/read", {"uri": "demo://no"}),
            ("logging/setLevel", {"level": "emergency"}),
        ),
    ),
    Server(
        "git",
        ("{python}/mcp-server-git",),
        (
            ("git_status", {"repo_path": "."}),
            ("git_log", {"repo_path": ".", "max_count": 3}),
            ("git_diff_unstaged", {"repo_path": "."}),
            ("git_show", {"repo_path": ".", "revision": "HEAD"}),
            ("git_branch", {"repo_path": ".", "branch_type": "local"}),
            ("git_show", {"repo_path": ".", "revision": "nope"}),
        ),
    ),
    Server(
        "sqlite",
        ("{python1}/mcp-server-sqlite", "--db-path", "shop.db"),
        (
            ("create_table", {"query": "CREATE TABLE hats (id INTEGER, price REAL)"}),
            ("write_query", {"query": "INSERT INTO hats VALUES (1, 9.5), (2, 20)"}),
            ("read_query", {"query": "SELECT * FROM hats ORDER BY id"}),
            ("list_tables", {}),
            ("describe_table", {"table_name": "hats"}),
            ("read_query", {"query": "SELECT nonsense"}),
        ),
        (
            ("resources/read", {"uri": "memo://insights"}),
            ("prompts/get", {"name": "mcp-demo", "arguments": {"topic": "x"}}),
        ),
    ),
    Server(
        "time",
        ("{python1}/mcp-server-time", "--local-timezone", "UTC"),
        (
            ("convert_time", {"source_timezone": "UTC", "time": "25:00", "target_timezone": "Asia/Tokyo"}),
            ("convert_time", {"source_timezone": "x", "time": "10:00", "target_timezone": "Asia/Tokyo"}),
        ),
    ),
)


class Row(NamedTuple):
    """What was compared, and what differs."""

    server: str
    client: str
    compared: int
    differences: list[str]


def install(folder: Path) -> dict[str, str]:
    """Install the packages into a folder, unless it has them, and return where they are."""
    places = {"modules": str(folder / "node_modules")}
    if not (folder / "node_modules").exists():
        (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", *NPM], cwd=folder, check=True)
    for name, packages in PYPI.items():
        programs = folder / name / "bin"
        places[name] = str(programs)
        if not (programs / packages[0]).exists():
            venv.create(folder / name, with_pip=True)
            subprocess.run([programs / "pip", "install", "--quiet", *packages], check=True)
    return places


def prepare(folder: Path) -> None:
    """Fill the folder in which a server works; each run finds the same."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (folder / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    who = {f"GIT_{role}_{field}": value for role in ("AUTHOR", "COMMITTER") for field, value in WHO.items()}
    for line in (["init", "-q", "-b", "main"], ["add", "a.txt"], ["commit", "-q", "-m", "One"]):
        subprocess.run(["git", *line], cwd=folder, check=True, env={**os.environ, **who})
    (folder / "a.txt").write_text("one\n2\n", encoding="utf-8")


WHO = {"NAME": "Ann", "EMAIL": "ann@example.com", "DATE": "2026-01-01T00:00:00Z"}


@asynccontextmanager
async def started(command: Sequence[str], cwd: Path, env: dict[str, str]) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a server for the block."""
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL, cwd=cwd, env=env, limit=2**24
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()


async def transcript(
    command: Sequence[str], cwd: Path, env: dict[str, str], server: Server, *, is_modern: bool
) -> list[str]:
    """Return what a server answers: the members of each message in their order, as JSON."""
    replies, asides = list[str](), list[str]()
    async with started(command, cwd, env) as process, asyncio.timeout(LIMIT):
        assert process.stdin
        assert process.stdout

        async def send(message: dict[str, Any]) -> None:
            assert process.stdin
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            await process.stdin.drain()

        async def reply_to(id: int) -> Any:
            assert process.stdout
            while line := await process.stdout.readline():
                message = json.loads(line)
                is_reply = message.get("id") == id and "method" not in message
                if message.get("method") == "roots/list":
                    await send({"id": message["id"], "result": {"roots": []}})
                # The order within a message of JSON-RPC itself has no meaning; within its content it is compared too.
                text = json.dumps([message.get(key) for key in ("id", "method", "params", "result", "error")])
                (replies if is_reply or message["method"] == "notifications/progress" else asides).append(text)
                if is_reply:
                    return message.get("result")
            raise EOFError(f"{command} ended")

        meta = MODERN if is_modern else {}
        hello = ("server/discover", {"_meta": MODERN}) if is_modern else ("initialize", HELLO)
        await send({"id": 0, "method": hello[0], "params": hello[1]})
        if await reply_to(0) is None:
            return replies
        if not is_modern:
            await send({"method": "notifications/initialized"})
        for id, (method, params) in enumerate(server.requests, 1):
            own = {**params.get("_meta", {}), **meta}
            await send({"id": id, "method": method, "params": {**params, **({"_meta": own} if own else {})}})
            await reply_to(id)
    # When a server speaks first differs from run to run.
    return replies + sorted(asides)


async def with_sdk(command: Sequence[str], cwd: Path, env: dict[str, str], server: Server, mode: str) -> list[str]:
    """Return what the client of the official SDK sees."""
    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=env, cwd=cwd)
    async with asyncio.timeout(LIMIT), Client(parameters, mode=mode) as client:
        seen = [(await client.list_tools()).model_dump_json()]
        for name, args in server.calls:
            seen.append((await client.call_tool(name, args)).model_dump_json())
    return seen


async def with_fastmcp(command: Sequence[str], cwd: Path, env: dict[str, str], server: Server) -> list[str]:
    """Return what the client of FastMCP sees."""
    async with asyncio.timeout(LIMIT), FastClient(StdioTransport(command[0], [*command[1:]], env, str(cwd))) as client:
        seen = [tool.model_dump_json() for tool in await client.list_tools()]
        for name, args in server.calls:
            seen.append(repr(await client.call_tool(name, args, raise_on_error=False)))
    return seen


def with_inspector(modules: str, command: Sequence[str], cwd: Path, env: dict[str, str], server: Server) -> list[str]:
    """Return what the command line of MCP Inspector prints; it takes a server's words from a file."""
    if "--" in command:  # The Inspector ends its own options there.
        inner = cwd.with_suffix(".inner.json")
        program, *words = command[command.index("--") + 1 :]
        inner.write_text(json.dumps({"mcpServers": {"it": {"command": program, "args": words}}}), encoding="utf-8")
        command = [*command[: command.index("--")], "--config", str(inner)]
    config = cwd.with_suffix(".json")
    entry = {"command": command[0], "args": [*command[1:]], "env": env}
    config.write_text(json.dumps({"mcpServers": {"it": entry}}), encoding="utf-8")
    name, args = next((name, args) for name, args in server.calls if all(isinstance(v, str) for v in args.values()))
    words = ["--tool-name", name, *(word for key, value in args.items() for word in ("--tool-arg", f"{key}={value}"))]
    seen = list[str]()
    for method in (["tools/list"], ["tools/call", *words]):
        line = [
            f"{modules}/.bin/mcp-inspector",
            "--cli",
            "--config",
            str(config),
            "--server",
            "it",
            "--method",
            *method,
        ]
        done = subprocess.run(line, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT, check=False)
        seen.append(f"{done.returncode} {done.stdout}")
    return seen


async def compare(server: Server, places: dict[str, str], folder: Path) -> list[Row]:
    """Return what differs between the server and the server behind a gate."""
    bare = [word.format(**places) for word in server.command]
    policy, cwd = folder / "policy.json", folder / f"work-{server.name}"
    policy.write_text(json.dumps(POLICY), encoding="utf-8")
    env = {**os.environ, "RINGI_URL": f"sqlite:///{folder / 'ringi.db'}"}
    gated = [str(RINGI), "gate", "--policy", str(policy), "--", *bare]
    clients: dict[str, Callable[[Sequence[str]], Awaitable[list[str]]]] = {
        "each message, 2025-11-25": lambda command: transcript(command, cwd, env, server, is_modern=False),
        "each message, 2026-07-28": lambda command: transcript(command, cwd, env, server, is_modern=True),
        "SDK, legacy": lambda command: with_sdk(command, cwd, env, server, "legacy"),
        "SDK, auto": lambda command: with_sdk(command, cwd, env, server, "auto"),
        "FastMCP": lambda command: with_fastmcp(command, cwd, env, server),
        "Inspector": lambda command: asyncio.to_thread(with_inspector, places["modules"], command, cwd, env, server),
    }
    rows = list[Row]()
    for client, see in clients.items():
        seen = list[list[str]]()
        for command in (bare, gated):
            prepare(cwd)
            seen.append(await see(command))
        before, after = seen
        differences = [f"- {a}\n+ {b}" for a, b in zip(before, after, strict=False) if a != b]
        differences += [f"{len(before)} and {len(after)}"] * (len(before) != len(after))
        rows.append(Row(server.name, client, len(before), differences))
        print(f"| {server.name} | {client} | {len(before)} | {len(differences)} |", flush=True)
        print("".join(f"\n{server.name}, {client}:\n{each}\n" for each in differences), end="", file=sys.stderr)
    return rows


async def main(folder: Path, names: Sequence[str]) -> int:
    """Compare all servers, or those with a name, and return the exit code."""
    places = install(folder)
    print("| server | client | compared | different |\n|---|---|---|---|")
    rows = [
        row for server in SERVERS if not names or server.name in names for row in await compare(server, places, folder)
    ]
    return 1 if any(row.differences for row in rows) else 0


if __name__ == "__main__":
    if len(sys.argv) > 1:
        sys.exit(asyncio.run(main(Path(sys.argv[1]).absolute(), sys.argv[2:])))
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(asyncio.run(main(Path(temporary), ())))
