"""Reviews of overrides: each is a request, asked from the event of the override, so it survives a crash."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from urllib.parse import quote

from ringi.base.canonical_json import sha256_of
from ringi.base.failpoints import failpoint
from ringi.base.texts import Sentence, sentences_text
from ringi.contracts.jobs import Job
from ringi.domain.ask import Ask, Wording
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.errors import ConflictError, NotFoundError
from ringi.inbox.inbox import Inbox, NewRequest
from ringi.inbox.tracing import start_span

KIND = "review"
ADMINISTRATORS = "administrators"
"""The group that is asked if no groups of administrators are configured: administrators may decide every request."""
MAX_TITLE = 300
"""The number of characters of the overridden request's title in the title of its review."""


def review_id(request_id: str) -> str:
    """Return the id of the review of an overridden request.

    Args:
        request_id: The id of the overridden request.
    """
    return f"o-{sha256_of(request_id.encode()).removeprefix('sha256:')[:32]}"


class Reviews:
    """Asks whether each override was right.

    Args:
        inbox: The inbox on the store.
        groups: The groups of administrators.
    """

    def __init__(self, inbox: Inbox, groups: Sequence[str]) -> None:
        self._inbox, self._groups = inbox, tuple(groups) or (ADMINISTRATORS,)

    def of(self, event: Event, request: Request) -> Iterator[Job]:
        """Return the job for a request that an administrator has decided with an override."""
        if (
            event.type == "request.completed"
            and request.response
            and request.response.override
            and not request.is_check
        ):
            key = f"review:{request.tenant}/{request.id}"
            yield Job(key=key, kind=KIND, partition_key=key, payload={"tenant": request.tenant, "request": request.id})

    async def ask(self, job: Job) -> None:
        """Ask for the review, once; an erased request has none."""
        inbox = self._inbox.for_tenant(job.payload["tenant"])
        try:
            request = await inbox.get(job.payload["request"])
        except NotFoundError:
            return
        if request.erased or not request.response or not request.response.override:
            return
        failpoint("review.before_ask")
        ask = review_of(request, self._groups).checked(max_fields=inbox.limits.max_fields, may_be_derived=True)
        now, by = inbox.clock(), request.response.responder
        new = Request.asked(ask, id=review_id(request.id), now=now, by=by, tenant=request.tenant)
        with suppress(ConflictError):  # It was asked before: a job may be done twice.
            await inbox.store.put(*new)
            await inbox.announce_new(NewRequest(*new, start_span("asked", now)))


def review_of(request: Request, groups: Sequence[str]) -> Ask:
    """Return the question whether an override was right; whoever overrode may not answer it, and it never expires.

    Args:
        request: The overridden request.
        groups: The groups that may answer.
    """
    response = request.response
    assert response
    assert response.override
    about = {"name": response.responder, "decision": response.decision, "reason": response.override}
    title = Sentence(code="review_override", params={"name": response.responder, "title": request.title[:MAX_TITLE]})
    description = (
        Sentence(code="review_reason", params=about),
        Sentence(code="review_link", params={"link": f"[{request.id}](/r/{quote(request.id, safe='')})"}),
    )
    return Ask(
        id=review_id(request.id),
        kind="question",
        title=sentences_text([title]),
        description=sentences_text(description),
        wording=Wording(title=(title,), description=description),
        allowed=("approve", "reject"),
        context={"overridden": {"request": request.id, "at": response.at.isoformat(), **about}},
        candidate_groups=tuple(groups),
        exclude=("asker",),
        priority="high",
    )
