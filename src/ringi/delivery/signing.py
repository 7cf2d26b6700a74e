"""Standard Webhooks signatures: signing a delivery, and verifying it at the receiver."""

from __future__ import annotations

import base64
import binascii
import secrets
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ringi.base.extras import MissingExtraError, raise_missing_extra
from ringi.base.settings import SettingError
from ringi.errors import RingiError

PREFIX = "whsec_"
SIZES = range(24, 65)
"""The allowed sizes of a secret in bytes."""


class SignatureError(RingiError):
    """No secret signed the delivery within the last minutes: its sender is unknown."""

    def __init__(self, why: Exception | None) -> None:
        super().__init__(f"the delivery has no valid and recent signature ({why or 'no secret'}): reject it")


def new_secret() -> str:
    """Return a new secret for one endpoint."""
    return PREFIX + base64.b64encode(secrets.token_bytes(32)).decode()


def checked_secret(secret: str) -> str:
    """Return a valid secret unchanged.

    Args:
        secret: `whsec_` and the base64 of 24 to 64 bytes.

    Raises:
        SettingError: The secret is invalid; the message does not contain it.
    """
    try:
        size = len(base64.b64decode(secret.removeprefix(PREFIX), validate=True)) if secret.startswith(PREFIX) else 0
    except binascii.Error:
        size = 0
    if size not in SIZES:
        raise SettingError("secret", "…", f"give {PREFIX} and base64 of {SIZES[0]} to {SIZES[-1]} random bytes")
    return secret


def signature_headers(keys: Sequence[str], id: str, at: datetime, body: bytes) -> dict[str, str]:
    """Return the headers of a delivery. Each secret signs, so that receivers can rotate theirs one after another."""
    stamp = at.astimezone(UTC)
    headers = {"webhook-id": id, "webhook-timestamp": str(int(stamp.timestamp()))}
    if not keys:
        return headers
    return {**headers, "webhook-signature": " ".join(_webhook(key).sign(id, stamp, body.decode()) for key in keys)}


def verify(keys: Sequence[str], headers: Mapping[str, str], body: bytes) -> Any:
    """Return the JSON of a delivery that one of the secrets signed in the last five minutes.

    A delivery may arrive twice, so the receiver must remember each `webhook-id` that it has processed.

    Args:
        keys: The secrets of the endpoint; during a rotation, the old one and the new one.
        headers: The headers of the HTTP request.
        body: The unchanged bytes of its body.

    Returns:
        The event: `type`, `timestamp` and `data`, the request.

    Raises:
        SignatureError: No secret signed this delivery, or it is too old.
        MissingExtraError: The extra `server` is not installed.
    """
    why: Exception | None = None
    for key in keys:
        try:
            return _webhook(key).verify(body, dict(headers))
        # The library leaks various exceptions for a malformed header or body.
        except MissingExtraError:
            raise
        except Exception as error:
            why = error
    raise SignatureError(why)


def _webhook(key: str) -> Any:
    try:
        from standardwebhooks import Webhook
    except ModuleNotFoundError as error:
        raise_missing_extra("signing deliveries", error)
    return Webhook(checked_secret(key))
