"""The runtimes of the installed frameworks, found by entry points."""

from __future__ import annotations

import sys
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import NamedTuple

from ringi.base.extras import MissingExtraError, raise_missing_extra
from ringi.base.settings import SettingError
from ringi.contracts.runtime import AgentSettings, Description, Runtime

GROUP = "ringi.runtimes"
"""The group of the entry points. The name of each is the package of the framework as Python imports it."""
OWN = (
    EntryPoint("langgraph", "ringi.runtimes.langgraph:LangGraphRuntime", GROUP),
    EntryPoint("agents", "ringi.runtimes.openai_agents:OpenAIAgentsRuntime", GROUP),
    EntryPoint("pydantic_ai", "ringi.runtimes.pydantic_ai:PydanticAIRuntime", GROUP),
)
"""Ringi's own runtimes: a copy of Ringi without the metadata of its package has them too."""
KNOWN = "give it an agent of a supported framework, such as what StateGraph(…).compile() returns"


class ServedAgent(NamedTuple):
    """The runtime of an agent, and its description."""

    runtime: Runtime
    description: Description


def find_runtime(agent: AgentSettings) -> ServedAgent:
    """Return the runtime that claims an agent.

    An object of a framework exists only if its package is imported: the runtimes of other packages are not loaded.

    Args:
        agent: The agent.

    Raises:
        SettingError: No runtime claims the agent, or its runtime cannot serve it.
        MissingExtraError: A library of its runtime is not installed.
    """
    missed: MissingExtraError | None = None
    for point in (*OWN, *sorted(entry_points(group=GROUP), key=lambda point: point.name)):
        try:
            # Another package may have imported a part of a framework that is not installed itself.
            runtime = load_runtime(point) if sys.modules.get(point.name) else None
        except MissingExtraError as error:
            missed = error
            continue
        if runtime and (description := runtime.describe(agent)):
            if getattr(agent, "policy", None) is not None and not description.checks_calls:
                why = f"the runtime of {description.framework} does not ask it about each call: gate functions with"
                raise SettingError(f"agents.{agent.name}.policy", "…", f"{why} `ringi.gate` instead")
            return ServedAgent(runtime, description)
    if missed:
        raise missed
    what = f"{type(agent.target).__name__} is not an agent of an installed framework"
    raise SettingError("agents", agent.name, f"{what}: {KNOWN}")


@cache
def load_runtime(point: EntryPoint) -> Runtime:
    """Return the runtime of an entry point."""
    try:
        runtime: Runtime = point.load()()
    except ModuleNotFoundError as error:
        raise_missing_extra(f"agents of {point.name}", error)
    return runtime
