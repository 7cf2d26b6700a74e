"""Loading of agents by the name of their module, and the sample requests of a demo without agents."""

from __future__ import annotations

import importlib
import logging
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ringi.base.extras import MissingExtraError, raise_missing_extra
from ringi.base.settings import SettingError
from ringi.domain.ask import Action
from ringi.forms.fields import Select, TextArea
from ringi.forms.form import Form
from ringi.inbox.inbox import StoreInbox
from ringi.runs.agent import Agent

log = logging.getLogger(__name__)
SPORTS = ["basketball", "football", "swimming", "running"]
FORM = Form([Select("sport", label="Your favorite sport", required=True, options=SPORTS), TextArea("notes")])
MAIL = {
    "to": "aiko.mori@example.com",
    "subject": "Your order 1182",
    "body": "Your parcel came nine days late. I am sorry for that.",
}
SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "sample-question": ("Which color should the poster have?", {}),
    "sample-form": ("Which sport do you like?", {"form": FORM}),
    "sample-mail": ("Send this mail?", {"action": Action("send_mail", MAIL)}),
    "sample-delete": (
        "Delete customer c-77?",
        {"action": Action("delete_customer", {"customer": "c-77"}), "tier": "irreversible"},
    ),
    "sample-refund": (
        "Refund 40 for order 1182?",
        {
            "description": "The parcel came nine days late and the customer wrote twice.",
            "action": Action("refund", {"order": 1182, "amount": 40}),
        },
    ),
}
"""The title and the other fields of each request, by its id."""


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
    libraries = [*(Path(paths[name]) for name in ("stdlib", "purelib", "platlib")), Path(__file__).parents[1]]
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


def demo_agents(model: str | None) -> list[Agent]:
    """Return the agents of the demo, with a scripted model unless a real one is named."""
    from ringi.demo import agents

    return agents(_chat_model(model) if model else None)


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
