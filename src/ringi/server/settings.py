"""Settings of a server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from ringi.base.settings import SettingError, Settings, read_seconds_by_name, read_setting_pairs
from ringi.domain.voting import Tier
from ringi.server.identity import Oidc, TrustedProxy
from ringi.server.prices import Prices

ORIGIN = re.compile(r"https?://[a-z0-9.\-\[\]:]+", re.I)
CONTACT = re.compile(r"(mailto:|https://)[!-~]{1,500}")
STATIC = Path(__file__).parent / "static"


@dataclass(frozen=True)
class ServerSettings:
    """Settings of a server; every limit has a name."""

    hosts: tuple[str, ...] = ()
    """Allowed host names, besides those of the loopback interface."""
    no_auth: bool = False
    """Every caller is the admin `local`; for a server that only this machine can reach."""
    no_deliveries: bool = False
    """The store is a copy of one in use: nothing is sent, run, expired or sealed, and its sessions are not accepted."""
    oidc: Oidc | None = None
    """The provider at which people can sign in."""
    proxy: TrustedProxy | None = None
    """The proxy whose headers identify the caller."""
    session_seconds: float = 14 * 86_400.0
    """Lifetime of the page's cookie; each use renews it. `RINGI_SESSION_DAYS` sets it."""
    scripted: bool = False
    """True if the agents' model is scripted; the page displays it."""
    model: str | None = None
    static: Path = STATIC
    max_body: int = 256 * 1024
    max_history: int = 4 * 1024 * 1024
    """Maximum body size of the chat protocols, whose clients send the whole conversation each time."""
    max_depth: int = 64
    """Maximum nesting depth of a JSON body."""
    max_list: int = 200
    max_bulk: int = 100
    max_wait: float = 25.0
    max_open_requests: int = 1_000
    """Maximum pending requests of one asker."""
    asks_per_minute: int = 600
    """Maximum requests per asker and minute, in one process."""
    ask_bytes_per_minute: int = 32 * 1024 * 1024
    """Maximum bytes of these requests."""
    streams_per_caller: int = 100
    """Long polls count too."""
    streams_per_process: int = 10_000
    stream_buffer: int = 1024 * 1024
    """Bytes buffered for one slow reader before it is disconnected; it resumes where it stopped."""
    keep_alive_seconds: float = 15.0
    header_seconds: float = 10.0
    """Deadline for a call's headers. `RINGI_HEADER_SECONDS` sets it."""
    body_seconds: float = 30.0
    """Deadline for a call's body, and for a caller who does not read the reply. `RINGI_BODY_SECONDS` sets it."""
    max_connections: int = 12_000
    """Limit of one process; above it, the longest-waiting incomplete call is closed. `RINGI_MAX_CONNECTIONS` sets it.
    """

    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call with a token; `*` allows all. `RINGI_CORS_ORIGINS` sets it."""
    record_seen: bool = False
    """True to record in the audit trail when each person first opens a pending request. `RINGI_RECORD_SEEN` sets it."""
    fresh_sign_in: Mapping[Tier, float] = field(default_factory=dict)
    """The maximum age of a sign-in, in seconds, that may answer requests of a tier. `RINGI_FRESH_SIGN_IN` sets it."""
    sign_in_acr: Mapping[Tier, str] = field(default_factory=dict)
    """The claim `acr` of a sign-in at the provider that may answer requests of a tier. `RINGI_SIGN_IN_ACR` sets it."""
    security_contact: str | None = None
    """The address for reports of weaknesses, in `/.well-known/security.txt`. `RINGI_SECURITY_CONTACT` sets it."""
    prices: Prices | None = None
    """The prices of models, so that threads show a cost. `RINGI_PRICES` sets it."""

    def __post_init__(self) -> None:
        """Refuse settings that would admit unauthenticated callers."""
        for origin in self.cors_origins:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                raise SettingError("RINGI_CORS_ORIGINS", origin, "give origins such as https://app.example.com, or *")
        if self.security_contact and not CONTACT.fullmatch(self.security_contact):
            why = "give an address such as mailto:security@example.com or https://example.com/security"
            raise SettingError("RINGI_SECURITY_CONTACT", self.security_contact, why)
        if self.no_auth and self.fresh_sign_in:
            raise SettingError("RINGI_FRESH_SIGN_IN", dict(self.fresh_sign_in), "remove it, or let people sign in")
        if self.sign_in_acr and not (self.oidc and self.sign_in_acr.keys() <= self.fresh_sign_in.keys()):
            why = "set RINGI_OIDC_ISSUER, and give each of its tiers a maximum age in RINGI_FRESH_SIGN_IN"
            raise SettingError("RINGI_SIGN_IN_ACR", dict(self.sign_in_acr), why)
        if self.no_auth and "*" in self.cors_origins:
            raise SettingError("RINGI_CORS_ORIGINS", "*", "list the origins: every web page could read all data")

    @classmethod
    def load(cls, **overrides: Any) -> ServerSettings:
        """Return settings from environment variables and arguments.

        Args:
            **overrides: Fields of this class; each takes precedence over its variable.

        Returns:
            The settings; fields without a variable and an argument have their defaults.

        Raises:
            SettingError: A variable or an argument is invalid.
        """
        found = Settings.load()
        environment: dict[str, Any] = {
            "session_seconds": found.session_days * 86_400,
            "max_connections": int(found.max_connections),
            "fresh_sign_in": read_seconds_by_name("fresh_sign_in", found.fresh_sign_in, get_args(Tier)),
            "sign_in_acr": read_setting_pairs("sign_in_acr", found.sign_in_acr, get_args(Tier)),
            "prices": Prices.load(found.prices),
            **found.model_dump(
                include={"header_seconds", "body_seconds", "cors_origins", "record_seen", "security_contact"}
            ),
        }
        return cls(**{**environment, **overrides})
