"""Where a delivery may go: a name is resolved once, all it stands for is checked, and that is connected to."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

from ringi.errors import RingiError

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
TRANSLATED = IPv6Network("64:ff9b::/96")
"""What a NAT64 gateway takes for an address of version 4."""
RESOLVERS = 64
"""Names that are looked up at once: one that nobody answers for takes half a minute."""


class RefusedAddressError(RingiError):
    """An address that deliveries may not reach."""

    def __init__(self, host: str, address: Address) -> None:
        super().__init__(f"{host} is {address}, which is not public: allow its network in RINGI_WEBHOOK_ALLOW")

    @classmethod
    def in_clear(cls, host: str) -> RefusedAddressError:
        """Return the error of an address that others on the way could read."""
        error = cls.__new__(cls)
        RingiError.__init__(error, f"{host} is called without TLS: use https, or allow its network")
        return error


class Addresses:
    """Resolves names, and refuses what is not public and not allowed."""

    def __init__(self, allow: Sequence[Network]) -> None:
        self._allow = allow
        # In the loop's own executor names that nobody answers for would keep the store's work waiting.
        self._threads = ThreadPoolExecutor(RESOLVERS, "ringi-resolve")

    async def of(self, host: str, port: int, *, is_clear: bool) -> list[Address]:
        """Return the addresses of a host, all of them fit to be connected to.

        Raises `RefusedAddressError`, or `OSError` when there are none.
        """
        look = socket.getaddrinfo
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, look, host, port, 0, socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(ip_address(each[4][0]) for each in found))
        for address in addresses:
            self._check(host, address, is_clear)
        return addresses

    def close(self) -> None:
        """Let go of the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _check(self, host: str, address: Address, is_clear: bool) -> None:
        meant = embedded(address) or address
        if any(meant in network for network in self._allow):
            return
        if not is_public(meant):
            raise RefusedAddressError(host, address)
        if is_clear:
            raise RefusedAddressError.in_clear(host)


def embedded(address: Address) -> IPv4Address | None:
    """Return the address of version 4 that one of version 6 is only another way to write."""
    if isinstance(address, IPv4Address):
        return None
    if address in TRANSLATED:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def is_public(address: Address) -> bool:
    """Whether the address belongs to one machine of the open internet."""
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return address.is_global and not (address.is_multicast or address.is_reserved or is_site_local)
