"""The command `ringi`."""

from __future__ import annotations

import asyncio
import getpass
import importlib
import json
import logging
import os
import sys
from collections.abc import Coroutine, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer
from rich.console import Console
from rich.table import Table

from ringi import audit
from ringi.ask import Answer, Ask
from ringi.connect import home, open, open_backend
from ringi.errors import InvalidError, MissingExtraError, RingiError, SettingError
from ringi.inbox import Limits
from ringi.record import DEFAULT_TENANT, Query, cursor_of
from ringi.request import Request
from ringi.threads.agent import Agent

log = logging.getLogger(__name__)
T = TypeVar("T")
app = typer.Typer(
    name="ringi", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)
token_app = typer.Typer(no_args_is_help=True, help="Tokens for agents, people and administrators.")
app.add_typer(token_app, name="token")
out, err = Console(), Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Url = Annotated[str | None, typer.Option("--url", help="The store; by default RINGI_URL, else .ringi/ringi.db.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port; 0 takes a free one.", min=0, max=65535)]
Tenant = Annotated[str, typer.Option(help="Whose requests.")]
MaxFields = Annotated[int, typer.Option(help="How many fields a form may have.", min=1)]
PollInterval = Annotated[float, typer.Option(help="Seconds after which a lost notification does no more harm.")]
Agents = Annotated[str | None, typer.Option(help="Where your agents are: MODULE or MODULE:NAME.")]


@app.command()
def demo(
    port: Port = 8123,
    host: Host = "127.0.0.1",
    model: Annotated[str | None, typer.Option(help="A real model, such as openai:gpt-5; by default a script.")] = None,
    url: Url = None,
    max_fields: MaxFields = 5,
    poll_interval: PollInterval = 0.5,
    json_: Json = False,
) -> None:
    """Open the inbox with three agents that ask, on SQLite."""
    from ringi.server.platform import ServerSettings

    _need_langgraph("demo")
    settings = ServerSettings(scripted=model is None, model=model, hosts=(host,))
    place = {"url": url, "host": host, "port": port, "poll_interval": poll_interval}
    _serve(_demo_agents(model), settings, json_, limits=Limits(max_fields=max_fields), **place)


@app.command()
def serve(
    host: Host = "127.0.0.1",
    port: Port = 8123,
    url: Url = None,
    no_auth: Annotated[bool, typer.Option("--no-auth", help="Everybody is the administrator; loopback only.")] = False,
    agents: Agents = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A name under which the server is called.")] = None,
    max_fields: MaxFields = 5,
    poll_interval: PollInterval = 0.5,
    json_: Json = False,
) -> None:
    """Serve the API, the page and the worker of your agents."""
    from ringi.server.platform import ServerSettings

    _need_langgraph("serve")
    settings = ServerSettings(no_auth=no_auth, hosts=(host, *(allow_host or ())))
    place = {"url": url, "host": host, "port": port, "poll_interval": poll_interval}
    loaded = load_agents(agents) if agents else []
    _serve(loaded, settings, json_, limits=Limits(max_fields=max_fields), **place)


@app.command()
def worker(agents: Agents, url: Url = None, json_: Json = False) -> None:
    """Run agents, without the API and the page, until a signal."""
    _need_langgraph("worker")
    loaded = load_agents(agents or "")
    _say({"working": [agent.name for agent in loaded]}, f"working on {len(loaded)} agents", json_)
    _run(_work(loaded, url))


@app.command()
def ask(
    title: Annotated[str, typer.Argument(help="The question.")],
    form: Annotated[Path | None, typer.Option(help='A JSON file with a form: {"fields": […]}.')] = None,
    action: Annotated[str | None, typer.Option(help="The call that waits for consent: its name.")] = None,
    args: Annotated[str | None, typer.Option(help="The arguments of the call, as JSON.")] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait for the answer; exit with 1 unless it is a yes.")] = False,
    expires_in: Annotated[float | None, typer.Option(help="Seconds after which nobody may answer.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Put a question to people; with --wait, `ringi ask "Deploy?" --action deploy --wait && deploy` is safe."""
    if args is not None and action is None:
        raise InvalidError.of("args", "name the call that they are for with --action")
    call = {"name": action, "args": {} if args is None else _json("args", args)} if action is not None else None
    body = {"title": title, "form": _read_json(form) if form else None, "action": call, "expires_in": expires_in}
    asked = Ask.parse({name: value for name, value in body.items() if value is not None})
    request = _run(_ask(asked, tenant, url, wait))
    _say(public(request), f"{request.id}  {request.status}{_outcome(request)}", json_)
    if wait and not (request.status == "completed" and request.response and request.response.decision != "reject"):
        raise typer.Exit(1)


@app.command("list")
def list_(
    status: Annotated[Literal["pending", "completed", "cancelled", "expired", "all"], typer.Option()] = "pending",
    limit: Annotated[int, typer.Option(min=1, max=1000)] = 50,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """List requests, newest first."""
    query = Query(statuses=() if status == "all" else (status,), limit=limit + 1)
    found = _run(_with_inbox(url, tenant, lambda inbox: inbox.find(query)))
    requests = found[:limit]
    if json_:
        next = cursor_of(requests[-1]) if len(found) > limit else None
        return _say({"items": [public(request) for request in requests], "next": next}, "", json_)
    table = Table("id", "kind", "title", "status", "asked by", box=None)
    for request in requests:
        table.add_row(*map(visible, (request.id, request.kind, request.title, request.status, request.asked_by or "")))
    out.print(table if requests else "nothing to do")


@app.command()
def show(id: str, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """Show one request."""
    request = _run(_with_inbox(url, tenant, lambda inbox: inbox.get(id)))
    _say(public(request), visible(json.dumps(public(request), indent=2, ensure_ascii=False), keep="\n"), json_)


@app.command()
def respond(
    id: str,
    decision: Annotated[str, typer.Argument(help="approve, edit, reject or respond.")],
    data: Annotated[str | None, typer.Option(help="The form's answers, as JSON.")] = None,
    args: Annotated[str | None, typer.Option(help="The whole edited arguments, as JSON.")] = None,
    message: Annotated[str | None, typer.Option(help="A reason or an answer in words.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Answer a request."""
    body = {"decision": decision, "data": _json("data", data), "args": _json("args", args), "message": message}
    request = _run(_respond(id, body, tenant, url))
    _say(public(request), f"{request.id}  {request.status}{_outcome(request)}", json_)


@app.command()
def migrate(url: Url = None, json_: Json = False) -> None:
    """Bring the store up to this version."""

    async def work() -> str:
        async with open_backend(url) as backend:
            return backend.url

    _say({"url": (done := _run(work()))}, f"{done} is up to date", json_)


@app.command()
def verify(url: Url = None, json_: Json = False) -> None:
    """Prove that no event and no record was touched; exit with 1 when one was."""

    async def work() -> tuple[int, list[audit.Finding]]:
        async with open_backend(url) as backend:
            return await audit.verify(backend.store)

    count, findings = _run(work())
    found = [{**finding._asdict(), "key": list(finding.key)} for finding in findings]
    lines = [
        f"{f.record} {f.key.tenant}/{f.key.id}: {f.what} {f.position and f'(event {f.position})'}" for f in findings
    ]
    _say({"events": count, "findings": found}, "\n".join([*lines, f"{count} events, {len(findings)} findings"]), json_)
    if findings:
        raise typer.Exit(1)


@token_app.command("create")
def token_create(
    role: Annotated[Literal["agent", "person", "admin"], typer.Option(help="What it may do.")],
    name: Annotated[str, typer.Option(help="Who it stands for: the name in the audit trail.")],
    tenant: Tenant = DEFAULT_TENANT,
    groups: Annotated[str, typer.Option(help="Groups, with commas between them.")] = "",
    json_: Json = False,
) -> None:
    """Make a token."""
    from ringi.server.auth import Keys

    names = tuple(group.strip() for group in groups.split(",") if group.strip())
    token = Keys.load(home()).mint(tenant=tenant, role=role, name=name, groups=names)
    _say({"token": token, "tenant": tenant, "role": role, "name": name, "groups": list(names)}, token, json_)


def load_agents(where: str) -> list[Agent]:
    """Return the agents of MODULE or MODULE:NAME; NAME is `agents` unless given: a list, an agent or a function."""
    module_name, _, name = where.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module_name), name or "agents")
        found = found() if callable(found) else found
        agents = list(found) if isinstance(found, Iterable) else [found]
    except (Exception, SystemExit) as error:  # The module is somebody else's: it may raise whatever it likes.
        log.debug("%s cannot be loaded", where, exc_info=True)
        why = f"{type(error).__name__}: {error}"
        raise SettingError("agents", where, f"{why}: give MODULE or MODULE:NAME of a list of ringi agents") from error
    if wrong := [agent for agent in agents if not isinstance(agent, Agent)]:
        raise SettingError("agents", where, f"{wrong[0]!r} is no ringi.threads.agent.Agent: wrap your graph in one")
    return agents


def public(request: Request) -> Any:
    """Return a request as the API shows it."""
    from ringi.server.shapes import request_json

    return json.loads(request_json(request))


def person_name() -> str:
    """Return the name of whoever sits at this machine."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # A container without an account for its user id.
        return "person"


def visible(text: str, keep: str = "") -> str:
    """Return a text with control and other unseen characters spelt out: a terminal would obey them."""
    return "".join(c if c.isprintable() or c in keep else f"\\u{{{ord(c):x}}}" for c in text)


def _need_langgraph(command: str) -> None:
    try:
        for name in ("aiosqlite", "langchain", "langchain_core.messages", "langgraph.graph"):
            importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(command, "langgraph") from error


def _demo_agents(model: str | None) -> list[Agent]:
    from ringi.examples import agents

    return agents(_chat_model(model) if model else None)


def _chat_model(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model

        return init_chat_model(name)
    except (ImportError, ValueError) as error:
        raise SettingError("model", name, f"{error}") from error


def _serve(agents: list[Agent], settings: Any, json_: bool, **place: Any) -> None:
    from ringi.server.serve import serve as serve_until_signal

    def announce(address: str, token: str) -> None:
        link = f"{address}/#token={token}"
        _say({"url": address, "link": link}, f"\nRingi is open:  {link}\n\nStop with Ctrl-C.", json_)

    _run(serve_until_signal(agents, settings=settings, person=person_name(), announce=announce, **place))


async def _work(agents: list[Agent], url: str | None) -> None:
    import signal

    from ringi.server.serve import running

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with running(agents, url) as (_, work):
        await asyncio.wait([work, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)


async def _with_inbox(url: str | None, tenant: str, work: Any) -> Any:
    async with open(url, tenant=tenant) as inbox:
        return await work(inbox)


async def _ask(asked: Ask, tenant: str, url: str | None, wait: bool) -> Request:
    async with open(url, tenant=tenant) as inbox:
        request = await inbox.submit(asked, by=person_name())
        if not wait:
            return request
        with err.status(f"waiting for the answer to {request.id}"):
            return await inbox.wait_final(request.id) or request


async def _respond(id: str, body: dict[str, Any], tenant: str, url: str | None) -> Request:
    async with open(url, tenant=tenant) as inbox:
        request = await inbox.get(id)
        return await inbox.answer(id, Answer.parse({**body, "digest": request.digest}), by=person_name(), channel="cli")


def _outcome(request: Request) -> str:
    response = request.response
    return f"  {response.decision} by {visible(response.responder)}" if response else ""


def _json(name: str, text: str | None) -> Any:
    try:
        return None if text is None else json.loads(text)
    except ValueError as error:
        raise InvalidError.of(name, f"not JSON: {error}") from error


def _read_json(path: Path) -> Any:
    try:
        return _json("form", path.read_text("utf-8"))
    except OSError as error:
        raise InvalidError.of("form", f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InvalidError.of("form", f"{path} is not UTF-8: save it as UTF-8") from error


def _say(data: Any, text: str, as_json: bool) -> None:
    line = json.dumps(data, ensure_ascii=False) if as_json else text
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _run(work: Coroutine[Any, Any, T]) -> T:
    try:
        import uvloop
    except ImportError:  # Windows has no uvloop.
        return asyncio.run(work)
    return uvloop.run(work)


def main() -> None:
    """Run the command: exit code 0 when it did its work, 1 when it failed, 2 when it was called wrongly."""
    try:
        _log_to_stderr(os.environ.get("RINGI_LOG") or "WARNING")
        app()
    except SettingError as error:
        _fail(str(error), 2)
    except RingiError as error:
        _fail(str(error), 1)
    except KeyboardInterrupt:
        sys.exit(130)
    except OSError as error:
        log.debug("stopped by the system", exc_info=True)
        named = f"{error.filename}: " if error.filename else ""
        _fail(f"{named}{error.strerror or error}; the folder of Ringi's own files is RINGI_HOME={str(home())!r}", 1)
    except Exception as error:
        log.debug("unexpected", exc_info=True)
        _fail(f"unexpected {type(error).__name__}: {error}; run with RINGI_LOG=DEBUG to see more", 1)


def _log_to_stderr(level: str) -> None:
    if level.upper() not in logging.getLevelNamesMapping():
        raise SettingError("RINGI_LOG", level, "choose DEBUG, INFO, WARNING or ERROR")
    logging.basicConfig(level=level.upper(), format="%(levelname)s %(name)s: %(message)s")


def _fail(why: str, code: int) -> None:
    sys.stderr.write(f"error: {visible(why)}\n")
    sys.exit(code)
