"""Errors of the server, with messages that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ringi.errors import ForbiddenError, LimitError, RingiError, UnavailableError


class RefusalError(RingiError):
    """A refusal by the server itself; subclasses set the HTTP status and the code of the problem document."""

    status: ClassVar[int]
    code: ClassVar[str]
    more: Mapping[str, Any] = {}
    """Additional members of the problem document."""


class MalformedError(RefusalError):
    """The call cannot be parsed."""

    status, code = 400, "malformed"

    def __init__(self, reason: str) -> None:
        super().__init__(reason)

    @classmethod
    def not_json(cls, error: ValueError) -> MalformedError:
        """Return the error of a body that cannot be parsed."""
        return cls(f"the body is not JSON: {error}")

    @classmethod
    def incomplete(cls) -> MalformedError:
        """Return the error of a caller that disconnected: it prevents an alarming stack trace in the log."""
        return cls("the body is shorter than its length: send the complete body")

    @classmethod
    def too_deep(cls, limit: int) -> MalformedError:
        """Return the error of a body that is nested too deeply."""
        return cls(f"the body is nested deeper than {limit} levels: reduce the nesting")

    @classmethod
    def duplicate_name(cls, name: str) -> MalformedError:
        """Return the error of an object with a duplicate name."""
        return cls(f"the name {name!r} appears more than once in an object of the body: send it once")

    @classmethod
    def invalid_number(cls, text: str) -> MalformedError:
        """Return the error of a number that JSON does not allow."""
        return cls(f"{text[:50]} is not a JSON number: send a finite number, text or null")

    @classmethod
    def lone_surrogate(cls) -> MalformedError:
        """Return the error of text that cannot be encoded."""
        return cls("the body contains half of a surrogate pair, which is not valid text: send whole characters")

    @classmethod
    def hosts(cls, count: int) -> MalformedError:
        """Return the error of a call without one unambiguous host."""
        return cls(f"the call has {count} Host headers: send exactly one")

    @classmethod
    def cookies(cls, name: str, count: int) -> MalformedError:
        """Return the error of a call with several session cookies."""
        return cls(f"the cookie {name} was sent {count} times: sign in again")

    @classmethod
    def duplicate_header(cls, header: str, count: int) -> MalformedError:
        """Return the error of a call that names several people."""
        return cls(f"the call has {count} {header} headers: let the proxy replace the headers of callers")

    @classmethod
    def invalid_position(cls, error: RingiError) -> MalformedError:
        """Return the error of a stream with an invalid resume position."""
        return cls(f"{error}: send the id of an event of this stream, or none")


class UnauthenticatedError(RefusalError):
    """The caller is not authenticated."""

    status, code = 401, "unauthenticated"

    def __init__(self, reason: str = "no token") -> None:
        super().__init__(f"{reason}: send 'Authorization: Bearer <token>', or open the link that `ringi serve` printed")

    @classmethod
    def expired(cls) -> UnauthenticatedError:
        """Return the error of an expired token."""
        return cls("the token has expired")

    @classmethod
    def revoked(cls) -> UnauthenticatedError:
        """Return the error of a revoked token."""
        return cls("the token was revoked")

    @classmethod
    def used_link(cls) -> UnauthenticatedError:
        """Return the error of a link that has already been used."""
        return cls("the link was already used; `ringi link` creates another")

    @classmethod
    def of_provider(cls, error: Exception) -> UnauthenticatedError:
        """Return the error of an invalid token of the provider."""
        return cls(f"the provider's token is refused: {error}")

    @classmethod
    def agent_session(cls) -> UnauthenticatedError:
        """Return the error of an agent's token in the page's cookie."""
        return cls("an agent's token cannot open a session on the page")

    @classmethod
    def unknown(cls) -> UnauthenticatedError:
        """Return the error of a token that this server did not issue."""
        return cls("this server did not issue the token")

    @classmethod
    def reserved_name(cls, name: str) -> UnauthenticatedError:
        """Return the error of a token whose name could be mistaken for another identity."""
        return cls(f"the name {name!r} is not allowed; issue a token for another name")

    @classmethod
    def without_issue_time(cls) -> UnauthenticatedError:
        """Return the error of a token without an issue time, which cannot be checked for revocation."""
        return cls("the token has no issue time (claim iat): issue another with `ringi token create`")

    @classmethod
    def invalid_claim(cls, claim: str, expected: str) -> UnauthenticatedError:
        """Return the error of a token with a claim of a wrong type."""
        return cls(f"the token's claim {claim} is not {expected}: issue another with `ringi token create`")

    @classmethod
    def without_bearer(cls) -> UnauthenticatedError:
        """Return the error of an Authorization header with another scheme."""
        return cls("the Authorization header contains no bearer token")


class AgentSessionError(RefusalError):
    """An agent's token was used to sign in on the page, where only people decide."""

    status, code = 403, "agent_session"

    def __init__(self) -> None:
        super().__init__("an agent's token cannot open a session on the page: use `ringi link`, or a person's token")


class SignedInError(RefusalError):
    """Another person is signed in on the page."""

    status, code = 409, "signed_in"

    def __init__(self, current: Mapping[str, Any], other: Mapping[str, Any]) -> None:
        super().__init__(f'{current["name"]!r} is signed in: send "replace": true to sign in as {other["name"]!r}')
        self.more = {"current": current, "other": other}


class SignInError(RefusalError):
    """A sign-in at the provider failed."""

    status, code = 401, "sign_in"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the sign-in failed: {reason}; go back to the page and sign in again")

    @classmethod
    def code_refused(cls) -> SignInError:
        """Return the error of a code that the provider refuses."""
        return cls("the provider refused the code")

    @classmethod
    def algorithm(cls, name: str) -> SignInError:
        """Return the error of a token with an insecure signature algorithm."""
        return cls(f"the token has the unsupported signature algorithm {name!r}")

    @classmethod
    def token(cls, error: Exception) -> SignInError:
        """Return the error of an invalid token."""
        return cls(f"the token is invalid: {error}")

    @classmethod
    def other_attempt(cls) -> SignInError:
        """Return the error of a token issued for another sign-in."""
        return cls("the token belongs to another sign-in")

    @classmethod
    def other_person(cls) -> SignInError:
        """Return the error of a UserInfo reply about another person."""
        return cls("the provider's UserInfo describes another person")

    @classmethod
    def unknown_key(cls) -> SignInError:
        """Return the error of a token signed with an unknown key."""
        return cls("the token is signed with an unknown key")

    @classmethod
    def other_provider(cls) -> SignInError:
        """Return the error of a reply from another provider."""
        return cls("the reply comes from another provider")

    @classmethod
    def refused_by_provider(cls, code: str, reason: str = "") -> SignInError:
        """Return the error of a refusal by the provider."""
        return cls(f"the provider replied {code[:100]!r}" + (f", {reason[:300]!r}" if reason else ""))

    @classmethod
    def not_started(cls) -> SignInError:
        """Return the error of a callback without a started sign-in."""
        return cls("this browser has not started a sign-in, or started it too long ago")

    @classmethod
    def other_browser(cls) -> SignInError:
        """Return the error of a callback for another sign-in attempt."""
        return cls("this browser started another sign-in")

    @classmethod
    def already_used(cls) -> SignInError:
        """Return the error of a repeated callback."""
        return cls("this sign-in was already completed")

    @classmethod
    def too_many_groups(cls, count: int) -> SignInError:
        """Return the error of a person whose groups do not fit in a cookie."""
        return cls(f"{count} groups do not fit in a cookie; the provider must send fewer")


class ForeignOriginError(RefusalError):
    """A page of another site tried to write with this person's cookie."""

    status, code = 403, "foreign_origin"

    def __init__(self, origin: str | None, own: str) -> None:
        super().__init__(f"Origin {origin!r} is not {own!r}: only the page may write with its cookie; use a token")


class TooSlowError(RefusalError):
    """A call was not sent within its deadline."""

    status, code = 408, "too_slow"

    def __init__(self, missing: str, seconds: float) -> None:
        super().__init__(f"the {missing} of the call did not arrive within {seconds:g} s: send the call again")


class NotOpenError(RefusalError):
    """The application is mounted, but its lifespan was not entered."""

    status, code = 503, "not_open"

    def __init__(self) -> None:
        super().__init__("Ringi is not open: enter its `lifespan()` in the lifespan of the application that mounts it")


class ConnectionsError(RefusalError):
    """This process has reached its maximum number of connections."""

    status, code = 503, "connections"
    retry_after = 1.0

    def __init__(self, limit: int) -> None:
        super().__init__(f"this server has reached its limit of {limit} connections: retry in {self.retry_after:g} s")


class TooLargeError(RefusalError):
    """The body exceeds the limit."""

    status, code = 413, "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is larger than {limit} bytes: send less data, or a link to it")


class MediaTypeError(RefusalError):
    """The body is not JSON."""

    status, code = 415, "media_type"

    def __init__(self, media_type: str) -> None:
        super().__init__(f"content type {media_type!r} is not supported: send application/json")


class HostError(RefusalError):
    """The call names a host that this server does not serve."""

    status, code = 421, "host"

    def __init__(self, host: str) -> None:
        super().__init__(f"host {host!r} is not allowed: use a host name with which the server was started")


class StoppingError(UnavailableError):
    """The server is shutting down."""

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class NotReadyError(UnavailableError):
    """The store does not respond in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the store did not reply within {seconds:g} s")


class AccessDeniedError(ForbiddenError):
    """Another system authenticated this person, but Ringi does not allow access."""

    @classmethod
    def without_group(cls, name: str) -> AccessDeniedError:
        """Return the error of a person without an allowed group."""
        return cls(f"{name!r} is not in an allowed group; contact the administrator")

    @classmethod
    def without_tenant(cls, claim: str | None) -> AccessDeniedError:
        """Return the error of a person without a tenant."""
        return cls(f"the provider sent no tenant for this person: configure it to send {claim!r}")

    @classmethod
    def unverified(cls) -> AccessDeniedError:
        """Return the error of an unverified name."""
        return cls("the provider has not verified this person's e-mail address: verify it there")


class ProviderError(UnavailableError):
    """The sign-in provider does not respond correctly."""

    def __init__(self, url: str, reason: object) -> None:
        self.retry_after = 5.0
        RingiError.__init__(self, f"the sign-in provider {url} is not available ({reason}): try again, or use a token")


class AgentDecidesError(ForbiddenError):
    """An agent tried to make a person's decision."""

    def __init__(self) -> None:
        super().__init__("an agent's token cannot decide: only people can")


class NotAnOperatorError(ForbiddenError):
    """The action is reserved for operators."""

    def __init__(self) -> None:
        super().__init__("only an admin may retry or abandon a run, redeliver, or erase: contact an admin")


class NotPermittedError(ForbiddenError):
    """The caller may read the record, but another person must act on it."""

    @classmethod
    def to_answer(cls, id: str) -> NotPermittedError:
        """Return the error of an answer to another person's request."""
        return cls(f"request {id!r} is assigned to other people")

    @classmethod
    def to_cancel(cls, kind: str, id: str) -> NotPermittedError:
        """Return the error of a cancellation by a person other than the creator."""
        return cls(f"only the creator of {kind} {id!r}, or an admin, may cancel it")


class NotNewestError(RefusalError):
    """A client tried to continue from a message that is not the thread's newest."""

    status, code = 409, "not_newest"

    def __init__(self, thread_id: str, message_id: str) -> None:
        super().__init__(f"message {message_id!r} is not the newest of thread {thread_id!r}: reload the chat")


class AskRateError(LimitError):
    """The caller creates requests too fast."""

    def __init__(self, name: str, count: int, retry_after: float) -> None:
        super().__init__(f"{name!r} asked {count} times within a minute: retry later", retry_after)


class OpenRequestsError(LimitError):
    """The caller has too many open requests."""

    def __init__(self, name: str, limit: int) -> None:
        super().__init__(f"{name!r} has {limit} open requests: wait for answers, or cancel some", 30)


class StreamsError(LimitError):
    """Too many streams are open."""

    @classmethod
    def of_caller(cls, name: str, limit: int) -> StreamsError:
        """Return the error of a caller that has reached its limit."""
        return cls(f"{name!r} has {limit} streams and long polls open: close one", 5)

    @classmethod
    def of_server(cls, limit: int) -> StreamsError:
        """Return the error of a server without free streams."""
        return cls(f"this server has reached its limit of {limit} open streams: retry later", 5)
