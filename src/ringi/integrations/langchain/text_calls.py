"""Calls of tools that a model writes as text: the model is asked once to call the tool; people never read the JSON."""

from __future__ import annotations

import logging
import re
import uuid
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.tools import BaseTool

from ringi.integrations.langchain.ask_human import conversation_before_form
from ringi.runs.model_form import KEY, extract_form
from ringi.runs.text_calls import TextWithCalls, split_text_calls
from ringi.runtimes.langgraph.graph_run import run_asks_people

log = logging.getLogger(__name__)
AGAIN = (
    "(The call of {calls} in your last answer was text, so it did not run, and nobody has read it.) "
    "Call the tool itself now, or tell me in one sentence that you could not do it."
)
# The wrapping of calls has no words for people: brackets, code fences and their languages.
WRAPPING = re.compile(r"""```\w*|\[TOOL_CALLS\]|\{\s{0,9}+"(?:function|tool_calls)"\s{0,9}+:""")
NOTICES = {
    "en": "I wanted to use a tool, but my call could not be read. Nothing was done. Please try again, or say it in "
    "other words.",
    "ja": "ツールを使おうとしましたが、呼び出しを読み取れませんでした。何も実行されていません。"
    "もう一度お試しになるか、別の言葉でお伝えください。",
    "zh": "我想使用工具，但调用无法读取。没有执行任何操作。请重试，或换一种说法。",
}


def langchain_tool_names(request: ModelRequest[Any]) -> list[str]:
    """Return the names of the tools that a model may call."""
    return sorted(filter(None, map(langchain_tool_name, request.tools)))


def langchain_tool_name(tool: BaseTool | dict[str, Any]) -> str:
    """Return the name of a tool; '' for a tool of the provider without one."""
    if isinstance(tool, BaseTool):
        return tool.name
    function = tool.get("function")
    return str((function if isinstance(function, dict) else tool).get("name") or "")


def retry_request_of_text_call(request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelRequest[Any] | None:
    """Return the request that tells the model of its call as text; None if its answer has none."""
    answer, found = find_text_calls(request, response)
    # Without questions nothing is hidden, so the person has read the call.
    if answer is None or not found.calls or not run_asks_people():
        return None
    names = ", ".join(found.calls)
    log.warning("the model wrote a call of %s as text: nothing ran, and it is asked once to call the tool", names)
    return request.override(messages=[*request.messages, answer, HumanMessage(AGAIN.format(calls=names))])


def response_without_text_calls(request: ModelRequest[Any], response: ModelResponse[Any]) -> ModelResponse[Any]:
    """Return the second response without its calls as text; if no words remain, the person reads what happened."""
    answer, found = find_text_calls(request, response)
    if answer is None or not found.calls:
        return response
    log.warning("the model wrote a call of %s as text again: nothing ran", ", ".join(found.calls))
    # People do not see the text of a call, so its replacement is a message of its own.
    notice = {"content": NOTICES[conversation_before_form(request.messages, KEY).language], "id": str(uuid.uuid4())}
    has_words = any(sign.isalnum() for sign in WRAPPING.sub("", found.text))
    words = answer.model_copy(update={"content": found.text} if has_words else notice)
    return ModelResponse(result=[*response.result[:-1], words], structured_response=response.structured_response)


def find_text_calls(request: ModelRequest[Any], response: ModelResponse[Any]) -> tuple[AIMessage | None, TextWithCalls]:
    """Return the answer of the model and the calls in its text; calls beside real calls or a form do not count."""
    answer = response.result[-1] if response.result else None
    if not isinstance(answer, AIMessage) or answer.tool_calls or extract_form(answer.text):
        return None, TextWithCalls("")
    names = langchain_tool_names(request)
    return answer, split_text_calls(answer.text, names) if names else TextWithCalls(answer.text)
