"""The commands of a person who decides: `respond`, `claim`, `release`, `reassign`, `cancel`."""

from __future__ import annotations

from typing import Annotated

import typer

from ringi.cli.inputs import parsed_json, read_file
from ringi.cli.options import By, Json, Tenant, Url
from ringi.cli.session import change, person_name
from ringi.domain.ask import Answer
from ringi.domain.record import DEFAULT_TENANT
from ringi.domain.request import Request
from ringi.errors import InvalidError, RingiError
from ringi.inbox.inbox import Inbox

Id = Annotated[str, typer.Argument(help="The request, from `ringi list`.")]


class UnfitAnswerError(RingiError):
    """The command was called rightly, and the request does not take the answer."""

    def __init__(self, error: InvalidError) -> None:
        super().__init__(str(error))


def respond(
    id: Id,
    decision: Annotated[str, typer.Argument(help="approve, edit, reject or respond.")],
    data: Annotated[str | None, typer.Option(help="The form's answers, as JSON.")] = None,
    args: Annotated[str | None, typer.Option(help="The whole edited arguments, as JSON.")] = None,
    message: Annotated[str | None, typer.Option(help="A reason or an answer in words.")] = None,
    file: Annotated[list[str] | None, typer.Option(help="FIELD=PATH: attach a file for a field of the form.")] = None,
    digest: Annotated[str | None, typer.Option(help="Answer only what has this digest, from `ringi show`.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Answer a request."""
    answers, edited = parsed_json("data", data), parsed_json("args", args)
    body = {"decision": decision, "data": answers, "args": edited, "message": message, "digest": digest or ""}
    given, files, by = Answer.parse(body), [read_file(each) for each in file or ()], name or person_name()

    async def answer(inbox: Inbox) -> Request:
        seen = digest or (await inbox.get(id)).digest
        try:
            told = {field: await inbox.attach(id, field, path.name, content, by=by) for field, path, content in files}
            data = {**(given.data or {}), **told} if told else given.data
            return await inbox.answer(id, given.model_copy(update={"digest": seen, "data": data}), by=by, channel="cli")
        except InvalidError as error:
            raise UnfitAnswerError(error) from error

    change(url, tenant, json_, answer)


def claim(id: Id, name: By = None, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """Keep others from answering for a while."""
    change(url, tenant, json_, lambda inbox: inbox.claim(id, name or person_name()))


def release(id: Id, name: By = None, tenant: Tenant = DEFAULT_TENANT, url: Url = None, json_: Json = False) -> None:
    """Give up a claim."""
    change(url, tenant, json_, lambda inbox: inbox.release(id, name or person_name()))


def reassign(
    id: Id,
    to: Annotated[str | None, typer.Option(help="The person who shall answer.")] = None,
    groups: Annotated[str, typer.Option(help="Or the groups, with commas between them.")] = "",
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Give a request to another person or to groups."""
    names = tuple(group.strip() for group in groups.split(",") if group.strip())
    if not to and not names:
        raise InvalidError.of("to", "say who shall answer: --to NAME or --groups A,B")
    by = name or person_name()
    change(url, tenant, json_, lambda inbox: inbox.reassign(id, by, assignee=to, groups=names))


def cancel(
    id: Id,
    reason: Annotated[str | None, typer.Option(help="Why, for the agent and the audit trail.")] = None,
    name: By = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Withdraw a request; nothing that it gates will run."""
    change(url, tenant, json_, lambda inbox: inbox.cancel(id, name or person_name(), reason))
