"""The conversation of the scripted model: `speakers.toml` has the patterns of sentences and their replies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from ringi.demo.data import package_toml
from ringi.testing import tool_call
from ringi_apps.assistant import LocalizedText, detect_language, in_language, person_text

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
SCRIPT = package_toml("ringi_apps.assistant.demo", "speakers.toml")


@dataclass(frozen=True)
class ReplyRule:
    """A pattern of sentences with its reply and its operation."""

    pattern: str
    """A regular expression; its group, else the whole sentence, is the value of the operation."""
    reply: LocalizedText
    op: Literal["set", "correct", "clear", "feedback"] | None = None
    key: str = ""
    value: str | None = None
    action: str | None = None
    is_order: bool = False
    """Whether the rule ignores questions and negated sentences."""


@dataclass(frozen=True)
class ScriptedAssistant:
    """The script of one assistant; the first rule that matches wins."""

    prompt: str
    rules: tuple[ReplyRule, ...]
    otherwise: LocalizedText

    @classmethod
    def of(cls, name: str, prompt: str) -> ScriptedAssistant:
        """Return the script with this name, for the assistant with this prompt."""
        rules = tuple(rule for fields in SCRIPT[name]["rules"] for rule in rules_of(**fields))
        return cls(prompt, rules, SCRIPT[name].get("otherwise", ""))

    def is_asked(self, messages: Sequence[BaseMessage]) -> bool:
        """Return whether these messages belong to its assistant."""
        return self.prompt in messages[0].text

    def reply(self, messages: Sequence[BaseMessage]) -> AIMessage:
        """Return the reply to the last message, with the operations that it declares."""
        texts = [person_text(message) for message in messages if isinstance(message, HumanMessage)]
        language = language_in(texts)
        for rule in self.rules:
            found = re.search(rule.pattern, texts[-1][:MAX_MATCHED_CHARACTERS], re.I)
            if found is None or (rule.is_order and is_question(found)):
                continue
            if rule.is_order and is_negated(found):
                return AIMessage(in_language(SCRIPT["left"], language))
            return reply_with_operations(rule, found, language)
        return AIMessage(in_language(self.otherwise, language))


def rules_of(use: str = "", each: str = "", **fields: object) -> Iterator[ReplyRule]:
    """Yield the rule with these fields; with `each`, one rule for each entry of that table."""
    fields = SCRIPT["shared"].get(use, {}) | fields
    for id, words in SCRIPT[each].items() if each else [("", {})]:
        filled = filled_in(fields, {"id": id, **words})
        yield ReplyRule(**filled | {"pattern": pattern_of(filled["pattern"])})


def filled_in(value: object, words: Mapping[str, str]) -> Any:
    """Return a value with each `<name>` replaced by the word of this name."""
    if isinstance(value, dict):
        return {name: filled_in(each, words) for name, each in value.items()}
    if isinstance(value, list):
        return [filled_in(each, words) for each in value]
    return re.sub(r"<(\w+)>", lambda found: words.get(found[1], found[0]), value) if isinstance(value, str) else value


def pattern_of(patterns: str | list[str]) -> str:
    """Return one pattern for several alternatives, with its named parts."""
    text = patterns if isinstance(patterns, str) else "|".join(patterns)
    return re.sub(r"<(\w+)>", lambda found: pattern_of(SCRIPT["parts"][found[1]]), text)


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
