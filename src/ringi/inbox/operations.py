"""The table of operations: what each verb of an inbox is over HTTP, for whom, and whether it may be sent twice.

Server, client and command line read it: one row makes the route with its permission and its description, the method of
a client, and the command. The signature and the promises of a verb stand in `ringi.inbox.api`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, Unpack, get_args, get_origin, get_type_hints

from pydantic import Field

from ringi.base.model import StrictModel, without_null_fields
from ringi.domain.absence import Leave
from ringi.domain.ask import Answer, Ask, Cancel, Receipt, parse_body
from ringi.domain.checks import NewChecks
from ringi.domain.filters import ListQuery
from ringi.domain.memories import MemoryEdit
from ringi.domain.pauses import NewPause
from ringi.domain.people import Reassignment
from ringi.domain.suggestions import NewRule
from ringi.forms.field_parts import Upload
from ringi.inbox.api import Checks, Grants, Inbox, Memories, Pauses, People, Seen, Suggestions, Trail, digest_of
from ringi.privacy.candidates import Sweep

Callers = Literal["anybody", "people", "readers", "auditors", "admins"]
"""The roles that may call: all; those who decide; all but agents; those who read everything; administrators."""
Records = Literal["any", "readable", "answerable", "in_audience", "cancellable", "reportable"]
"""The requests on which a caller may do it; the rule is applied to each version that is read or replaced."""
Repeat = Literal["safe", "once", "gone"]
"""After a lost reply: send it again; tell the caller; send it again, and `not found` means done."""
SUBJECTS = ("request", "seen")
"""The parameters of a verb that stand for an id in the path."""


class WaitQuery(StrictModel):
    """How long to wait for the end of a request."""

    wait: float = Field(default=0, ge=0, allow_inf_nan=False)


class Numbered(StrictModel):
    """The number of a file."""

    number: int = Field(ge=1)


class AuditQuery(StrictModel):
    """A part of the audit trail."""

    request_id: str | None = None
    after: str | None = None
    limit: int = Field(default=100, ge=1)


class PageQuery(StrictModel):
    """A page of a list."""

    limit: int = Field(default=50, ge=1)
    cursor: Annotated[str | None, Field(description="`next` of the previous page")] = None


class OfPerson(StrictModel):
    """The person of whom something ends."""

    person: str


@dataclass(frozen=True)
class Operation:
    """One verb over HTTP: data only."""

    verb: Callable[..., Any]
    """The abstract method; its signature is that of all callers."""
    method: str
    path: str
    callers: Callers
    records: Records = "any"
    body: type[StrictModel] | None = None
    parameters: type[StrictModel] | None = None
    """What stands in the query, or in the path beside the id."""
    statuses: tuple[int, ...] = (200,)
    """The statuses of success; a handler chooses another than the first."""
    repeat: Repeat = "safe"

    @cached_property
    def room(self) -> str:
        """The part of the inbox, such as `grants`; `requests` for the inbox itself."""
        owner = self.verb.__qualname__.partition(".")[0]
        return "requests" if owner == Inbox.__name__ else owner.lower()

    @cached_property
    def place(self) -> str:
        """Where the verb is in an inbox, such as `grants.list`."""
        return self.name if self.room == "requests" else f"{self.room}.{self.name}"

    @cached_property
    def name(self) -> str:
        """The name of the verb."""
        return self.verb.__name__

    @cached_property
    def reply(self) -> Any:
        """The type that the verb returns."""
        return get_type_hints(self.verb)["return"]

    @cached_property
    def arguments(self) -> frozenset[str]:
        """The names of the verb's parameters but the caller's."""
        hints, names = get_type_hints(self.verb), dict.fromkeys(inspect.signature(self.verb).parameters)
        # `Unpack` of a typed dict: each of its keys is a parameter.
        spread = {name: get_args(hints[name])[0] for name in names if get_origin(hints.get(name)) is Unpack}
        every = {*names, *(key for each in spread.values() for key in get_type_hints(each))}
        return frozenset(every - {"self", self.caller, *spread})

    @cached_property
    def caller(self) -> str | None:
        """The parameter that names the caller on a store; over HTTP the token does. None if nobody is named."""
        names = inspect.signature(self.verb).parameters
        return "by" if "by" in names else "person" if self.room == "memories" else None

    @cached_property
    def whole(self) -> str | None:
        """The parameter that is the whole body; None if each field of the body is a parameter."""
        hints = get_type_hints(self.verb)
        return next((name for name in self.arguments if self.body and hints.get(name) is self.body), None)

    def to_wire(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the verb as fields of path, query and body."""
        fields = {name: value for name, value in arguments.items() if name not in SUBJECTS}
        for subject in (arguments[name] for name in SUBJECTS if name in arguments):
            fields["id"] = subject if isinstance(subject, str) else subject.id
            if "seen" in arguments:
                fields["digest"] = digest_of(subject)
        return fields

    def from_wire(self, path: Mapping[str, Any], parameters: StrictModel | None, body: Any) -> dict[str, Any]:
        """Return the checked fields of path, query and body as arguments of the verb."""
        values = {**path, **dict(parameters or ()), **({self.whole: body} if self.whole else dict(body or ()))}
        values |= {"request": path.get("id")}
        return {name: values[name] for name in self.arguments if name in values}

    def parse(self, body: object) -> Any:
        """Return a body, checked; null counts as absent.

        Raises:
            InvalidError: A field is unknown or invalid.
        """
        assert self.body
        own: Callable[[object], Any] | None = getattr(self.body, "parse", None)
        return own(body) if own else parse_body(self.body, without_null_fields(body, self.body))


AT = "/v1/requests/{id}"
TABLE = (
    Operation(Inbox.ask, "POST", "/v1/requests", "anybody", body=Ask, statuses=(201, 200)),
    Operation(Inbox.find, "GET", "/v1/requests", "anybody", parameters=ListQuery),
    Operation(Inbox.get, "GET", AT, "anybody", "readable", parameters=WaitQuery),
    Operation(Inbox.respond, "POST", f"{AT}/respond", "people", "answerable", Answer, statuses=(200, 202)),
    Operation(Inbox.undo, "POST", f"{AT}/undo", "people", "answerable"),
    Operation(Inbox.claim, "POST", f"{AT}/claim", "people", "answerable"),
    Operation(Inbox.release, "POST", f"{AT}/release", "people", "answerable"),
    # After the change, a repeat could be refused, or take the request away from the new assignee.
    Operation(Inbox.reassign, "POST", f"{AT}/reassign", "people", "answerable", Reassignment, repeat="once"),
    Operation(Inbox.cancel, "POST", f"{AT}/cancel", "anybody", "cancellable", Cancel, repeat="once"),
    Operation(Inbox.report_outcome, "POST", f"{AT}/outcome", "anybody", "reportable", Receipt),
    Operation(Inbox.erase, "POST", f"{AT}/erase", "admins", "readable"),
    Operation(Inbox.attach, "POST", f"{AT}/attachments", "people", "answerable", Upload, statuses=(201,)),
    Operation(Inbox.attachment, "GET", f"{AT}/attachments/{{number}}", "anybody", "readable", parameters=Numbered),
    Operation(Inbox.events, "GET", "/v1/audit", "anybody", "readable", parameters=AuditQuery),
    Operation(Grants.list, "GET", "/v1/grants", "anybody", "readable"),
    Operation(Grants.revoke, "POST", "/v1/grants/{id}/revoke", "people", "answerable", statuses=(204,)),
    Operation(Suggestions.list, "GET", "/v1/suggestions", "readers"),
    Operation(Suggestions.accept, "POST", "/v1/suggestions/{id}/accept", "people", "in_audience", NewRule,
              statuses=(201,), repeat="once"),
    Operation(Pauses.begin, "POST", "/v1/pauses", "admins", body=NewPause, statuses=(201,)),
    Operation(Pauses.list, "GET", "/v1/pauses", "anybody"),
    Operation(Pauses.end, "DELETE", "/v1/pauses/{id}", "admins", statuses=(204,), repeat="gone"),
    Operation(People.leave, "PUT", "/v1/away", "people", body=Leave),
    Operation(People.come_back, "DELETE", "/v1/away", "people", statuses=(204,)),
    Operation(People.away, "GET", "/v1/away", "people"),
    Operation(People.absences, "GET", "/v1/absences", "auditors"),
    Operation(People.end_absence, "DELETE", "/v1/absences", "admins", parameters=OfPerson, statuses=(204,),
              repeat="gone"),
    Operation(Checks.plant, "POST", "/v1/checks", "admins", body=NewChecks, statuses=(201,), repeat="once"),
    Operation(Checks.report, "GET", "/v1/checks", "auditors"),
    Operation(Memories.list, "GET", "/v1/memories", "people", parameters=PageQuery),
    Operation(Memories.get, "GET", "/v1/memories/{id}", "people"),
    Operation(Memories.edit, "PATCH", "/v1/memories/{id}", "people", body=MemoryEdit),
    Operation(Memories.delete, "DELETE", "/v1/memories/{id}", "people", statuses=(204,), repeat="gone"),
    Operation(Trail.erase_some, "POST", "/v1/erasures", "admins", body=Sweep),
)  # fmt: skip
"""All verbs of an inbox that are calls over HTTP: `wait`, `follow` and `pauses.check` are made of them."""
ONLY_HERE: dict[Callable[..., Any], set[str]] = {
    Inbox.ask: {"answer_schema", "policy", "wording"},  # What Ringi itself asks.
    Inbox.find: {"mine"},  # Over HTTP the token says whose.
    Inbox.get: {"wait"},
    Inbox.attach: {"content", "data"},  # Bytes, in JSON as base64.
}
"""The names that only the wire or only the signature of a verb has."""


def names_in(model: type[StrictModel]) -> set[str]:
    """Return the names of a model's fields on the wire."""
    return {field.alias or name for name, field in model.model_fields.items()}


def check_table(table: tuple[Operation, ...]) -> None:
    """Raise `TypeError` if a parameter of a verb has no place on the wire, or a field of the wire no parameter."""
    for row in table:
        in_path = {"id"} if "{id}" in row.path else set()
        models = [each for each in (row.parameters, None if row.whole else row.body) if each]
        on_wire = in_path.union(*map(names_in, models)) | ({row.whole} if row.whole else set())
        sent = set(row.to_wire(dict.fromkeys(row.arguments, NOTHING)))
        if lost := (on_wire ^ sent) - ONLY_HERE.get(row.verb, set()):
            raise TypeError(f"{row.room}.{row.name}: only in the signature or only on the wire: {sorted(lost)}")


NOTHING = Seen("", "")
check_table(TABLE)
