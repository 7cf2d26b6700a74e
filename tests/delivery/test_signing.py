"""Signatures, against the library that receivers use, in both directions."""

from __future__ import annotations

import base64
from datetime import UTC, datetime, timedelta, timezone

import pytest
from standardwebhooks import Webhook

from ringi.base.settings import SettingError
from ringi.delivery.signing import SignatureError, checked_secret, new_secret, signature_headers, verify

BODY = '{"type":"request.completed","data":{"title":"稟議"}}'.encode()


def now() -> datetime:
    """Return the time of the test: that of the collection may be too old by then."""
    return datetime.now(UTC)


def test_the_stock_library_takes_what_ringi_signed() -> None:
    secret = new_secret()
    headers = signature_headers([secret], "evt_1", datetime.now(timezone(timedelta(hours=9))), BODY)

    assert Webhook(secret).verify(BODY, headers)["data"] == {"title": "稟議"}


def test_ringi_takes_what_the_stock_library_signed() -> None:
    secret = new_secret()
    at = now()
    stamp = {"webhook-id": "evt_1", "webhook-timestamp": str(int(at.timestamp()))}
    headers = {**stamp, "webhook-signature": Webhook(secret).sign("evt_1", at, BODY.decode())}

    assert verify([new_secret(), secret], headers, BODY)["type"] == "request.completed"


def test_what_was_signed_with_an_old_secret_and_a_new_one_fits_either() -> None:
    old, new = new_secret(), new_secret()
    headers = signature_headers([new, old], "evt_1", now(), BODY)

    assert verify([old], headers, BODY) == verify([new], headers, BODY)


@pytest.mark.parametrize(
    "changed",
    [
        {"webhook-id": "evt_2"},
        {"webhook-timestamp": "soon"},
        {"webhook-signature": ""},
        {"webhook-signature": "v1"},
        {"webhook-signature": "v1,a,b"},
        {"webhook-signature": "v1,é"},
        {"webhook-signature": "v2,AAAA"},
    ],
)
def test_a_delivery_with_other_headers_is_refused(changed: dict[str, str]) -> None:
    secret = new_secret()

    with pytest.raises(SignatureError, match="reject it"):
        verify([secret], {**signature_headers([secret], "evt_1", now(), BODY), **changed}, BODY)


def test_a_delivery_with_another_time_than_was_signed_is_refused() -> None:
    secret, at = new_secret(), now()
    moved = {"webhook-timestamp": str(int(at.timestamp()) + 1)}

    with pytest.raises(SignatureError, match="reject it"):
        verify([secret], {**signature_headers([secret], "evt_1", at, BODY), **moved}, BODY)


@pytest.mark.parametrize("body", [b"", b"\xff\xfe", BODY + b" "])
def test_a_delivery_with_another_body_is_refused(body: bytes) -> None:
    secret = new_secret()

    with pytest.raises(SignatureError):
        verify([secret], signature_headers([secret], "evt_1", now(), BODY), body)


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_delivery_of_another_time_is_refused(minutes: int) -> None:
    secret = new_secret()

    with pytest.raises(SignatureError):
        verify([secret], signature_headers([secret], "evt_1", now() + timedelta(minutes=minutes), BODY), BODY)


def test_without_a_secret_nothing_is_believed() -> None:
    with pytest.raises(SignatureError, match="no secret"):
        verify([], signature_headers([new_secret()], "evt_1", now(), BODY), BODY)


@pytest.mark.parametrize(
    "secret", ["", "secret", "whsec_", "whsec_!!", "whsec_" + base64.b64encode(b"x" * 23).decode()]
)
def test_a_secret_that_is_none_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(SettingError, match="random bytes") as refused:
        checked_secret(secret)

    assert "!!" not in str(refused.value)
