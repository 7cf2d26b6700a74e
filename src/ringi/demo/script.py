"""The scripted model of the demo."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage

from ringi.demo import chat, engrammer
from ringi.demo.assistant import SPEAKERS, drafts
from ringi.testing import ScriptedModel

DELAY = 0.04
"""Seconds between words, which makes the stream visible."""


def say(messages: Sequence[BaseMessage]) -> str | AIMessage:
    """Return the next message of the model; it depends only on the messages."""
    if chat.is_chat(messages):
        return chat.reply(messages)
    if drafts.is_planning(messages):
        return drafts.draft(messages)
    for speaker in (*SPEAKERS, *engrammer.SPEAKERS):
        if speaker.is_asked(messages):
            return speaker.reply(messages)
    text = messages[-1].text
    if messages[0].text.startswith("Do the task"):
        return f"I have looked at this from all sides and done it: {text.rpartition('it is: ')[2]}"
    if text.startswith("Explain why"):
        subject = text.removeprefix("Explain why ").rstrip(".")
        history = "I looked at the parcel's history: it came nine days late and the customer wrote twice."
        return f"{history} So {subject}, I think."
    if text.startswith("Tell the customer"):
        return f"All settled. The result is: {text.partition(': ')[2].rstrip('.')}. I have written to the customer."
    if text.startswith("Welcome"):
        sport = text.rpartition("who likes ")[2].rstrip(".")
        return f"Welcome back! You told me that you like {sport}. Is that still so?"
    if text.startswith("Thank"):
        return "Thank you, I will remember that."
    return "Hello! I would like to know you a little better, so that I can make better suggestions."


def scripted_model() -> ScriptedModel:
    """Return the scripted model."""
    return ScriptedModel(script=say, delay=DELAY)
