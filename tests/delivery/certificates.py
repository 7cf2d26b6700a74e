"""Certificates of a test's own: good ones, and each kind of bad one."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


class Authority:
    """Signs certificates for servers; `SSL_CERT_FILE` on `path` makes them trusted."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._key, self._name = folder, ec.generate_private_key(ec.SECP256R1()), named("Test authority")
        own = self._begun(self._name, self._key, datetime.now(UTC) + DAY)
        own = own.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self._own = own.sign(self._key, hashes.SHA256())
        self.path = folder / "authority.pem"
        self.path.write_bytes(self._own.public_bytes(serialization.Encoding.PEM))

    def server(self, address: str = "127.0.0.1", *, expired: bool = False, self_signed: bool = False) -> ssl.SSLContext:
        """Return what a server speaks TLS with, under a certificate for this address."""
        key = ec.generate_private_key(ec.SECP256R1())
        ends_at = datetime.now(UTC) + (-DAY if expired else DAY)
        name, signer = (named(address), key) if self_signed else (self._name, self._key)
        made = self._begun(named(address), key, ends_at, issuer=name)
        made = made.add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), critical=False)
        path = self._folder / f"{address}-{expired}-{self_signed}.pem"
        private = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        path.write_bytes(private + made.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context

    def _begun(
        self, name: x509.Name, key: ec.EllipticCurvePrivateKey, ends_at: datetime, issuer: x509.Name | None = None
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer or name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(ends_at - 30 * DAY)
            .not_valid_after(ends_at)
        )


def named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
