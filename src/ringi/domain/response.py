"""The answer to a request as it is stored, and the changes to the memory of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, Field, StringConstraints

from ringi.base.canonical_json import jsonable
from ringi.base.model import StrictModel
from ringi.domain.ask import Decision, is_empty
from ringi.domain.grants import Grant, GrantUse
from ringi.forms.form import into

M = TypeVar("M", bound=BaseModel)
Outcome = Literal["committed", "failed", "unknown"]
SHA256 = r"^sha256:[0-9a-f]{64}$"


class Response(StrictModel):
    """The one decision on a request."""

    decision: Decision
    """The decision."""
    data: dict[str, Any] | None = None
    """The answers to the form by field name, or the edited data."""
    args: dict[str, Any] | None = None
    """The edited arguments of the action, for `edit`."""
    message: str | None = None
    """The person's text."""
    responder: str
    """The name of the person; `policy:` and the name of a rule that approved or denied; `policy:grant:` and the id
    of the grant that approved."""
    channel: str
    """The channel of the answer, such as `python`, `http` or `page`."""
    at: datetime
    """The time of the decision."""
    authorised_digest: str | None = None
    """The digest of the call and data that the decision authorizes; None for a rejection."""
    stands_for: str | None = Field(default=None, alias="for", exclude_if=is_empty)
    """The person for whom a deputy decided."""
    voters: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The names of all who agreed, if more than one had to."""
    released_at: datetime | None = Field(default=None, exclude_if=is_empty)
    """The time at which the person could no longer undo the decision."""
    override: str | None = Field(default=None, exclude_if=is_empty)
    """The reason of an administrator who decided although a rule excluded them, or without the other votes."""
    grant: Grant | None = Field(default=None, exclude_if=is_empty)
    """The later calls that the person approved too."""
    ended_rules: tuple[str, ...] = Field(default=(), exclude_if=is_empty)
    """The ids of the rules that this answer has ended, because they would have approved the call."""
    grant_use: GrantUse | None = Field(default=None, exclude_if=is_empty)
    """The grant that approved the call; None if a person or a rule of a policy decided."""

    def __repr_args__(self) -> Iterator[tuple[str, object]]:
        return ((name, getattr(self, name)) for name in ("decision", "responder"))

    def into(self, model: type[M]) -> M:
        """Return the form's data as an instance of the pydantic model from which the form was made.

        Args:
            model: The class of the model.

        Raises:
            InvalidError: The data does not fit the model; there is one error for each field.
        """
        return into(model, self.data or {})

    @property
    def winner(self) -> dict[str, Any]:
        """The decision, responder and time, for the error of a late answer."""
        more = {"for": self.stands_for, "voters": list(self.voters)}
        found = {name: value for name, value in more.items() if value}
        return {"decision": self.decision, "responder": self.responder, "at": jsonable(self.at), **found}


class Receipt(StrictModel):
    """What became of an approved call."""

    outcome: Outcome
    """`committed`: the call returned. `failed`: it raised an error. `unknown`: whoever ran it cannot say."""
    result_digest: Annotated[str, StringConstraints(pattern=SHA256)] | None = Field(default=None, exclude_if=is_empty)
    """The digest of the result's canonical JSON: `sha256:` and 64 hex digits; None if it is not recorded."""
    attempt: Annotated[str, StringConstraints(min_length=1, max_length=200)] | None = Field(
        default=None, exclude_if=is_empty
    )
    """Identifies the attempt to run the call. With the outcome `unknown` it **begins** the call: at most one attempt
    can, and only that one may report `committed` or `failed` afterwards."""

    def is_begun_by(self, attempt: str | None) -> bool:
        """Return whether this attempt has begun the call, and has not reported what became of it."""
        return self.outcome == "unknown" and attempt is not None and self.attempt == attempt


class Remembered(StrictModel):
    """Changes to the memory of an answer."""

    data: dict[str, Any] | None
    """The data as edited by the person; None after deletion."""
    at: datetime
