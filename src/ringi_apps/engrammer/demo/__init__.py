"""An Engrammer for woodworking: a database of notes, a folder of local notes, and a playbook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from pydantic import BaseModel

from ringi import Agent
from ringi.demo.data import DELAY
from ringi.testing import ScriptedModel
from ringi_apps.engrammer import Engrammer, FolderNotes, Notes
from ringi_apps.engrammer.demo import reflector, speaker
from ringi_apps.engrammer.demo.movement import check
from ringi_apps.engrammer.demo.speaker import LOCAL
from ringi_apps.engrammer.demo.woodworking import WoodworkingNotes

PROMPTS = (
    "How long do I leave the clamps on?",
    "How much does a plain-sawn red oak board 900 mm wide move from 6 % to 10 % moisture?",
    "How do I attach a solid wood table top?",
    "クランプはいつ外せますか?",
    "幅900 mmのレッドオークの板は、含水率が6%から10%になるとどれだけ伸縮しますか?",
    "無垢の天板はどうやって取り付けますか?",
    "夹具要夹多久？",
    "一块900毫米宽的红橡木板，含水率从6%到10%会伸缩多少？",
    "实木桌面怎么固定？",
)
"""Example questions; each leads to a lesson."""
PROMPT = "You help people in a small workshop with woodworking."


def say(messages: Sequence[BaseMessage]) -> AIMessage | BaseModel:
    """Return the next message of the scripted model; it depends only on the messages."""
    return (
        reflector.next_reflector_message(messages)
        if reflector.is_asked(messages)
        else speaker.next_generator_message(messages)
    )


def agents(model: BaseChatModel | None = None, database: Path | None = None) -> list[Agent]:
    """Return the agents of the Engrammer.

    Args:
        model: The model of the agents; by default a scripted one.
        database: The file with the notes; by default `woodworking.db` in the home folder.
    """
    local = FolderNotes(LOCAL, Path(__file__).parent / "notes", "Notes of this workshop")
    return Engrammer(
        model or ScriptedModel(script=say, delay=DELAY),
        notes=Notes(WoodworkingNotes(database), local),
        prompt=PROMPT,
        title="Woodworking",
        description="Answers from notes, and learns what you approve; ask 'how long do I leave the clamps on?'.",
        examples=PROMPTS,
        check=check,
    ).agents()
