"""A check of answers about wood movement: it calculates the result from the question."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

from ringi.demo.data import package_toml
from ringi_apps.engrammer import Signal

PLAIN_SAWN, QUARTER_SAWN = 0.00369, 0.00158
"""The change of red oak's width for each percent of moisture, as a part of the width."""
WIDTH = re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)\s*+(?:mm|millimet|ミリ|毫米)", re.I)
MOISTURE = re.compile(r"(?<!\d)(\d++(?:\.\d++)?+)\s*+(?:%|percent|パーセント)|百分之\s*(\d+)", re.I)
QUARTER = re.compile(r"quarter|柾目|径切", re.I)
KANA, HAN = re.compile(r"[\u3041-\u30fa]"), re.compile(r"[\u4e00-\u9fff]")
VERDICTS = package_toml("ringi_apps.engrammer.demo", "texts.toml")


@dataclass(frozen=True)
class Board:
    """A board of red oak whose moisture changes."""

    width: float
    coefficient: float
    change: float

    @property
    def movement(self) -> str:
        """The change of width in millimeters."""
        return f"{self.width * self.coefficient * self.change:.1f}"

    @property
    def sum(self) -> str:
        """The calculation as a formula."""
        return f"{self.width:g} × {self.coefficient} × {self.change:g} = {self.movement} mm"


def language_of(text: str) -> str:
    """Return `ja` for a text with kana, `zh` for one with Chinese characters only, and `en` otherwise."""
    if KANA.search(text):
        return "ja"
    return "zh" if HAN.search(text) else "en"


def board_in(query: str) -> Board | None:
    """Return the board in a question; None without a width and two moistures."""
    text = unicodedata.normalize("NFKC", query)
    width, moistures = WIDTH.search(text), [float(one or other) for one, other in MOISTURE.findall(text)]
    if width is None or len(moistures) != 2:
        return None
    coefficient = QUARTER_SAWN if QUARTER.search(text) else PLAIN_SAWN
    return Board(float(width[1]), coefficient, abs(moistures[0] - moistures[1]))


async def check(query: str, response: str) -> Signal | None:
    """Return a signal for an answer about a board; None for other answers."""
    board = board_in(query)
    if board is None:
        return None
    is_right = re.search(rf"(?<![\d.]){re.escape(board.movement)}(?!\d)", response) is not None
    text = VERDICTS["right" if is_right else "wrong"][language_of(query)]
    return Signal(is_right, text.format(sum=board.sum))
