"""The answer to a request as it is stored, and the changes to the memory of it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, TypeVar

from pydantic import BaseModel

from ringi.base.canonical_json import jsonable
from ringi.base.model import StrictModel
from ringi.domain.ask import Decision
from ringi.forms.form import into

M = TypeVar("M", bound=BaseModel)


class Response(StrictModel):
    """The one decision on a request."""

    decision: Decision
    data: dict[str, Any] | None = None
    args: dict[str, Any] | None = None
    message: str | None = None
    responder: str
    channel: str
    at: datetime
    authorised_digest: str | None = None

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
        return {"decision": self.decision, "responder": self.responder, "at": jsonable(self.at)}


class Remembered(StrictModel):
    """Changes to the memory of an answer."""

    data: dict[str, Any] | None
    """The data as edited by the person; None after deletion."""
    at: datetime
