"""The parts that the assistants for projects and for sales share."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from ringi.assistant import Action, Definitions, Info, in_language
from ringi.demo.assistant.lookups import Lookups, info_handlers
from ringi.demo.data import toml_of

TEXTS = toml_of("ringi.demo.assistant", "texts.toml")
START_OVER_ACTION = Action(
    "cancel",
    "cancel",
    label={"en": "Start over", "ja": "最初からやり直す", "zh": "重新开始"},
    description={"en": "Clears the collected information", "ja": "集めた情報を消去", "zh": "清除已收集的信息"},
)


def definitions(
    infos: tuple[Info, ...], actions: tuple[Action, ...], handlers: Collection[str], lookups: Lookups
) -> Definitions:
    """Return the definitions of an assistant with the named handlers."""
    chosen = tuple(each for name, each in info_handlers(lookups).items() if name in handlers)
    return Definitions(infos, actions, chosen)


def text_in(language: str, group: str, name: str, /, **values: object) -> str:
    """Return a text of `texts.toml` in a language, with its values."""
    return in_language(TEXTS[group][name], language).format(**values)


def table(head: str, lines: Iterable[str]) -> str:
    """Return a Markdown table from its head and its rows."""
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *lines])
