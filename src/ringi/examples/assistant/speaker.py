"""How the scripted model understands people: forms of sentences, and what each means; first come, first served."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ringi.assistant.definitions import Text, in_language
from ringi.assistant.speech import language_of
from ringi.testing.scripted_model import calls

ENDS = re.compile(r"(です|でお願いします|にします|にしてください|だ|である)?[\s.。!！]*$")


@dataclass(frozen=True)
class Rule:
    """A form of sentences, what such a sentence declares, and what is said to it."""

    form: str
    """A regular expression; its group, or else the whole sentence, is the value of what is declared."""
    reply: Text
    op: Literal["set", "correct", "feedback"] | None = None
    key: str = ""
    value: str | None = None
    action: str | None = None

    def found_in(self, text: str) -> re.Match[str] | None:
        """Return where a sentence has this form."""
        return re.search(self.form, text, re.I)


FEEDBACK = (
    r"\btoo (?:tight|short|slow|late|long|expensive|ambitious|fast|optimistic|much|many)\b|\bmore time\b"
    r"|\b(?:longer|shorter|extend|shorten|faster|sooner|cheaper|reconsider|rework)\b"
    r"|\breview the\b|\badd (?:an?|more)\b"
    r"|\bthe (?:plan|strategy) (?:should|must|needs)\b"
    r"|厳し|きつ[いす]|短すぎ|長すぎ|遅すぎ|余裕|見直|減らし|増やし|早め|延ばし|加えて|太紧|太长"
)
GO_AHEAD = (
    r"\bgo ahead\b|\bapprove|\b(?:apply|execute|carry out|start|run|do) (?:it|this|the (?:plan|strategy))\b"
    r"|\blooks good\b|進めて|実行して|承認|開始して|^(?:はい|では|それで)?[、,]?\s*お願いします|执行"
)
GREETING = (
    r"^(?:hello|hi|thanks?|thank you|good (?:morning|afternoon|evening))\b"
    r"|^(?:こんにちは|おはよう|ありがとう|你好|您好)"
)
START_OVER = Rule(
    r"\bstart over\b|\bclear\b|\bforget (?:it|everything|all)\b|\breset\b|最初から|クリア|リセット|消して|重新开始",
    {"en": "You want to start over.", "ja": "最初からやり直すのですね。", "zh": "您想重新开始。"},
    action="cancel",
)
ALL_RIGHT: Text = {"en": "All right.", "ja": "わかりました。", "zh": "好的。"}


@dataclass(frozen=True)
class Speaker:
    """What the scripted model knows of one assistant."""

    prompt: str
    rules: tuple[Rule, ...]
    otherwise: Text

    def is_asked(self, messages: Sequence[BaseMessage]) -> bool:
        """Whether these are the messages of its assistant."""
        return self.prompt in messages[0].text

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Return the answer to the last message, with what it declares."""
        heard = [message.text for message in messages if isinstance(message, HumanMessage)]
        language = language_in(heard)
        for rule in self.rules:
            if found := rule.found_in(heard[-1]):
                return declared(rule, found, language)
        return AIMessage(in_language(self.otherwise, language))


def declared(rule: Rule, found: re.Match[str], language: str) -> AIMessage:
    """Return what is said to a sentence of a form, and declared."""
    value = rule.value or ENDS.sub("", next(filter(None, found.groups()), found.string)).strip()
    told: dict[str, Any] = {}
    if rule.op == "feedback":
        told["ops"] = [{"op": "feedback", "text": found.string.strip(), "quote": found.string}]
    elif rule.op:
        told["ops"] = [{"op": rule.op, "key": rule.key, "value": value, "quote": found.string}]
    if rule.action:
        told["required_actions"] = [{"type": rule.action, "priority": 1}]
    words = in_language(rule.reply, language).format(value=value)
    return AIMessage(words, tool_calls=calls("declare", **told).tool_calls if told else [])


def language_in(heard: Sequence[str]) -> str:
    """Return the language that a person speaks now."""
    language = "en"
    for text in heard:
        language = language_of(text, language)
    return language
