"""One open request in the formats of LangGraph's tools: `HumanInterrupt` and `HITLRequest`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from ringi.domain.display import summary_of
from ringi.domain.request import Request
from ringi.errors import InvalidError
from ringi.forms.fields import Field

ANSWER = "answer"
"""The argument that holds the answer to a question in tools that can only edit arguments."""
TASK = "task"
Json = dict[str, Any]


class InterruptContent(NamedTuple):
    """The content of a request for a person, and the available actions."""

    action: str
    args: Json
    """In the form that the tools can display: Agent Inbox fails on null."""
    description: str
    can_accept: bool
    can_edit: bool
    can_refuse: bool
    can_respond: bool


def content_of(request: Request) -> InterruptContent:
    """Return a request as an action with arguments; the arguments of a form are its fields with their defaults."""
    allowed, is_gated = set(request.allowed), request.action is not None
    args = args_of(request)
    has_fields = bool(args) and not is_gated
    is_finish = request.kind == "finish" and not is_gated
    submits = "approve" in allowed or "edit" in allowed
    return InterruptContent(
        action=request.action.name if request.action else request.title,
        args={name: "" if value is None else value for name, value in args.items()},
        description="\n\n".join(description_parts(request)),
        can_accept="approve" in allowed and (is_gated or is_finish or accepts_defaults(request)),
        can_edit=bool(args) and (submits if has_fields and not is_finish else "edit" in allowed),
        can_refuse="reject" in allowed,
        # The text for a refused call is the reason; for a form it must not be taken for the answer.
        can_respond="respond" in allowed or (is_gated and "reject" in allowed),
    )


def human_interrupt(request: Request) -> Json:
    """Return the request in Agent Inbox's format."""
    content = content_of(request)
    config = {
        "allow_accept": content.can_accept,
        "allow_edit": content.can_edit,
        "allow_ignore": content.can_refuse,
        "allow_respond": content.can_respond,
    }
    action = {"action": content.action, "args": content.args}
    return {"action_request": action, "config": config, "description": content.description}


def review_request(request: Request) -> Json:
    """Return the request in the format of LangChain's human-in-the-loop middleware, which agent-chat-ui displays."""
    content = content_of(request)
    is_question = not content.args and "respond" in request.allowed
    args = {ANSWER: ""} if is_question else content.args
    decision_flags = {
        "approve": content.can_accept,
        "edit": content.can_edit or is_question,
        "reject": content.can_refuse,
    }
    decisions = [decision for decision, is_offered in decision_flags.items() if is_offered]
    action = {"name": content.action, "args": args, "description": content.description}
    config = {"action_name": content.action, "allowed_decisions": decisions}
    return {"action_requests": [action], "review_configs": [config]}


def interrupt(request: Request, value: Json) -> Json:
    """Return an interrupt in LangGraph's list format."""
    return {"id": request.id, "value": value, "when": "during", "resumable": True, "ns": []}


def args_of(request: Request) -> Json:
    """Return the arguments of a call, the fields of a form with their defaults, or the task of a finish."""
    if request.action:
        return dict(request.action.args)
    if request.form:
        return {field.name: default_of(field) for field in request.form.fields}
    if request.data_schema is not None:
        properties = request.data_schema.get("properties") or {}
        known = {name: part for name, part in properties.items() if isinstance(part, dict)}
        return {name: part.get("default") for name, part in known.items()}
    return {TASK: str(request.context.get(TASK) or "")} if request.kind == "finish" else {}


def default_of(field: Field) -> Any:
    """Return the initial value of a form field."""
    default = getattr(field, "default", None)
    return list(default) if isinstance(default, tuple) else default


def accepts_defaults(request: Request) -> bool:
    """Return whether a form can be submitted unchanged; false without a form."""
    if request.form is None:
        return request.data_schema is None
    try:
        request.form.check(args_of(request))
    except InvalidError:
        return False
    return True


def display_texts(request: Request) -> Iterator[str]:
    """Yield the display blocks as text, and the URLs of images."""
    for each in request.display or ():
        yield block(summary_of(each), each.model_dump(mode="json", exclude={"data"}, exclude_none=True))
    if any(each.type == "image" for each in request.display or ()):
        yield f"Images are displayed only on Ringi's own page: /r/{request.id}"


def description_parts(request: Request) -> Iterator[str]:
    """Yield the parts of the description: all content under the digest that the tools cannot display otherwise."""
    if request.action:
        yield request.title  # For all other kinds the title is shown as the action.
    if request.description:
        yield request.description
    if request.form:
        yield "\n".join(f"- {line_of(field)}" for field in request.form.fields)
    if request.data_schema is not None:
        yield block("The answer must match", request.data_schema)
    yield from display_texts(request)
    values = {decision: button.value for decision, button in request.actions.items() if button.value is not None}
    if values:
        yield block("What the agent receives", values)
    labels = {decision: button.label for decision, button in request.actions.items() if button.label}
    for name, value in (("Context", request.context), ("Labels", labels), ("If nobody answers", request.fallback)):
        if value:
            yield block(name, value)
    if request.priority:
        yield f"Priority: {request.priority}"


def line_of(field: Field) -> str:
    """Return a field with everything that a person has to know about it."""
    parts = field.model_dump(mode="json", exclude_none=True)
    options = ", ".join(f"{each['value']} ({each['label']})" for each in parts.pop("options", ()))
    name, label, type, help = (parts.pop(each, "") for each in ("name", "label", "type", "help"))
    is_required = parts.pop("required", False)
    rules = [f"{rule}: {value}" for rule, value in parts.items()]
    columns = [f"`{name}` {label}", type, "required" if is_required else "", options, *rules, help]
    return "; ".join(str(part) for part in columns if part)


def block(title: str, value: object) -> str:
    """Return JSON under a title."""
    return f"{title}:\n\n```json\n{json.dumps(value, ensure_ascii=False, indent=2, default=str)}\n```"
