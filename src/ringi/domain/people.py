"""The people and groups that are known here: pure, without clock or I/O."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Annotated, NamedTuple, Self

from pydantic import Field

from ringi.base.model import StrictModel
from ringi.base.validation import Name
from ringi.domain.ask import parse_body
from ringi.domain.record import Event
from ringi.domain.request import Request
from ringi.domain.voting import PersonName
from ringi.errors import FieldError, InvalidError


class Reassignment(StrictModel):
    """The new assignee or groups of a request."""

    assignee: PersonName | None = None
    groups: Annotated[tuple[Name, ...], Field(max_length=100)] = ()
    unknown: Annotated[bool, Field(strict=True)] = False
    """True to take names that nobody here has."""

    @classmethod
    def parse(cls, body: object) -> Self:
        """Return the new assignee or groups; raise `InvalidError` if a field is invalid, or nobody is named."""
        to = parse_body(cls, body)
        if not to.assignee and not to.groups:
            raise InvalidError.of("assignee", "give an assignee or groups", "assignee_required")
        return to


ALIKE = 0.6
"""The least likeness of two names, from 0 to 1, for one to be suggested in place of the other."""


class PeopleOnRecord(NamedTuple):
    """The people who have a token, have signed in, or are named by the settings, and their groups."""

    people: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """Whether nobody is known: then no name can be compared, and each is taken."""
        return not self.people

    def refuse_unknown(self, people: dict[str, str | None], groups: Sequence[str] = ()) -> None:
        """Check that all these people and groups are known.

        Args:
            people: The names of people by field.
            groups: The names of groups.

        Raises:
            InvalidError: A name is unknown; each error has the nearest known name.
        """
        if self.is_empty:
            return
        wrong = [(field, name, self.people) for field, name in people.items() if name and name not in self.people]
        wrong += [(f"groups.{n}", name, self.groups) for n, name in enumerate(groups) if name not in self.groups]
        if wrong:
            raise InvalidError([unknown_name_error(*each) for each in wrong])

    def can_answer(self, request: Request) -> bool:
        """Return whether one of these people may answer a pending request, not counting administrators.

        Args:
            request: The request.
        """
        people, groups = request.recipients
        if self.is_empty or not (people or groups or request.quorum):
            return True
        if (people or groups) and people.isdisjoint(self.people) and groups.isdisjoint(self.groups):
            return False
        return all(not stage.groups or not self.groups.isdisjoint(stage.groups) for stage in request.quorum)


def unknown_name_error(field: str, name: str, known: Collection[str]) -> FieldError:
    """Return the error of a name that nobody has, with the nearest known name."""
    folded = {each.casefold(): each for each in sorted(known, reverse=True)}
    nearest = next((folded[each] for each in get_close_matches(name.casefold(), folded, 1, ALIKE)), None)
    remedy = f"write {nearest!r}" if nearest else "correct it"
    why = f"nobody here is known as {name!r}: {remedy}, or send `unknown` true to take it all the same"
    return FieldError(field, why, "unknown_name", {"name": name, "nearest": nearest})


REASSIGNED = "request.reassigned"
NOT_ACTING = frozenset({"request.seen", "request.reminded", "request.escalated"})
"""Events that leave a reassignment as it is."""


def assignment_before_event(request: Request, event: Event, history: Sequence[Event]) -> Request | None:
    """Return the request with its assignment before an event; None if its history does not show it."""
    changes = [e.changed for e in history if e.record == Request.record and e.version < event.version]
    assignment = next((changed for changed in reversed(changes) if "assignee" in changed), None)
    if assignment is None:
        return None
    groups = tuple(assignment.get("groups", ()))
    return request.model_copy(update={"assignee": assignment["assignee"], "groups": groups})


def assignment_before_person(request: Request, person: str, history: Sequence[Event]) -> Request | None:
    """Return the request as it was assigned before this person reassigned it; None if somebody has changed it since.

    Args:
        request: The request.
        person: The name of the person.
        history: The events of the request up to this version, oldest first.
    """
    history = [event for event in history if event.record == Request.record]
    changes = [event for event in history if event.type not in NOT_ACTING]
    if not changes or history[-1].hash != request.head:
        return None
    own = [event for event in changes[-2:] if event.type == REASSIGNED and event.actor == person]
    if not own or own[-1] is not changes[-1]:
        return None
    *earlier, before = [assignment_before_event(request, event, history) for event in own]
    # Taking a request back reassigns it too: a second time must not pass it on again.
    is_back = any(each and each.recipients == request.recipients for each in earlier)
    return None if is_back else before
