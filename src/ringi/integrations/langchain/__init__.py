"""Parts for agents of LangChain 1.x."""

from ringi.integrations.langchain.finish import FinishGate, delegate, finish_tool
from ringi.integrations.langchain.forms import Forms

__all__ = ["FinishGate", "Forms", "delegate", "finish_tool"]
