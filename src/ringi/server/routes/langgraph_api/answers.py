"""Conversion of resume values of LangGraph's tools to answers to the served request."""

from __future__ import annotations

import json
from typing import Any

from ringi.domain.ask import Action
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms.fields import Field
from ringi.forms.json_schema import check_instance
from ringi.server.routes.langgraph_api.interrupts import ANSWER, TASK, args_of, shown_of

RESUME = "command.resume"
Json = dict[str, Any]
EXPECTED = (
    'send [{"type": "accept", "edit", "response" or "ignore", "args"}] as Agent Inbox does, '
    '{"decisions": [{"type": "approve", "edit" or "reject"}]} as LangChain does, or the answer to a question as text'
)


def answer_of(request: Request, resume: Any) -> Json:
    """Return decision, data, arguments and message; raises `InvalidError` for an unknown format."""
    if isinstance(resume, dict) and set(resume) == {request.id}:
        resume = resume[request.id]
    if isinstance(resume, str):
        return {"decision": "respond", "message": resume}
    if isinstance(resume, dict) and set(resume) == {"decisions"}:
        return reviewed(request, only(resume["decisions"]))
    return responded(request, only(resume if isinstance(resume, list) else [resume]))


def only(given: Any) -> Json:
    """Return the only answer of a list."""
    if not isinstance(given, list) or len(given) != 1 or not isinstance(given[0], dict):
        raise InvalidError.of(RESUME, f"one request is served at a time: {EXPECTED}")
    found: Json = given[0]
    return found


def responded(request: Request, given: Json) -> Json:
    """Return Agent Inbox's `HumanResponse` as an answer."""
    match given.get("type"):
        case "accept":
            refuse_other_args(request, given.get("args"))
            return approved(request)
        case "edit":
            return edited(request, called(given.get("args"), "action", f"{RESUME}.args"))
        case "response":
            return in_words(request, given.get("args"))
        case "ignore":
            return {"decision": "reject"}
        case other:
            raise InvalidError.of(f"{RESUME}.type", f"{other!r} is unknown: {EXPECTED}")


def reviewed(request: Request, given: Json) -> Json:
    """Return LangChain's decision as an answer."""
    match given.get("type"):
        case "approve":
            return approved(request)
        case "edit":
            action = called(given.get("edited_action"), "name", f"{RESUME}.edited_action")
            is_question = ANSWER in action["args"] and not args_of(request)
            return in_words(request, action["args"][ANSWER]) if is_question else edited(request, action)
        case "reject":
            return {"decision": "reject", "message": text_or_none(given.get("message"))}
        case other:
            raise InvalidError.of(f"{RESUME}.type", f"{other!r} is unknown: {EXPECTED}")


def approved(request: Request) -> Json:
    """Return consent to exactly the served content."""
    if request.action or request.kind == "finish":
        return {"decision": "approve"}
    data = {name: value for name, value in args_of(request).items() if value is not None}
    return {"decision": "approve", "data": data or None}


def edited(request: Request, action: Json) -> Json:
    """Return the changed arguments, or the answers of a form, converted from text to their original types."""
    if action["action"] != shown_of(request).action:
        raise InvalidError.of(f"{RESUME}.action", "another action than the one that was served: load the thread again")
    given: Json = action["args"]
    if request.action:
        args = {name: retyped(request.action, name, value) for name, value in given.items()}
        return {"decision": "edit", "args": args}
    if request.kind == "finish" and not request.form and request.data_schema is None:
        return {"decision": "edit", "data": {TASK: given.get(TASK)}}
    decision = "approve" if "approve" in request.allowed else "edit"
    return {"decision": decision, "data": filled(request, given)}


def in_words(request: Request, words: Any) -> Json:
    """Return a person's text: the answer, or the reason for refusing a call."""
    if not isinstance(words, str):
        raise InvalidError.of(f"{RESUME}.args", "send the words as text")
    decision = "respond" if "respond" in request.allowed else "reject"
    if decision == "reject" and not request.action:
        raise InvalidError.of(f"{RESUME}.type", "this request takes no words: edit its fields")
    return {"decision": decision, "message": words}


def refuse_other_args(request: Request, args: Any) -> None:
    """Raise `InvalidError` if the accepted arguments differ from the served ones."""
    shown = shown_of(request)
    if args is not None and args != {"action": shown.action, "args": shown.args}:
        raise InvalidError.of(f"{RESUME}.args", "these are not the arguments that were served: load the thread again")


def called(given: Any, name: str, field: str) -> Json:
    """Return an edited call as its action and arguments."""
    if not isinstance(given, dict) or not isinstance(given.get(name), str) or not isinstance(given.get("args"), dict):
        raise InvalidError.of(field, f"send an object with {name} and args")
    return {"action": given[name], "args": given["args"]}


def text_or_none(value: Any) -> str | None:
    """Return text, None for nothing; raises `InvalidError` for anything else."""
    if value is not None and not isinstance(value, str):
        raise InvalidError.of(f"{RESUME}.message", "send text")
    return value or None


def filled(request: Request, given: Json) -> Json:
    """Return the answers of a form or a schema; an empty text is no answer."""
    if request.form:
        fields = {field.name: field for field in request.form.fields}
        typed = {name: typed_answer(fields.get(name), value) for name, value in given.items()}
    else:
        properties = (request.data_schema or {}).get("properties") or {}
        texts = {name for name, part in properties.items() if isinstance(part, dict) and part.get("type") == "string"}
        typed = {name: value if name in texts else read(value) for name, value in given.items()}
    return {name: value for name, value in typed.items() if value not in (None, "")}


def typed_answer(field: Field | None, value: Any) -> Any:
    """Return typed text converted to the type of its field, if possible; the form validates it."""
    if field is None or not isinstance(value, str) or field.type in ("text", "textarea", "date"):
        return value
    options = {text: option.value for option in getattr(field, "options", ()) for text in (option.label, option.value)}
    if field.type in ("multiselect", "checkbox"):
        listed = read(value)
        chosen = listed if isinstance(listed, list) else [part.strip() for part in value.split(",") if part.strip()]
        return [options.get(each, read(each)) if isinstance(each, str) else each for each in chosen]
    return options.get(value, read(value))


def retyped(action: Action, name: str, value: Any) -> Any:
    """Return an edited argument: the tools send text for every value that was not text.

    A value that was null or absent has no known type: it stays text, unless the schema does not allow text there.
    """
    asked = action.args.get(name)
    if isinstance(asked, str) or not isinstance(value, str):
        return value
    if asked is not None:
        return read(value)
    if name in action.args and not value:
        return None
    return value if takes(action.args_schema, name, value) else read(value)


def takes(schema: Json | None, name: str, text: str) -> bool:
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


def read(value: Any) -> Any:
    """Return text parsed as JSON if possible; any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: value)
    except (ValueError, RecursionError):
        return value
