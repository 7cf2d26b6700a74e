"""Ask a person from inside a LangGraph node or task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import AfterValidator, BaseModel, WithJsonSchema
from pydantic_core import PydanticCustomError

from ringi.base.canonical_json import jsonable
from ringi.domain.ask import Action, Ask, Button, Decision, Kind, Priority, digest_of, parse_body
from ringi.domain.display import Block
from ringi.domain.request import Request
from ringi.errors import NotFoundError
from ringi.forms.form import Form
from ringi.runs.context import find_run_context
from ringi.runs.interrupt_formats import ENVELOPE


def ask(
    title: str,
    *,
    kind: Kind | None = None,
    description: str | None = None,
    action: Action | None = None,
    form: Form | type[BaseModel] | None = None,
    schema: dict[str, Any] | None = None,
    allowed: Sequence[Decision] | None = None,
    actions: dict[Decision, Button] | None = None,
    context: dict[str, Any] | None = None,
    assignee: str | None = None,
    candidate_groups: Sequence[str] = (),
    priority: Priority | None = None,
    due_at: datetime | None = None,
    expires_in: float | timedelta | None = None,
    expires_at: datetime | None = None,
    fallback: dict[str, Any] | None = None,
    display: Sequence[Block] | None = None,
) -> Request:
    """Stop the run until the question has ended, and return the request, decided or not.

    Ask once per node, with no earlier side effects in the node: it runs again from its beginning after the answer.

    Args:
        title: The question in one line.
        kind: The kind of the request; by default the content implies it.
        description: More text for the person, as Markdown.
        action: The call that needs approval.
        form: The fields to fill in, as a `Form` or a pydantic model class.
        schema: The JSON Schema of the answer, instead of a form.
        allowed: The decisions that a person can choose; None for those of the kind.
        actions: The labels and styles of the decisions.
        context: More data that the person sees, as JSON values.
        assignee: A person who may answer. Without an assignee and groups, every person of the tenant may.
        candidate_groups: Groups whose members may answer, in addition to the assignee.
        priority: The priority; None counts as `normal`.
        due_at: The time by which an answer is wanted, with a time zone.
        expires_in: Seconds, or a timedelta, until the request expires.
        expires_at: The time at which it expires, with a time zone, instead of `expires_in`.
        fallback: The data with which the run continues if the request expires.
        display: Tables, images, code, diffs and links to show.

    Returns:
        The ended request. `request.granted` is the call as approved and edited by a person, and None without approval.

    Raises:
        InvalidError: The question breaks a rule; there is one error for each field.
    """
    fields = {name: value for name, value in locals().items() if value is not None}
    return ask_question(parse_body(Ask, fields))


async def attachment(request: Request, field: str) -> bytes:
    """Return the bytes of the file that a person attached for a field; await it in a node that Ringi runs.

    Args:
        request: The answered request.
        field: The name of the form field.

    Raises:
        NotFoundError: The answer names no file for the field, or the file was erased.
    """
    host, data = find_run_context(get_config()), request.response.data if request.response else None
    file = (data or {}).get(field)
    if not host or not isinstance(file, dict):
        raise NotFoundError("attachment", f"{request.id}/{field}")
    return await host.inbox.attachment(request.id, int(file["number"]))


def ask_question(question: Ask) -> Request:
    """Stop the run until this question has ended; see `ask`.

    Args:
        question: The question, already validated.

    Returns:
        The ended request.
    """
    digest = digest_of(question)

    def same_question(answer: dict[str, Any]) -> dict[str, Any]:
        # Without it an answer could reach another question if the node took another branch meanwhile.
        if answer.get(ENVELOPE, {}).get("digest") != digest:
            raise PydanticCustomError("ringi_question_changed", "this answers another question")
        return answer

    schema = question.form.json_schema() if question.form else (question.data_schema or {})
    answer_type = Annotated[dict[str, Any], AfterValidator(same_question), WithJsonSchema({**schema, ENVELOPE: digest})]
    body = {name: value for name, value in jsonable(question).items() if value is not None}
    try:
        answer = interrupt({ENVELOPE: body}, response_schema=answer_type)
    except GraphInterrupt:
        config = get_config()
        if host := find_run_context(config):
            host.record_pause(str(config["configurable"].get("checkpoint_ns", "")), digest, question.title)
        raise
    return Request.model_validate(answer[ENVELOPE])
