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
