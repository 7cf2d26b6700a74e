"""Text of a playbook in the prompt: deterministic, with new bullets only at the end."""

from __future__ import annotations

import math
import re

from ringi_apps.engrammer.entries import Content
from ringi_apps.engrammer.errors import PlaybookError
from ringi_apps.engrammer.playbook import Playbook

ASCII_PER_TOKEN = 4
BULLET_MARK = re.compile(r"\[(?=b-\d)")
"""Start of a bullet id at the start of a line."""


def render(playbook: Playbook) -> str:
    """Return the active bullets as lines in order of their ids, so that an added bullet only appends.

    Counts are left out because they would invalidate the provider's prompt cache.
    """
    return "\n".join(render_line(each.id, each.content) for each in playbook.active)


def render_line(id: str, content: Content) -> str:
    """Return a bullet as one line, with its scope if it has one."""
    scope = f", only when: {one_line(content.applies_when)}" if content.applies_when else ""
    return f"[{id}] ({content.section}{scope}) {one_line(content.text)}"


def one_line(text: str) -> str:
    """Return a text with its line breaks and bullet ids escaped."""
    return BULLET_MARK.sub(r"\\[", r"\n".join(text.splitlines()))


def playbook_tokens(playbook: Playbook) -> int:
    """Return the estimated number of tokens of a rendered playbook."""
    return estimate_tokens(render(playbook))


def require_budget(tokens: int, playbook: Playbook, budget: int) -> None:
    """Raise `PlaybookError` if a playbook would exceed its budget with this number of tokens, and grow."""
    if tokens > max(budget, playbook_tokens(playbook)):
        what = f"the playbook would have {tokens} tokens, but its budget is {budget}"
        remedy = "shorten the text, or retire or merge bullets first"
        raise PlaybookError("budget", f"{what}: {remedy}", tokens=tokens, budget=budget)


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: four ASCII characters or one other character per token, rounded up."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_letters / ASCII_PER_TOKEN) + len(text) - ascii_letters
