"""The runtime of agents of the OpenAI Agents SDK."""

from ringi.runtimes.openai_agents.runtime import OpenAIAgentsRuntime

__all__ = ["OpenAIAgentsRuntime"]
