"""Parts for agents of LangChain 1.x."""

from ringi.integrations.langchain.finish import FinishGate, delegate, finish_tool

__all__ = ["FinishGate", "delegate", "finish_tool"]
