"""The desk of a shop: an agent whose tool calls wait for a person, by a policy with a card for each tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from ringi import Agent, Approval
from ringi.demo.data import TASK, package_toml
from ringi.runs import State
from ringi.testing import ScriptedModel, tool_call

PROMPT = "You work at the desk of a shop. Do the task with one call of one of your tools."
PACE = 0.25
"""Seconds between the words of the scripted model: who has just opened the page sees the agent at work."""


def send_mail(to: str, subject: str, body: str) -> str:
    """Send a mail to a customer."""
    return f"the mail to {to} is sent"


def pay_back(order: int, amount: int, reason: str) -> str:
    """Pay money back for an order, in yen."""
    return f"{amount} yen are paid back for order {order}"


def delete_customer(customer: str) -> str:
    """Delete a customer and all their orders."""
    return f"customer {customer} is deleted"


def order_stock(supplier: str, lines: list[dict[str, str | int]]) -> str:
    """Order goods from a supplier."""
    return f"{len(lines)} kinds of goods are ordered from {supplier}"


def agent(model: BaseChatModel | None) -> Agent:
    """Return the agent on this model; None for its scripted one."""
    tools: list[Callable[..., str]] = [send_mail, pay_back, delete_customer, order_stock]
    gate = Approval(package_toml(__package__, "desk.toml")["policy"], tools)
    own = model or ScriptedModel(script=next_desk_message, delay=PACE)
    return Agent(
        "desk",
        create_agent(own, tools, system_prompt=PROMPT, middleware=[gate]),
        title="Shop desk",
        description="Writes to customers, pays money back, deletes customers and orders goods, once you approve it.",
        input_schema=TASK,
        input=lambda input: {"messages": [HumanMessage(input["task"])]},
        output=visible_state,
    )


def visible_state(state: State) -> dict[str, str]:
    """Return the visible part of the state: the newest message."""
    messages = state.get("messages", [])
    return {"outcome": messages[-1].text} if messages else {}


def next_desk_message(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the next message of the scripted model; it depends only on the messages."""
    texts, newest = package_toml(__package__, "desk.toml"), messages[-1]
    if isinstance(newest, ToolMessage):
        return AIMessage(texts["says"]["done"].format(result=newest.text))
    found = next((task for task in texts["tasks"] if re.search(task["pattern"], newest.text, re.I)), None)
    if found is None:
        return AIMessage(texts["says"]["otherwise"])
    stock = texts["stock"]
    shelves = " ".join(stock["shelf"].format(number=number) for number in range(1, stock["shelves"] + 1))
    text = found["says"].format(shelves=shelves)
    return tool_call(found["tool"], **found["args"]).model_copy(update={"content": text})
