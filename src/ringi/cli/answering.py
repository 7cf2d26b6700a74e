"""The commands of a person who decides: `respond`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ringi.ask import Answer
from ringi.cli.options import Json, Tenant, Url
from ringi.cli.printing import outcome, public, say
from ringi.cli.reading import parsed_json
from ringi.cli.running import person_name, run
from ringi.connect import open
from ringi.record import DEFAULT_TENANT
from ringi.request import Request


def respond(
    id: str,
    decision: Annotated[str, typer.Argument(help="approve, edit, reject or respond.")],
    data: Annotated[str | None, typer.Option(help="The form's answers, as JSON.")] = None,
    args: Annotated[str | None, typer.Option(help="The whole edited arguments, as JSON.")] = None,
    message: Annotated[str | None, typer.Option(help="A reason or an answer in words.")] = None,
    tenant: Tenant = DEFAULT_TENANT,
    url: Url = None,
    json_: Json = False,
) -> None:
    """Answer a request."""
    body = {
        "decision": decision,
        "data": parsed_json("data", data),
        "args": parsed_json("args", args),
        "message": message,
    }
    request = run(_respond(id, body, tenant, url))
    say(public(request), f"{request.id}  {request.status}{outcome(request)}", json_)


async def _respond(id: str, body: dict[str, Any], tenant: str, url: str | None) -> Request:
    async with open(url, tenant=tenant) as inbox:
        request = await inbox.get(id)
        return await inbox.answer(id, Answer.parse({**body, "digest": request.digest}), by=person_name(), channel="cli")
