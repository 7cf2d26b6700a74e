"""Commands that run until they are stopped: `demo`, `serve`, `worker`; the agents and samples that they load."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from ringi.base.extras import MissingExtraError, raise_missing_extra
from ringi.base.settings import SIGN_IN_LINK_MINUTES, SettingError
from ringi.cli.error_texts import cli_error_text
from ringi.cli.format.output import print_json_or_text
from ringi.cli.options import Agents, AsJson, Host, MaxFields, PollInterval, Port, StoreTimeout, StoreUrl
from ringi.cli.session import CommandSession, process_user_name, run_on_event_loop
from ringi.cli.texts import cli_text
from ringi.domain.ask import Action
from ringi.forms.fields import Select, TextArea
from ringi.forms.form import ASKED_FIELDS, Form
from ringi.inbox.inbox import Limits, StoreInbox
from ringi.runs.agent import Agent

log = logging.getLogger(__name__)
SPORTS = ["basketball", "football", "swimming", "running"]
FORM = Form([Select("sport", label="Your favorite sport", required=True, options=SPORTS), TextArea("notes")])
MAIL = {
    "to": "aiko.mori@example.com",
    "subject": "Your order 1182",
    "body": "Your parcel came nine days late. I am sorry for that.",
}
DELETION = Action("delete_customer", {"customer": "c-77"})
REFUND = Action("refund", {"order": 1182, "amount": 40})
WHY_REFUND = "The parcel came nine days late and the customer wrote twice."
SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "sample-question": ("Which color should the poster have?", {}),
    "sample-form": ("Which sport do you like?", {"form": FORM}),
    "sample-mail": ("Send this mail?", {"action": Action("send_mail", MAIL)}),
    "sample-delete": ("Delete customer c-77?", {"action": DELETION, "tier": "irreversible"}),
    "sample-refund": ("Refund 40 for order 1182?", {"action": REFUND, "description": WHY_REFUND}),
}
"""The title and the other fields of each request, by its id."""


def demo(
    port: Port = 8123,
    host: Host = "127.0.0.1",
    model: Annotated[
        str | None, typer.Option(help="A real model, such as openai:gpt-5; by default a scripted one.")
    ] = None,
    url: StoreUrl = None,
    max_fields: MaxFields = ASKED_FIELDS,
    poll_interval: PollInterval = 0.5,
    samples: Annotated[bool, typer.Option(help="Begin with waiting requests and an agent at work.")] = True,
    json_: AsJson = False,
) -> None:
    """Serve the inbox with sample agents.

    The first start begins six runs: five ask at once, one is at work. The agents ask for approvals, a form and two
    answers at once; others chat, plan and learn. Each other framework that is installed has one agent too. Without any
    framework the inbox has five sample requests.
    """
    from ringi.demo import agents as demo_agents
    from ringi.demo import frameworks
    from ringi.demo.samples import begin_samples
    from ringi.server.settings import ServerSettings

    try:
        require_langgraph("demo")
        agents = demo_agents(_chat_model(model) if model else None)
    except MissingExtraError as error:
        if model is not None:
            raise
        agents = frameworks.agents()
        if not agents:
            if samples:
                CommandSession(url=url).work_on_backend(lambda _, inbox: ask_demo_samples(inbox), creates=True)
            extras = ",".join(frameworks.missing_extras())
            why = cli_text("no_agents", count=len(SAMPLES) if samples else 0, why=cli_error_text(error))
            sys.stderr.write(f"{why}\n{cli_text('more_agents', extras=extras)}\n")
    settings = ServerSettings.load(scripted=model is None and bool(agents), model=model, hosts=(host,))
    place = {"url": url, "host": host, "port": port, "poll_interval": poll_interval}
    begin = begin_samples if samples else None
    _serve(agents, settings, json_, limits=Limits(max_fields=max_fields), begin=begin, **place)


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8123,
    url: StoreUrl = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="No sign-in, everybody is the administrator; loopback only.")
    ] = False,
    no_deliveries: Annotated[
        bool, typer.Option("--no-deliveries", help="For a copy of a store: send nothing and run nothing.")
    ] = False,
    agents: Agents = None,
    allow_host: Annotated[list[str] | None, typer.Option(help="A host name of the server; repeatable.")] = None,
    max_fields: MaxFields = ASKED_FIELDS,
    poll_interval: PollInterval = 0.5,
    store_timeout: StoreTimeout = None,
    json_: AsJson = False,
) -> None:
    """Serve the API and the page; with --agents, run your agents too."""
    from ringi.server.identity import Oidc, TrustedProxy
    from ringi.server.settings import ServerSettings

    hosts = (host, *(allow_host or ()))
    settings = ServerSettings.load(
        no_auth=no_auth, no_deliveries=no_deliveries, hosts=hosts, oidc=Oidc.load(), proxy=TrustedProxy.load()
    )
    place = {"url": url, "host": host, "port": port, "poll_interval": poll_interval}
    loaded = load_agents(agents) if agents else []
    _serve(loaded, settings, json_, limits=Limits(max_fields=max_fields), store_timeout=store_timeout, **place)


def worker(agents: Agents, url: StoreUrl = None, store_timeout: StoreTimeout = None, json_: AsJson = False) -> None:
    """Run agents and deliver webhooks and mail, without the API and the page."""
    loaded = load_agents(agents or "")
    run_on_event_loop(_work(loaded, url, store_timeout, json_))


def _serve(agents: list[Agent], settings: Any, json_: bool, **place: Any) -> None:
    from ringi.server.extension import served_extensions
    from ringi.server.serve import serve_until_signal

    def announce(address: str, link: str) -> None:
        if settings.no_auth:
            opened = address
        elif sys.stdout.isatty():
            opened = cli_text("running.link", link=link, minutes=f"{SIGN_IN_LINK_MINUTES:g}")
        else:  # Others may read the log, so it must not contain a link.
            opened = cli_text("running.sign_in", address=address)
        if settings.no_deliveries:
            opened = cli_text("running.no_deliveries", opened=opened)
        print_json_or_text({"url": address}, cli_text("running", opened=opened), json_)

    options = {"settings": settings, "person": process_user_name(), "announce": announce}
    extensions = served_extensions(has_agents=bool(agents))
    run_on_event_loop(serve_until_signal(agents, extensions=extensions, **options, **place))


async def _work(agents: list[Agent], url: str | None, store_timeout: float | None, json_: bool) -> None:
    import signal

    from ringi.server.serve import open_components
    from ringi.server.startup import collect_garbage_rarely

    ended, task, is_ready = asyncio.Event(), asyncio.current_task(), False

    def end() -> None:
        ended.set()
        if task and not is_ready:  # It is still waiting for the store.
            task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end)
    with suppress(asyncio.CancelledError):
        async with open_components(agents, url, store_timeout=store_timeout) as (_, work):
            is_ready = True
            collect_garbage_rarely()
            names = [agent.name for agent in agents]
            print_json_or_text({"working": names}, cli_text("working", count=len(names)), json_)
            await asyncio.wait([work, asyncio.create_task(ended.wait())], return_when=asyncio.FIRST_COMPLETED)


def load_agents(location: str) -> list[Agent]:
    """Return the agents of MODULE or MODULE:NAME.

    Args:
        location: The module, and the name of a list, an agent, or a function that returns either; default `agents`.

    Raises:
        SettingError: The module cannot be imported, or holds something other than agents.
    """
    module_name, _, name = location.partition(":")
    if module_name.endswith(".py"):
        module = module_name.removesuffix(".py").replace("/", ".")
        raise SettingError("agents", location, f"name the module, without .py: {module}{_}{name}")
    sys.path.insert(0, str(Path.cwd()))
    try:
        loaded = getattr(importlib.import_module(module_name), name or "agents")
        loaded = loaded() if callable(loaded) else loaded
        agents = list(loaded) if isinstance(loaded, Iterable) else [loaded]
    except MissingExtraError:
        raise
    except (Exception, SystemExit) as error:  # The user's module may raise anything.
        if isinstance(error, ModuleNotFoundError) and error.name != module_name:
            with suppress(ModuleNotFoundError):
                raise_missing_extra(f"{location!r}", error)
        log.debug("%s cannot be loaded", location, exc_info=True)
        why = f"{type(error).__name__}: {error}: pass MODULE or MODULE:NAME of a list of Ringi agents"
        raise SettingError("agents", location, f"{failed_source_line(error)}{why}") from error
    if wrong := [agent for agent in agents if not isinstance(agent, Agent)]:
        raise SettingError("agents", location, f"{wrong[0]!r} is not a ringi.Agent: wrap your graph in one")
    return agents


def failed_source_line(error: BaseException) -> str:
    """Return the file and line of the user's code that failed; an empty text if none of it ran."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_library_file(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{relative_to_current_folder(error.filename)}:{error.lineno}: "
    return f"{relative_to_current_folder(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""


def is_library_file(file: str) -> bool:
    """Return whether a file belongs to Python, to a library or to Ringi, and not to the user."""
    paths = sysconfig.get_paths()
    libraries = [*(Path(paths[name]) for name in ("stdlib", "purelib", "platlib")), Path(__file__).parents[2]]
    return file.startswith("<") or any(Path(file).is_relative_to(library) for library in libraries)


def relative_to_current_folder(file: str) -> str:
    """Return a path relative to the current folder if it is below it."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def require_langgraph(command: str) -> None:
    """Raise `MissingExtraError` if the libraries that run agents are not installed."""
    try:
        for name in ("langchain", "langchain_core.messages", "langgraph.checkpoint.sqlite", "langgraph.graph"):
            importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise_missing_extra(command, error)


def _chat_model(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model

        model: Any = init_chat_model(name)
    except (ImportError, ValueError) as error:
        raise SettingError("model", name, f"{error}") from error
    if getattr(model, "stream_usage", True) is None:
        # `ChatOpenAI` leaves it open for servers at other addresses, which would then report no tokens of streams.
        model.stream_usage = True
    return model


async def ask_demo_samples(inbox: StoreInbox) -> None:
    """Ask the samples, once: an id that exists is not asked again."""
    for id, (title, fields) in SAMPLES.items():
        await inbox.ask(title, id=id, **fields)
