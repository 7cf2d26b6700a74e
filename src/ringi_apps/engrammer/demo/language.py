"""Detection of the three languages of the example."""

from __future__ import annotations

import re

KANA, HAN = re.compile(r"[\u3041-\u30fa]"), re.compile(r"[\u4e00-\u9fff]")


def language_of(text: str) -> str:
    """Return `ja` for a text with kana, `zh` for one with Chinese characters only, and `en` otherwise."""
    if KANA.search(text):
        return "ja"
    return "zh" if HAN.search(text) else "en"
