"""Errors of the server that are no errors of the inbox; without the server's extra, for the command line."""

from __future__ import annotations

from typing import Any

from ringi.errors import RingiError


class RefusalError(RingiError):
    """A refusal by the server itself.

    Args:
        status: The HTTP status.
        code: The code of the problem document.
        detail: The message, which names the value and the remedy.
        retry_after: The seconds after which the caller may try again.
        more: Additional members of the problem document.
    """

    code: str

    def __init__(self, status: int, code: str, detail: str, *, retry_after: float | None = None, **more: Any) -> None:
        self.status, self.code, self.retry_after, self.more = status, code, retry_after, more
        super().__init__(detail)


class MalformedError(RefusalError):
    """The call cannot be parsed."""

    def __init__(self, reason: str) -> None:
        super().__init__(400, "malformed", reason)


class UnauthenticatedError(RefusalError):
    """The caller is not authenticated."""

    def __init__(self, reason: str = "no token") -> None:
        remedy = "send 'Authorization: Bearer <token>' (`ringi token create` makes one), or open `ringi link`"
        super().__init__(401, "unauthenticated", f"{reason}: {remedy}")

    @classmethod
    def unknown(cls) -> UnauthenticatedError:
        """Return the error of a token that this server did not issue."""
        return cls("this server did not issue the token")


class SignInError(RefusalError):
    """A sign-in at the provider failed."""

    def __init__(self, reason: str) -> None:
        super().__init__(401, "sign_in", f"the sign-in failed: {reason}; go back to the page and sign in again")
