"""The conversation of the scripted model: patterns of sentences and replies; the first match wins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ringi.assistant import Text, detect_language, in_language
from ringi.testing import tool_call

MAX_MATCHED_CHARACTERS = 2_000
"""Characters at the start of a message in which the scripted model looks for patterns."""
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
LEFT: Text = {"en": "All right, I won't do that.", "ja": "わかりました。行いません。", "zh": "好的，不会执行。"}


@dataclass(frozen=True)
class ReplyRule:
    """A pattern of sentences with its reply and its operation."""

    pattern: str
    """A regular expression; its group, else the whole sentence, is the value of the operation."""
    reply: Text
    op: Literal["set", "correct", "clear", "feedback"] | None = None
    key: str = ""
    value: str | None = None
    action: str | None = None
    is_order: bool = False
    """Whether the rule ignores questions and negated sentences."""

    def match_in(self, text: str) -> re.Match[str] | None:
        """Return the match of the pattern in a text."""
        return re.search(self.pattern, text, re.I)


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
THANKS = ReplyRule(
    r"^(?:(?:ok|great|many)\W+)?(?:thanks?|thank you)(?: (?:you|a lot|so much|very much|again|for [\w ]{1,30}))*"
    r"[\s.!]*$|^(?:どうも|本当に|大変|いつも|、|\s)*(?:ありがとう|有難う)(?:ございま(?:す|した))?[ね。.!！\s]*$|^(?:谢谢|多谢)",
    {"en": "You are welcome!", "ja": "どういたしまして。", "zh": "不客气！"},
)
REJECT = ReplyRule(
    r"\breject (?:it|this|that|the (?:plan|strategy))\b|^(?:no,? )?(?:i |we )?reject\b|却下|否決|拒绝|驳回",
    {
        "en": "To reject it, press “Reject” on its request; a message has no effect.",
        "ja": "却下するには、承認依頼の「却下」を押してください。言葉だけでは却下になりません。",
        "zh": "要拒绝，请在批准请求处按“拒绝”。仅凭文字不起作用。",
    },
    is_order=True,
)
START_OVER = ReplyRule(
    r"\bstart over\b|\bclear\b|\bforget (?:it|everything|all)\b|\breset\b|最初から|クリア|リセット|消して|重新开始",
    {"en": "Let's start over.", "ja": "最初からやり直すのですね。", "zh": "您想重新开始。"},
    action="cancel",
    is_order=True,
)
ALL_RIGHT: Text = {"en": "All right.", "ja": "わかりました。", "zh": "好的。"}


@dataclass(frozen=True)
class ScriptedAssistant:
    """The script of one assistant."""

    prompt: str
    rules: tuple[ReplyRule, ...]
    otherwise: Text

    def is_asked(self, messages: Sequence[BaseMessage]) -> bool:
        """Return whether these messages belong to its assistant."""
        return self.prompt in messages[0].text

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Return the reply to the last message, with the operations that it declares."""
        texts = [message.text for message in messages if isinstance(message, HumanMessage)]
        language = language_in(texts)
        for rule in self.rules:
            found = rule.match_in(texts[-1][:MAX_MATCHED_CHARACTERS])
            if found is None or (rule.is_order and is_question(found)):
                continue
            if rule.is_order and is_negated(found):
                return AIMessage(in_language(LEFT, language))
            return reply_with_operations(rule, found, language)
        return AIMessage(in_language(self.otherwise, language))


def reply_with_operations(rule: ReplyRule, found: re.Match[str], language: str) -> AIMessage:
    """Return the reply to a matching sentence, with the operations that it declares."""
    value = rule.value or ENDS.sub("", next(filter(None, found.groups()), found.string)).strip()
    arguments: dict[str, Any] = {}
    if rule.op == "feedback":
        arguments["ops"] = [{"op": "feedback", "text": found.string.strip(), "quote": found.string}]
    elif rule.op == "clear":
        arguments["ops"] = [{"op": "clear", "key": rule.key, "quote": found.string}]
    elif rule.op:
        arguments["ops"] = [{"op": rule.op, "key": rule.key, "value": value, "quote": found.string}]
    if rule.action:
        arguments["required_actions"] = [{"type": rule.action, "priority": 1}]
    text = in_language(rule.reply, language).format(value=value)
    return AIMessage(text, tool_calls=tool_call("declare", **arguments).tool_calls if arguments else [])


def clause_of(found: re.Match[str]) -> tuple[int, int]:
    """Return the start and end of the clause that contains a match."""
    text = found.string
    ends = [place for mark in BOUNDS if (place := text.find(mark, found.end())) >= 0]
    return 1 + max(text.rfind(mark, 0, found.start()) for mark in BOUNDS), 1 + min(ends, default=len(text))


def is_negated(found: re.Match[str]) -> bool:
    """Return whether a match is negated: before it in English and Chinese, after it in Japanese."""
    start, end = clause_of(found)
    return bool(
        NOT_BEFORE.search(found.string[start : found.end()]) or NOT_AFTER.search(found.string, found.start(), end)
    )


def is_question(found: re.Match[str]) -> bool:
    """Return whether a match is in a question; a polite request is not one."""
    start, end = clause_of(found)
    return bool(QUESTION.search(found.string[start:end].strip()))


def language_in(texts: Sequence[str]) -> str:
    """Return the language of the newest messages."""
    language = "en"
    for text in texts:
        language = detect_language(text, language)
    return language
