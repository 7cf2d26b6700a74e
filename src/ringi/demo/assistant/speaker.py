"""How the scripted model understands people: forms of sentences, and what each means; first come, first served."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ringi.assistant import Text, detect_language, in_language
from ringi.testing import calls

LONGEST_HEARD = 2_000
"""Characters of a message in which the scripted model looks for its sentences."""
ENDS = re.compile(r"(です|でお願いします|にします|にしてください|だ|である)?[\s.。!！]*$")

BOUNDS = ".,;!?。、！？\n"
NOT_BEFORE = re.compile(
    r"(?<!why )\b(?:do|does|did|should|must|will|would|could)(?:n['’]?t| ?not)\b|(?<!why )\b(?:never|not|without)\b"
    r"|\bno (?:need|reason|plan|strategy)\b|不要|不用|别|先不|不想",
    re.I,
)
NOT_AFTER = re.compile(
    r"な(?:いで|い|くて)(?!(?:しょう|す)?か|でしょうか|ですか)|ません(?!か|でしょうか)|不要|やめ|るな|だめ|ダメ|禁止"
)
QUESTION = re.compile(
    r"^\W*(?:(?:so|and|but|well)\b\W*)?(?:how|what|when|who|where|which|should|shall|did|does|do you|is|are|was"
    r"|why(?! (?:don|not)))\b|どうや|どうす|どうな|なぜ|いつ|怎么|什么"
    r"|^(?!.*(?:くれ|くださ|下さ|もら|いただ|頂|お願い|ませんか|ないですか|でき)).*か[。？?]?$",
    re.I,
)
LEFT: Text = {"en": "All right, I leave that.", "ja": "わかりました。行いません。", "zh": "好的，不会执行。"}


@dataclass(frozen=True)
class Rule:
    """A form of sentences, what such a sentence declares, and what is said to it."""

    form: str
    """A regular expression; its group, or else the whole sentence, is the value of what is declared."""
    reply: Text
    op: Literal["set", "correct", "clear", "feedback"] | None = None
    key: str = ""
    value: str | None = None
    action: str | None = None
    is_order: bool = False
    """Whether it is undone by a negation, and not meant by a question."""

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
    r"^(?:hello|hi|good (?:morning|afternoon|evening))\b"
    r"|^(?:こんにちは|おはよう|你好|您好)"
)
THANKS = Rule(
    r"^(?:(?:ok|great|many)\W+)?(?:thanks?|thank you)(?: (?:you|a lot|so much|very much|again|for [\w ]{1,30}))*"
    r"[\s.!]*$|^(?:どうも|本当に|大変|いつも|、|\s)*(?:ありがとう|有難う)(?:ございま(?:す|した))?[ね。.!！\s]*$|^(?:谢谢|多谢)",
    {"en": "You are welcome!", "ja": "どういたしまして。", "zh": "不客气！"},
)
REJECT = Rule(
    r"\breject (?:it|this|that|the (?:plan|strategy))\b|^(?:no,? )?(?:i |we )?reject\b|却下|否決|拒绝|驳回",
    {
        "en": "To reject it, press “Reject” where its approval is asked for: words do nothing.",
        "ja": "却下するには、承認依頼の「却下」を押してください。言葉だけでは却下になりません。",
        "zh": "要拒绝，请在批准请求处按“拒绝”。仅凭文字不起作用。",
    },
    is_order=True,
)
START_OVER = Rule(
    r"\bstart over\b|\bclear\b|\bforget (?:it|everything|all)\b|\breset\b|最初から|クリア|リセット|消して|重新开始",
    {"en": "You want to start over.", "ja": "最初からやり直すのですね。", "zh": "您想重新开始。"},
    action="cancel",
    is_order=True,
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
            found = rule.found_in(heard[-1][:LONGEST_HEARD])
            if found is None or (rule.is_order and is_question(found)):
                continue
            if rule.is_order and is_negated(found):
                return AIMessage(in_language(LEFT, language))
            return declared(rule, found, language)
        return AIMessage(in_language(self.otherwise, language))


def declared(rule: Rule, found: re.Match[str], language: str) -> AIMessage:
    """Return what is said to a sentence of a form, and declared."""
    value = rule.value or ENDS.sub("", next(filter(None, found.groups()), found.string)).strip()
    told: dict[str, Any] = {}
    if rule.op == "feedback":
        told["ops"] = [{"op": "feedback", "text": found.string.strip(), "quote": found.string}]
    elif rule.op == "clear":
        told["ops"] = [{"op": "clear", "key": rule.key, "quote": found.string}]
    elif rule.op:
        told["ops"] = [{"op": rule.op, "key": rule.key, "value": value, "quote": found.string}]
    if rule.action:
        told["required_actions"] = [{"type": rule.action, "priority": 1}]
    words = in_language(rule.reply, language).format(value=value)
    return AIMessage(words, tool_calls=calls("declare", **told).tool_calls if told else [])


def clause_of(found: re.Match[str]) -> tuple[int, int]:
    """Return where the part of a sentence begins and ends in which a form was found."""
    text = found.string
    ends = [place for mark in BOUNDS if (place := text.find(mark, found.end())) >= 0]
    return 1 + max(text.rfind(mark, 0, found.start()) for mark in BOUNDS), 1 + min(ends, default=len(text))


def is_negated(found: re.Match[str]) -> bool:
    """Whether people say that they do not want it: before it in English and Chinese, after it in Japanese."""
    start, end = clause_of(found)
    return bool(
        NOT_BEFORE.search(found.string[start : found.end()]) or NOT_AFTER.search(found.string, found.start(), end)
    )


def is_question(found: re.Match[str]) -> bool:
    """Whether people ask about it; whether somebody could please do it is no question."""
    start, end = clause_of(found)
    return bool(QUESTION.search(found.string[start:end].strip()))


def language_in(heard: Sequence[str]) -> str:
    """Return the language that a person speaks now."""
    language = "en"
    for text in heard:
        language = detect_language(text, language)
    return language
