"""Words that mix alphabets whose letters look alike; `ui/src/base/alphabets.ts` has the same rule."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

ALPHABETS = tuple(
    re.compile(letters)
    for letters in (
        "[A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u1e00-\u1eff\uff21-\uff3a\uff41-\uff5a]",
        "[\u0400-\u052f\u1c80-\u1c8f\ua640-\ua69f]",
        "[\u0386-\u038f\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
        "\u03ac\u03af\u03b1\u03b3\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03c9\u03cc-\u03ce\u03f2\u03f3]",
        "[\u0531-\u0587]",
        "[\u13a0-\u13fd\uab70-\uabbf]",
    )
)
"""Latin, Cyrillic, Greek, Armenian and Cherokee; of Greek only the letters that look like others: `kΩ` is a unit."""
_RUN = re.compile(r"\\[bfnrt]|(?:://)?(?:[^\W_]|[\u0300-\u036f._%+@-])+")
"""An escape of JSON, or letters and digits with what joins them in an address."""
_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")


class MixedWord(NamedTuple):
    """A word or an address with letters of two alphabets."""

    at: int
    text: str
    letters: str
    """Its letters of other alphabets than most of its letters."""


def mixed_words(text: str) -> list[MixedWord]:
    """Return the words of a text, and its addresses as a whole, that mix alphabets whose letters look alike."""
    if text.isascii():
        return []
    parts = [part for run in _RUN.finditer(text) for part in _parts(run)]
    return [MixedWord(at, word, odd) for at, word in parts if (odd := _odd_letters(word))]


def with_code_points(letters: str) -> str:
    """Return letters with their code points, by which they differ from those that look like them."""
    return ", ".join(f"{letter} (U+{ord(letter):04X})" for letter in letters)


def _parts(run: re.Match[str]) -> list[tuple[int, str]]:
    if run[0].startswith("\\"):
        return []
    if run[0].startswith("://") or "@" in run[0][1:]:
        return [(run.start(), run[0])]
    return [(run.start() + word.start(), word[0]) for word in _WORD.finditer(run[0])]


def _odd_letters(word: str) -> str:
    if word.isascii():
        return ""
    found = [(letter, number) for letter in word for number, one in enumerate(ALPHABETS) if one.match(letter)]
    counts = Counter(number for _, number in found)
    if len(counts) < 2:
        return ""
    main = min(counts, key=lambda number: (-counts[number], number))
    return "".join(dict.fromkeys(letter for letter, number in found if number != main))
