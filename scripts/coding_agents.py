"""The hooks before the real command lines of Claude Code and Codex, with a script instead of a model.

`python -m scripts.coding_agents FOLDER [SCENARIO…]` installs both from npm, runs each scenario against a real
`ringi serve`, and prints a table. It needs Node.js and npm, and no account. It exits with 1 if a scenario fails.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import psutil
from scripts.scripted_models import call_results, prompt_of, scripted_models

from ringi import Request
from ringi.client.client import connected

VERSIONS = {"@anthropic-ai/claude-code": "2.1.332", "@openai/codex": "0.171.0"}
HELD = 65.0
"""Seconds for which a call is held: beyond the 60 s after which hooks once ended by default; today it is 600 s."""
LIMIT = 120.0
RINGI = "from ringi.cli import main; main()"
TRUST = "--dangerously-bypass-hook-trust"
CODEX = """
model = "gpt-5.5"
model_provider = "local"
[model_providers.local]
name = "local"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[analytics]
enabled = false
[projects."{project}"]
trust_level = "trusted"
"""
SHELL = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd")}
START = {"claude-code": ["-p", "--output-format", "json"], "codex": ["exec", "--skip-git-repo-check"]}
ARGUMENTS = {"claude-code": ["--permission-mode", "acceptEdits"], "codex": ["-s", "danger-full-access", TRUST]}
PATCH = "*** Begin Patch\n*** Add File: written\n+hello\n*** End Patch\n"
FORM = """
from typing import Annotated

from mcp.server.mcpserver import Elicit, MCPServer, Resolve
from pydantic import BaseModel

server = MCPServer("git")


class Branch(BaseModel):
    branch: str


async def ask() -> Elicit[Branch]:
    return Elicit("Which branch?", Branch)


@server.tool()
async def push(found: Annotated[Branch, Resolve(ask)]) -> str:
    return f"pushed {found.branch}"


server.run()
"""
Call = str | dict[str, Any]


def step_of(client: str, call: Call) -> dict[str, Any]:
    """Return a step of the script: a command is a call of the client's shell."""
    tool, argument = SHELL[client]
    return {"tool": tool, "input": {argument: call}} if isinstance(call, str) else call


class Session(NamedTuple):
    """A command line that works in a project."""

    process: subprocess.Popen[bytes]
    project: Path
    mark: str
    """A text in its prompt."""

    @property
    def files(self) -> list[str]:
        """The names of the files that its calls made."""
        return sorted(path.name for path in self.project.iterdir() if not path.name.startswith("."))

    def hooks(self) -> list[psutil.Process]:
        """Return the processes of its hooks, without the shells that started them."""
        below = psutil.Process(self.process.pid).children(recursive=True)
        return [each for each in below if RINGI in each.cmdline() and "hook" in each.cmdline()]

    async def end(self) -> None:
        """Wait until the command line has ended."""
        await asyncio.wait_for(asyncio.to_thread(self.process.communicate), LIMIT)


class World:
    """A server of Ringi with a person, and the command lines in front of a scripted model.

    Args:
        clis: The folder with the packages.
        folder: An empty folder.
        models: The address of the scripted model.
        bodies: What the command lines sent to it.
    """

    def __init__(self, clis: Path, folder: Path, models: str, bodies: list[dict[str, Any]]) -> None:
        self._clis, self.folder, self._models, self._bodies = clis, folder, models, bodies
        self._environment = {"PATH": os.environ["PATH"], "RINGI_HOME": str(folder / "ringi")}
        self._port, self._sessions = 0, 0
        self.start()
        self.person = connected(self._url, self._token("person", "ann"))
        self._agent = self._token("agent", "coder")

    def start(self) -> None:
        """Start the server, the second time on the port of the first."""
        command = [sys.executable, "-c", RINGI, "serve", "--port", str(self._port), "--json"]
        self._server = subprocess.Popen(command, env=self._environment, stdout=subprocess.PIPE)
        assert self._server.stdout
        self._url = json.loads(self._server.stdout.readline())["url"]
        self._port = int(self._url.rpartition(":")[2])

    def kill(self) -> None:
        """Kill the server as a power cut would."""
        self._server.kill()
        self._server.communicate()

    def _token(self, role: str, name: str) -> str:
        command = [sys.executable, "-c", RINGI, "token", "create", "--role", role, "--name", name, "--json"]
        done = subprocess.run(command, env=self._environment, capture_output=True, check=True)
        return str(json.loads(done.stdout)["token"])

    def session(
        self,
        client: str,
        *calls: Call,
        install: Sequence[str] = (),
        change: Callable[[str], str] = str,
        arguments: Sequence[str] | None = None,
    ) -> Session:
        """Start a session in a new project, whose hooks are installed as a person does it.

        Args:
            client: The command line.
            calls: The commands that its model runs, or other calls.
            install: Options of `ringi hook install`.
            change: Changes the configuration afterwards.
            arguments: The arguments of the command line; by default it runs commands without a question of its own.
        """
        self._sessions += 1
        project = self.folder / f"{client}-{self._sessions}"
        home, programs = self.folder / "homes" / project.name, project / ".bin"
        for folder in (programs, home / ".codex"):
            folder.mkdir(parents=True)
        program = programs / "ringi"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{RINGI}" "$@"\n')
        program.chmod(0o755)
        (home / ".codex" / "config.toml").write_text(CODEX.format(url=self._models, project=project))
        environment = {
            **{"HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}", "SCRIPTED_KEY": "none"},
            **{"RINGI_URL": self._url, "RINGI_TOKEN": self._agent, "DISABLE_AUTOUPDATER": "1"},
            **{"ANTHROPIC_BASE_URL": self._models, "ANTHROPIC_API_KEY": "none", "DISABLE_TELEMETRY": "1"},
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }
        command = [str(program), "hook", "install", client, "--yes", *install]
        subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True)
        (path,) = (*project.glob(".claude/*.json"), *project.glob(".codex/*.json"))
        path.write_text(change(path.read_text()))
        mark = f"session {self._sessions} of this table"
        prompt = f"{prompt_of(*(step_of(client, each) for each in calls))} {mark}"
        options = ARGUMENTS[client] if arguments is None else arguments
        process = subprocess.Popen(
            [
                str(self._clis / "node_modules" / ".bin" / client.removesuffix("-code")),
                *START[client],
                *options,
                prompt,
            ],
            cwd=project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        return Session(process, project, mark)

    async def opened(self, session: Session) -> Request:
        """Return the open request of a session."""
        for _ in range(int(LIMIT / 0.1)):
            pending = await self.person.find(status="pending")
            found = [each for each in pending if each.context.get("folder") == str(session.project)]
            if found:
                return found[0]
            if session.process.poll() is not None:
                raise AssertionError("the command line has ended")
            await pause(0.1)
        raise AssertionError("nobody is asked")

    async def answer(self, session: Session, decision: Any, **answer: Any) -> Request:
        """Answer the open request of a session."""
        request = await self.opened(session)
        return await self.person.respond(request, decision, **answer)

    def results(self, session: Session) -> list[str]:
        """Return the results of the calls of a session, as its model reads them."""
        own = [body for body in self._bodies if session.mark in json.dumps(body)]
        return call_results(own[-1]) if own else []

    def sent(self, session: Session) -> str:
        """Return everything that a session sent to its model."""
        return json.dumps([body for body in self._bodies if session.mark in json.dumps(body)])


async def pause(seconds: float) -> None:
    """Do nothing for some seconds."""
    with suppress(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), seconds)


class Outcome(NamedTuple):
    """What a scenario showed."""

    is_right: bool
    text: str


Scenario = Callable[[World, str], Awaitable[Outcome | None]]


async def approved(world: World, client: str) -> Outcome:
    """Held 65 s, then approved."""
    session = world.session(client, "touch ran")
    await world.opened(session)
    began = time.monotonic()
    await pause(HELD)
    files, held = session.files, time.monotonic() - began
    request = await world.answer(session, "approve")
    await session.end()
    outcome = (await world.person.get(request.id)).outcome
    is_right = (files, session.files, outcome) == ([], ["ran"], "committed")
    return Outcome(is_right, f"held {held:.0f} s, then ran once; outcome {outcome}")


async def rejected(world: World, client: str) -> Outcome:
    """Rejected."""
    session = world.session(client, "touch ran")
    await world.answer(session, "reject", message="not on this machine")
    await session.end()
    (result,) = world.results(session)
    return Outcome(not session.files and "not on this machine" in result, f"not run; the model reads: {result}")


async def edited(world: World, client: str) -> Outcome:
    """Edited."""
    session = world.session(client, "touch ran")
    request = await world.opened(session)
    assert request.action
    args = request.action.args | {"command": "touch edited"}
    await world.person.respond(request, "edit", args=args)
    await session.end()
    return Outcome(session.files == ["edited"], f"ran `touch edited` instead: {session.files}")


async def server_killed(world: World, client: str) -> Outcome:
    """Ringi killed while it waits, later approved."""
    session = world.session(client, "touch ran")
    await world.opened(session)
    world.kill()
    await pause(5)
    files, waits = session.files, session.process.poll() is None
    world.start()
    await world.answer(session, "approve")
    await session.end()
    is_right = (files, waits, session.files) == ([], True, ["ran"])
    return Outcome(is_right, "not run while Ringi was down; ran after the restart and the answer")


async def server_down(world: World, client: str) -> Outcome:
    """Ringi down before the call."""
    world.kill()
    session = world.session(client, "touch ran")
    await session.end()
    world.start()
    (result,) = world.results(session)
    return Outcome(not session.files and "UnavailableError" in result, f"not run; the model reads: {result}")


async def hook_killed(world: World, client: str) -> Outcome:
    """Hook killed -9 while it waits, later approved."""
    session = world.session(client, "touch ran")
    request = await world.opened(session)
    hooks = session.hooks()
    for hook in hooks:
        hook.kill()
    await session.end()
    await world.person.respond(request, "approve")
    (result,) = world.results(session)
    return Outcome(bool(hooks) and not session.files, f"not run; the model reads: {result}")


async def client_killed(world: World, client: str) -> Outcome:
    """Command line killed -9 while it waits, later approved."""
    session = world.session(client, "touch ran")
    request = await world.opened(session)
    hooks = session.hooks()
    for process in psutil.Process(session.process.pid).children(recursive=True):
        if process not in hooks and "hook" not in process.cmdline():
            process.kill()
    session.process.kill()
    _, alive = await asyncio.to_thread(psutil.wait_procs, hooks, 30)
    await world.person.respond(request, "approve")
    receipt = (await world.person.get(request.id)).receipt
    return Outcome(not (alive or session.files or receipt), "not run, and its hook has ended")


async def timed_out(world: World, client: str) -> Outcome:
    """The client ends the hook at its timeout (3 s, set by hand)."""
    session = world.session(client, "touch ran", change=lambda text: text.replace(": 604800", ": 3"))
    await session.end()
    what = "not run" if not session.files else "RAN: Codex runs the call of a hook that it ends"
    return Outcome((session.files == []) == (client == "claude-code"), what)


async def two_sessions(world: World, client: str) -> Outcome:
    """Two sessions at once: one approved, one rejected."""
    sessions = [world.session(client, "touch ran") for _ in range(2)]
    await asyncio.gather(*map(world.opened, sessions))
    await world.answer(sessions[1], "reject")
    await world.answer(sessions[0], "approve")
    await asyncio.gather(*(session.end() for session in sessions))
    files = [session.files for session in sessions]
    return Outcome(files == [["ran"], []], f"files: {files}")


async def untrusted(world: World, client: str) -> Outcome:
    """Hooks that nobody has trusted."""
    arguments = [each for each in ARGUMENTS[client] if each != TRUST]
    session = world.session(client, "touch ran", arguments=arguments)
    if client == "claude-code":
        await world.answer(session, "reject")
    await session.end()
    if client == "claude-code":
        return Outcome(not session.files, "`claude -p` runs the hooks of a project without a question")
    return Outcome(session.files == ["ran"], "RAN without a question: Codex needs /hooks first")


async def written(world: World, client: str) -> Outcome:
    """A file is written, after approval."""
    write = {"tool": "Write", "input": {"file_path": "written", "content": "hello"}}
    session = world.session(client, write if client == "claude-code" else {"tool": "apply_patch", "input": PATCH})
    request = await world.opened(session)
    await world.answer(session, "approve")
    await session.end()
    outcome = (await world.person.get(request.id)).outcome
    return Outcome((session.files, outcome) == (["written"], "committed"), f"{request.title} outcome {outcome}")


async def confirmed(world: World, client: str) -> Outcome:
    """The agent stops: sent back with words, then confirmed (--confirm-stop)."""
    session = world.session(client, install=["--confirm-stop"])
    await world.answer(session, "reject", message="add a test")
    again = "add a test" in world.sent(session)
    await world.answer(session, "approve")
    await session.end()
    again = again or "add a test" in world.sent(session)
    return Outcome(again, "the model reads: ann says that this is not finished: add a test")


async def prompted(world: World, client: str) -> Outcome | None:
    """A prompt of the client (PermissionRequest only): rejected, then approved."""
    if client == "codex":
        return None  # `codex exec` never prompts.
    arguments = ["--permission-mode", "default"]
    session = world.session(client, "touch one", "touch two", arguments=arguments, change=without_first)
    await world.answer(session, "reject", message="no")
    request = await world.answer(session, "approve")
    await session.end()
    outcome = (await world.person.get(request.id)).outcome
    return Outcome((session.files, outcome) == (["two"], "committed"), f"ran {session.files}; outcome {outcome}")


def without_first(text: str) -> str:
    """Return the configuration without the hook before each call: only prompts of the client are answered."""
    settings = json.loads(text)
    del settings["hooks"]["PreToolUse"]
    return json.dumps(settings)


async def filled_in(world: World, client: str) -> Outcome | None:
    """A form of an MCP server (Elicitation)."""
    if client == "codex":
        return None  # Codex has no hook for it.
    server = world.folder / "form.py"
    server.write_text(FORM)
    config = {"mcpServers": {"git": {"command": sys.executable, "args": [str(server)]}}}
    arguments = [f"--mcp-config={json.dumps(config)}", "--allowedTools=mcp__git__push", "--permission-mode", "default"]
    call = {"tool": "mcp__git__push", "input": {}}
    session = world.session(client, call, arguments=arguments)
    await world.answer(session, "approve")
    await world.answer(session, "respond", data={"branch": "main"})
    await session.end()
    (result,) = world.results(session)
    return Outcome("pushed main" in result, f"the model reads: {result}")


SCENARIOS: tuple[Scenario, ...] = (
    *(approved, rejected, edited, server_killed, server_down, hook_killed, client_killed, timed_out, two_sessions),
    *(written, confirmed, prompted, filled_in, untrusted),
)


def install(folder: Path) -> None:
    """Install the packages into a folder."""
    packages = [f"{name}@{version}" for name, version in VERSIONS.items()]
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["node", "install.cjs"], cwd=folder / "node_modules" / "@anthropic-ai" / "claude-code", check=True)


async def main(folder: Path, names: Sequence[str]) -> int:
    """Run the scenarios, by default all, print the table, and return the exit code."""
    wrong, chosen = 0, [each for each in SCENARIOS if not names or each.__name__ in names]
    print("| client | scenario | seconds | right | what happened |\n|---|---|---|---|---|", flush=True)
    async with world_in(folder) as world:
        for scenario in chosen:
            for client in SHELL:
                began = time.monotonic()
                found = await scenario(world, client)
                if found is None:
                    continue
                wrong += not found.is_right
                cells = (
                    client,
                    str(scenario.__doc__).rstrip("."),
                    f"{time.monotonic() - began:.1f}",
                    "yes" if found.is_right else "NO",
                )
                print(f"| {' | '.join(map(str, cells))} | {' '.join(found.text.split())[:200]} |", flush=True)
    return int(wrong > 0)


@asynccontextmanager
async def world_in(clis: Path) -> AsyncIterator[World]:
    """Yield a new world, and end it."""
    with tempfile.TemporaryDirectory(prefix="ringi-agents-") as folder, scripted_models() as (models, bodies):
        world = World(clis, Path(folder), models, bodies)
        try:
            async with world.person:
                yield world
        finally:
            world.kill()


if __name__ == "__main__":
    clis = Path(sys.argv[1]).absolute()
    install(clis)
    sys.exit(asyncio.run(main(clis, sys.argv[2:])))
