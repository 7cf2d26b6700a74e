"""Conversion of resume values of LangGraph's tools to answers to the served request."""

from __future__ import annotations

import json
from typing import Any

from ringi.base.canonical_json import JsonObject
from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms.fields import Field
from ringi.forms.json_schema import check_instance
from ringi.protocols.langgraph_api.views import ANSWER, TASK, interrupt_arguments, request_as_interrupt_content

RESUME = "command.resume"
EXPECTED = (
    'send [{"type": "accept", "edit", "response" or "ignore", "args"}] as Agent Inbox does, '
    '{"decisions": [{"type": "approve", "edit" or "reject"}]} as LangChain does, or the answer to a question as text'
)


def answer_from_langgraph(request: Request, resume: object) -> JsonObject:
    """Return decision, data, arguments and message; raises `InvalidError` for an unknown format."""
    if isinstance(resume, dict) and set(resume) == {request.id}:
        resume = resume[request.id]
    if isinstance(resume, str):
        return {"decision": "respond", "message": resume}
    if isinstance(resume, dict) and set(resume) == {"decisions"}:
        return answer_from_langchain(request, only_answer_of_list(resume["decisions"]))
    return answer_from_agent_inbox(request, only_answer_of_list(resume if isinstance(resume, list) else [resume]))


def only_answer_of_list(answers: object) -> JsonObject:
    """Return the only answer of a list."""
    if not isinstance(answers, list) or len(answers) != 1 or not isinstance(answers[0], dict):
        raise InvalidError.of(RESUME, f"answer one request at a time: {EXPECTED}")
    answer: JsonObject = answers[0]
    return answer


def answer_from_agent_inbox(request: Request, response: JsonObject) -> JsonObject:
    """Return Agent Inbox's `HumanResponse` as an answer."""
    match response.get("type"):
        case "accept":
            content = request_as_interrupt_content(request)
            if response.get("args") not in (None, {"action": content.action, "args": content.args}):
                why = "the arguments differ from the displayed ones: load the thread again"
                raise InvalidError.of(f"{RESUME}.args", why)
            return approval_of_served_content(request)
        case "edit":
            return edit_from_client(request, edited_call_from_client(response.get("args"), "action", f"{RESUME}.args"))
        case "response":
            return answer_from_text(request, response.get("args"))
        case "ignore":
            return {"decision": "reject"}
        case other:
            raise InvalidError.of(f"{RESUME}.type", f"{other!r} is unknown: {EXPECTED}")


def answer_from_langchain(request: Request, decision: JsonObject) -> JsonObject:
    """Return LangChain's decision as an answer."""
    match decision.get("type"):
        case "approve":
            return approval_of_served_content(request)
        case "edit":
            action = edited_call_from_client(decision.get("edited_action"), "name", f"{RESUME}.edited_action")
            if ANSWER in action["args"] and not interrupt_arguments(request):
                return answer_from_text(request, action["args"][ANSWER])
            return edit_from_client(request, action)
        case "reject":
            message = decision.get("message")
            if not isinstance(message, str | None):
                raise InvalidError.of(f"{RESUME}.message", "send text")
            return {"decision": "reject", "message": message or None}
        case other:
            raise InvalidError.of(f"{RESUME}.type", f"{other!r} is unknown: {EXPECTED}")


def approval_of_served_content(request: Request) -> JsonObject:
    """Return consent to exactly the served content."""
    if request.action or request.kind == "finish":
        return {"decision": "approve"}
    data = {name: value for name, value in interrupt_arguments(request).items() if value is not None}
    return {"decision": "approve", "data": data or None}


def edit_from_client(request: Request, action: JsonObject) -> JsonObject:
    """Return the changed arguments, or the answers of a form, converted from text to their original types."""
    if action["action"] != request_as_interrupt_content(request).action:
        raise InvalidError.of(f"{RESUME}.action", "the action differs from the displayed one: load the thread again")
    edited_args: JsonObject = action["args"]
    if request.action:
        args = {name: typed_call_argument(request.action, name, value) for name, value in edited_args.items()}
        return {"decision": "edit", "args": args}
    if request.kind == "finish" and not request.form and request.data_schema is None:
        return {"decision": "edit", "data": {TASK: edited_args.get(TASK)}}
    decision = "approve" if "approve" in request.allowed else "edit"
    return {"decision": decision, "data": form_data_from_client(request, edited_args)}


def answer_from_text(request: Request, text: object) -> JsonObject:
    """Return a person's text: the answer, or the reason for refusing a call."""
    if not isinstance(text, str):
        raise InvalidError.of(f"{RESUME}.args", "send the answer as text")
    decision = "respond" if "respond" in request.allowed else "reject"
    if decision == "reject" and not request.action:
        raise InvalidError.of(f"{RESUME}.type", "this request accepts no text: edit its fields")
    return {"decision": decision, "message": text}


def edited_call_from_client(call: object, name: str, field: str) -> JsonObject:
    """Return an edited call as its action and arguments."""
    if not isinstance(call, dict) or not isinstance(call.get(name), str) or not isinstance(call.get("args"), dict):
        raise InvalidError.of(field, f"send an object with {name} and args")
    return {"action": call[name], "args": call["args"]}


def form_data_from_client(request: Request, answers: JsonObject) -> JsonObject:
    """Return the answers of a form or a schema; an empty text is no answer."""
    if request.form:
        fields = {field.name: field for field in request.form.fields}
        typed = {name: typed_form_answer(fields.get(name), value) for name, value in answers.items()}
    else:
        properties = (request.data_schema or {}).get("properties") or {}
        texts = {name for name, part in properties.items() if isinstance(part, dict) and part.get("type") == "string"}
        typed = {name: value if name in texts else parse_if_json(value) for name, value in answers.items()}
    return {name: value for name, value in typed.items() if value not in (None, "")}


def typed_form_answer(field: Field | None, value: object) -> Any:
    """Return typed text converted to the type of its field, if possible; the form validates it."""
    if field is None or not isinstance(value, str) or field.type in ("text", "textarea", "date"):
        return value
    options = {text: option.value for option in getattr(field, "options", ()) for text in (option.label, option.value)}
    if field.type in ("multiselect", "checkbox"):
        listed = parse_if_json(value)
        chosen = listed if isinstance(listed, list) else [part.strip() for part in value.split(",") if part.strip()]
        return [options.get(each, parse_if_json(each)) if isinstance(each, str) else each for each in chosen]
    return options.get(value, parse_if_json(value))


def typed_call_argument(action: Action, name: str, value: object) -> Any:
    """Return an edited argument: the tools send text for every value that was not text.

    A value that was null or absent has no known type: it stays text, unless the schema does not allow text there.
    """
    asked = action.args.get(name)
    if isinstance(asked, str) or not isinstance(value, str):
        return value
    if asked is not None:
        return parse_if_json(value)
    if name in action.args and not value:
        return None
    return value if accepts_text(action.args_schema, name, value) else parse_if_json(value)


def accepts_text(schema: JsonObject | None, name: str, text: str) -> bool:
    """Return whether a schema accepts text for an argument."""
    whole = schema or {}
    properties = whole.get("properties")
    part = properties.get(name) if isinstance(properties, dict) else None
    if part is None:
        part = whole.get("additionalProperties")
    if not isinstance(part, dict):
        return True
    definitions = {each: whole[each] for each in ("$defs", "definitions") if each in whole}
    try:
        check_instance({**definitions, **part}, text, field=name)
    except InvalidError:
        return False
    return True


def parse_if_json(value: object) -> Any:
    """Return text parsed as JSON if possible; any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: value)
    except (ValueError, RecursionError):
        return value
