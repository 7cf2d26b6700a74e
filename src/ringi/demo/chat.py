"""A chat agent: it answers, asks with a form, and refunds money after an approval."""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Sequence
from itertools import takewhile

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.tools import tool

from ringi import Action, Agent, ask
from ringi.base import canonical
from ringi.demo.data import object_schema, package_toml
from ringi.demo.preferences import FORM
from ringi.demo.shop import ARGS, exact
from ringi.integrations.langchain import Remember
from ringi.testing import parallel_tool_calls, tool_call

MAX_MATCHED_CHARACTERS = 2_000
"""Characters at the start of a message in which the scripted model looks for patterns."""
AMOUNT = re.compile(r"[0-9]+(\.[0-9]+)?")
PROMPT = "You talk with a customer. Ask for their preferences, or pay money back, with the tools that you have."
MESSAGE = {
    "type": "object",
    "properties": {"role": {"enum": ["user"]}, "content": {"type": "string"}, "id": {"type": "string"}},
    "required": ["role", "content"],
    "additionalProperties": False,
}
MESSAGES = object_schema(messages={"type": "array", "title": "Messages", "minItems": 1, "items": MESSAGE})


@tool
def refund(order: int, amount: float) -> str:
    """Pay money back for an order; a person has to approve it."""
    request = ask(
        f"Refund {exact(amount)} for order {order}?",
        action=Action("refund", {"order": order, "amount": amount}, schema=ARGS),
    )
    if request.granted is None:
        return f"not refunded: {(request.response and request.response.message) or request.status}"
    request.authorize("refund", request.granted.args)
    return f"refunded {exact(request.granted.args['amount'])}"


@tool
def preferences() -> str:
    """Ask the person which sport they like."""
    about = {"intent": "collect_preference", "memory_category": "preference"}
    request = ask("Which sport do you like?", description="This helps me to know you better.", form=FORM, context=about)
    answer = request.response.data if request.response else None
    return canonical(answer).decode() if answer else "no answer"


def agent(model: BaseChatModel) -> Agent:
    """Return the agent on this model."""
    return Agent(
        "chat",
        create_agent(model, [refund, preferences], system_prompt=PROMPT, middleware=[Remember()]),
        title="Chat",
        description="Talks with you; say 'refund 40 for order 1182', 'ask me' or 'what do you remember?'.",
        input_schema=MESSAGES,
        images=True,
    )


def next_chat_message(messages: Sequence[BaseMessage]) -> AIMessage:
    """Return the next message of the scripted model; it depends only on the messages."""
    script = package_toml("ringi.demo", "script.toml")["chat"]
    says, text, results = script["says"], messages[-1].text, results_of(messages)
    if results:
        return AIMessage(says["done"].format(results=", ".join(results)))
    start = text[:MAX_MATCHED_CHARACTERS]
    if images := images_of(messages[-1]):
        more = says["said"].format(text=text) if text else says["images_only"]
        return AIMessage(says["images"].format(images=", ".join(images), text=more))
    if re.search(script["memories"], start, re.I):
        return AIMessage(says["memories"].format(memories=memories_in(messages) or says["nothing"]))
    calls = []
    found = re.search(script["refund"], start, re.I)
    if found and not AMOUNT.fullmatch(found[1]):
        return AIMessage(says["no_amount"].format(text=found[1]))
    if found:
        calls.append(tool_call("refund", order=int(found[2]), amount=float(found[1])))
    if re.search(script["preferences"], start, re.I):
        calls.append(tool_call("preferences"))
    if not calls:
        return AIMessage(says["otherwise"].format(text=text))
    return parallel_tool_calls(*calls, text=says["calls"].format(text=text))


def images_of(message: BaseMessage) -> list[str]:
    """Return the types and sizes of the images in a message."""
    blocks = [block for block in message.content_blocks if block["type"] == "image"]
    return [f"{block.get('mime_type')} ({len(b64decode(block.get('base64', '')))} bytes)" for block in blocks]


def memories_in(messages: Sequence[BaseMessage]) -> str:
    """Return the memories about the person in the prompt, as text."""
    lines = [line for line in messages[0].text.splitlines() if line.startswith("{")]
    answers = [json.loads(line)["answer"] for line in lines]
    return "; ".join(f"{name}: {value}" for answer in answers for name, value in answer.items())


def results_of(messages: Sequence[BaseMessage]) -> list[str]:
    """Return the tool results of the newest turn."""
    newest = takewhile(lambda message: isinstance(message, ToolMessage), reversed(messages))
    return [str(message.text) for message in newest][::-1]
