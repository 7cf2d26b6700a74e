"""Authentication of callers: signed tokens, and the page's cookie."""

from __future__ import annotations

import hmac
import math
import secrets
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, get_args

import jwt
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import Scope

from ringi.base.settings import SettingError, Settings
from ringi.domain.record import AGENT, DEFAULT_TENANT, SYSTEM, Viewer
from ringi.domain.voting import Decider, Tier
from ringi.errors import ForbiddenError, RingiError
from ringi.server.auth.absences import AbsenceTable
from ringi.server.auth.revocations import LoadedRevocations, TokenMetadata, token_digest
from ringi.server.identity import Role, is_group_name, is_person_name, reserved_name_error
from ringi.server.refusals import MalformedError, RefusalError, UnauthenticatedError
from ringi.server.settings import ServerSettings

COOKIE, COPY_COOKIE = "ringi_session", "ringi_copy_session"
"""The page's cookie, and that of a server on a copy of a store, which may be on the same host."""
IS_COPY = "ringi.is_copy"
"""Scope key of a server on a copy."""
ALGORITHM = "HS256"
PROXIED = "ringi.proxied"
"""Scope key set if the proxy vouches for the caller's identity."""
BEARER = "ringi.bearer"
"""Scope key of a provider token's result: the person that it names, or the error that refuses it."""
READERS = "ringi.readers"
"""Scope key of a list that receives the auditor whose read must be recorded."""
NEW_COOKIES = "ringi.cookies"
"""Scope key of cookies for the reply, unless the reply itself sets or clears the session."""
AUTHORIZATION = b"authorization"
READS = frozenset({"GET", "HEAD", "OPTIONS"})
MIN_SECRET_BYTES = 32
CACHE_SIZE = 4_096
"""Maximum number of tokens whose verified signature is cached."""


class Principal(NamedTuple):
    """The caller, as identified by the token."""

    tenant: str
    role: Role
    """`agent`, `person`, `admin` or `auditor`."""
    name: str
    groups: tuple[str, ...] = ()
    subject: str = ""
    """The issuer and the subject of the person's sign-in; empty for a token of this server."""
    deputy_for: tuple[Viewer, ...] = ()
    """The absent people whose deputy the person is."""
    stale_tiers: tuple[Tier, ...] = ()
    """The tiers for which the person signed in too long ago."""
    weak_tiers: tuple[tuple[Tier, str], ...] = ()
    """The tiers for which the person's sign-in is too weak, each with the `acr` that it needs."""

    @property
    def decider(self) -> Decider:
        """The caller as a person who decides."""
        is_admin = self.role == "admin"
        signs = (self.stale_tiers, self.weak_tiers)
        return Decider(self.name, self.groups, self.subject, self.deputy_for, is_admin, *signs)

    @property
    def actor(self) -> str:
        """The name of the caller in records; an agent never has the name of a person."""
        return f"{AGENT}{self.name}" if self.role == "agent" else self.name

    @property
    def asker(self) -> Decider:
        """The caller as one who asks, or starts a run."""
        return Decider(self.actor, subject=self.subject)

    @property
    def viewer(self) -> Viewer:
        """The caller as a viewer of requests."""
        return principal_viewer(name=self.name, groups=self.groups, deputy_for=self.deputy_for)


LOCAL = Principal(DEFAULT_TENANT, "admin", "local")
"""The principal of every caller on a server without tokens."""
principal_viewer = lru_cache(CACHE_SIZE)(Viewer)
"""Returns the viewer, validated once."""


class VerifiedToken(NamedTuple):
    """A token with a verified signature."""

    principal: Principal
    expires_at: float | None
    metadata: TokenMetadata | None = None
    """None if the caller has no token."""
    ends_at: float | None = None
    """The time at which a session ends even if it is used; None if use renews it."""
    signed_in_at: float | None = None
    """The time at which the person signed in; None for a token, which is no sign-in."""
    acr: str | None = None
    """How the person signed in, as the provider states it; None if it does not."""


class Keys:
    """Creates and verifies signed tokens.

    Args:
        secret: The key of the signatures, at least 32 bytes.

    Raises:
        SettingError: The secret is too short.
    """

    def __init__(self, secret: str) -> None:
        if len(secret.encode()) < MIN_SECRET_BYTES:
            raise SettingError("RINGI_SECRET", "…", f"give at least {MIN_SECRET_BYTES} bytes, `openssl rand -hex 32`")
        self._secret = secret
        self._verified = lru_cache(CACHE_SIZE)(self._read)

    @classmethod
    def load(cls, home: Path) -> Keys:
        """Return the keys of `RINGI_SECRET`, else of the file `secret`, which is created if it is missing.

        Args:
            home: The folder of the file.

        Raises:
            SettingError: The secret is too short.
        """
        return cls(Settings.load().secret or load_signing_secret(home / "secret"))

    def mint(
        self,
        *,
        role: str,
        name: str,
        tenant: str = DEFAULT_TENANT,
        groups: tuple[str, ...] = (),
        expires_in: float | None = None,
        now: float | None = None,
        **more: object,
    ) -> str:
        """Return a new token.

        Args:
            role: `agent`, `person`, `admin` or `auditor`.
            name: The name of the caller, 1 to 200 characters without a colon.
            tenant: The tenant of the caller.
            groups: The groups of the caller.
            expires_in: Seconds until the token expires; None means never.
            now: The issue time in seconds since 1970, by the clock of revocations; by default the current time.
            **more: Further claims; None leaves one out.

        Raises:
            SettingError: The role or the name is invalid.
        """
        if role not in get_args(Role):
            raise SettingError("role", role, f"choose {', '.join(get_args(Role))}")
        if not is_person_name(name):
            raise SettingError(
                "name", name, f"give 1 to 200 characters without a colon and control characters; {SYSTEM!r} is reserved"
            )
        if wrong := next((group for group in groups if not is_group_name(group)), None):
            raise SettingError("groups", wrong, "give 1 to 200 characters without control characters for each")
        claims: dict[str, Any] = {
            "tenant": tenant,
            "role": role,
            "sub": name,
            "groups": list(groups),
            # Not in whole seconds: a sign-in right after a revocation must not be revoked.
            "iat": time.time() if now is None else now,
            "exp": None if expires_in is None else int(time.time() + expires_in),
            **more,
        }
        return jwt.encode({name: value for name, value in claims.items() if value is not None}, self._secret, ALGORITHM)

    def derive(self, purpose: str) -> str:
        """Return a derived secret, so that a signature for one purpose is invalid for another.

        Args:
            purpose: The purpose of the secret, such as `link`.
        """
        return hmac.new(self._secret.encode(), purpose.encode(), "sha256").hexdigest()

    def read(self, token: str) -> Principal:
        """Return the caller that a token identifies.

        Args:
            token: The signed token.

        Raises:
            UnauthenticatedError: The token is invalid or expired.
        """
        return self.verify(token).principal

    def verify(self, token: str) -> VerifiedToken:
        """Verify a token; return its caller, expiry and issue time.

        Args:
            token: The signed token.

        Raises:
            UnauthenticatedError: The token is invalid or expired.
        """
        verified = self._verified(token)
        if verified.expires_at is not None and verified.expires_at <= time.time():
            raise UnauthenticatedError("the token has expired")
        return verified

    def _read(self, token: str) -> VerifiedToken:
        options: Any = {"require": ["sub", "tenant", "role"], "verify_exp": False, "verify_iat": False}
        try:
            claims = jwt.decode(token, self._secret, [ALGORITHM], options=options)
        except (jwt.InvalidTokenError, UnicodeError, ValueError) as error:
            raise UnauthenticatedError.unknown() from error
        if claims["role"] not in get_args(Role):
            raise UnauthenticatedError.unknown()
        if not is_person_name(claims["sub"]):
            raise reserved_name_error(claims["sub"])
        issued_at = time_claim_seconds(claims, "iat")
        if issued_at is None:
            raise UnauthenticatedError(
                "the token has no issue time (claim iat): issue another with `ringi token create`"
            )
        groups, parent = claims.get("groups") or [], claims.get("parent")
        if not isinstance(groups, list) or not all(map(is_group_name, groups)):
            raise invalid_claim_error("groups", "a list of names without control characters")
        subject = claims.get("subject") or ""
        for name, value in (("tenant", claims["tenant"]), ("subject", subject)):
            if not isinstance(value, str):
                raise invalid_claim_error(name, "text")
        caller = Principal(claims["tenant"], claims["role"], claims["sub"], tuple(groups), subject)
        metadata = TokenMetadata(token_digest(token), issued_at, parent if isinstance(parent, str) else None)
        times = [time_claim_seconds(claims, name) for name in ("exp", "ends_at", "auth_time")]
        acr = claims.get("acr")
        return VerifiedToken(caller, times[0], metadata, times[1], times[2], acr if isinstance(acr, str) else None)


def invalid_claim_error(claim: str, expected: str) -> UnauthenticatedError:
    """Return the error of a token with a claim of a wrong type."""
    return UnauthenticatedError(f"the token's claim {claim} is not {expected}: issue another with `ringi token create`")


def time_claim_seconds(claims: Mapping[str, object], name: str) -> float | None:
    """Return a time claim in seconds since 1970, or None; refuse NaN and other types, which would never expire."""
    if name not in claims:
        return None
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise invalid_claim_error(name, "a number of seconds since 1970")
    return float(value)


def load_signing_secret(path: Path) -> str:
    """Return the secret in a file; concurrent processes that create it get the same secret."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        # Closed before it is linked: Windows locks open files.
        with TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder, suppress(FileExistsError):
            draft = Path(folder, path.name)
            draft.touch(0o600)
            draft.write_text(secrets.token_hex(32))
            path.hardlink_to(draft)
    return path.read_text().strip()


def seal_key(home: Path) -> str:
    """Return the key of the seals: `RINGI_SEAL_KEY`, else the file `seal.key` in the folder, which is created once."""
    return Settings.load().seal_key or load_signing_secret(home / "seal.key")


class Authenticator:
    """Identifies the caller of each call.

    Args:
        keys: Verifies the tokens.
        settings: The settings of the server.
        revocations: The revoked tokens.
        absences: The people who are away.
    """

    def __init__(
        self, keys: Keys, settings: ServerSettings, revocations: LoadedRevocations, absences: AbsenceTable
    ) -> None:
        self.keys, self._settings, self.revocations, self.absences = keys, settings, revocations, absences
        # A copy knows no later revocations, so its sessions are worth nothing at the original.
        self._session_keys = Keys(keys.derive("copy")) if settings.no_deliveries else keys

    def caller(self, scope: Scope) -> Principal:
        """Return the caller.

        Args:
            scope: The ASGI scope of the call.

        Raises:
            UnauthenticatedError: The call has no valid token and no valid session.
            RefusalError: A page of another site sends a write.
            ForbiddenError: An auditor sends a write.
        """
        return self.verified_token(scope).principal

    async def load_absences(self, scope: Scope) -> None:
        """Read the absences of the caller's tenant, unless they are known; a caller without a token is ignored.

        Args:
            scope: The ASGI scope of the call.
        """
        try:
            tenant = self._verified_token(scope).principal.tenant
        except RingiError:  # The route refuses the call, unless it reads another header.
            if not self._settings.proxy:
                return
            tenant = DEFAULT_TENANT
        await self.absences.load(tenant)

    def verified_token(self, scope: Scope, *, is_open_to_auditors: bool = False) -> VerifiedToken:
        """Return the verified token of the caller; the errors are those of `caller`.

        Args:
            scope: The ASGI scope of the call.
            is_open_to_auditors: True for the few writes that auditors may do.
        """
        verified = self._verified_token(scope)
        if verified.principal.role == "auditor":
            # Here, so that no route can forget it: whatever is added later is closed to auditors.
            if scope["method"] not in READS and not is_open_to_auditors:
                raise ForbiddenError("an auditor reads everything and changes nothing: use the token of a person")
            if READERS in scope and not scope[READERS]:
                scope[READERS].append(verified.principal)
        return self._with_stale_tiers(self.with_deputies(verified))

    def _with_stale_tiers(self, token: VerifiedToken) -> VerifiedToken:
        if not self._settings.fresh_sign_in:
            return token
        age = math.inf if token.signed_in_at is None else time.time() - token.signed_in_at
        stale = tuple(tier for tier, seconds in self._settings.fresh_sign_in.items() if age > seconds)
        # The `acr` of a tier also suffices for the tiers with less at stake.
        acrs, tiers = self._settings.sign_in_acr, get_args(Tier)
        reached = max((tiers.index(tier) for tier, acr in acrs.items() if acr == token.acr), default=-1)
        weak = tuple((tier, acr) for tier, acr in acrs.items() if tiers.index(tier) > reached)
        return token._replace(principal=token.principal._replace(stale_tiers=stale, weak_tiers=weak))

    def with_deputies(self, token: VerifiedToken) -> VerifiedToken:
        """Return the token with the people for whom its person stands now.

        Args:
            token: The verified token.
        """
        caller = token.principal
        deputy_for = () if caller.role in ("agent", "auditor") else self.absences.deputy_for(caller.tenant, caller.name)
        if deputy_for == caller.deputy_for:
            return token
        return token._replace(principal=caller._replace(deputy_for=deputy_for))

    def _verified_token(self, scope: Scope) -> VerifiedToken:
        if self._settings.no_auth:
            self.refuse_foreign(scope, Headers(scope=scope), is_origin_needed=False)
            return VerifiedToken(LOCAL, None)
        if token := bearer_token(scope):
            outcome = scope.get(BEARER) or self._read(token)
            if isinstance(outcome, RingiError):
                raise outcome
            self.refuse_revoked(outcome)
            return outcome
        headers, proxy = Headers(scope=scope), self._settings.proxy
        if proxy and (person := proxy.person(scope, headers)):
            self.refuse_foreign(scope, headers, is_origin_needed=True)
            scope[PROXIED] = True
            return VerifiedToken(Principal(*person), None)
        if not (token := cookie_token(scope)):
            raise UnauthenticatedError
        verified = self._verified_session(token)
        if verified.principal.role == "agent":
            raise UnauthenticatedError("an agent's token cannot open a session on the page")
        self.refuse_foreign(scope, headers, is_origin_needed=True)
        self._renew(scope, verified)
        return verified

    def person_of_cookie(self, scope: Scope) -> Principal | None:
        """Return the person signed in on the calling page.

        Args:
            scope: The ASGI scope of the call.

        Returns:
            The person; None without a session cookie, or with an invalid, expired or revoked one.
        """
        with suppress(UnauthenticatedError, MalformedError):
            if token := cookie_token(scope):
                return self._verified_session(token).principal
        return None

    def with_sign_in(self, token: VerifiedToken) -> VerifiedToken:
        """Return a token or link that a person enters now, which is a sign-in unless people sign in at a provider.

        Args:
            token: The verified token. A session stays as old as it is.
        """
        if is_session(token) or self._settings.oidc:
            return token
        return token._replace(signed_in_at=time.time())

    def create_session(self, verified: VerifiedToken, ends_at: float | None = None) -> tuple[str, float]:
        """Return a token for the page's cookie, and its lifetime in seconds.

        Args:
            verified: The parent token; the session is invalid once it is revoked.
            ends_at: The end of the session in seconds since 1970, even if it is used; by default the end of `verified`.
        """
        life, ends_at = self._settings.session_seconds, ends_at or verified.ends_at
        seconds = life if ends_at is None else min(life, max(0.0, ends_at - time.time()))
        parent = verified.metadata and (verified.metadata.parent or verified.metadata.mark)
        caller = verified.principal
        claims: dict[str, Any] = {"parent": parent, "ends_at": ends_at, "subject": caller.subject or None}
        claims |= {"auth_time": verified.signed_in_at, "acr": verified.acr}
        claims |= {"tenant": caller.tenant, "role": caller.role, "name": caller.name, "groups": caller.groups}
        return self._session_keys.mint(**claims, expires_in=seconds, now=self.revocations.now()), seconds

    def _renew(self, scope: Scope, token: VerifiedToken) -> None:
        """Renew the full lifetime of a session in use, once a tenth of it has passed."""
        life, now = self._settings.session_seconds, time.time()
        is_fresh = token.expires_at is not None and token.expires_at - now > 0.9 * life
        is_last = token.ends_at is not None and token.expires_at is not None and token.expires_at >= token.ends_at - 1
        if not is_fresh and not is_last and NEW_COOKIES in scope:
            response = Response()
            new_token, seconds = self.create_session(token)
            set_session(response, new_token, seconds, scope)
            scope[NEW_COOKIES].append(next(value for name, value in response.raw_headers if name == b"set-cookie"))

    def verify(self, token: str) -> VerifiedToken:
        """Return the verified token.

        Raises:
            UnauthenticatedError: The token is invalid, expired or revoked.
        """
        verified = self._read(token)
        self.refuse_revoked(verified)
        return verified

    def _read(self, token: str) -> VerifiedToken:
        verified = self.keys.verify(token)
        if self._settings.no_deliveries and is_session(verified):
            raise UnauthenticatedError.unknown()
        return verified

    def _verified_session(self, token: str) -> VerifiedToken:
        verified = self._session_keys.verify(token)
        self.refuse_revoked(verified)
        return verified

    def refuse_revoked(self, token: VerifiedToken) -> None:
        """Raise `UnauthenticatedError` if a token was revoked.

        Args:
            token: The verified token; one without metadata cannot be revoked.
        """
        if self.is_revoked(token):
            raise UnauthenticatedError("the token was revoked")

    def is_revoked(self, token: VerifiedToken) -> bool:
        """Return whether a token was revoked.

        Args:
            token: The verified token; one without metadata cannot be revoked.
        """
        caller, metadata = token.principal, token.metadata
        return metadata is not None and self.revocations.is_revoked(caller.tenant, caller.name, caller.role, metadata)

    def refuse_foreign(self, scope: Scope, headers: Headers, *, is_origin_needed: bool) -> None:
        """Check that no page of another site sends a write; reads pass.

        Args:
            scope: The ASGI scope of the call.
            headers: The headers of the call.
            is_origin_needed: True to refuse also a write without the header `Origin`.

        Raises:
            RefusalError: The header `Origin` of a write names another site, or is missing although it is needed.
        """
        if scope["method"] in READS:
            return
        own, origins = f"{scope['scheme']}://{headers.get('host', '')}", headers.getlist("origin")
        if origins != [own] and (origins or is_origin_needed):
            what = f"Origin {', '.join(origins) or None!r} is not {own!r}"
            raise RefusalError(403, "foreign_origin", f"{what}: only the page may write with its cookie; use a token")


def bearer_token(scope: Scope) -> str | None:
    """Return the token of the Authorization header, if there is one."""
    values: list[bytes] = [value for name, value in scope["headers"] if name == AUTHORIZATION]
    if not values:
        return None
    scheme, _, token = values[0].decode("latin-1").partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer" or not token.strip():
        raise UnauthenticatedError("the Authorization header contains no bearer token")
    return token.strip()


def is_session(token: VerifiedToken) -> bool:
    """Return whether a token is that of a session on the page."""
    return token.ends_at is not None or bool(token.metadata and token.metadata.parent)


def session_cookie(scope: Scope) -> str:
    """Return the name of the page's cookie."""
    return COPY_COOKIE if IS_COPY in scope else COOKIE


def cookie_token(scope: Scope) -> str | None:
    """Return the token of the page's cookie, if there is exactly one."""
    lines, cookie = Headers(scope=scope).getlist("cookie"), session_cookie(scope)
    pairs = (pair.strip().partition("=") for line in lines for pair in line.split(";"))
    found = [value for name, _, value in pairs if name == cookie]
    if len(found) > 1:
        raise MalformedError(f"the cookie {cookie} was sent {len(found)} times: sign in again")
    return found[0] if found else None


def set_session(response: Response, token: str, seconds: float, scope: Scope, *, is_https: bool = False) -> None:
    """Set the page's cookie: scripts cannot read it, and other sites cannot send it."""
    path, is_https = f"{server_base_path(scope)}/", is_https or scope["scheme"] == "https"
    cookie, life = session_cookie(scope), round(seconds)
    response.set_cookie(cookie, token, life, path=path, secure=is_https, httponly=True, samesite="strict")


def server_base_path(scope: Scope) -> str:
    """Return the base path of Ringi; empty at the root of its server."""
    return str(scope.get("root_path", "")).rstrip("/")


def channel_of(scope: Scope) -> str:
    """Return the channel for the audit trail: `page` for a call of the page or of a proxied person, else `http`.

    Args:
        scope: The ASGI scope of the call.
    """
    if any(name == AUTHORIZATION for name, _ in scope["headers"]):
        return "http"
    return "page" if PROXIED in scope or cookie_token(scope) else "http"
