"""All settings: each has an environment variable `RINGI_<NAME>`. An argument overrides a variable."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from ringi.errors import RingiError

PASSWORD = re.compile(r"(://[^:@/?#]*):[^@/?#]*@")
PREFIX = "RINGI_"
OFF = ("0", "false", "off", "no")
ON = ("1", "true", "on", "yes")
LONGEST_DAYS = 36_500
MOST = 10_000
MONTH_SECONDS = 30 * 86_400.0
CONTAINER = ("ADDRESS", "AGENTS", "ALLOW_HOST", "IMAGE", "PORT")
"""The settings that only the container reads."""
WEBHOOK_SCHEDULE = (0.0, 5.0, 300.0, 1800.0, 7200.0, 18_000.0, 36_000.0, 50_400.0, 72_000.0, 86_400.0)
"""Seconds between an attempt of a delivery and the previous one, by default."""
SIGN_IN_LINK_MINUTES = 10.0
"""Minutes until a sign-in link expires, by default."""
SOME_SECONDS = "use numbers of 0 or more, separated by commas"
SOME_COUNT = f"give a whole number from 1 to {MOST}"
SOME_DAYS = f"give days above 0 and up to {LONGEST_DAYS}, or unset it"
ENABLED = "write 0 to let agents run without asking, or leave it out"
Network = IPv4Network | IPv6Network


class SettingError(RingiError):
    """A setting, an option or a URL is invalid: its `name`, `value` and `remedy`."""

    def __init__(self, name: str, value: object, remedy: str) -> None:
        self.name, self.value, self.remedy = name, value, remedy
        super().__init__(f"{name}={without_password(value)!r}: {remedy}")


def without_password(value: object) -> object:
    """Return a value for display: a URL without its password."""
    return PASSWORD.sub(r"\1:…@", value) if isinstance(value, str) else value


def number_setting_reader(is_wrong: Callable[[float], bool], remedy: str, *, is_list: bool = False) -> BeforeValidator:
    """Return the reader of a number, or of several; a wrong one raises `ValueError` with the remedy."""

    def read(value: Any) -> Any:
        try:
            numbers = tuple(float(part) for part in (str(value).split(",") if is_list else [value]))
        except ValueError:
            raise ValueError(remedy) from None
        if any(math.isnan(each) or is_wrong(each) for each in numbers):
            raise ValueError(remedy)
        return numbers if is_list else numbers[0]

    return BeforeValidator(read)


def read_yes_or_no(value: Any, remedy: str = "write 1, or leave it out", known: Sequence[str] = ("0", "1")) -> bool:
    """Return whether a text is a yes; raise `ValueError` with the remedy for one that is neither yes nor no."""
    text = str(value).strip().lower()
    if value not in (True, False) and text not in known:
        raise ValueError(remedy)
    return value is True or text in ON


def read_hitl_enabled(value: Any) -> bool:
    """Return whether agents ask people."""
    # If a typing error counted as no, every gated call would run.
    return read_yes_or_no(value, ENABLED, (*OFF, *ON))


def read_comma_list(value: Any) -> Any:
    """Return the comma-separated parts of a text."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def read_networks(value: Any) -> tuple[Network, ...]:
    """Return the comma-separated networks of a text."""
    try:
        return tuple(map(ip_network, read_comma_list(value)))
    except ValueError as error:
        raise ValueError(f"{error}: give networks such as 10.1.0.0/16 or 10.0.0.5") from None


Positive = Annotated[float, number_setting_reader(lambda number: not 0 < number < math.inf, "give a number above 0")]
Count = Annotated[float, number_setting_reader(lambda number: number % 1 != 0 or not 0 < number <= MOST, SOME_COUNT)]
SettingSeconds = Annotated[float, number_setting_reader(lambda number: not 0 <= number <= MONTH_SECONDS, SOME_SECONDS)]
Schedule = Annotated[
    tuple[float, ...],
    number_setting_reader(lambda number: not 0 <= number <= MONTH_SECONDS, SOME_SECONDS, is_list=True),
]
Days = Annotated[float, number_setting_reader(lambda number: not 0 < number <= LONGEST_DAYS, SOME_DAYS)]
Switch = Annotated[bool, BeforeValidator(read_yes_or_no)]
Names = Annotated[tuple[str, ...], BeforeValidator(read_comma_list)]
Networks = Annotated[tuple[Network, ...], BeforeValidator(read_networks)]
Secret = Annotated[str | None, Field(repr=False)]


class Settings(BaseModel):
    """The settings, as `ringi config` prints them; an empty variable counts as none.

    A field that is not in the representation is secret. Files are read, and rules between settings are checked, where
    they are used.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    url: Secret = None
    home: Path = Path(".ringi")
    redis_url: Secret = None
    store_timeout: Positive | None = None
    retain_days: Days | None = None
    log: str = "WARNING"
    failpoint: str = ""

    enabled: Annotated[bool, BeforeValidator(read_hitl_enabled)] = True
    checks: Annotated[bool, BeforeValidator(lambda value: str(value).strip().lower() in ON)] = False
    policy: str | None = None
    prices: str | None = None

    token: Secret = None
    insecure: Switch = False
    secret: Secret = None
    seal_key: Secret = None
    public_url: str | None = None
    session_days: Positive = 14.0
    header_seconds: Positive = 10.0
    body_seconds: Positive = 30.0
    max_connections: Positive = 12_000
    cors_origins: Names = ()
    record_seen: Switch = False
    fresh_sign_in: Names = ()
    sign_in_acr: Names = ()
    security_contact: str | None = None

    oidc_issuer: str | None = None
    oidc_client_id: str | None = None
    oidc_client_secret: Secret = None
    oidc_scopes: str = "openid profile email"
    oidc_name_claim: str = "email"
    oidc_groups_claim: str = "groups"
    oidc_tenant_claim: str | None = None
    oidc_audience: str | None = None
    oidc_id_tokens: Switch = False
    proxy_addresses: Networks = ()
    proxy_name_header: str = "x-forwarded-user"
    proxy_groups_header: str = "x-forwarded-groups"
    admin_groups: Names = ()
    people_groups: Names = ()
    auditor_groups: Names = ()

    webhooks: Secret = None
    webhook_allow: Networks = ()
    webhook_schedule: Schedule = WEBHOOK_SCHEDULE
    webhook_jitter: SettingSeconds = 0.1
    webhook_timeout: SettingSeconds = 15.0
    max_deliveries: Count = 64
    remind_before: SettingSeconds = 3600.0
    smtp_url: Secret = None
    mail_from: str | None = None
    mail_to: Secret = None

    @classmethod
    def load(cls, variables: Mapping[str, str] = os.environ) -> Settings:
        """Return the settings in the variables of an environment.

        Args:
            variables: The environment.

        Raises:
            SettingError: A variable is invalid; the error names it.
        """
        texts = {name: text for name in cls.model_fields if (text := variables.get(setting_variable_name(name)))}
        try:
            return cls.model_validate(texts)
        except ValidationError as error:
            first = error.errors()[0]
            name, cause = str(first["loc"][0]), first.get("ctx", {}).get("error")
            value = first["input"] if cls.model_fields[name].repr else "…"
            raise SettingError(setting_variable_name(name), value, str(cause or first["msg"])) from None


def setting_variable_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return f"{PREFIX}{name.upper()}"


def read_setting_variable(name: str) -> str:
    """Return the text of a setting in the environment; empty without one."""
    return os.environ.get(setting_variable_name(name), "")


KNOWN = frozenset(map(setting_variable_name, (*Settings.model_fields, *CONTAINER)))
"""All variables; each also with `_FILE`, as containers give secrets."""


def unknown_settings() -> dict[str, str | None]:
    """Return the variables that look like settings and are none, each with the most similar setting."""
    names = sorted(name for name in os.environ if name.startswith(PREFIX) and name.removesuffix("_FILE") not in KNOWN)
    return {name: next(iter(get_close_matches(name, KNOWN, 1)), None) for name in names}


def hitl_enabled() -> bool:
    """Return whether agents ask people; raise `SettingError` for a value that is neither yes nor no."""
    text = read_setting_variable("enabled")
    try:
        # Read alone: each gated call asks.
        return not text or read_hitl_enabled(text)
    except ValueError as error:
        raise SettingError(setting_variable_name("enabled"), text, str(error)) from None


def fresh_sign_in(tiers: Sequence[str]) -> dict[str, float]:
    """Return the maximum age in seconds of a sign-in that may answer requests of a tier, by tier.

    Args:
        tiers: The tiers of requests.
    """
    return read_seconds_by_name("fresh_sign_in", Settings.load().fresh_sign_in, tiers)


def read_setting_pairs(
    name: str, pairs: Sequence[str], known: Sequence[str], example: str = "irreversible=phr"
) -> dict[str, str]:
    """Return the values by name of a setting such as `high=300,irreversible=60`.

    Args:
        name: The name of the setting.
        pairs: Its parts.
        known: The allowed names.
        example: A right part, for the error.

    Raises:
        SettingError: A name is unknown or occurs twice, or its value is missing or has a space.
    """
    found: dict[str, str] = {}
    for pair in pairs:
        key, _, value = (part.strip() for part in pair.partition("="))
        if key not in known or key in found or not value or len(value.split()) > 1:
            what = f"give one value for some of {', '.join(known)}, each once, such as {example}"
            raise SettingError(setting_variable_name(name), ",".join(pairs), what)
        found[key] = value
    return found


def read_seconds_by_name(name: str, pairs: Sequence[str], known: Sequence[str]) -> dict[str, float]:
    """Return the seconds by name of a setting such as `high=300,irreversible=60`; see `read_setting_pairs`.

    Raises:
        SettingError: A name is unknown or occurs twice, or the seconds are not a number above 0.
    """
    example = f"{known[-1]}=60"
    texts = read_setting_pairs(name, pairs, known, example)
    with suppress(ValueError):
        found = {key: float(value) for key, value in texts.items()}
        if all(0 < each < math.inf for each in found.values()):
            return found
    what = f"give seconds above 0 for some of {', '.join(known)}, each once, such as {example}"
    raise SettingError(setting_variable_name(name), ",".join(pairs), what)
