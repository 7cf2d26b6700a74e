"""The review of an override: a request that is stored together with the override; pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from ringi.base.canonical_json import sha256_of
from ringi.base.texts import Sentence, sentences_text
from ringi.domain.ask import Ask, Wording
from ringi.domain.record import Event, Key
from ringi.domain.request import Request
from ringi.domain.voting import Decider

ADMINISTRATORS = "administrators"
"""The group that is asked if no groups of administrators are configured: administrators may decide every request."""
MAX_TITLE = 300
"""The number of characters of the overridden request's title in the title of its review."""
OVERRIDDEN = "overridden"
"""The key of the overridden request's facts in the context of a review."""


def review_id(request_id: str) -> str:
    """Return the id of the review of an overridden request.

    Args:
        request_id: The id of the overridden request.
    """
    return f"o-{sha256_of(request_id.encode()).removeprefix('sha256:')[:32]}"


def review_key(request: Request) -> Key | None:
    """Return the key of the review that an erasure of a request waits for; that of a review is its own.

    Args:
        request: The request; if nobody has overridden it, nothing waits.
    """
    if request.is_review:
        return request.key
    return Key(request.tenant, review_id(request.id)) if request.is_overridden else None


def overridden_key(review: Request) -> Key | None:
    """Return the key of the request that a review is about; None for other requests, and for an erased review.

    Args:
        review: The review.
    """
    about = review.context.get(OVERRIDDEN) if review.is_review else None
    return Key(review.tenant, about["request"]) if about else None


def review_of(request: Request, groups: Sequence[str]) -> tuple[Request, Event]:
    """Return the question whether an override was right, and its event, to be stored together with the override.

    Whoever overrode may not answer it, and it never expires.

    Args:
        request: The request as the override has ended it.
        groups: The groups of administrators; without any, the review names a group of its own.
    """
    response = request.response
    assert response
    assert response.override
    assert request.ended_at
    about = {"name": response.responder, "decision": response.decision, "reason": response.override}
    title = Sentence(code="review_override", params={"name": response.responder, "title": request.title[:MAX_TITLE]})
    description = (
        Sentence(code="review_reason", params=about),
        Sentence(code="review_link", params={"link": f"[{request.id}](/r/{quote(request.id, safe='')})"}),
    )
    ask = Ask(
        id=review_id(request.id),
        kind="question",
        title=sentences_text([title]),
        description=sentences_text(description),
        wording=Wording(title=(title,), description=description),
        allowed=("approve", "reject"),
        context={OVERRIDDEN: {"request": request.id, "at": response.at.isoformat(), **about}},
        groups=tuple(groups) or (ADMINISTRATORS,),
        exclude=("asker",),
        priority="high",
    ).checked(max_fields=1, may_be_derived=True)
    id, now = review_id(request.id), request.ended_at
    by = Decider(response.responder, subject=request.responder_subject)
    return Request.asked(ask, id=id, now=now, by=by, tenant=request.tenant)
