"""The titles that Ringi itself gives to requests, in the language of a mailbox.

They are stored in English. Only the whole text of a title identifies it, as on the page: an agent cannot send another
title beside the one under the digest. All other titles stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ringi.delivery.mail_settings import Language
from ringi.domain.request import Request

NO_TEXT = "a task without words"
NO_TEXTS: dict[Language, str] = {"en": NO_TEXT, "ja": "内容のないタスク", "zh": "没有内容的任务"}
FINISH: tuple[tuple[str, dict[Language, str]], ...] = (
    ("Is this finished: {}", {"ja": "完了してよいですか：{}", "zh": "任务完成了吗：{}"}),
    ("Stopped before its end: {}", {"ja": "途中で止まりました：{}", "zh": "中途停止：{}"}),
    ("Is the task before completed?", {"ja": "これまでのタスクは完了ですか？", "zh": "之前的任务完成了吗？"}),
)
QUESTION: tuple[tuple[str, dict[Language, str]], ...] = (
    ("What is the new task?", {"ja": "新しいタスクは何ですか？", "zh": "新任务是什么？"}),
)
LEARNING: tuple[tuple[str, dict[Language, str]], ...] = (("Learn: “{}”", {"ja": "学習：「{}」", "zh": "学习：“{}”"}),)
TITLES = {"finish": FINISH, "question": QUESTION, "learning": LEARNING}
"""The titles by kind of request: in English, and the translations. `{}` stands for the task or the lesson."""


def title_of(request: Request, language: Language) -> str:
    """Return the title of a request, translated if Ringi wrote it.

    Args:
        request: The request.
        language: The language of the reader.
    """
    titles: Sequence[tuple[str, dict[Language, str]]] = TITLES.get(request.kind, ())
    for english, translations in titles:
        start, gap, end = english.partition("{}")
        pattern = re.escape(start) + ("(.*)" if gap else "") + re.escape(end)
        found = re.fullmatch(pattern, request.title, re.DOTALL)
        if found and language in translations:
            detail = found[1] if gap else ""
            return translations[language].replace("{}", NO_TEXTS[language] if detail == NO_TEXT else detail)
    return request.title
