"""Identities besides tokens: settings of a provider, a proxy, and roles."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeGuard
from urllib.parse import urlsplit

from ringi.base.settings import Network, SettingError, Settings
from ringi.base.validation import FieldValidationError, check_name
from ringi.connect import LOOPBACK
from ringi.domain.record import DEFAULT_TENANT, SYSTEM
from ringi.errors import ForbiddenError
from ringi.server.refusals import MalformedError, UnauthenticatedError

if TYPE_CHECKING:  # The terminal shows requests as the API does, without the server's extra.
    from starlette.datastructures import Headers
    from starlette.types import Scope

Role = Literal["agent", "person", "admin", "auditor"]


def is_person_name(name: object) -> TypeGuard[str]:
    """Return whether a name is valid, and cannot be mistaken for an agent or for an absent person."""
    return is_group_name(name) and ":" not in name and name != SYSTEM


def is_group_name(name: object) -> TypeGuard[str]:
    """Return whether a text is valid as the name of a group."""
    try:
        return isinstance(name, str) and len(name) <= 200 and bool(check_name(name))
    except FieldValidationError:
        return False


def reserved_name_error(name: str) -> UnauthenticatedError:
    """Return the error of a caller whose name could be mistaken for another identity."""
    return UnauthenticatedError(
        f"the name {name!r} is not allowed; issue a token for another name, without a colon or control characters"
    )


class AuthenticatedPerson(NamedTuple):
    """A person authenticated by another system."""

    tenant: str
    role: Role
    name: str
    groups: tuple[str, ...] = ()
    subject: str = ""
    """The issuer and the subject of the sign-in; empty if only the name is known."""


@dataclass(frozen=True)
class GroupRoles:
    """The groups that are allowed, and their roles."""

    admins: frozenset[str] = frozenset()
    people: frozenset[str] = frozenset()
    """Empty allows every person that the other system authenticates."""
    auditors: frozenset[str] = frozenset()
    """Groups whose members read everything and change nothing, unless they are administrators."""

    @classmethod
    def load(cls) -> GroupRoles:
        """Return the roster of the environment variables."""
        found = Settings.load()
        return cls(*map(frozenset, (found.admin_groups, found.people_groups, found.auditor_groups)))

    def person(self, name: object, groups: Collection[str], tenant: str = DEFAULT_TENANT) -> AuthenticatedPerson:
        """Return the person, or raise `ForbiddenError` or `UnauthenticatedError`."""
        if not is_person_name(name):
            raise reserved_name_error(str(name))
        known = tuple(filter(is_group_name, groups))
        others: Role = "auditor" if self.auditors.intersection(known) else "person"
        role: Role = "admin" if self.admins.intersection(known) else others
        if role == "person" and self.people and not self.people.intersection(known):
            raise ForbiddenError(f"{name!r} is not in an allowed group; contact the administrator")
        return AuthenticatedPerson(tenant, role, name, known)


@dataclass(frozen=True)
class Oidc:
    """An OpenID Connect provider, and the mapping of its claims."""

    issuer: str
    client_id: str
    client_secret: str | None = None
    public_url: str | None = None
    """The public URL of this server; by default the URL of each call."""
    scopes: str = "openid profile email"
    name_claim: str = "email"
    groups_claim: str = "groups"
    tenant_claim: str | None = None
    audience: str | None = None
    """The audience of access tokens for programs; by default `client_id`."""
    takes_id_tokens: bool = False
    """True if programs may also send the ID token of a sign-in, which the provider issues to prove it once."""
    session_seconds: float = 12 * 3600.0
    group_roles: GroupRoles = field(default_factory=GroupRoles)

    @property
    def required_claims(self) -> set[str]:
        """The claims that identify a person."""
        claims = {self.name_claim, self.groups_claim, self.tenant_claim or self.name_claim}
        return claims | ({"email_verified"} if self.name_claim == "email" else set())

    @classmethod
    def load(cls) -> Oidc | None:
        """Return the settings of the environment variables; None if they name no provider."""
        found = Settings.load()
        if not found.oidc_issuer:
            return None
        if not found.oidc_client_id:
            raise SettingError("RINGI_OIDC_CLIENT_ID", None, "give the client id of Ringi at the provider")
        names = ("client_id", "client_secret", "scopes", "name_claim", "groups_claim", "tenant_claim", "audience")
        options: dict[str, Any] = {name: getattr(found, f"oidc_{name}") for name in names}
        return cls(
            safe_server_url("RINGI_OIDC_ISSUER", found.oidc_issuer),
            **options,
            takes_id_tokens=found.oidc_id_tokens,
            public_url=public_url(),
            group_roles=GroupRoles.load(),
        )


@dataclass(frozen=True)
class TrustedProxy:
    """A proxy that authenticates people and names them in headers."""

    networks: tuple[Network, ...]
    """The networks of the proxy; these headers are ignored from all other addresses."""
    name_header: str = "x-forwarded-user"
    groups_header: str = "x-forwarded-groups"
    group_roles: GroupRoles = field(default_factory=GroupRoles)

    @classmethod
    def load(cls) -> TrustedProxy | None:
        """Return the settings of the environment variables; None if they name no address."""
        found = Settings.load()
        if not found.proxy_addresses:
            return None
        headers = (found.proxy_name_header.lower(), found.proxy_groups_header.lower())
        return cls(found.proxy_addresses, *headers, group_roles=GroupRoles.load())

    def is_peer(self, scope: Scope) -> bool:
        """Return whether this call comes from the proxy itself."""
        try:
            peer = ip_address(scope["client"][0])
        except (TypeError, ValueError):
            return False
        return any(peer in network for network in self.networks)

    def person(self, scope: Scope, headers: Headers) -> AuthenticatedPerson | None:
        """Return the person that the proxy names; None if the caller is not the proxy, or it names nobody."""
        names = headers.getlist(self.name_header)
        if not names or not self.is_peer(scope):
            return None
        if len(names) > 1:
            what = f"the call has {len(names)} {self.name_header} headers"
            raise MalformedError(f"{what}: let the proxy replace the headers of callers")
        groups = [group.strip() for line in headers.getlist(self.groups_header) for group in line.split(",")]
        return self.group_roles.person(names[0], [group for group in groups if group])

    def with_original_scheme(self, scope: Scope) -> Scope:
        """Return a call of the proxy with the scheme of the original call."""
        from starlette.datastructures import Headers

        scheme = Headers(scope=scope).get("x-forwarded-proto")
        if scheme in ("http", "https") and self.is_peer(scope):
            return {**scope, "scheme": scheme}
        return scope


def public_url() -> str | None:
    """Return the public URL of this server, if it is set."""
    url = Settings.load().public_url
    return safe_server_url("RINGI_PUBLIC_URL", url).rstrip("/") if url else None


def safe_server_url(name: str, url: str) -> str:
    """Return a URL that may carry secrets, or raise `SettingError`."""
    parts = urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in LOOPBACK):
        return url
    raise SettingError(name, url, "give an https:// URL; http:// is allowed only for this machine")
