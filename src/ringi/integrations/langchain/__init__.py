"""Components for agents of LangChain 1.x."""

from ringi.integrations.langchain.ask_human import AskHuman, ask_human
from ringi.integrations.langchain.finish_gate import FinishGate, delegate, finish_tool
from ringi.integrations.langchain.forms import Forms
from ringi.integrations.langchain.memories import Remember

__all__ = ["AskHuman", "FinishGate", "Forms", "Remember", "ask_human", "delegate", "finish_tool"]
