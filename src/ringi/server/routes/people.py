"""The routes of the people and groups who are known here, and of people who are away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Annotated

from fastapi import Query
from starlette.responses import Response as HttpResponse

from ringi.domain.memories import is_name_of_person
from ringi.domain.request import Request
from ringi.server.auth.permissions import visible_query
from ringi.server.callers import Components, PersonCaller
from ringi.server.calls import reply
from ringi.server.openapi import route_docs, router_of
from ringi.server.schemas import KnownNames

RECENT, MOST = 300, 20
GROUP = "group:"
PART = "Part of the name, in any case"


router = router_of("requests")


@router.get("/v1/people", **route_docs("People"))
async def find_people(
    caller: PersonCaller, components: Components, q: Annotated[str, Query(max_length=200, description=PART)] = ""
) -> HttpResponse:
    """List the known people and groups, first those on the newest requests that the caller may read."""
    inbox = components.inbox.for_tenant(caller.tenant)
    newest = visible_query(caller).model_copy(update={"limit": RECENT})
    recent = await components.requests_to_count(inbox, newest)
    names = Counter(name for request in recent for name in names_on_request(request))
    names.update([caller.name, *(GROUP + group for group in caller.groups)])
    known = await inbox.known_people.known(caller.tenant)
    here = {*known.people, *(GROUP + group for group in known.groups)}
    ordered = [name for name, _ in names.most_common() if known.is_empty or name in here]
    ordered += sorted(here.difference(ordered))
    wanted = q.strip().casefold()
    found = [name for name in ordered if wanted in name.removeprefix(GROUP).casefold()]
    groups = [name.removeprefix(GROUP) for name in found if name.startswith(GROUP)]
    people = [name for name in found if is_name_of_person(name)]
    return reply(KnownNames(people=people[:MOST], groups=groups[:MOST]))


def names_on_request(request: Request) -> Iterator[str]:
    """Yield the people and groups to whom a request is open or who have decided it; groups as `group:NAME`."""
    yield from (GROUP + group for group in request.groups)
    yield from (GROUP + group for stage in request.quorum for group in stage.groups)
    yield from (name for step in request.escalation for name in step.to)
    yield from (vote.responder for vote in request.votes)
    yield from filter(None, (request.assignee, request.claimed_by, request.response and request.response.responder))
