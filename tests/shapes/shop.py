"""A bookshop: agents of LangChain with tools, behind a gate or asking by themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.tools import BaseTool, tool
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import interrupt
from tests.shapes.shape import Case, Shape, does, edit, form, no, words, yes

from ringi.testing.model import ScriptedModel

HELLO = {"messages": [{"role": "user", "content": "Please see to it."}]}
SHIP = {"order": 7, "to": "Kyoto"}
LETTER = {
    "type": "object",
    "properties": {"action": {"enum": ["approve", "cancel"]}, "subject": {"type": "string"}},
    "required": ["action"],
}


@tool
def ship(order: int, to: str) -> str:
    """Ship an order."""
    return does(f"shipped {order} to {to}")


@tool
def stock(title: str) -> str:
    """Look how many there are."""
    return f"3 of {title}"


def calling(*calls: tuple[str, dict[str, Any]], prefix: str = "c") -> ScriptedModel:
    """Return a model that makes these calls at once, and then says what came of them."""

    def script(messages: Sequence[BaseMessage]) -> AIMessage | str:
        results = [message.text for message in messages if isinstance(message, ToolMessage)]
        if results:
            return " | ".join(results)
        made = [{"name": name, "args": args, "id": f"{prefix}{n}"} for n, (name, args) in enumerate(calls, 1)]
        return AIMessage("I will.", tool_calls=made)

    return ScriptedModel(script=script, delay=0.0)


def gated(mode: Any) -> Callable[[], Any]:
    def made() -> Any:
        gate: Any = HumanInTheLoopMiddleware({"ship": True, "stock": False}, interrupt_mode=mode)
        model = calling(("ship", SHIP), ("stock", {"title": "Emma"}))
        return create_agent(model, [ship, stock], middleware=[gate])

    return made


def some_decisions() -> Any:
    gate: Any = HumanInTheLoopMiddleware({"ship": {"allowed_decisions": ["approve", "reject"]}})
    model = calling(("ship", SHIP), ("ship", {**SHIP, "order": 8}))
    return create_agent(model, [ship], middleware=[gate])


def in_a_tool() -> Any:
    @tool
    def write(to: str, subject: str) -> str:
        """Write a letter."""
        response = interrupt({"action": "write", "to": to, "subject": subject, "message": "Send this letter?"})
        if response.get("action") == "approve":
            return does(f"wrote to {to}: {response.get('subject', subject)}")
        return "not sent"

    return create_agent(calling(("write", {"to": "ann", "subject": "Your book"})), [write])


def own_loop() -> Any:
    """Return an agent that is a graph of its own, with a node for the model and one for the tools."""
    model = calling(("order", {"title": "Emma"}))

    @tool
    def order(title: str) -> str:
        """Order a book."""
        return does(f"ordered {title}") if interrupt(f"Order {title}?") else "not ordered"

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState).add_node("think", think).add_node("tools", ToolNode([order]))
    graph.add_edge(START, "think").add_conditional_edges("think", tools_condition).add_edge("tools", "think")
    return graph.compile()


def packer() -> Any:
    """Return an agent that others call."""
    gate: Any = HumanInTheLoopMiddleware({"ship": True})
    return create_agent(calling(("ship", SHIP), prefix="inner"), [ship], middleware=[gate])


def agent_as_tool_async() -> Any:
    inner = packer()

    @tool
    async def pack(task: str) -> str:
        """Have the packer do something."""
        return str((await inner.ainvoke({"messages": [("user", task)]}))["messages"][-1].text)

    return create_agent(calling(("pack", {"task": "Ship it."})), [pack])


def agent_as_tool() -> Any:
    inner = packer()

    @tool
    def pack(task: str) -> str:
        """Have the packer do something."""
        return str(inner.invoke({"messages": [("user", task)]})["messages"][-1].text)

    return create_agent(calling(("pack", {"task": "Ship it."})), [pack])


def deep_agent() -> Any:
    """Return what `create_deep_agent(interrupt_on=…, subagents=…)` builds: a gate at each level, and a `task` tool."""
    inner = packer()

    @tool
    async def task(description: str, subagent_type: str) -> str:
        """Hand work to another agent."""
        return str((await inner.ainvoke({"messages": [("user", description)]}))["messages"][-1].text)

    @tool
    def write_file(path: str, text: str) -> str:
        """Write a file."""
        return does(f"wrote {path}: {text}")

    file = {"path": "label.txt", "text": "Kyoto"}
    model = calling(("write_file", file), ("task", {"description": "Ship it.", "subagent_type": "packer"}))
    gate: Any = HumanInTheLoopMiddleware({"write_file": True})
    return create_agent(model, [write_file, task], middleware=[gate])


def human_in_the_tool(inner: BaseTool) -> BaseTool:
    """Return a tool that asks for Agent Inbox before it runs, as LangGraph's guide wraps any tool."""

    @tool(inner.name, description=inner.description, args_schema=inner.args_schema)
    def asking(**options: Any) -> Any:
        allowed = {"allow_accept": True, "allow_edit": True, "allow_respond": True, "allow_ignore": True}
        asked = {"action_request": {"action": inner.name, "args": options}, "config": allowed, "description": "Look."}
        response = interrupt([asked])[0]
        if response["type"] == "response":
            return response["args"]
        if response["type"] == "ignore":
            return "ignored"
        return inner.invoke(response["args"]["args"] if response["type"] == "edit" else options)

    return asking


def agent_inbox() -> Any:
    return create_agent(calling(("ship", SHIP)), [human_in_the_tool(ship)])


DECIDED = (
    Case("approved", (yes(),), {"said": "shipped 7 to Kyoto"}, ("shipped 7 to Kyoto",)),
    Case("edited", (edit({"order": 7, "to": "Nara"}),), {}, ("shipped 7 to Nara",)),
    Case("rejected", (no("too far"),), {}),
    Case("answered", (words("It is there already."),), {"said": "It is there already."}),
)
BOTH = tuple(Case(case.name, case.answers, {}, case.does) for case in DECIDED)
SHAPES = (
    Shape("hitl-middleware-batched", "langchain/human-in-the-loop", gated("batched"), BOTH, HELLO),
    Shape("hitl-middleware-per-call", "langchain/human-in-the-loop: per call", gated("per_call"), BOTH, HELLO),
    Shape(
        "hitl-middleware-several-calls",
        "langchain/human-in-the-loop: several calls",
        some_decisions,
        (
            Case(
                "both ways",
                (yes("ship"), no(about="ship")),
                {},
                ("shipped 7 to Kyoto",),
            ),
        ),
        HELLO,
    ),
    Shape(
        "interrupt-in-a-tool",
        "langgraph/interrupts: interrupts in tools",
        in_a_tool,
        (
            Case("approved", (form({"action": "approve"}),), {}, ("wrote to ann: Your book",)),
            Case("edited", (form({"action": "approve", "subject": "News"}),), {}, ("wrote to ann: News",)),
            Case("cancelled", (form({"action": "cancel"}),), {"said": "not sent"}),
        ),
        HELLO,
        {"answer_schema": LETTER},
        "`answer_schema=SCHEMA`, because the code accepts only an object",
    ),
    Shape(
        "tool-node-loop",
        "langgraph/workflows-agents: agent",
        own_loop,
        (
            Case("approved", (yes(),), {"said": "ordered Emma"}, ("ordered Emma",)),
            Case("rejected", (no(),), {"said": "not ordered"}),
            Case("words", (words("do"),), {"said": "ordered Emma"}, ("ordered Emma",)),
        ),
        HELLO,
    ),
    Shape("agent-as-tool-async", "langchain/multi-agent: subagents", agent_as_tool_async, DECIDED, HELLO),
    Shape("agent-as-tool", "langchain/multi-agent: subagents", agent_as_tool, DECIDED, HELLO),
    Shape(
        "deep-agent",
        "deepagents/human-in-the-loop",
        deep_agent,
        (
            Case(
                "both approved",
                (yes("write_file"), yes("ship")),
                {},
                ("wrote label.txt: Kyoto", "shipped 7 to Kyoto"),
            ),
            Case(
                "edited and rejected",
                (edit({"path": "label.txt", "text": "Nara"}, "write_file"), no("too far", "ship")),
                {},
                ("wrote label.txt: Nara",),
            ),
            Case("answered", (words("Done by hand.", "write_file"), words("It is there.", "ship")), {}),
        ),
        HELLO,
    ),
    Shape(
        "agent-inbox",
        "langgraph/add-human-in-the-loop: any tool",
        agent_inbox,
        (
            *DECIDED[:2],
            Case("ignored", (no(),), {"said": "ignored"}),
            DECIDED[3],
        ),
        HELLO,
    ),
)
