"""Agents that somebody wrote, found by the name of their module."""

from __future__ import annotations

import importlib
import logging
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ringi.errors import MissingExtraError, SettingError
from ringi.runs.agent import Agent

log = logging.getLogger(__name__)


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
        why = f"{place_of(error)}{type(error).__name__}: {error}"
        raise SettingError("agents", where, f"{why}: give MODULE or MODULE:NAME of a list of ringi agents") from error
    if wrong := [agent for agent in agents if not isinstance(agent, Agent)]:
        raise SettingError("agents", where, f"{wrong[0]!r} is no ringi.runs.agent.Agent: wrap your graph in one")
    return agents


def place_of(error: BaseException) -> str:
    """Return the file and line where somebody's own code failed; nothing where it never ran."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not is_foreign(frame.filename)]
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shortened(error.filename)}:{error.lineno}: "
    return f"{shortened(frames[-1].filename)}:{frames[-1].lineno}: " if frames else ""


def is_foreign(file: str) -> bool:
    """Whether a file is no code of the caller: Python's own, a library's or ours."""
    paths = sysconfig.get_paths()
    libraries: tuple[str | Path, ...] = (
        *(paths[name] for name in ("stdlib", "purelib", "platlib")),
        Path(__file__).parents[1],
    )
    return file.startswith("<") or any(Path(file).is_relative_to(library) for library in libraries)


def shortened(file: str) -> str:
    """Return a path from where the caller stands, if it is below."""
    path, here = Path(file), Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else file


def need_langgraph(command: str) -> None:
    """Raise `MissingExtraError` where this command has no LangGraph to run agents on."""
    try:
        for name in ("langchain", "langchain_core.messages", "langgraph.checkpoint.sqlite", "langgraph.graph"):
            importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(command, "langgraph") from error


def demo_agents(model: str | None) -> list[Agent]:
    """Return the agents of the demo, on a script unless a model is named."""
    from ringi.demo import agents

    return agents(_chat_model(model) if model else None)


def _chat_model(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model

        return init_chat_model(name)
    except (ImportError, ValueError) as error:
        raise SettingError("model", name, f"{error}") from error
