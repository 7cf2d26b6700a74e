"""Ask a person from inside a LangGraph node or task."""

from __future__ import annotations

from typing import Annotated, Any, Unpack

from langgraph.config import get_config
from langgraph.errors import GraphInterrupt
from langgraph.types import interrupt
from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from ringi.base.canonical_json import jsonable
from ringi.domain.ask import Ask, AskOptions, request_content_digest
from ringi.domain.request import Request
from ringi.errors import FieldError, InvalidError, NotFoundError
from ringi.runs.context import find_run_context
from ringi.runtimes.langgraph.interrupt_formats import ENVELOPE


def ask(title: str, **options: Unpack[AskOptions]) -> Request:
    """Stop the run until the question has ended, and return the request, decided or not.

    Ask once per node, with no earlier side effects in the node: it runs again from its beginning after the answer.

    Args:
        title: The question in one line.
        **options: The content of the question and who may answer it.

    Returns:
        The ended request. `request.granted` is the call as approved and edited by a person, and None without approval.

    Raises:
        InvalidError: The question breaks a rule; there is one error for each field.
    """
    # The run gives the question its id and its thread.
    if unknown := sorted(options.keys() - AskOptions.__annotations__):
        raise InvalidError([FieldError(name, "is no option of a question in a run: remove it") for name in unknown])
    return ask_question(Ask.parse({"title": title, **options}))


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
    digest = request_content_digest(question)

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
