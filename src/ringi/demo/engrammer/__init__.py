"""An Engrammer for woodworking: a database of notes, a folder of local notes, and a playbook."""

from __future__ import annotations

from pathlib import Path

from langchain_core.language_models import BaseChatModel

from ringi.demo.engrammer import reflector, speaker
from ringi.demo.engrammer.movement import check
from ringi.demo.engrammer.speaker import LOCAL
from ringi.demo.engrammer.woodworking import WoodworkingNotes
from ringi.engrammer import Engrammer, FolderNotes, Notes
from ringi.runs import Agent

SPEAKERS = (speaker, reflector)
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


def agents(model: BaseChatModel, database: Path | None = None) -> list[Agent]:
    """Return the agents of the Engrammer.

    Args:
        model: The model of the agents.
        database: The file with the notes; by default `woodworking.db` in the home folder.
    """
    local = FolderNotes(LOCAL, Path(__file__).parent / "notes", "Notes of this workshop")
    return Engrammer(
        model,
        notes=Notes(WoodworkingNotes(database), local),
        prompt=PROMPT,
        title="Woodworking",
        description="Answers from notes, and learns what you approve; ask 'how long do I leave the clamps on?'.",
        examples=PROMPTS,
        check=check,
    ).agents()
