"""Commands that run until they are stopped: `demo`, `serve`, `worker`."""

from __future__ import annotations

import asyncio
import sys
from contextlib import suppress
from typing import Annotated, Any

import typer

from ringi.base.extras import MissingExtraError
from ringi.cli.agents import SAMPLES, ask_demo_samples, demo_agents, load_agents, require_langgraph
from ringi.cli.error_texts import cli_error_text
from ringi.cli.format.output import print_json_or_text
from ringi.cli.options import Agents, AsJson, Host, MaxFields, PollInterval, Port, StoreTimeout, StoreUrl
from ringi.cli.session import CommandSession, process_user_name, run_on_event_loop
from ringi.cli.texts import cli_text
from ringi.forms.form import ASKED_FIELDS
from ringi.inbox.inbox import Limits
from ringi.runs.agent import Agent


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
    from ringi.demo import frameworks
    from ringi.demo.samples import begin_samples
    from ringi.server.settings import ServerSettings

    try:
        require_langgraph("demo")
        agents = demo_agents(model)
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

    settings = ServerSettings.load(
        no_auth=no_auth, hosts=(host, *(allow_host or ())), oidc=Oidc.load(), proxy=TrustedProxy.load()
    )
    place = {"url": url, "host": host, "port": port, "poll_interval": poll_interval}
    loaded = load_agents(agents) if agents else []
    _serve(loaded, settings, json_, limits=Limits(max_fields=max_fields), store_timeout=store_timeout, **place)


def worker(agents: Agents, url: StoreUrl = None, store_timeout: StoreTimeout = None, json_: AsJson = False) -> None:
    """Run agents and deliver webhooks and mail, without the API and the page."""
    loaded = load_agents(agents or "")
    run_on_event_loop(_work(loaded, url, store_timeout, json_))


def _serve(agents: list[Agent], settings: Any, json_: bool, **place: Any) -> None:
    from ringi.server.auth.links import MINUTES
    from ringi.server.extension import served_extensions
    from ringi.server.serve import serve_until_signal

    def announce(address: str, link: str) -> None:
        if settings.no_auth:
            opened = address
        elif sys.stdout.isatty():
            opened = cli_text("running.link", link=link, minutes=f"{MINUTES:g}")
        else:  # Others may read the log, so it must not contain a link.
            opened = cli_text("running.sign_in", address=address)
        print_json_or_text({"url": address}, cli_text("running", opened=opened), json_)

    options = {"settings": settings, "person": process_user_name(), "announce": announce}
    run_on_event_loop(
        serve_until_signal(agents, extensions=served_extensions(has_agents=bool(agents)), **options, **place)
    )


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
