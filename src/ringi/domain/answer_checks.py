"""The rules of an answer to a request: its decision, its data and its arguments."""

from __future__ import annotations

from typing import Any

from ringi.domain.ask import Answer, buttons_with_values, error_if, unstorable_numbers
from ringi.domain.request_data import RequestData
from ringi.errors import FieldError, InvalidError
from ringi.forms import form as forms
from ringi.forms.arguments import check_edit


def checked_answer(request: RequestData, answer: Answer) -> dict[str, Any] | None:
    """Return the data of an answer as it is stored; raise `InvalidError` for an answer that does not fit.

    Args:
        request: The request.
        answer: The answer; its digest is not checked.
    """
    if answer.decision not in request.allowed:
        raise InvalidError.of(
            "decision",
            f"{answer.decision!r} is not allowed here: choose {', '.join(request.allowed)}",
            "decision_not_allowed",
        )
    errors = [error for error in _misfits(request, answer) if error]
    if errors:
        raise InvalidError(errors)
    if answer.decision == "edit" and answer.args is not None and request.action:
        check_edit(request.action.args_schema, request.action.args, answer.args)
    return _checked_data(request, answer)


def _misfits(request: RequestData, answer: Answer) -> list[FieldError | None]:
    edits, has_form = answer.decision == "edit", bool(request.form) or request.data_schema is not None
    says_nothing = answer.decision == "respond" and not (answer.message or "").strip() and not answer.data
    return [
        *(unstorable_numbers(answer) if answer.data or answer.args else ()),
        error_if(
            answer.args is not None and not (edits and request.action),
            "args",
            "are accepted only with the decision edit on an action: remove them",
            "unexpected",
        ),
        error_if(
            edits and request.action and not has_form and answer.args is None,
            "args",
            "are missing: send all arguments, as edited",
            "required",
        ),
        error_if(
            edits and not request.action and not answer.data, "data", "is missing: send the edited data", "required"
        ),
        error_if(
            answer.decision == "reject" and answer.data,
            "data",
            "is not accepted with a rejection: send a message instead",
            "unexpected",
        ),
        error_if(says_nothing, "message", "is required: write a message", "message_required"),
        error_if(
            request.kind == "finish" and edits and not _task(answer),
            "data.task",
            "is required: enter the new task as text",
            "task_required",
        ),
    ]


def _checked_data(request: RequestData, answer: Answer) -> dict[str, Any] | None:
    if answer.decision == "respond" and request.answer_schema is not None:
        return answer.check_value(request.answer_schema)
    if answer.decision == "reject" or (answer.decision == "respond" and answer.data is None):
        return None
    if (
        answer.data is None
        and request.answer_schema is not None
        and answer.decision in buttons_with_values(request.actions)
    ):
        return None
    if request.form:
        return request.form.check(answer.data or {})
    if request.data_schema is not None:
        forms.check_instance(request.data_schema, answer.data or {}, field="data")
        return answer.data or {}
    if answer.data and (answer.decision != "edit" or request.action):
        raise InvalidError.of("data", "is not accepted: this request has no form", "unexpected")
    # A front end that sends no data and one that sends `{}` vote for the same call.
    return answer.data or None


def _task(answer: Answer) -> bool:
    task = (answer.data or {}).get("task")
    return isinstance(task, str) and bool(task.strip())
