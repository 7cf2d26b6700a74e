"""Playbooks and insights for tests."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

from ringi.testing.clock import NOON
from ringi_apps.engrammer.entries import Entry, VersionedEntry
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.insights import AnswerFeedback, Insight, insight_id
from ringi_apps.engrammer.playbook import Playbook

GLUE = "Clamp a glued joint for 30 minutes."
SAND = "Sand along the grain, never across it."
OIL = "Wipe off the oil that the wood has not taken after 15 minutes."


def insight(text: str = GLUE, position: int = 0, **fields: Any) -> Insight:
    about: dict[str, Any] = {"type": "new_strategy", "section": "strategies", "thread_id": "t", "run_id": "r"}
    feedback = AnswerFeedback(source="user", verdict="wrong")
    return Insight(**{"id": insight_id("r", position), "text": text, "feedback": feedback, **about, **fields})


def playbook_error(code: str, match: str | None = None) -> pytest.RaisesExc[PlaybookError]:
    return pytest.raises(PlaybookError, match=match, check=lambda error: error.code == code)


class Journal:
    """The entries of a playbook, and their sum."""

    def __init__(self, *texts: str) -> None:
        self.playbook = Playbook()
        self.entries: list[VersionedEntry] = []
        for text in texts:
            self.write(self.playbook.add_entry("strategies", text))

    def write(self, entry: Entry, at: datetime | None = None) -> int:
        at = at or NOON + timedelta(seconds=self.playbook.version)
        self.playbook = self.playbook.apply(entry, at)
        self.entries.append(VersionedEntry(self.playbook.version, at, "ann", entry))
        return self.playbook.version

    def undo(self, version: int) -> int:
        return self.write(self.playbook.undo_entry(version, self.entries))

    def text(self, bullet: str) -> str:
        return self.playbook.bullets[bullet].content.text
