"""The one error that knows HTTP: a reply that no other error describes."""

from __future__ import annotations

from ringi.errors import RingiError


class HttpError(RingiError):
    """A server sent a reply that the client does not know.

    `status` is its HTTP status and `code` the code of its problem document; None if the reply has none.
    """

    def __init__(self, what: str, *, status: int | None = None, code: str | None = None) -> None:
        self.status, self.code = status, code
        super().__init__(what)

    @classmethod
    def refused(cls, call: str, status: int, code: str | None, detail: str) -> HttpError:
        """Return the error for an error reply without a class of its own."""
        return cls(f"{call}: {status}: {detail}", status=status, code=code)

    @classmethod
    def foreign(cls, call: str, status: int) -> HttpError:
        """Return the error for a reply that does not come from Ringi."""
        return cls(
            f"{call}: {status} without Ringi's JSON: check that this is the address of a Ringi server", status=status
        )
