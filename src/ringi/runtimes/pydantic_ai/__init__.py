"""The runtime of agents of Pydantic AI."""

from ringi.runtimes.pydantic_ai.runtime import PydanticAIRuntime

__all__ = ["PydanticAIRuntime"]
