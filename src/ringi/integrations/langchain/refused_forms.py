"""Handling of an invalid form: the model may correct it once; after that the person is informed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer

from ringi.runs.model_form import clean_text
from ringi.runs.stream_writer import SAY

REFUSED = "ringi_form_refused"
"""Marks the message that tells a model that its form is invalid."""
AGAIN = "Correct it and send it again, once."
NO_MORE = "The person was told that it could not be shown. Send no form now: ask in words, or go on without it."
SENTENCES = {
    "en": "I wanted to ask you with a form{title}, but it could not be shown: it was not valid, and correcting it "
    "did not help. Nothing was asked. Please write your answer in your own words.",
    "ja": "フォーム{title}でお尋ねしようとしましたが、内容に誤りがあり、修正しても表示できませんでした。"
    "まだ何もお尋ねしていません。お手数ですが、文章でご返答ください。",
    "zh": "我想用表单{title}向您提问，但表单无效，更正后仍无法显示。尚未向您提出任何问题，请直接用文字回答。",
}
QUOTES = {"en": " (“{}”)", "ja": "「{}」", "zh": "“{}”"}
LONGEST_TITLE = 80
READ = 2_000
"""Characters of a message that are used to detect its language."""


class FormConversation(NamedTuple):
    """The conversation before a model's form."""

    invalid_forms: int = 0
    """The number of consecutive rejected forms."""
    language: str = "en"
    """The person's language."""


def conversation_before_form(messages: Sequence[AnyMessage], tool: str) -> FormConversation:
    """Return the conversation before a form; `tool` is the name under which the model calls for one."""
    people = [m for m in messages if isinstance(m, HumanMessage) and REFUSED not in m.additional_kwargs]
    texts = [message.text[:READ] for message in people if not message.text.startswith("{")]
    return FormConversation(_invalid_rounds(messages, tool), conversation_language(texts[::-1]))


def report_invalid_form(errors: object, conversation: FormConversation, form: object) -> str:
    """Return the message to the model about an invalid form; the second one also informs the person."""
    if conversation.invalid_forms == 1:
        get_stream_writer()({SAY: invalid_form_notice(conversation, form)})
    return f"The form is not valid, and nobody was asked. {errors}. {NO_MORE if conversation.invalid_forms else AGAIN}"


def invalid_form_notice(conversation: FormConversation, form: object) -> str:
    """Return the message to the person about a form that was invalid twice."""
    title = form.get("title") if isinstance(form, dict) else None
    name = " ".join(clean_text(title).split())[:LONGEST_TITLE] if isinstance(title, str) else ""
    return SENTENCES[conversation.language].format(title=QUOTES[conversation.language].format(name) if name else "")


def conversation_language(texts: Sequence[str]) -> str:
    """Return the language of the first decisive text; Han characters are Japanese if any text has kana."""
    first = next((text for text in texts if re.search("[\u3040-\u30ff\u4e00-\u9fff]|[A-Za-z]{2}", text)), "")
    if not re.search("[\u3040-\u30ff\u4e00-\u9fff]", first):
        return "en"
    return "ja" if any(re.search("[\u3040-\u30ff]", text) for text in texts) else "zh"


def _invalid_rounds(messages: Sequence[AnyMessage], tool: str) -> int:
    rounds, is_refused = 0, False
    for message in reversed(messages):
        if REFUSED in message.additional_kwargs:
            is_refused = True
        elif isinstance(message, AIMessage):
            rounds += is_refused
            is_refused = False
        elif isinstance(message, HumanMessage) or (isinstance(message, ToolMessage) and message.name == tool):
            break
    return rounds
