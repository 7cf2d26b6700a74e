"""The scripted model of the demo."""

from __future__ import annotations

import re
from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from ringi.demo import chat
from ringi.demo.data import DELAY, package_toml
from ringi.testing import ScriptedModel

REPLIES = package_toml("ringi.demo", "script.toml")["replies"]


def scripted_demo_reply(messages: Sequence[BaseMessage]) -> str | AIMessage:
    """Return the next message of the model; it depends only on the messages."""
    if messages[0].text.startswith(chat.PROMPT):
        return chat.next_chat_message(messages)
    matches = ((reply, re.search(reply["pattern"], messages[-1].text)) for reply in REPLIES)
    reply, found = next(
        (reply, found) for reply, found in matches if found and messages[0].text.startswith(reply.get("system", ""))
    )
    return str(reply["text"]).format(*(part.rstrip(reply.get("strip", "")) for part in found.groups("")))


def scripted_model() -> ScriptedModel:
    """Return the scripted model."""
    return ScriptedModel(script=scripted_demo_reply, delay=DELAY)
