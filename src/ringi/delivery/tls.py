"""TLS to receivers and mail servers: the trusted authorities, and the reasons for a failed verification."""

from __future__ import annotations

import os
import ssl

import httpx

from ringi.errors import SettingError


def trusted_context() -> ssl.SSLContext:
    """Return a context that trusts the public authorities, or those in `SSL_CERT_FILE` or `SSL_CERT_DIR` instead."""
    return httpx.create_ssl_context()


def check_trust() -> None:
    """Raise `SettingError` if the authorities in the environment settings cannot be read."""
    try:
        trusted_context()
    except OSError as error:
        variable = os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR") or ""
        raise SettingError("SSL_CERT_FILE", variable, f"name a readable file of certificates: {error}") from error


def tls_error(error: BaseException) -> str | None:
    """Return the fault of the peer's TLS; None for any other kind of error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: its certificate is not trusted: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {(error.reason or str(error)).replace('_', ' ').lower()}"
    cause = error.__cause__ or error.__context__
    return tls_error(cause) if cause else None
