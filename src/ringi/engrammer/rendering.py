"""A playbook as the model is told it: the same bytes for the same bullets, and new ones only at the end."""

from __future__ import annotations

import math
import re
from itertools import takewhile

from ringi.engrammer.entries import Content
from ringi.engrammer.playbook import Playbook

ASCII_PER_TOKEN = 4
BULLET_MARK = re.compile(r"\[(?=b-\d)")
"""The beginning of what a line begins with."""


def render(playbook: Playbook) -> str:
    """Return the active bullets, one a line, by id over all sections, so that an add only appends.

    Counts are not in it: they would change what a provider has cached.
    """
    return "\n".join(render_line(each.id, each.content) for each in playbook.active)


def render_line(id: str, content: Content) -> str:
    """Return a bullet as one line, whatever breaks its text has, and with no other bullet's mark in it."""
    return f"[{id}] ({content.section}) " + BULLET_MARK.sub(r"\\[", r"\n".join(content.text.splitlines()))


def playbook_tokens(playbook: Playbook) -> int:
    """Return the estimated tokens of a playbook as it is rendered."""
    return estimate_tokens(render(playbook))


def estimate_tokens(text: str) -> int:
    """Return an estimate of the tokens of a text: four ASCII characters each, or one other character; rounded up."""
    ascii_letters = len(text.encode("ascii", "ignore"))
    return math.ceil(ascii_letters / ASCII_PER_TOKEN) + len(text) - ascii_letters


def shared_prefix(a: str, b: str) -> float:
    """Return the share of `b` that begins as `a` did: what a provider that has cached `a` need not read again."""
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(a, b, strict=False)))
    return common / len(b) if b else 1.0
