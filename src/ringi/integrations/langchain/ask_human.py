"""A tool with which a model asks a person, in words or with a form that the model builds."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool, ToolException
from langgraph.config import get_stream_writer
from langgraph.prebuilt import ToolRuntime

from ringi.base.canonical_json import clean_text
from ringi.domain.ask import Ask, Response, parse_body
from ringi.domain.request import Request
from ringi.errors import FieldError, InvalidError
from ringi.forms.form import MODEL_FIELDS, Form
from ringi.forms.json_schema import check_json
from ringi.forms.repair import RepairedForm, repair_form_fields
from ringi.integrations.langgraph import ask_question
from ringi.runs.agui_events import TOOL_CALL_ID
from ringi.runs.model_form import FIELD, MAX_FORM_BYTES, MAX_FORM_DEPTH, TEXT
from ringi.runs.stream_writer import SAY
from ringi.runtimes.langgraph.graph_run import MAX_FIELDS, run_asks_people

log = logging.getLogger(__name__)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"title": TEXT, "description": TEXT, "fields": {"type": "array", "items": FIELD}},
    "required": ["title"],
    "additionalProperties": False,
}
PROMPT = (
    "Ask a person and wait for the answer. Use it when you need something that only a person knows or may decide. "
    "Put your question into `title`, in one line, and what you know about the matter into `description`, as Markdown: "
    "the person has not read this conversation. Without `fields`, the answer is in words. The person reads the `label` "
    "of a field; its `default` is filled in already. "
    "Ask for all you need at once, with the fewest fields that do. The result is the decision with the data or the "
    "message, or `rejected: …`, or `expired` when nobody answered in time: then do not take anything for granted."
)
NOBODY = "Nobody is asked here: go on without an answer, and do not take one for granted."
NOT_ASKED = (
    "Nobody answered the question before this one, so this one was not asked. Go on without it; "
    "do not take anything for granted."
)
UNANSWERED = "ringi_unanswered"
"""Marks the message that tells a model that nobody answered."""
RUNTIME, IS_REPEAT, CONVERSATION = "runtime", "is_unheard", "talk"
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


class AskHuman(BaseTool):
    """A tool that asks people; the model sets the question, and these fields set everything else."""

    name: str = "ask_human"
    description: str = PROMPT
    args_schema: Any = SCHEMA
    handle_tool_error: Any = True
    max_fields: int = MODEL_FIELDS
    """Maximum fields of one form; if Ringi runs the agent, the server's limit also applies."""
    expires_in: float | None = 300.0
    """Seconds until the question expires; None for never."""
    assignee: str | None = None
    groups: tuple[str, ...] = ()

    def run(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Ask under the call's own id: the model cannot choose another one."""
        return super().run(self._identified(tool_input, kwargs), *args, **kwargs)

    async def arun(self, tool_input: str | dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """Ask under the call's own id: the model cannot choose another one."""
        return await super().arun(self._identified(tool_input, kwargs), *args, **kwargs)

    def func(self, runtime: ToolRuntime[Any, Any]) -> None:
        """Declare the runtime parameter: LangGraph inspects this signature to inject the call's runtime."""

    def _identified(self, arguments: str | dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
        fields: dict[str, Any] = dict(arguments) if isinstance(arguments, dict) else {"title": arguments}
        runtime = fields.get(RUNTIME)
        is_repeat, conversation = False, FormConversation()
        if isinstance(runtime, ToolRuntime):
            is_repeat = follows_unanswered(runtime.state)
            conversation = conversation_before_form(messages_in_agent_state(runtime.state), self.name)
            del fields[RUNTIME]
        return {**fields, TOOL_CALL_ID: call.get(TOOL_CALL_ID), IS_REPEAT: is_repeat, CONVERSATION: conversation}

    def _run(self, /, *, config: RunnableConfig, **arguments: Any) -> str | ToolMessage:
        call, is_repeat = arguments.get(TOOL_CALL_ID), arguments.pop(IS_REPEAT)
        conversation = arguments.pop(CONVERSATION)
        if not run_asks_people():
            return NOBODY
        if is_repeat:
            return unanswered_message(NOT_ASKED, self.name, call, "error")
        try:
            question, form = self._question(arguments, config)
        except InvalidError as error:
            text = report_invalid_form(error, conversation, arguments)
            if not call:
                raise ToolException(text) from error
            return invalid_form_message(text, self.name, call)
        log_form_repairs(form)
        request = ask_question(question)
        text = ended_question_text(request, form)
        return unanswered_message(text, self.name, call) if call and request.response is None else text

    async def _arun(self, /, *, config: RunnableConfig, **arguments: object) -> str | ToolMessage:
        return self._run(config=config, **arguments)

    def _question(self, arguments: dict[str, Any], config: RunnableConfig) -> tuple[Ask, RepairedForm]:
        call = arguments.get(TOOL_CALL_ID)
        fields = {name: value for name, value in arguments.items() if value is not None and name != TOOL_CALL_ID}
        unknown = [
            FieldError(name, "is not an argument: remove it") for name in fields if name not in SCHEMA["properties"]
        ]
        if unknown:
            raise InvalidError(unknown)
        check_json(fields.get("fields"), field="fields", max_bytes=MAX_FORM_BYTES, max_depth=MAX_FORM_DEPTH)
        repaired = repair_form_fields(fields.pop("fields", None) or None)
        form = form_from_model_output(repaired.fields) if repaired.fields else None
        own = {"assignee": self.assignee, "groups": self.groups, "expires_in": self.expires_in}
        context = {TOOL_CALL_ID: call} if call else {}
        limit = min(self.max_fields, config.get("configurable", {}).get(MAX_FIELDS, self.max_fields))
        return parse_body(Ask, {**fields, **own, "form": form, "context": context}).checked(max_fields=limit), repaired


def form_from_model_output(arguments: object) -> Form:
    """Return the form that a model has built; raise `InvalidError` with paths in the model's own input."""
    try:
        return Form.parse({"fields": arguments})
    except InvalidError as error:
        errors = [each._replace(field=each.field.removeprefix("form.")) for each in error.errors]
        raise InvalidError(errors) from error


def log_form_repairs(form: RepairedForm) -> None:
    """Log the repairs of a form that a model wrote."""
    if form.changes:
        log.warning("a form of the model was repaired: %s", "; ".join(form.changes))


def ended_question_text(request: Request, form: RepairedForm) -> str:
    """Return an ended question as text for the model, with the model's own field names."""
    response = request.response
    if response is None:
        return f"{request.status}: {request.reason}" if request.status == "cancelled" else request.status
    if response.decision == "reject":
        return f"rejected: {response.message or 'no reason given'}"
    return json.dumps(answer_in_model_names(response, form), ensure_ascii=False)


def answer_in_model_names(response: Response | None, form: RepairedForm) -> dict[str, Any]:
    """Return an answer for the model, with the model's own field names, and the changes of its form."""
    answer: dict[str, Any] = {}
    if response:
        answer = {"decision": response.decision, "data": form.answers(response.data), "message": response.message}
    answer["form_changes"] = form.changes or None
    return {name: value for name, value in answer.items() if value is not None}


def unanswered_message(text: str, tool: str, call: str | None, status: Any = "success") -> ToolMessage:
    """Return the message to a model whose call was not answered, marked to prevent an immediate repetition."""
    return ToolMessage(text, name=tool, tool_call_id=call, status=status, additional_kwargs={UNANSWERED: True})


def invalid_form_message(text: str, tool: str, call: str | None) -> ToolMessage:
    """Return the message to a model whose form is invalid."""
    return ToolMessage(text, name=tool, tool_call_id=call, status="error", additional_kwargs={REFUSED: True})


def messages_in_agent_state(state: object) -> list[AnyMessage]:
    """Return the messages in an agent's state."""
    found: list[AnyMessage] = state.get("messages", []) if isinstance(state, dict) else getattr(state, "messages", [])
    return found


def follows_unanswered(state: object) -> bool:
    """Return whether a model asks again right after it was told that nobody answered."""
    messages = messages_in_agent_state(state)
    called = next((n for n in range(len(messages) - 1, -1, -1) if isinstance(messages[n], AIMessage)), 0)
    for message in reversed(messages[:called]):
        if UNANSWERED in message.additional_kwargs:
            return True
        if isinstance(message, AIMessage | HumanMessage):
            return False
    return False


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


ask_human = AskHuman()
"""The tool with its defaults."""
