"""Errors of the server, with messages that name the value and the remedy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from ringi.errors import ForbiddenError, LimitError, RingiError, UnavailableError


class RefusalError(RingiError):
    """A call that HTTP rules forbid, before any rule of Ringi applies."""

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
        return cls("the body ends before its length: send all of it")

    @classmethod
    def too_deep(cls, limit: int) -> MalformedError:
        """Return the error of a body that is nested too deeply."""
        return cls(f"the body nests deeper than {limit} levels: send it flatter")

    @classmethod
    def duplicate_name(cls, name: str) -> MalformedError:
        """Return the error of an object with a duplicate name."""
        return cls(f"the name {name!r} stands twice in one object of the body: send it once")

    @classmethod
    def invalid_number(cls, text: str) -> MalformedError:
        """Return the error of a number that JSON does not allow."""
        return cls(f"{text[:50]} is no number of JSON: send one, or text, or null")

    @classmethod
    def lone_surrogate(cls) -> MalformedError:
        """Return the error of text that cannot be encoded."""
        return cls("the body holds half a surrogate pair, which is no text: send whole characters")

    @classmethod
    def hosts(cls, count: int) -> MalformedError:
        """Return the error of a call without one unambiguous host."""
        return cls(f"{count} Host headers: send one")

    @classmethod
    def cookies(cls, name: str, count: int) -> MalformedError:
        """Return the error of a call with several session cookies."""
        return cls(f"the cookie {name} was sent {count} times: sign in again")

    @classmethod
    def duplicate_header(cls, header: str, count: int) -> MalformedError:
        """Return the error of a call that names several people."""
        return cls(f"{count} {header} headers: let the proxy replace what a caller sends")

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
        return cls("the link was used already, `ringi link` makes another")

    @classmethod
    def of_provider(cls, error: Exception) -> UnauthenticatedError:
        """Return the error of an invalid token of the provider."""
        return cls(f"the provider's token is refused: {error}")

    @classmethod
    def agent_session(cls) -> UnauthenticatedError:
        """Return the error of an agent's token in the page's cookie."""
        return cls("an agent's token opens no page session")

    @classmethod
    def unknown(cls) -> UnauthenticatedError:
        """Return the error of a token that this server did not issue."""
        return cls("the token is not one of this server")

    @classmethod
    def reserved_name(cls, name: str) -> UnauthenticatedError:
        """Return the error of a token whose name could be mistaken for another identity."""
        return cls(f"nobody may be called {name!r} any more: make another token")

    @classmethod
    def without_issue_time(cls) -> UnauthenticatedError:
        """Return the error of a token without an issue time, which cannot be checked for revocation."""
        return cls("the token does not say when it was issued (claim iat): make another with `ringi token create`")

    @classmethod
    def invalid_claim(cls, claim: str, expected: str) -> UnauthenticatedError:
        """Return the error of a token with a claim of a wrong type."""
        return cls(f"the token's claim {claim} is not {expected}: make another with `ringi token create`")

    @classmethod
    def without_bearer(cls) -> UnauthenticatedError:
        """Return the error of an Authorization header with another scheme."""
        return cls("the Authorization header holds no bearer token")


class AgentSessionError(RefusalError):
    """An agent's token was used to sign in on the page, where only people decide."""

    status, code = 403, "agent_session"

    def __init__(self) -> None:
        super().__init__("an agent's token opens no page session: use a link of `ringi link`, or a person's token")


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
        super().__init__(f"you are not signed in: {reason}; go back to the page and begin again")

    @classmethod
    def code_refused(cls) -> SignInError:
        """Return the error of a code that the provider refuses."""
        return cls("the provider did not take the code")

    @classmethod
    def algorithm(cls, name: str) -> SignInError:
        """Return the error of a token with an insecure signature algorithm."""
        return cls(f"its token is signed by {name!r}")

    @classmethod
    def token(cls, error: Exception) -> SignInError:
        """Return the error of an invalid token."""
        return cls(f"its token is refused: {error}")

    @classmethod
    def other_attempt(cls) -> SignInError:
        """Return the error of a token issued for another sign-in."""
        return cls("its token belongs to another sign-in")

    @classmethod
    def other_person(cls) -> SignInError:
        """Return the error of a UserInfo reply about another person."""
        return cls("what the provider says of the person is about another one")

    @classmethod
    def unknown_key(cls) -> SignInError:
        """Return the error of a token signed with an unknown key."""
        return cls("its token is signed by an unknown key")

    @classmethod
    def other_provider(cls) -> SignInError:
        """Return the error of a reply from another provider."""
        return cls("the answer comes from another provider")

    @classmethod
    def refused_by_provider(cls, code: str, reason: str = "") -> SignInError:
        """Return the error of a refusal by the provider."""
        return cls(f"the provider says {code[:100]!r}" + (f", {reason[:300]!r}" if reason else ""))

    @classmethod
    def not_started(cls) -> SignInError:
        """Return the error of a callback without a started sign-in."""
        return cls("this browser has not begun one, or too long ago")

    @classmethod
    def other_browser(cls) -> SignInError:
        """Return the error of a callback for another sign-in attempt."""
        return cls("it is not the one that this browser began")

    @classmethod
    def already_used(cls) -> SignInError:
        """Return the error of a repeated callback."""
        return cls("it was used already")

    @classmethod
    def too_many_groups(cls, count: int) -> SignInError:
        """Return the error of a person whose groups do not fit in a cookie."""
        return cls(f"{count} groups do not fit a cookie, the provider has to send fewer")


class ForeignOriginError(RefusalError):
    """A page of another site tried to write with this person's cookie."""

    status, code = 403, "foreign_origin"

    def __init__(self, origin: str | None, own: str) -> None:
        super().__init__(f"Origin {origin!r} is not {own!r}: a cookie writes only from the page itself; use a token")


class TooSlowError(RefusalError):
    """A call was not sent within its deadline."""

    status, code = 408, "too_slow"

    def __init__(self, missing: str, seconds: float) -> None:
        super().__init__(f"the {missing} of the call did not come within {seconds:g} s: send it again, whole")


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
        super().__init__(f"this server has its {limit} connections: retry in {self.retry_after:g} s")


class TooLargeError(RefusalError):
    """The body exceeds the limit."""

    status, code = 413, "too_large"

    def __init__(self, limit: int) -> None:
        super().__init__(f"the body is over {limit} bytes: send less, or a link to it")


class MediaTypeError(RefusalError):
    """The body is not JSON."""

    status, code = 415, "media_type"

    def __init__(self, media_type: str) -> None:
        super().__init__(f"content type {media_type!r}: send application/json")


class HostError(RefusalError):
    """The call names a host that this server does not serve."""

    status, code = 421, "host"

    def __init__(self, host: str) -> None:
        super().__init__(f"host {host!r} is not served here: call it by a name that it was started with")


class StoppingError(UnavailableError):
    """The server is shutting down."""

    def __init__(self) -> None:
        super().__init__("the server is stopping")


class NotReadyError(UnavailableError):
    """The store does not respond in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no reply in {seconds:g} s")


class AccessDeniedError(ForbiddenError):
    """Another system authenticated this person, but Ringi does not allow access."""

    @classmethod
    def without_group(cls, name: str) -> AccessDeniedError:
        """Return the error of a person without an allowed group."""
        return cls(f"{name!r} is in none of the groups that may come in: ask who runs this server")

    @classmethod
    def without_tenant(cls, claim: str | None) -> AccessDeniedError:
        """Return the error of a person without a tenant."""
        return cls(f"the provider names no tenant for this person: let it send {claim!r}")

    @classmethod
    def unverified(cls) -> AccessDeniedError:
        """Return the error of an unverified name."""
        return cls("the provider does not vouch for this person's e-mail address: have it verified there")


class ProviderError(UnavailableError):
    """The sign-in provider does not respond correctly."""

    def __init__(self, url: str, reason: object) -> None:
        self.retry_after = 5.0
        RingiError.__init__(self, f"{url} cannot sign anybody in now ({reason}): try again, or use a token")


class AgentDecidesError(ForbiddenError):
    """An agent tried to make a person's decision."""

    def __init__(self) -> None:
        super().__init__("an agent's token cannot decide: ask a person")


class NotAnOperatorError(ForbiddenError):
    """The action is reserved for operators."""

    def __init__(self) -> None:
        super().__init__("only an admin may retry or abandon a run, deliver again, or erase: ask one")


class NotPermittedError(ForbiddenError):
    """The caller may read the record, but another person must act on it."""

    @classmethod
    def to_answer(cls, id: str) -> NotPermittedError:
        """Return the error of an answer to another person's request."""
        return cls(f"request {id!r} is for somebody else to answer")

    @classmethod
    def to_cancel(cls, kind: str, id: str) -> NotPermittedError:
        """Return the error of a cancellation by a person other than the creator."""
        return cls(f"only who began {kind} {id!r}, or an admin, may cancel it")


class NotNewestError(RefusalError):
    """A client tried to continue from a message that is not the thread's newest."""

    status, code = 409, "not_newest"

    def __init__(self, thread_id: str, message_id: str) -> None:
        super().__init__(f"message {message_id!r} is not the newest of thread {thread_id!r}: load the chat again")


class AskRateError(LimitError):
    """The caller creates requests too fast."""

    def __init__(self, name: str, count: int, retry_after: float) -> None:
        super().__init__(f"{name!r} asked {count} times within a minute: slow down", retry_after)


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
        return cls(f"this server has all its {limit} streams open: try again later", 5)
