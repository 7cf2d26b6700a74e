"""The runtime of agents of the OpenAI Agents SDK."""

from __future__ import annotations

from importlib.metadata import version

from ringi.contracts.runtime import AgentSettings, Description, OpenRun, WorkerRun
from ringi.runtimes.tool_calls import refuse_unsupported_settings

OPTIONS = ("run_config", "max_turns")
"""The options of a run that `ringi.Agent(options=…)` may set; the others are the runtime's own."""
SDK_CLASS = ("agents.agent", "Agent")


class OpenAIAgentsRuntime:
    """Runs agents of the OpenAI Agents SDK.

    The SDK's package has a common name: a program may have another package `agents`. The SDK is therefore imported only
    for an agent of the SDK.
    """

    def describe(self, agent: AgentSettings) -> Description | None:
        """Return the description of an agent; None for an object of another framework.

        A rejected call does not run, whatever a later deploy has dropped: the stored state has the answer. Not seen
        before the call is a question that a tool itself waits for: without it, a repeated tool does its work unasked.
        """
        if SDK_CLASS not in [(each.__module__, each.__name__) for each in type(agent.target).__mro__]:
            return None
        from ringi.runtimes.openai_agents.run_state import FRAMEWORK, readable_state_versions
        from ringi.runtimes.openai_agents.tool_pauses import reachable_openai_tools

        refuse_unsupported_settings(agent, FRAMEWORK, OPTIONS)
        reachable_openai_tools(agent.target).check(agent)
        return Description(
            FRAMEWORK, version(FRAMEWORK), reads=readable_state_versions(), needs="each", checks_calls=True
        )

    def open(self, run: WorkerRun) -> OpenRun:
        """Return a run, before any of its code has run."""
        from ringi.runtimes.openai_agents.agent_run import OpenAIRun

        return OpenAIRun(run)
