"""Parts for agents of LangChain 1.x."""

from ringi.integrations.langchain.approval import Approval
from ringi.integrations.langchain.asking import AskHuman, ask_human
from ringi.integrations.langchain.finish import FinishGate, delegate, finish_tool
from ringi.integrations.langchain.forms import Forms
from ringi.integrations.langchain.policy import AutoApproval, Condition, Policy, Rule
from ringi.integrations.langchain.remember import Remember

__all__ = [
    "Approval",
    "AskHuman",
    "AutoApproval",
    "Condition",
    "FinishGate",
    "Forms",
    "Policy",
    "Remember",
    "Rule",
    "ask_human",
    "delegate",
    "finish_tool",
]
