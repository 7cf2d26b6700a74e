"""Agents of LangChain whose model follows a script, and tools that note what they did."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, tool

from ringi.runs.agent import Agent
from ringi.testing.model import ScriptedModel

Args = dict[str, Any]
MessageScript = Callable[[Sequence[BaseMessage]], AIMessage | str]


class Till:
    """Pays, and remembers each payment."""

    def __init__(self) -> None:
        self.paid: list[Args] = []

    @property
    def tools(self) -> list[BaseTool]:
        @tool
        def refund(order: int, amount: float) -> str:
            """Pay money back."""
            self.paid.append({"order": order, "amount": amount})
            return f"refunded {amount:g}"

        @tool
        async def send(to: str, text: str) -> str:
            """Send a letter."""
            self.paid.append({"to": to, "text": text})
            return f"sent to {to}"

        return [refund, send]


def call(name: str, id: str = "c1", /, **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "id": id}


def calls(*wanted: dict[str, Any], words: str = "I will do that.") -> MessageScript:
    """Return a script that makes these calls at once and then repeats what came of them."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        results = [message for message in messages if isinstance(message, ToolMessage)]
        if results:
            return " | ".join(message.text for message in results)
        return AIMessage(words, tool_calls=[{**each, "type": "tool_call"} for each in wanted])

    return script


def agent(script: Any, tools: Sequence[Any], middleware: Sequence[Any] = (), **options: Any) -> Agent:
    """Return an agent that Ringi runs; its values are the last words and the results of its tools."""
    return Agent(
        "office",
        create_agent(ScriptedModel(script=script), tools, middleware=middleware, **options),
        input=lambda _: {"messages": [HumanMessage("Please.")]},
        output=build_output,
    )


def build_output(state: Any) -> dict[str, Any]:
    messages = state["messages"]
    results = {m.tool_call_id: [m.status, m.text] for m in messages if isinstance(m, ToolMessage)}
    return {"said": messages[-1].text, "results": results}


class Changing(AgentMiddleware[Any, Any, Any]):
    """A middleware that changes requests on their way to the tool."""

    def __init__(self, change: Callable[[ToolCallRequest], ToolCallRequest]) -> None:
        super().__init__()
        self.change, self.seen = change, list[Any]()

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return handler(self.change(request))

    async def awrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Any]) -> Any:
        return await handler(self.change(request))
