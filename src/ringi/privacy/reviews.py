"""The reviews of overrides: an erasure of an overridden request waits on the record of its review."""

from __future__ import annotations

from collections.abc import Sequence

from ringi.contracts.store import Store, change_record, find_record, readable
from ringi.domain.ask import REVIEW
from ringi.domain.record import Erased, Key, WaitingErasure
from ringi.domain.request import Request
from ringi.domain.reviews import review_key
from ringi.errors import UnderReviewError


async def find_review(store: Store, request: Request) -> Request | None:
    """Return the review that an erasure of a request waits for; None if nobody has overridden the request.

    Args:
        store: The store of the requests.
        request: The request; a review waits for itself.
    """
    key = review_key(request)
    return request if key == request.key else await find_record(store, Request, key) if key else None


async def find_reviews(store: Store, requests: Sequence[Request]) -> dict[Key, Request]:
    """Return the reviews that erasures of these requests wait for, by the key of the request.

    Args:
        store: The store of the requests.
        requests: The requests.
    """
    keys = {request.key: key for request in requests if (key := review_key(request))}
    found = {review.key: review for review in await readable(store, Request, list(set(keys.values())))}
    return {key: found[review] for key, review in keys.items() if review in found}


async def wait_for_review(store: Store, request: Request, review: Request, erased: Erased, person: str | None) -> None:
    """Let an erasure wait for the end of a review, and raise `UnderReviewError`; return if it has ended just now.

    Args:
        store: The store of the requests.
        request: The request to erase.
        review: Its review.
        erased: Who erases, and by which rule.
        person: The person whose part to erase; None for all content.
    """
    new = WaitingErasure(**erased.model_dump(), request=request.id, person=person)
    _, after = await change_record(store, Request, review.key, lambda each: each.with_waiting_erasure(new))
    if not after.is_final:
        raise UnderReviewError(request.id, review.id)


async def is_awaited_by(store: Store, key: Key, person: str) -> bool:
    """Return whether an erasure that a person asked for waits for the end of a review.

    Args:
        store: The store of the requests.
        key: The key of any request.
        person: The person.
    """
    review = await find_record(store, Request, key) if REVIEW.fullmatch(key.id) else None
    return review is not None and any(each.by == person for each in review.waiting_erasures)


def done_erasures(request: Request, review: Request | None, person: str | None) -> list[WaitingErasure]:
    """Return the waiting erasures that the erasure of a request has done.

    Args:
        request: The erased request.
        review: Its review.
        person: The person whose part was erased; None for all content.
    """
    waiting = review.waiting_erasures if review else ()
    return [each for each in waiting if each.request == request.id and person in (None, each.person)]
