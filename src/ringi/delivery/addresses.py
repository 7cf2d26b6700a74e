"""The addresses that a delivery may reach, resolved once and checked before a connection, and its TLS."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

from ringi.base.settings import Network, SettingError
from ringi.errors import RingiError

Address = IPv4Address | IPv6Address
NO_ADDRESS = "the host has no address that may be called from here"
"""The error for a name in a private network and for a name that does not exist. They are indistinguishable, so that
callers learn nothing about the names in the server's own network."""
TRANSLATED = IPv6Network("64:ff9b::/96")
"""The prefix of addresses that a NAT64 gateway translates to IPv4."""
RESOLVERS = 64
"""The number of concurrent name lookups: a lookup without a reply takes half a minute."""


class RefusedAddressError(RingiError):
    """An address that deliveries may not reach; the message is for operators."""

    def __init__(self, what: str, public_message: str | None = None) -> None:
        self.public_message = public_message or what
        """The part of the message that any caller may see."""
        super().__init__(what)


def literal_address(host: str) -> Address | None:
    """Return the address that a host denotes without a lookup, in any notation; None for a name."""
    name = host.rstrip(".").lower()
    if name == "localhost" or name.endswith(".localhost"):
        return IPv4Address("127.0.0.1")
    with suppress(ValueError):
        return ip_address(name)
    with suppress(OSError):
        # 127.1, 0x7f000001 and 2130706433 are addresses too.
        return ip_address(socket.inet_aton(name))
    return None


def is_allowed_address(address: Address, allow: Sequence[Network], *, is_unencrypted: bool = False) -> bool:
    """Return whether deliveries may reach an address: it is in an allowed network, or public and called over TLS."""
    target = address
    # The IPv4 address that is embedded in an IPv6 address is the one that is reached.
    if address in TRANSLATED:
        target = IPv4Address(int(address) & 0xFFFFFFFF)
    elif isinstance(address, IPv6Address):
        target = address.ipv4_mapped or address.sixtofour or address
    is_site_local = isinstance(target, IPv6Address) and target.is_site_local
    is_public = target.is_global and not (target.is_multicast or target.is_reserved or is_site_local)
    return any(target in network for network in allow) or (is_public and not is_unencrypted)


class AddressResolver:
    """Resolves names, and rejects addresses that are neither public nor allowed."""

    def __init__(self, allow: Sequence[Network]) -> None:
        self._allow = allow
        # In the event loop's own executor, lookups without a reply would delay the store's work.
        self._threads = ThreadPoolExecutor(RESOLVERS, "ringi-resolve")

    async def resolve(self, host: str, port: int, *, is_unencrypted: bool) -> list[Address]:
        """Return the addresses of a host; all of them may be connected to.

        Raises `RefusedAddressError`, or `OSError` if the host has no address.
        """
        loop = asyncio.get_running_loop()
        results = await loop.run_in_executor(self._threads, socket.getaddrinfo, host, port, 0, socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(ip_address(each[4][0]) for each in results))
        for address in addresses:
            if not is_allowed_address(address, self._allow):
                what = f"{host} is {address}, which is not public: allow its network in RINGI_WEBHOOK_ALLOW"
                raise RefusedAddressError(what, NO_ADDRESS)
            if not is_allowed_address(address, self._allow, is_unencrypted=is_unencrypted):
                what = f"{host} would be called without TLS"
                raise RefusedAddressError(f"{what}; use https, or allow its network in RINGI_WEBHOOK_ALLOW")
        return addresses

    def close(self) -> None:
        """Shut down the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def check_trusted_authorities() -> None:
    """Raise `SettingError` if the authorities in the environment settings cannot be read."""
    file, folder = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
    if not (variable := file or folder):
        return
    try:
        # As HTTPX reads them, whose import takes a tenth of a second: many processes deliver nothing.
        ssl.create_default_context(cafile=file, capath=None if file else folder)
    except OSError as error:
        raise SettingError("SSL_CERT_FILE", variable, f"name a readable file of certificates: {error}") from error


def find_tls_error(error: BaseException) -> str | None:
    """Return the fault of the peer's TLS; None for any other kind of error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"TLS: its certificate is not trusted: {error.verify_message.rstrip('.')}"
    if isinstance(error, ssl.SSLError):
        return f"TLS: {(error.reason or str(error)).replace('_', ' ').lower()}"
    cause = error.__cause__ or error.__context__
    return find_tls_error(cause) if cause else None
